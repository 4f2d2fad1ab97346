package tui

import (
	tea "github.com/charmbracelet/bubbletea"
)

// leaving is the question that keeps the session open: jobs run, and they end with it.
type leaving struct {
	then func() tea.Cmd // what was asked for
	verb string         // and in a word
}

// unlessJobs does what ends the session, once the user knows which jobs that ends.
func (m *model) unlessJobs(verb string, then func() tea.Cmd) tea.Cmd {
	if m.active == 0 || m.leaving != nil {
		m.leaving = nil
		return then()
	}
	m.pager, m.pick, m.panel = nil, nil, nil
	m.popup.Close()
	m.leaving = &leaving{then: then, verb: verb}
	return nil
}

// leavingKey answers the question: a second press of what leaves is a yes, like enter.
func (m *model) leavingKey(action string) tea.Cmd {
	l := m.leaving
	switch action {
	case "leave-now":
		return m.unlessJobs(l.verb, l.then)
	case "stay":
		m.leaving = nil
		m.rearm(m.now())
	}
	return m.startTick()
}

// leavingText is the question, in place of the composer.
func (m *model) leavingText() string {
	k := m.keys.key
	what := plural(m.active, "job") + " still run"
	stops := " stops them and "
	if m.active == 1 {
		what, stops = what+"s", " stops it and "
	}
	if m.active == 0 { // they ended meanwhile
		what, stops = "No job runs any more", " "
	}
	return what + ": " + k("leave-now") + stops + m.leaving.verb + " · " + k("stay") + " stays"
}
