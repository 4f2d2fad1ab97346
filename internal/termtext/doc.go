// Package termtext makes text from models, tools, files and servers safe to write
// to a terminal.
//
// It imports nothing of ours.
//
// Start reading at clean.go.
package termtext
