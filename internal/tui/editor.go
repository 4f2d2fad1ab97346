package tui

import (
	"os"
	"os/exec"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// editDraft lends the terminal to the user's editor.
func (m *model) editDraft() tea.Cmd {
	return m.edit(m.composer.Text(), func(text string) { m.composer.SetText(strings.TrimRight(text, "\n")) })
}

// edit opens text in the user's editor; to gets what was saved, nil only looks.
func (m *model) edit(text string, to func(string)) tea.Cmd {
	if len(m.o.Editor) == 0 {
		return m.flash("set $EDITOR to edit there")
	}
	file, err := scratchFile(text)
	if err != nil {
		return m.flash("no file to edit: " + err.Error())
	}
	cmd := exec.Command(m.o.Editor[0], append(m.o.Editor[1:len(m.o.Editor):len(m.o.Editor)], file)...)
	return m.t.Exec(cmd, func(err error) tea.Msg { return editedMsg{file, err, to} })
}

// scratchFile holds a text while an editor works on it.
func scratchFile(text string) (string, error) {
	f, err := os.CreateTemp("", "dsh-*.md")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	return f.Name(), err
}

// edited takes over what the editor saved. A failed editor changes nothing.
func (m *model) edited(msg editedMsg) {
	defer os.Remove(msg.file)
	if msg.err != nil {
		m.fail("the editor failed, nothing was changed", msg.err)
		return
	}
	if msg.to == nil {
		return
	}
	text, err := os.ReadFile(msg.file)
	if err != nil {
		m.fail("the edited text could not be read", err)
		return
	}
	if len(strings.TrimSpace(string(text))) > 0 {
		msg.to(string(text))
	}
}
