package tui

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

func (m *model) resume(id string) tea.Cmd {
	if id != "" {
		return m.openSession(id)
	}
	m.pick = m.sessionPicker(true)
	return nil
}

// sessionPicker lists sessions, of this folder or of all.
func (m *model) sessionPicker(here bool) *picker {
	entries, err := m.o.Sessions()
	if err != nil {
		m.fail("the sessions could not be listed", err)
		return nil
	}
	p := &picker{title: "Resume a session · all folders", hint: "enter resume · tab this folder · esc close"}
	if here {
		p.title, p.hint = "Resume a session · this folder", "enter resume · tab all folders · esc close"
	}
	unread := 0
	for _, e := range entries {
		switch {
		case e.Damaged != nil:
			unread++
			continue
		case here && e.Cwd != m.open.Cwd:
			continue
		}
		title := e.Title
		if title == "" {
			title = "(no prompt)"
		}
		detail := fmt.Sprintf("%s · %.8s · %s", time.UnixMilli(e.LastUse).Format("2006-01-02 15:04"), e.ID, e.Cwd)
		p.items = append(p.items, item{title: title, detail: detail, value: e.ID, marked: e.ID == m.open.Header.ID})
	}
	if unread > 0 {
		p.hint += fmt.Sprintf(" · %d could not be read", unread)
	}
	p.scope = func() *picker { return m.sessionPicker(!here) }
	p.choose = func(id string) { m.next = m.openSession(id) }
	return p
}

// openSession leaves the session on screen for another one, once that is open.
func (m *model) openSession(id string) tea.Cmd {
	switch {
	case id == m.open.Header.ID:
		return m.flash("that session is the one on screen")
	case m.opening:
		return m.flash("a session is being opened")
	}
	return m.unlessJobs("goes on", func() tea.Cmd { return m.openOther(id) })
}

// openOther opens a session in the background.
func (m *model) openOther(id string) tea.Cmd {
	m.opening = true
	open := m.o.Open
	m.work.Go(m.t.Guard(func() {
		opened, err := open(id)
		if err == nil {
			m.arrived <- opened
		}
		m.t.Send(openedMsg{err})
	}))
	return nil
}

func (m *model) opened(msg openedMsg) tea.Cmd {
	m.opening = false
	if msg.err != nil {
		m.report("not opened", msg.err)
		return nil
	}
	m.say(m.th.secondary("left session " + shortID(m.open.Header.ID)))
	m.leave()
	m.show(<-m.arrived)
	return m.startTick()
}

func shortID(id string) string { return id[:min(8, len(id))] }
