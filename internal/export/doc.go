// Package export writes a session for people (Markdown) and for programs (JSON).
//
// Holds: the fold from events to what a reader of a conversation wants to see
// (items.go), and the two writers. Both walk the log once and hold one item at a time.
// Never: the screen's rows, tool names, the file that is written to.
// Start reading at items.go.
package export
