package tui

import (
	"fmt"
	"strings"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/term"
	"dsh/internal/tui/transcript"
)

// Bounds of the live region, in rows. It never fills the window: what stands above
// it must stay readable.
const (
	maxTail   = 8
	maxTools  = 4
	maxQueue  = 3
	maxInput  = 8
	maxPopup  = 8
	keepAbove = 3
	wideText  = 110 // body text is wrapped here at the latest
	tiny      = 6   // rows: input and running line only
	low       = 12  // rows: no hint
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")

// bodyWidth is the width of text: never the last column.
func (m *model) bodyWidth() int { return max(8, min(m.width-1, wideText)) }

// full is the width of rows that are not prose.
func (m *model) full() int { return max(8, m.width-1) }

// Frame is the live region, top to bottom: the answer that streams, the calls that
// run, what the turn is doing, what waits, the composer, the hint and the status.
func (m *model) Frame() term.Frame {
	if m.quitting {
		return term.Frame{}
	}
	if m.pager != nil {
		return m.pager.frame(m)
	}
	if m.pick != nil {
		rows, col := m.pick.rows(m.full(), max(4, m.height-1), m.th)
		return term.Frame{Rows: rows, Cursor: term.Cursor{Row: 1, Col: col}, Alt: true}
	}
	now := time.Now()
	if m.ask != nil && !m.ask.focus.IsZero() && !m.ask.saying {
		rows := m.ask.rows(m.askBody(), m.full(), m.height-keepAbove, now, m.th)
		rows = append(rows, m.statusRow())
		return term.Frame{Rows: rows, Cursor: term.Cursor{Row: len(rows) - 1, Hidden: true}}
	}
	return m.conversation(now)
}

func (m *model) conversation(now time.Time) term.Frame {
	below := m.below(now)
	input, row, col := m.input()
	room := m.height - keepAbove - len(below) - len(input)
	above := m.above(now, room)
	rows := append(append(above, input...), below...)
	return term.Frame{Rows: rows, Cursor: term.Cursor{Row: len(above) + row, Col: col, Shape: term.Bar}}
}

// above is what stands over the composer, at most room rows of it.
func (m *model) above(now time.Time, room int) (rows []string) {
	var fixed []string
	if m.running {
		glyph := string(spinner[m.spin%len(spinner)])
		fixed = append(fixed, m.cut(m.th.accent(glyph)+" "+m.progress.running(now, m.keys.key("escape"))))
	}
	if m.height >= tiny {
		fixed = append(fixed, m.queueRows()...)
		if m.ask != nil {
			fixed = append(fixed, m.cut(m.th.attention("? "+termtext.Line(m.ask.request.Display.Verb+" "+m.ask.request.Display.Target)+" · "+m.keys.key("focus-approval")+" to answer")))
		}
	}
	if len(fixed) == 0 && m.height >= low {
		fixed = append(fixed, "") // the composer stands apart from what was said
	}
	room = max(0, room-len(fixed))
	tools := m.toolRows(min(maxTools, room))
	room -= len(tools)
	tail := m.tail(min(maxTail, room))
	return append(append(tail, tools...), fixed...)
}

// tail is the last rows of what streams, in a slot that only grows while the turn
// runs, so that the composer does not jump.
func (m *model) tail(room int) []string {
	if room <= 0 || m.height < tiny {
		return nil
	}
	var rows []string
	if b := m.streaming(); b != nil {
		rows = clone(m.render.Rows(b, m.options(false)))
		rows = rows[min(m.answer.printed, len(rows)):]
		rows = rows[max(0, len(rows)-room):]
	} else {
		rows = m.thought(min(3, room))
	}
	if !m.running {
		return rows
	}
	m.slot = min(max(m.slot, len(rows)), room)
	for len(rows) < m.slot {
		rows = append(rows, "")
	}
	return rows
}

// thought is the last rows of reasoning that streams.
func (m *model) thought(n int) []string {
	blocks := m.project.Blocks()
	if len(blocks) == 0 {
		return nil
	}
	last := &blocks[len(blocks)-1]
	if last.Kind != transcript.Thought || !last.State.Live() {
		return nil
	}
	rows := clone(m.render.Rows(last, m.options(false)))
	return rows[max(0, len(rows)-n):]
}

// toolRows are the calls that run or wait, a line each, and calls that have ended
// but stand behind one that has not.
func (m *model) toolRows(n int) []string {
	var rows []string
	o := m.options(false)
	o.Now = time.Now().UnixMilli()
	for i := m.printed; i < len(m.project.Blocks()); i++ {
		b := &m.project.Blocks()[i]
		if b.Kind != transcript.Call && b.Kind != transcript.Notice {
			continue
		}
		drawn := m.render.Rows(b, o)
		for len(drawn) > 0 && drawn[0] == "" {
			drawn = drawn[1:]
		}
		rows = append(rows, drawn...)
	}
	if len(rows) > n && n > 0 {
		hidden := len(rows) - n + 1
		rows = append(rows[:n-1:n-1], m.th.secondary(fmt.Sprintf("  +%d more", hidden)))
	}
	return rows[:min(len(rows), n)]
}

// queueRows are the user's waiting messages, each with its fate.
func (m *model) queueRows() []string {
	var rows []string
	n := 0
	for _, it := range m.open.Agent.Queue() {
		if it.Source.Kind != llm.FromUser {
			continue
		}
		mark, fate := "", ""
		switch {
		case it.Held:
			mark, fate = "held   ", m.keys.key("send-held")+" sends"
		case it.Target == session.NextStep:
			mark, fate = "↳ steer", "next step"
		default:
			n++
			mark, fate = fmt.Sprintf("%d queue", n), "after this turn"
		}
		text := termtext.Cut(termtext.Line(it.Text), max(8, min(m.full(), 72)-len(mark)-len(fate)-8))
		rows = append(rows, m.cut("  "+m.th.secondary(mark)+"  "+text+"  "+m.th.secondary(fate)))
	}
	if len(rows) > maxQueue {
		rows = append(rows[:maxQueue-1:maxQueue-1], m.th.secondary(fmt.Sprintf("  +%d more waiting", len(rows)-maxQueue+1)))
	}
	return rows
}

// input is the composer's rows with its prompt, and the cursor in them.
func (m *model) input() (rows []string, row, col int) {
	prompt := "❯ "
	if m.ask != nil && m.ask.saying {
		prompt = "instead ❯ "
	}
	if m.search != nil {
		match, _ := m.search.Match()
		text := "search: " + m.search.Query + "  " + termtext.Line(match.Text)
		return []string{m.cut(text)}, 0, min(len("search: ")+termtext.Width(m.search.Query), m.full())
	}
	indent := termtext.Width(prompt)
	rows, row, col = m.composer.View(max(4, m.full()-indent), max(1, min(maxInput, m.height*2/5)))
	for i := range rows {
		if i == 0 {
			rows[i] = m.th.strong(prompt) + rows[i]
		} else {
			rows[i] = strings.Repeat(" ", indent) + rows[i]
		}
	}
	return rows, row, col + indent
}

// below is what stands under the composer: the popup or the hint, and the status.
func (m *model) below(now time.Time) (rows []string) {
	switch {
	case m.height < tiny:
		return nil
	case m.popup.Open():
		rows = m.popup.Rows(m.full(), min(maxPopup, m.height/3))
	case m.height >= low:
		if hint := m.hintText(now); hint != "" {
			rows = append(rows, m.cut(m.th.secondary("  "+hint)))
		}
	}
	return append(rows, m.statusRow())
}

// hintText says what Enter and Tab do now; it is always true.
func (m *model) hintText(time.Time) string {
	switch {
	case m.hint != "":
		return m.hint
	case m.ask != nil && m.ask.saying:
		return "enter sends the no with these words · esc back to the answers"
	case m.running && !m.composer.Empty():
		return "enter steer · tab queue"
	case m.running:
		return ""
	case !m.composer.Empty():
		if hint := m.popup.ArgsHint(m.composer); hint != "" {
			return hint
		}
		return "enter send"
	}
	return ""
}

func (m *model) statusRow() string {
	left := m.progress.status(m.open, m.open.Agent.Queue(), m.ask != nil, m.width)
	keys := ""
	if !m.running && m.ask == nil && m.width >= 70 {
		keys = "? keys  / commands"
	}
	text := "  " + strings.Join(left, "  ")
	for len(left) > 1 && termtext.Width(text) > m.full() {
		left = left[:len(left)-1]
		text = "  " + strings.Join(left, "  ")
	}
	if gap := m.full() - termtext.Width(text) - termtext.Width(keys); keys != "" && gap > 1 {
		text += strings.Repeat(" ", gap) + keys
	}
	painted := m.th.secondary(text)
	if left[0] == "FULL" {
		painted = "  " + m.th.bad("FULL") + m.th.secondary(strings.TrimPrefix(text, "  FULL"))
	}
	return m.cut(painted)
}

func (m *model) cut(row string) string { return termtext.Cut(row, m.full()) }

func (m *model) wrap(text string) []string { return termtext.Wrap(text, m.bodyWidth()) }
