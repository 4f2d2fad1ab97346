package tui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/termtext"
	"dsh/internal/tui/transcript"
)

// sendTwice is how long a first press of the key that stops a call and sends all
// counts.
const sendTwice = 3 * time.Second

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
