// Package term is the terminal under the screen: Bubble Tea v1 runs the messages,
// this package owns the terminal itself.
//
// Holds: raw mode and the terminal's modes, pushed at the start and popped on every
// way out (terminal.go, modes.go, away.go, signal.go); frames, each one bracketed
// write that repaints only what changed, and finished rows printed into the
// scrollback above it (painter.go, output.go); keys, pastes and replies decoded from
// bytes (decode.go, keys.go, input.go); what the environment says about the terminal
// (env.go); titles, progress, notifications and the clipboard (osc.go). Nothing asks
// the terminal anything unless the caller says so, and nothing ticks: an idle program
// does not wake up.
//
// Imports nothing of ours. Knows no session, no keymap, no theme, no layout.
//
// Start reading at terminal.go, then run.go and painter.go.
package term
