// Package transcript turns a session's events into blocks, and blocks into rows of a
// terminal: the one picture of a session that every screen draws.
//
// It holds the projection, the cards, the theme, the cache of rows and the list that
// a pager scrolls. It never imports a Bubble Tea program, the loop or a tool, and it
// reads no clock: times come from events or with the options of a frame.
//
// Start reading at block.go, then project.go, then rows.go.
package transcript
