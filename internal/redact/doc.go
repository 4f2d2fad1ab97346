// Package redact takes secrets out of text: what is shaped like a key of a known
// kind, and the values that the user keeps secret. A marker that names the kind
// stands in the place of each.
//
// It holds the scanner, the shapes and the marker. It imports nothing of ours, reads
// no settings and no environment: cmd/dsh says which values are secret, and gives the
// functions to those who need them.
//
// Start reading at redact.go; shapes.go is the list of what is known.
package redact
