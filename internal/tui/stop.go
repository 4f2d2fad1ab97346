package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Times in which the same key does not do the next thing: what was hit by reflex
// must not do two things.
const (
	escDead    = 400 * time.Millisecond
	ctrlCDead  = 800 * time.Millisecond
	leaveTwice = 2 * time.Second
	clearTwice = 2 * time.Second
)

// escape does the first thing of the ladder that applies.
func (m *model) escape(now time.Time) tea.Cmd {
	switch {
	case m.search != nil:
		m.search = nil
	case m.popup.Open():
		m.popup.Close()
	case m.errand != nil:
		m.dropErrand()
	case m.todoOpen:
		m.todoOpen = false
	case now.Sub(m.closed) < escDead:
		return nil
	case m.running && m.progress.phase == phaseStopping:
		return m.flash(m.stopping())
	case m.running:
		m.interrupt()
	case m.shell != nil:
		m.shell.stop()
	case m.composer.Empty():
		return nil
	case now.Sub(m.clearAt) < clearTwice:
		m.dropDraft()
	default:
		m.clearAt = now
		return m.flash("esc again to clear")
	}
	m.closed = now
	return nil
}

// ctrlC stops, else clears, else leaves: one thing a press.
func (m *model) ctrlC(now time.Time) tea.Cmd {
	switch {
	case m.search != nil:
		m.search = nil
	case m.running && m.stops > 0:
		return m.stopHarder()
	case m.running:
		m.stops++
		m.interrupt()
	case m.shell != nil:
		m.shell.stop()
	case m.errand != nil:
		m.dropErrand()
	case !m.composer.Empty():
		m.dropDraft()
	case now.Sub(m.closed) < ctrlCDead:
		return nil
	case !m.leaveAt.IsZero() && now.Sub(m.leaveAt) < leaveTwice:
		return m.quit()
	default:
		m.leaveAt = now
		return m.flash("ctrl+c again to leave")
	}
	m.closed = now
	return nil
}

// stopHarder is a further press while a turn stops: the second says what is waited
// for, the next ones kill it.
func (m *model) stopHarder() tea.Cmd {
	m.stops++
	if m.stops > 2 && m.open.Kill != nil {
		m.open.Kill()
		return m.flash("killed")
	}
	return m.flash(m.stopping())
}

// stopping says what the end of a turn waits for.
func (m *model) stopping() string {
	if name := m.runningCall(); name != "" {
		return "waiting for " + name + " to stop"
	}
	return "stopping"
}

func (m *model) ctrlD() tea.Cmd {
	switch {
	case !m.composer.Empty():
		m.composer.Edit("delete")
	case m.running:
		return m.flash("still working: " + m.keys.key("interrupt") + " stops it")
	default:
		return m.quit()
	}
	return nil
}

// interrupt ends the turn; what was sent ahead is held.
func (m *model) interrupt() {
	if !m.running && !m.open.Agent.Running() {
		return
	}
	m.progress.phase = phaseStopping
	if m.errand != nil {
		m.errand.hold = true
	}
	m.report("interrupt", m.open.Agent.Interrupt())
}

func (m *model) quit() tea.Cmd {
	return m.unlessJobs("exits", func() tea.Cmd {
		m.quitting = true
		return tea.Quit
	})
}
