package tui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/termtext"
	"dsh/internal/tui/term"
)

// Question is one question before there is a session.
type Question struct {
	Text    []string // foreign text in it is made safe
	Choices []string // at most nine; the first is what enter takes
}

// Choose puts a question on the terminal, and gives it back. The answer is the index
// of a choice, -1 if the person left.
func Choose(ctx context.Context, t *term.Terminal, q Question) (int, error) {
	defer t.Restore()
	m := &chooser{Question: q, th: newTheme(t.Env().Depth), width: 80, height: 24, answer: -1}
	_, err := t.Run(ctx, m)
	return m.answer, err
}

// chooser is a question on the screen.
type chooser struct {
	Question
	th            theme
	width, height int
	at, answer    int
	done          bool
}

func (c *chooser) Init() tea.Cmd { return nil }

// View is not called: Frame is what is drawn.
func (c *chooser) View() string { return "" }

func (c *chooser) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.width, c.height = max(1, msg.Width), max(1, msg.Height)
	case term.SignalMsg:
		c.done = true
	case tea.KeyMsg:
		c.key(keyName(msg))
	}
	if c.done {
		return c, tea.Quit
	}
	return c, nil
}

func (c *chooser) key(name string) {
	switch name {
	case "up", "ctrl+p":
		c.at = max(0, c.at-1)
	case "down", "ctrl+n":
		c.at = min(len(c.Choices)-1, c.at+1)
	case "enter":
		c.answer, c.done = c.at, true
	case "esc", "ctrl+c", "ctrl+d":
		c.done = true
	default:
		if len(name) == 1 && name[0] >= '1' && int(name[0]-'1') < len(c.Choices) {
			c.answer, c.done = int(name[0]-'1'), true
		}
	}
}

// Frame is the question; of a long text, what fits above the choices.
func (c *chooser) Frame() term.Frame {
	if c.done {
		return term.Frame{}
	}
	width := max(0, c.width-1)
	var rows []string
	for _, line := range c.Text {
		rows = append(rows, termtext.Cut(termtext.Line(line), width))
	}
	room := max(0, c.height-keepAbove-len(c.Choices)-2)
	if len(rows) > room {
		rows = append(rows[:max(0, room-1)], termtext.Cut("  …", width))
	}
	rows = append(rows, "")
	for i, choice := range c.Choices {
		mark := unchosen
		if i == c.at {
			mark = chosen
		}
		rows = append(rows, termtext.Cut(mark+string(rune('1'+i))+"  "+choice, width))
	}
	rows = append(rows, termtext.Cut(c.th.secondary("  enter choose · esc quit"), width))
	return term.Frame{Rows: rows, Cursor: term.Cursor{Hidden: true}}
}
