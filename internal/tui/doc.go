// Package tui is the screen: a conversation in the terminal's own scrollback, with a
// live region below it.
//
// Holds: the root model (model.go, update.go), what it draws (frame.go, status.go),
// the one table of keys (keymap.go), the composer, dialogs (approval.go, picker.go,
// pager.go), the panels under it (jobs_panel.go, todo.go) and the commands (commands.go).
//
// Imports session and llm for their words, transcript for what the log looks like,
// term for the terminal. Never imports the loop, tools, policy or settings: it
// declares the Agent it needs, and cmd/dsh hands it one. Holds no tool's name.
//
// Start reading at options.go, then model.go.
package tui
