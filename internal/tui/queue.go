package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// waiting are the user's messages that wait, as the agent knows them now.
func (m *model) waiting() []session.QueueItem {
	return slices.DeleteFunc(m.open.Agent.Queue(), func(it session.QueueItem) bool { return it.Source.Kind != llm.FromUser })
}

// fate says what becomes of a waiting message.
func (m *model) fate(it session.QueueItem) string {
	switch {
	case it.Held:
		return m.keys.key("send-held") + " sends"
	case it.Target == session.NextStep:
		return "next step"
	}
	return "after this turn"
}

// queueRows are the user's waiting messages, each with its fate. They are the log's, so
// that a row goes in the frame in which its message comes.
func (m *model) queueRows() (rows []string) {
	queued, all := 0, 0
	for _, it := range m.project.Queue() {
		if it.Source.Kind != llm.FromUser {
			continue
		}
		mark := "held   "
		switch {
		case it.Held:
		case it.Target == session.NextStep:
			mark = "↳ steer"
		default:
			queued++
			mark = fmt.Sprintf("%d queue", queued)
		}
		if all++; all > maxQueue {
			continue
		}
		fate := m.fate(it)
		room := min(m.full(), 72) - termtext.Width(mark) - termtext.Width(fate) - 6
		text := firstLine(it.Text, max(8, room))
		rows = append(rows, m.cut("  "+m.th.secondary(mark)+"  "+text+"  "+m.th.secondary(fate)))
	}
	if all > maxQueue {
		rows[maxQueue-1] = m.cut(m.th.secondary(fmt.Sprintf("  +%d more wait: /queue lists them", all-maxQueue+1)))
	}
	return rows
}

// firstLine is what fits of a text into one row.
func firstLine(text string, width int) string {
	if width = max(0, width); width == 0 {
		return ""
	}
	if cut := termtext.Cut(termtext.Line(text[:min(len(text), 4*width)]), width); len(cut) < len(text) {
		return termtext.Cut(cut, width-1) + "…"
	}
	return termtext.Line(text)
}

// fitHint drops parts of a hint, the last ones first, until it fits. One part is cut.
func fitHint(hint string, width int) string {
	for termtext.Width(hint) > width {
		i := strings.LastIndex(hint, " · ")
		if i < 0 {
			return termtext.Cut(hint, width)
		}
		hint = hint[:i]
	}
	return hint
}

// showQueue lists what waits.
func (m *model) showQueue() tea.Cmd {
	if m.pick = m.queuePicker(0); m.pick == nil {
		return m.flash("nothing is queued")
	}
	return nil
}

// queuePicker is the list with one message chosen; nil when nothing waits.
func (m *model) queuePicker(chosen int) *picker {
	waiting := m.waiting()
	if len(waiting) == 0 {
		return nil
	}
	p := &picker{title: "Waiting messages", letters: m.queueAction, chosen: min(chosen, len(waiting)-1)}
	p.hint = fmt.Sprintf("%s edit · %s remove · %s steer now · %s %s move · %s close", m.keys.key("choose"), m.keys.key("queue-remove"),
		m.keys.key("queue-steer"), m.keys.key("queue-earlier"), m.keys.key("queue-later"), m.keys.key("close"))
	for _, it := range waiting {
		fate := m.fate(it)
		if it.Held {
			fate = "held: " + fate
		}
		p.items = append(p.items, item{title: it.Text, detail: fate, value: it.ID})
	}
	p.choose = func(id string) { m.editWaiting(id) }
	return p
}

// queueAction does what a letter means in the list, and lists anew.
func (m *model) queueAction(action, id string) {
	waiting := m.waiting()
	i := slices.IndexFunc(waiting, func(it session.QueueItem) bool { return it.ID == id })
	chosen := m.pick.chosen
	switch {
	case i < 0:
	case action == "queue-remove":
		m.remember(waiting[i].Text)
		_, err := m.open.Agent.Remove(id)
		m.report("remove", err)
	case action == "queue-steer":
		m.steerNow(waiting[i])
	case action == "queue-earlier" || action == "queue-later":
		if m.moveWaiting(waiting, i, action == "queue-later") {
			chosen = indexOf(m.waiting(), id)
		}
	}
	m.pick = m.queuePicker(chosen)
}

// steerNow sends a waiting message into the running turn, held or not; with no turn
// running it is sent as it is.
func (m *model) steerNow(it session.QueueItem) {
	if !m.open.Agent.Running() || it.Target == session.NextStep {
		m.report("steer", m.open.Agent.Release(it.ID))
		return
	}
	_, err := m.open.Agent.Move(it.ID, session.NextStep, maxPlace)
	m.report("steer", err)
}

// maxPlace is behind the end of any queue.
const maxPlace = 1 << 30

// moveWaiting moves a message one place among those with the same fate.
func (m *model) moveWaiting(waiting []session.QueueItem, i int, later bool) bool {
	to := i - 1
	if later {
		to = i + 1
	}
	if to < 0 || to >= len(waiting) || waiting[to].Target != waiting[i].Target {
		return false
	}
	place, at := 0, 0
	for _, it := range m.open.Agent.Queue() { // notes of dsh itself take places too
		if it.Target != waiting[i].Target {
			continue
		}
		if it.ID == waiting[to].ID {
			at = place
		}
		place++
	}
	_, err := m.open.Agent.Move(waiting[i].ID, waiting[i].Target, at)
	m.report("move", err)
	return err == nil
}

func indexOf(waiting []session.QueueItem, id string) int {
	return max(0, slices.IndexFunc(waiting, func(it session.QueueItem) bool { return it.ID == id }))
}

// editLast edits the user's last waiting message.
func (m *model) editLast() bool {
	waiting := m.waiting()
	return len(waiting) > 0 && m.editWaiting(waiting[len(waiting)-1].ID)
}

// editWaiting lends the composer to a waiting message. It keeps its place, and is held
// meanwhile, so that it cannot go out half changed.
func (m *model) editWaiting(id string) bool {
	waiting := m.waiting()
	i := slices.IndexFunc(waiting, func(it session.QueueItem) bool { return it.ID == id })
	if i < 0 {
		return false
	}
	it := waiting[i]
	if !it.Held {
		if err := m.open.Agent.Hold(id); err != nil {
			m.report("edit", err)
			return false
		}
	}
	e := &errand{prompt: "edit ❯ ", hold: it.Held}
	e.hint = "enter puts it back · esc leaves it as it was"
	e.cancel = func() { m.unhold(e, id) }
	e.done = func(text string) bool {
		id, err := m.replaceWaiting(id, text)
		switch {
		case err != nil:
			m.report("edit", err)
			return false
		case id == "": // it is gone: what was written joins the draft
			m.orphanErrand()
			return false
		}
		m.unhold(e, id)
		return true
	}
	m.borrow(e, it.Text)
	return true
}

// unhold releases a message that was held for its errand only.
func (m *model) unhold(e *errand, id string) {
	if !e.hold {
		m.report("release", m.open.Agent.Release(id))
	}
}

// replaceWaiting changes a waiting message and returns the id of its new text; "" if
// it does not wait any more.
func (m *model) replaceWaiting(id, text string) (string, error) {
	before := m.waiting()
	ok, err := m.open.Agent.Replace(id, text)
	if err != nil || !ok {
		return "", err
	}
	for _, it := range m.waiting() {
		if it.ID == id || !slices.ContainsFunc(before, func(old session.QueueItem) bool { return old.ID == it.ID }) && it.Text == text {
			return it.ID, nil
		}
	}
	return "", nil
}

// takeBack brings all the user's waiting messages back into the composer.
func (m *model) takeBack() tea.Cmd {
	if m.errand != nil {
		return nil
	}
	var texts []string
	for _, it := range m.waiting() {
		ok, err := m.open.Agent.Remove(it.ID)
		m.report("take back", err)
		if err == nil && ok {
			texts = append(texts, it.Text)
		}
	}
	if len(texts) == 0 {
		return m.flash("nothing waits")
	}
	if draft := m.composer.Text(); strings.TrimSpace(draft) != "" {
		texts = append(texts, draft)
	}
	m.popup.Close()
	m.composer.SetText(strings.Join(texts, "\n\n"))
	m.flushDraft()
	return nil
}
