package tui

import (
	"os/exec"
	"strings"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// Times in which the same key does not do the next thing: what was hit by reflex
// must not do two things.
const (
	escDead    = 400 * time.Millisecond
	ctrlCDead  = 800 * time.Millisecond
	leaveTwice = 2 * time.Second
	clearTwice = 2 * time.Second
)

// mode is what has the focus.
func (m *model) mode() mode {
	switch {
	case m.pager != nil:
		return inPager
	case m.pick != nil:
		return inList
	case m.ask != nil && !m.ask.focus.IsZero() && !m.ask.saying:
		return inApproval
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
	now := time.Now()
	mode := m.mode()
	action := m.keys.action(mode, name)
	defer func() { m.pressed = now }()
	switch mode {
	case inPager:
		return m.pagerKey(action, raw)
	case inList:
		return m.listKey(action, raw)
	case inApproval:
		return m.approvalKey(action, now)
	}
	if action == "" && mode != inIdle && mode != inRunning {
		action = m.keys.action(m.composerMode(), name)
		if action != "" && mode == inPopup && m.composerAction(action) {
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
	switch m.mode() {
	case inPager, inApproval:
		return nil
	case inList:
		m.pick.typed(strings.Join(strings.Fields(text), " "))
		return nil
	}
	m.pressed = time.Now()
	if note := m.composer.Paste(text); note != "" {
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
		if !m.popup.Accept(m.composer) {
			return m.enter(m.open.Agent.Followup)
		}
	case "accept-search":
		if match, ok := m.search.Match(); ok {
			m.composer.SetText(match.Text)
		}
		m.search = nil
	case "newline":
		m.composer.Edit("newline")
	case "send-held":
		return m.sendHeld()
	case "take-back":
		m.takeBack()
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
		if m.ask != nil {
			m.ask.focus = now
			return m.startTick()
		}
	case "repaint":
		m.t.Clear()
	case "editor":
		return m.editDraft()
	case "search-history":
		return m.searchHistory()
	case "keys":
		m.showKeys()
	case "up", "down":
		return m.vertical(action)
	case "delete-back":
		if m.search != nil {
			m.search.DeleteBack()
			return nil
		}
		m.edited1(action)
	default:
		m.edited1(action)
	}
	return m.startTick()
}

// edited1 does one editing operation.
func (m *model) edited1(op string) {
	m.composer.Edit(op)
	m.popup.Update(m.composer)
}

// vertical moves in the popup, in the text, or through earlier prompts. On an empty
// draft up takes the last waiting message back.
func (m *model) vertical(action string) tea.Cmd {
	if m.popup.Open() {
		by := 1
		if action == "up" {
			by = -1
		}
		m.popup.Move(by)
		return nil
	}
	if action == "up" && m.composer.Empty() && m.takeLast() {
		return nil
	}
	switch m.composer.Edit(action) {
	case HistoryPrev:
		if _, err := m.composer.Older(); err != nil {
			return m.flash("the history cannot be read: " + err.Error())
		}
	case HistoryNext:
		m.composer.Newer()
	}
	return m.startTick()
}

// takeLast brings the user's last waiting message back into the composer.
func (m *model) takeLast() bool {
	queue := m.open.Agent.Queue()
	for i := len(queue) - 1; i >= 0; i-- {
		it := queue[i]
		if it.Source.Kind != llm.FromUser {
			continue
		}
		if ok, err := m.open.Agent.Remove(it.ID); err != nil || !ok {
			return false
		}
		m.composer.SetText(it.Text)
		return true
	}
	return false
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
	if m.ask != nil && m.ask.saying {
		return m.sayInstead(trimmed)
	}
	if name, args, ok := ParseCommand(trimmed); ok && !m.composer.Literal() {
		return m.command(name, args)
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
		m.say(m.th.bad("✗ ") + "not sent: " + err.Error())
		return false
	}
	return true
}

// sendHeld releases everything that is held, in order, then sends the draft.
func (m *model) sendHeld() tea.Cmd {
	var ids []string
	for _, it := range m.open.Agent.Queue() {
		if it.Held {
			ids = append(ids, it.ID)
		}
	}
	if err := m.open.Agent.Release(ids...); err != nil {
		m.say(m.th.bad("✗ ") + "not sent: " + err.Error())
		return nil
	}
	if strings.TrimSpace(m.composer.Text()) != "" {
		return m.enter(m.open.Agent.Followup)
	}
	if len(ids) == 0 {
		return m.flash("nothing is held")
	}
	return nil
}

// takeBack brings the user's waiting messages back into the composer.
func (m *model) takeBack() {
	var texts []string
	for _, it := range m.open.Agent.Queue() {
		if it.Source.Kind != llm.FromUser {
			continue
		}
		if ok, err := m.open.Agent.Remove(it.ID); err != nil || !ok {
			continue
		}
		texts = append(texts, it.Text)
	}
	if draft := m.composer.Text(); strings.TrimSpace(draft) != "" {
		texts = append(texts, draft)
	}
	if len(texts) > 0 {
		m.composer.SetText(strings.Join(texts, "\n\n"))
	}
}

// escape does the first thing of the ladder that applies.
func (m *model) escape(now time.Time) tea.Cmd {
	switch {
	case m.search != nil:
		m.search = nil
	case m.popup.Open():
		m.popup.Close()
	case m.ask != nil && m.ask.saying:
		m.ask.saying = false
	case now.Sub(m.closed) < escDead:
		return nil
	case m.running:
		m.interrupt()
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

func (m *model) ctrlC(now time.Time) tea.Cmd {
	switch {
	case m.search != nil:
		m.search = nil
	case m.running:
		m.interrupt()
		m.closed = now
	case !m.composer.Empty():
		m.dropDraft()
		m.closed = now
	case now.Sub(m.closed) < ctrlCDead:
	case now.Sub(m.leaveAt) < leaveTwice:
		return m.quit()
	default:
		m.leaveAt = now
		return m.flash("ctrl+c again to leave")
	}
	return nil
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
	if err := m.open.Agent.Interrupt(); err != nil {
		m.say(m.th.bad("✗ ") + "interrupt: " + err.Error())
	}
}

func (m *model) quit() tea.Cmd {
	m.quitting = true
	return tea.Quit
}

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
