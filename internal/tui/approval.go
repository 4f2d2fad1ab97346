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
	short             string // for where there is no room
	off               bool
}

func (a *approval) choices() []choice {
	scope := a.request.Decision.Offer
	session := choice{action: "answer-session", key: "2 a", text: "Yes, " + scope + " for this session", short: "session"}
	if scope == "" {
		session = choice{action: "answer-session", key: "2 a", text: "-  not offered for this call", off: true}
	}
	return []choice{
		{action: "answer-once", key: "1 y", text: "Yes, once", short: "yes"},
		session,
		{action: "answer-no", key: "4 n", text: "No, go on without it", short: "no"},
		{action: "answer-say", key: "tab", text: "No, and say what to do instead", short: "say"},
		{action: "answer-stop", key: "esc", text: "No, and stop", short: "stop"},
	}
}

// newApproval shows the first of the waiting questions. It begins on No unless the
// action is plainly harmless.
func newApproval(waiting []session.ApprovalRequest) *approval {
	a := &approval{request: waiting[0], of: len(waiting), chosen: 2}
	if harmless(&a.request) {
		a.chosen = 0
	}
	return a
}

// harmless: it only reads, it edits files in the workspace (a rule names such a file
// by its path there), or it is one of the commands whose arguments a rule may leave
// open.
func harmless(r *session.ApprovalRequest) bool {
	offer := r.Decision.Offer
	_, pattern, ok := strings.Cut(offer, "(")
	switch {
	case r.Decision.Effect == session.EffectRead:
		return true
	case !ok:
		return false
	case r.Display.Kind == session.ShowDiff:
		return !strings.HasPrefix(pattern, "/") && !strings.HasPrefix(pattern, "~") && !strings.HasPrefix(pattern, "..")
	}
	return strings.HasSuffix(offer, ":*)")
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

// rows are the question, at most height of them: what will happen, why it asks, and
// the answers. The answers are always in sight; how many rows of the body did not fit
// is said, and the transcript has them.
func (a *approval) rows(body []string, width, height int, now time.Time, th theme, full string) []string {
	answers := a.answerRows(width, now, th)
	if len(answers)+2 > height {
		answers = a.shortAnswers(width, now, th)
	}
	room := max(0, height-1-len(answers))
	var reason []string
	if text := a.request.Decision.Reason; text != "" && room > 1 {
		reason = termtext.Wrap(termtext.Line(text), max(10, width-2))
		reason = reason[:min(len(reason), room/3+1, maxReason)]
		for i := range reason {
			reason[i] = termtext.Cut("  "+reason[i], width)
		}
		room -= len(reason)
	}
	spare := room - len(body)
	if spare < 0 {
		body = cutBody(body, room, th.secondary(termtext.Cut(fmt.Sprintf("    +%d lines · %s", len(body)-room+1, full), width)))
	}
	gap := func(rows []string) []string { // empty rows only where there is room for all
		if spare >= 3 && len(rows) > 0 {
			return append(rows, "")
		}
		return rows
	}
	rows := gap([]string{th.attention(termtext.Cut(a.head(), width))})
	rows = append(rows, gap(body)...)
	rows = append(rows, gap(reason)...)
	rows = append(rows, answers...)
	return rows[:min(len(rows), max(1, height))]
}

// maxReason bounds the rows of why it asks.
const maxReason = 4

func cutBody(body []string, room int, more string) []string {
	if room <= 0 {
		return nil
	}
	return append(body[:room-1:room-1], more)
}

func (a *approval) head() string {
	head := "? " + a.request.Display.Verb + " " + a.request.Display.Target
	if len(a.request.Display.Facts) > 0 {
		head += " · " + strings.Join(a.request.Display.Facts, " · ")
	}
	head = termtext.Line(head)
	if a.of > 1 {
		head = fmt.Sprintf("? 1 of %d waiting · %s", a.of, head[2:])
	}
	return head
}

// answerRows are the answers, one a row.
func (a *approval) answerRows(width int, now time.Time, th theme) (rows []string) {
	for i, c := range a.choices() {
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
	return rows
}

// shortAnswers are the answers where there is no room for a row each.
func (a *approval) shortAnswers(width int, now time.Time, th theme) []string {
	var words []string
	for i, c := range a.choices() {
		key := c.key[strings.LastIndexByte(c.key, ' ')+1:]
		word := key + " " + c.short
		if c.off {
			continue
		}
		if i == a.chosen {
			word = "❯" + word
		}
		words = append(words, word)
	}
	row := termtext.Cut(strings.Join(words, "  "), width)
	if !a.armed(now) {
		row = th.secondary(row)
	}
	return []string{row}
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
