package tui

import (
	"strings"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/transcript"
)

// sendTwice is how long a first press of the key that stops a call and sends all
// counts.
const sendTwice = 3 * time.Second

// enter sends the draft, or does the command in it.
func (m *model) enter(send func(string) (session.QueueItem, error)) tea.Cmd {
	if m.composer.Edit("enter") != Send { // "\" then enter is a new line, on every terminal
		return nil
	}
	text := m.composer.Text()
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil
	}
	if m.errand != nil {
		m.finishErrand(trimmed)
		return nil
	}
	if name, args, ok := ParseCommand(trimmed); ok && !m.composer.Literal() {
		return m.command(name, args)
	}
	if m.isShell(trimmed) {
		return m.runShell(trimmed)
	}
	if strings.HasPrefix(text, "//") {
		text = text[1:]
	}
	if m.send(text, send) {
		m.clearDraft()
	}
	return nil
}

// send hands text to the agent; the draft stays when that fails.
func (m *model) send(text string, send func(string) (session.QueueItem, error)) bool {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	m.remember(text)
	if _, err := send(text); err != nil {
		m.fail("not sent", err)
		return false
	}
	return true
}

// acceptAndRun completes a word; a command that is whole now, or was, is done.
func (m *model) acceptAndRun() tea.Cmd {
	item, _ := m.popup.Selected()
	before := strings.TrimSpace(m.composer.Text())
	m.popup.Accept(m.composer)
	if text := m.composer.Text(); strings.HasPrefix(item.Text, "/") && (before == item.Text || text == item.Text) {
		return m.enter(m.open.Agent.Followup)
	}
	return m.startTick()
}

// sendAll sends what waits and the draft, in order, one turn each: at once when
// nothing runs, else after the turn, which it interrupts. A call that would be stopped
// half done asks for a second press.
func (m *model) sendAll(now time.Time) tea.Cmd {
	stopping := m.progress.phase == phaseStopping
	draft := strings.TrimSpace(m.composer.Text()) != ""
	switch name := m.runningCall(); {
	case m.errand != nil:
		return nil
	case !m.running:
		return m.sendHeld()
	case len(m.waiting()) == 0 && !draft:
		return m.flash("nothing waits to be sent")
	case name != "" && !stopping && now.Sub(m.sendAt) >= sendTwice:
		m.sendAt = now
		return m.flash(m.keys.key("send-held") + " again stops " + name + " and sends all now")
	}
	m.sendAt = time.Time{}
	var cmd tea.Cmd
	if draft {
		cmd = m.enter(m.open.Agent.Followup)
	}
	m.sendNext = true
	if stopping {
		return m.flash(m.stopping() + ", then all is sent")
	}
	m.interrupt()
	return cmd
}

// runningCall names the first call that runs; "" if none does.
func (m *model) runningCall() string {
	for i, blocks := m.printed, m.project.Blocks(); i < len(blocks); i++ {
		if b := &blocks[i]; b.Kind == transcript.Call && b.State == transcript.Running {
			return termtext.Line(b.Name)
		}
	}
	return ""
}

// sendHeld sends what is held, then the draft.
func (m *model) sendHeld() tea.Cmd {
	sent, ok := m.releaseHeld()
	if !ok {
		return nil
	}
	if strings.TrimSpace(m.composer.Text()) != "" {
		return m.enter(m.open.Agent.Followup)
	}
	if !sent {
		return m.flash("nothing is held")
	}
	return nil
}

// releaseHeld sends what is held, in order. ok is false when it could not be sent.
func (m *model) releaseHeld() (sent, ok bool) {
	var ids []string
	for _, it := range m.waiting() {
		if it.Held {
			ids = append(ids, it.ID)
		}
	}
	if len(ids) == 0 {
		return false, true
	}
	if err := m.open.Agent.Release(ids...); err != nil {
		m.fail("not sent", err)
		return false, false
	}
	return true, true
}
