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
		m.forgetQuestion()
	case m.ask == nil || m.ask.request.ID != waiting[0].ID:
		m.forgetQuestion()
		m.ask = newApproval(waiting)
		m.focusQuestion(m.now())
		if m.away() {
			m.t.Notify("dsh: waiting for your answer")
		}
	default:
		m.ask.of = len(waiting)
	}
}

// forgetQuestion takes a question off the screen that somebody or something else
// answered; what was written for it stays.
func (m *model) forgetQuestion() {
	if m.ask != nil && m.ask.saying {
		m.orphanErrand()
	}
	m.ask = nil
}

// asking reports whether the question has the keys.
func (m *model) asking() bool { return m.ask != nil && !m.ask.focus.IsZero() && !m.ask.saying }

// focusQuestion gives the question the keys when it is in sight and nobody is typing.
func (m *model) focusQuestion(now time.Time) {
	free := m.pager == nil && m.pick == nil && m.search == nil && m.errand == nil && m.composer.Empty()
	if m.ask != nil && m.ask.focus.IsZero() && free && now.Sub(m.pressed) >= quietBefore {
		m.ask.focus = now
	}
}

// rearm makes the keys of a question dead for a moment, after what hid it was closed.
func (m *model) rearm(now time.Time) {
	m.closed = now
	if m.ask != nil && !m.ask.focus.IsZero() {
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
	if action == "" { // somebody types: what follows is no answer either
		m.rearm(now)
		return nil
	}
	if !m.ask.armed(now) || action == "answer-stop" && now.Sub(m.closed) < escDead {
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
		m.sayInstead()
		return nil
	}
	answer, ok := m.ask.answer(action)
	if !ok {
		return nil
	}
	m.closed = now
	if m.decide(answer) && action == "answer-stop" {
		m.interrupt()
	}
	return nil
}

// decide hands the answer over; a question that could not be answered stays.
func (m *model) decide(answer session.Answer) bool {
	if err := m.open.Agent.Decide(m.ask.request.ID, answer); err != nil {
		m.fail("not answered", err)
		m.ask.focus = m.now()
		m.question()
		return false
	}
	m.ask = nil
	m.question()
	return true
}

// sayInstead lends the composer to the words of a no.
func (m *model) sayInstead() {
	ask := m.ask
	ask.saying = true
	m.borrow(&errand{
		prompt: "instead ❯ ",
		hint:   "enter sends the no with these words · esc back to the answers",
		cancel: func() {
			ask.saying = false
			ask.focus = m.now()
		},
		done: func(text string) bool {
			m.remember(text)
			return m.decide(session.Answer{Outcome: session.No, Say: text})
		},
	}, "")
}

// askBody is everything that would happen: the whole command, the whole diff. The
// first row of the card is left out, the question says it.
func (m *model) askBody() []string {
	blocks := m.project.Blocks()
	for i := len(blocks) - 1; i >= m.printed; i-- { // what waits is not printed
		b := &blocks[i]
		if b.Kind != transcript.Call || b.CallID != m.ask.request.CallID {
			continue
		}
		rows := transcript.RowsAs(b, m.ask.request.Display, m.options(true))
		for len(rows) > 0 && rows[0] == "" {
			rows = rows[1:]
		}
		return rows[min(1, len(rows)):]
	}
	return nil
}
