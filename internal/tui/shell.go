package tui

import (
	"context"
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/termtext"
)

// shellRows is how much of a shell line's output is printed: the end of it.
const shellRows = 20

// shellLine is a line of the user's own that runs beside the conversation.
type shellLine struct {
	text string
	stop context.CancelFunc
}

// shellMsg is its end.
type shellMsg struct {
	output string
	err    error
}

// isShell reports whether the draft is for the shell: a "!" that was typed.
func (m *model) isShell(text string) bool {
	return strings.HasPrefix(text, "!") && !m.composer.Literal() && m.errand == nil && m.open.Shell != nil
}

// runShell runs the draft after "!". With "!!" the model does not hear of it.
func (m *model) runShell(text string) tea.Cmd {
	line, private := strings.CutPrefix(text[1:], "!")
	if line = strings.TrimSpace(line); line == "" {
		return nil
	}
	if m.shell != nil {
		return m.flash("one shell line at a time: " + m.keys.key("escape") + " stops the one that runs")
	}
	m.dropDraft()
	ctx, stop := context.WithCancel(m.ctx)
	m.shell = &shellLine{line, stop}
	run := m.open.Shell
	return func() tea.Msg {
		output, err := run(ctx, line, private)
		return shellMsg{output, err}
	}
}

// shellEnded prints the line and the end of its output.
func (m *model) shellEnded(msg shellMsg) {
	line := m.shell.text
	m.shell.stop()
	m.shell = nil
	var b strings.Builder
	b.WriteString(m.th.strong("! ") + termtext.Line(line) + "\n")
	rows := strings.Split(strings.TrimRight(termtext.Clean(msg.output), "\n"), "\n")
	if n := len(rows) - shellRows; n > 0 {
		rows = rows[n:]
		fmt.Fprintf(&b, "    %s\n", m.th.secondary(fmt.Sprintf("… %d rows above", n)))
	}
	for _, row := range rows {
		b.WriteString("    " + row + "\n")
	}
	m.say(b.String())
	m.report("the shell line failed", msg.err)
}
