// Command asks has dsh's early package and the screen's terminal in it, and prints TERM
// as the process found it.
package main

import (
	"fmt"
	"os"

	"dsh/internal/early"
	_ "dsh/internal/tui/term"
)

func main() {
	early.Restore()
	fmt.Println("TERM", os.Getenv("TERM"))
}
