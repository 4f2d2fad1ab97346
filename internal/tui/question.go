package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/tui/transcript"
)

// question puts the first waiting approval on screen, or takes an answered one off.
func (m *model) question() {
	waiting := m.open.Agent.Waiting()
	switch {
	case len(waiting) == 0:
		m.ask = nil
	case m.ask == nil || m.ask.request.ID != waiting[0].ID:
		m.ask = newApproval(waiting)
		m.focusQuestion(time.Now())
		m.t.Title("? dsh: " + m.title())
		if m.blurred {
			m.t.Notify("dsh: waiting for your answer")
		}
	default:
		m.ask.of = len(waiting)
	}
}

// focusQuestion gives the question the keys when nobody is typing.
func (m *model) focusQuestion(now time.Time) {
	if m.ask != nil && m.ask.focus.IsZero() && m.composer.Empty() && now.Sub(m.pressed) >= quietBefore {
		m.ask.focus = now
	}
}

// approvalKey answers. Keys before the question is armed are thrown away.
func (m *model) approvalKey(action string, now time.Time) tea.Cmd {
	switch action {
	case "transcript":
		m.openPager()
		return nil
	case "repaint":
		m.t.Clear()
		return nil
	case "suspend":
		return m.t.Suspend()
	}
	if !m.ask.armed(now) {
		return nil
	}
	switch action {
	case "choice-up":
		m.ask.move(-1)
		return nil
	case "choice-down":
		m.ask.move(1)
		return nil
	case "answer-chosen":
		action = m.ask.choices()[m.ask.chosen].action
	}
	if action == "answer-say" {
		m.ask.saying = true
		return nil
	}
	answer, ok := m.ask.answer(action)
	if !ok {
		return nil
	}
	m.closed = now
	m.decide(answer)
	if action == "answer-stop" {
		m.interrupt()
	}
	return nil
}

func (m *model) decide(answer session.Answer) {
	if err := m.open.Agent.Decide(m.ask.request.ID, answer); err != nil {
		m.say(m.th.bad("✗ ") + err.Error())
	}
	m.ask = nil
	m.question()
}

// sayInstead refuses with the words in the composer.
func (m *model) sayInstead(text string) tea.Cmd {
	m.decide(session.Answer{Outcome: session.No, Say: text})
	m.clearDraft()
	return nil
}

// askBody is everything that would happen: the whole command, the whole diff. The
// first row of the card is left out, the question says it.
func (m *model) askBody() []string {
	for i := len(m.project.Blocks()) - 1; i >= 0; i-- {
		b := &m.project.Blocks()[i]
		if b.Kind != transcript.Call || b.CallID != m.ask.request.CallID {
			continue
		}
		rows := clone(m.render.Rows(b, m.options(true)))
		for len(rows) > 0 && rows[0] == "" {
			rows = rows[1:]
		}
		return rows[min(1, len(rows)):]
	}
	return nil
}
