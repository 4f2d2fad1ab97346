package tui

import (
	"os/exec"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/tui/term"
)

// terminal is what the model uses of a *term.Terminal; tests stand in here. Its
// methods promise what the terminal's do.
type terminal interface {
	Env() term.Env
	Print(rows []string)
	Title(s string)
	Progress(p term.Progress)
	Notify(text string)
	Copy(text string) error
	Clear()
	Suspend() tea.Cmd
	Exec(cmd *exec.Cmd, done func(error) tea.Msg) tea.Cmd
	Guard(f func()) func()
	Send(msg tea.Msg)
	AskBackground()
}
