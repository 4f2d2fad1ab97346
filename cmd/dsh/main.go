// Command dsh is a coding agent for the terminal.
package main

func main() {}
