// Package tui is the screen.
//
// Holds: the composer, which is the text being written (composer*.go), what was sent
// before (history*.go), the draft that outlives the program (draft.go), and the popup
// that completes files and commands (complete*.go).
//
// Never imports the loop, the tools or the settings: cmd/dsh hands in what the screen
// needs of them.
//
// Start reading at composer.go.
package tui
