package tui

import (
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/termtext"
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
	p := &picker{title: "Resume a session · all folders"}
	other := "this folder"
	if here {
		p.title, other = "Resume a session · this folder", "all folders"
	}
	p.hint = fmt.Sprintf("%s resume · %s %s · %s close · %s rename · %s delete", m.keys.key("choose"), m.keys.key("scope"), other,
		m.keys.key("close"), m.keys.key("session-rename"), m.keys.key("session-delete"))
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
	p.usual = p.hint
	p.scope = func() *picker { return m.sessionPicker(!here) }
	p.act = func(action string, it item) tea.Cmd {
		if action == "session-rename" {
			return m.renameStored(it)
		}
		return m.deleteStored(it, here)
	}
	p.choose = func(id string) { m.next = m.openSession(id) }
	return p
}

// renameStored lends the composer to a session's new title.
func (m *model) renameStored(it item) tea.Cmd {
	if m.errand != nil {
		return m.flash("finish what you write first")
	}
	m.pick = nil
	m.rearm(m.now())
	m.borrow(&errand{
		prompt: "title ❯ ",
		hint:   "enter renames " + shortID(it.value) + " · esc leaves its title",
		done: func(title string) bool {
			rename := func() error { return m.o.Rename(it.value, title) }
			if it.marked {
				rename = func() error { return m.open.Rename(title) }
			}
			if err := rename(); err != nil {
				m.fail("rename", err)
				return false
			}
			m.say(m.th.secondary("renamed session " + shortID(it.value)))
			return true
		},
	}, it.title)
	return nil
}

// deleteStored deletes a session when it is asked for twice in a row.
func (m *model) deleteStored(it item, here bool) tea.Cmd {
	p := m.pick
	switch {
	case it.marked:
		p.hint = "the session on screen is not deleted"
	case p.doomed != it.value:
		p.doomed = it.value
		p.hint = fmt.Sprintf("%s again deletes %s and its saved outputs for good", m.keys.key("session-delete"), shortID(it.value))
	default:
		if err := m.o.Delete(it.value); err != nil {
			p.doomed, p.hint = "", termtext.Line("not deleted: "+err.Error())
			return nil
		}
		if next := m.sessionPicker(here); next != nil {
			next.search, next.chosen = p.search, max(0, p.chosen-1)
			m.pick = next
		}
	}
	return nil
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
