package tui

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// mode is what has the focus.
func (m *model) mode() mode {
	switch {
	case m.pager != nil:
		return inPager
	case m.pick != nil && m.pick.letters != nil:
		return inQueue
	case m.pick != nil:
		return inList
	case m.asking():
		return inApproval
	case m.leaving != nil:
		return inLeaving
	case m.panel != nil:
		return inJobs
	case m.search != nil:
		return inSearch
	case m.popup.Open():
		return inPopup
	case m.running:
		return inRunning
	}
	return inIdle
}

// key does what the table says; in the composer, what the table does not know is
// text.
func (m *model) key(name string, raw tea.KeyMsg) tea.Cmd {
	now := m.now()
	mode := m.mode()
	action := m.keys.action(mode, name)
	if mode != inApproval { // an answer is not typing: the next question may follow at once
		defer func() { m.pressed = now }()
	}
	if action != "interrupt" { // twice means twice in a row
		m.leaveAt = time.Time{}
	}
	if action != "send-held" {
		m.sendAt = time.Time{}
	}
	if action != "escape" {
		m.clearAt = time.Time{}
	}
	switch mode {
	case inPager:
		return m.pagerKey(action, raw)
	case inList, inQueue:
		return m.listKey(action, raw)
	case inApproval:
		return m.approvalKey(action, now)
	case inLeaving:
		return m.leavingKey(action)
	case inJobs:
		return m.jobsKey(action, now)
	}
	if action == "" && mode == inPopup {
		action = m.keys.action(m.composerMode(), name)
		if action != "" && m.composerAction(action) {
			m.popup.Close()
		}
	}
	if action != "" {
		return m.do(action, now)
	}
	return m.text(raw)
}

func (m *model) composerMode() mode {
	if m.running {
		return inRunning
	}
	return inIdle
}

// text types what a key stands for.
func (m *model) text(raw tea.KeyMsg) tea.Cmd {
	text := string(raw.Runes)
	if raw.Type == tea.KeySpace {
		text = " "
	}
	if text == "" || raw.Alt {
		return nil
	}
	if m.search != nil {
		m.search.Type(text)
		return nil
	}
	if text == "?" && m.composer.Empty() {
		m.showKeys()
		return nil
	}
	m.composer.Type(text)
	m.popup.Update(m.composer)
	return m.startTick()
}

// composerAction reports whether an action leaves the word that the popup completes.
func (m *model) composerAction(action string) bool {
	switch action {
	case "send", "steer", "queue", "editor", "transcript", "search-history":
		return true
	}
	return false
}

// paste inserts what was pasted; it answers nothing and opens nothing.
func (m *model) paste(text string) tea.Cmd {
	line := strings.Join(strings.Fields(text), " ")
	switch m.mode() {
	case inPager, inQueue:
		return nil
	case inApproval: // kept as a draft, and no key right after it is an answer
		m.rearm(m.now())
	case inLeaving, inJobs: // what is pasted is meant for the composer
		m.leaving = nil
		m.panel = nil
	case inList:
		m.pick.typed(line)
		return nil
	case inSearch:
		m.search.Type(line)
		return nil
	}
	m.pressed = m.now()
	m.unsaved = m.draft != nil
	note := m.composer.Paste(text)
	m.popup.Update(m.composer)
	if note != "" {
		return m.flash(note)
	}
	return m.startTick()
}

// do carries out an action of the composer.
func (m *model) do(action string, now time.Time) tea.Cmd {
	switch action {
	case "send":
		return m.enter(m.open.Agent.Followup)
	case "steer":
		return m.enter(m.open.Agent.Steer)
	case "queue":
		if strings.TrimSpace(m.composer.Text()) != "" {
			return m.enter(m.open.Agent.Followup)
		}
	case "complete":
		m.popup.Force(m.composer)
	case "accept":
		m.popup.Accept(m.composer)
	case "accept-run":
		return m.acceptAndRun()
	case "accept-search":
		if match, ok := m.search.Match(); ok {
			m.remember(m.composer.Text())
			m.composer.SetText(match.Text)
		}
		m.search = nil
	case "newline":
		m.composer.Edit("newline")
	case "send-held":
		return m.sendAll(now)
	case "take-back":
		return m.takeBack()
	case "escape":
		return m.escape(now)
	case "interrupt":
		return m.ctrlC(now)
	case "leave":
		return m.ctrlD()
	case "suspend":
		return m.t.Suspend()
	case "transcript":
		m.openPager()
	case "cycle-preset":
		return m.cyclePreset()
	case "focus-approval":
		if m.ask != nil && m.errand == nil {
			m.ask.focus = now
		}
	case "repaint":
		m.t.Clear()
	case "editor":
		return m.editDraft()
	case "search-history":
		return m.searchHistory()
	case "background":
		return m.toBackground()
	case "todo":
		return m.toggleTodo()
	case "keys":
		m.showKeys()
	case "up", "down":
		return m.vertical(action)
	case "delete-back":
		if m.search != nil {
			m.search.DeleteBack()
			return nil
		}
		m.editOnce(action)
	default:
		m.editOnce(action)
	}
	return m.startTick()
}

// editOnce does one editing operation.
func (m *model) editOnce(op string) {
	m.composer.Edit(op)
	m.popup.Update(m.composer)
}

// vertical moves in the popup, in the text, or through earlier prompts. On an empty
// draft up edits the last waiting message.
func (m *model) vertical(action string) tea.Cmd {
	if m.popup.Open() {
		by := 1
		if action == "up" {
			by = -1
		}
		m.popup.Move(by)
		return nil
	}
	if action == "down" && m.composer.Empty() && !m.composer.Browsing() && m.errand == nil {
		if !m.openJobs() {
			return m.flash(noJobs)
		}
		return m.startTick()
	}
	if action == "up" && m.composer.Empty() && m.errand == nil && m.editLast() {
		return nil
	}
	switch m.composer.Edit(action) {
	case HistoryPrev:
		if !m.composer.Browsing() {
			m.rememberLeft()
		}
		if _, err := m.composer.Older(); err != nil {
			return m.flash("the history cannot be read: " + err.Error())
		}
	case HistoryNext:
		m.composer.Newer()
	}
	return m.startTick()
}

// searchHistory begins the search, or goes to an older match.
func (m *model) searchHistory() tea.Cmd {
	if m.search != nil {
		m.search.Older()
		return nil
	}
	search, err := m.history.Search()
	m.search = search
	if err != nil {
		return m.flash("the history cannot be read: " + err.Error())
	}
	return nil
}
