// Package termtext makes text from models, tools, files and servers safe to write
// to a terminal, and measures and breaks it.
//
// It imports nothing of ours.
//
// Start reading at clean.go.
package termtext
