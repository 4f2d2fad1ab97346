package tui

import (
	"fmt"
	"strings"
	"time"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

// A question must not be answered by keys that were meant for something else: it
// takes the focus only when nobody is typing, and even then its keys are dead for a
// moment.
const (
	quietBefore = 800 * time.Millisecond // without a key, for the focus
	armAfter    = 250 * time.Millisecond // of focus, for the keys
)

// approval is the question on screen.
type approval struct {
	request session.ApprovalRequest
	of      int       // how many wait, this one included
	chosen  int       // index of choices
	focus   time.Time // when it got the focus; zero: it has not
	saying  bool      // the composer takes the words of a no
}

// choice is one answer, always at the same place: one that cannot be offered keeps
// its place, so that the hand never learns a wrong key.
type choice struct {
	action, key, text string
	off               bool
}

func (a *approval) choices() []choice {
	scope := a.request.Decision.Offer
	session := choice{action: "answer-session", key: "2 a", text: "Yes, " + scope + " for this session"}
	if scope == "" {
		session = choice{action: "answer-session", key: "2 a", text: "-  not offered for this call", off: true}
	}
	return []choice{
		{action: "answer-once", key: "1 y", text: "Yes, once"},
		session,
		{action: "answer-no", key: "4 n", text: "No, go on without it"},
		{action: "answer-say", key: "tab", text: "No, and say what to do instead"},
		{action: "answer-stop", key: "esc", text: "No, and stop"},
	}
}

// newApproval shows the first of the waiting questions. It begins on No: only an
// action that the rules could remember is safe enough to begin on Yes.
func newApproval(waiting []session.ApprovalRequest) *approval {
	a := &approval{request: waiting[0], of: len(waiting), chosen: 2}
	if a.request.Decision.Offer != "" {
		a.chosen = 0
	}
	return a
}

// armed reports whether the keys count.
func (a *approval) armed(now time.Time) bool {
	return !a.focus.IsZero() && now.Sub(a.focus) >= armAfter
}

func (a *approval) move(by int) {
	choices := a.choices()
	for i := a.chosen + by; i >= 0 && i < len(choices); i += by {
		if !choices[i].off {
			a.chosen = i
			return
		}
	}
}

// rows are the question: what will happen, whole, why it asks, and the answers. more
// is how many rows of the body did not fit; the transcript has them.
func (a *approval) rows(body []string, width, height int, now time.Time, th theme) (rows []string) {
	head := "? " + a.request.Display.Verb + " " + a.request.Display.Target
	if a.of > 1 {
		head += fmt.Sprintf(" · 1 of %d waiting", a.of)
	}
	rows = append(rows, th.attention(termtext.Cut(termtext.Line(head), width)))
	choices := a.choices()
	room := max(3, height-len(choices)-4)
	if len(body) > room {
		hidden := len(body) - room + 1
		body = append(body[:room-1:room-1], th.secondary(fmt.Sprintf("    +%d lines · ctrl+o", hidden)))
	}
	rows = append(rows, body...)
	if reason := a.request.Decision.Reason; reason != "" {
		for _, row := range termtext.Wrap(termtext.Line(reason), max(10, width-4)) {
			rows = append(rows, "  "+row)
		}
	}
	for i, c := range choices {
		row := fmt.Sprintf("  %-5s %s", c.key, c.text)
		if i == a.chosen {
			row = "❯" + strings.TrimPrefix(row, " ")
		}
		row = termtext.Cut(termtext.Line(row), width)
		if c.off || !a.armed(now) {
			row = th.secondary(row)
		}
		rows = append(rows, row)
	}
	if a.focus.IsZero() {
		rows = append(rows, th.secondary("  alt+a to answer"))
	}
	return rows
}

// answer is what an action decides; ok is false for actions that are no answer.
func (a *approval) answer(action string) (answer session.Answer, ok bool) {
	choices := a.choices()
	if action == "answer-chosen" {
		action = choices[a.chosen].action
	}
	for _, c := range choices {
		if c.action == action && c.off {
			return answer, false
		}
	}
	switch action {
	case "answer-once":
		return session.Answer{Outcome: session.Once}, true
	case "answer-session":
		return session.Answer{Outcome: session.ForSession, Pattern: a.request.Decision.Offer}, true
	case "answer-no", "answer-stop":
		return session.Answer{Outcome: session.No}, true
	}
	return answer, false
}
