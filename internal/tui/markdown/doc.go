// Package markdown renders the text of a model as rows for a terminal while it
// arrives: goldmark parses, the rest is ours, since layout, wrapping and tables must
// be right for wide characters, and what is finished must not be drawn again.
//
// It imports termtext only, and runs no program and no clock.
//
// Start reading at renderer.go; scan.go says where one part of a text ends.
package markdown
