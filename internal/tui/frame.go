package tui

import (
	"fmt"
	"strings"
	"time"

	"dsh/internal/llm"
	"dsh/internal/termtext"
	"dsh/internal/tui/term"
	"dsh/internal/tui/transcript"
)

// Bounds of the live region, in rows. It never fills the window: what stands above
// it must stay readable.
const (
	maxTail    = 8
	maxThought = 3
	maxTools   = 5
	maxQueue   = 3
	maxInput   = 8
	maxPopup   = 8
	keepAbove  = 3
	wideText   = 110 // body text is wrapped here at the latest
	narrow     = 24  // columns: every row is cut once more
	tiny       = 6   // rows: input and running line only
	low        = 12  // rows: no hint
)

// bodyWidth is the width of text: never the last column.
func (m *model) bodyWidth() int { return min(m.full(), wideText) }

// full is the width of rows that are not prose.
func (m *model) full() int { return max(1, m.width-1) }

// live is how many rows the live region may have.
func (m *model) live() int { return max(1, m.height-keepAbove) }

// Frame is the live region, top to bottom: the answer that streams, the calls that
// run, what the turn is doing, what waits, the composer, the hint and the status.
func (m *model) Frame() term.Frame {
	if m.quitting {
		return term.Frame{}
	}
	f := m.frame()
	if m.width < narrow { // what has a least width of its own is cut
		for i, row := range f.Rows {
			f.Rows[i] = termtext.Cut(row, m.width-1)
		}
	}
	f.Cursor.Col = min(f.Cursor.Col, max(0, m.width-1))
	return f
}

func (m *model) frame() term.Frame {
	if m.pager != nil {
		return m.pager.frame(m)
	}
	if m.pick != nil {
		rows, col := m.pick.rows(m.full(), m.height, m.th)
		return term.Frame{Rows: rows, Cursor: term.Cursor{Row: min(1, len(rows)-1), Col: col, Hidden: m.pick.letters != nil}, Alt: true}
	}
	now := m.now()
	if m.asking() {
		room := m.live()
		if room > tiny {
			room--
		}
		rows := m.ask.rows(m.askBody(), m.full(), room, now, m.th, m.keys.key("transcript"))
		if room < m.live() {
			rows = append(rows, m.statusRow())
		}
		return term.Frame{Rows: rows, Cursor: term.Cursor{Row: len(rows) - 1, Hidden: true}}
	}
	return m.conversation(now)
}

func (m *model) conversation(now time.Time) term.Frame {
	input, row, col := m.input()
	room := m.live() - len(input)
	below := m.below()
	below = below[:min(len(below), room)]
	above := m.above(now, room-len(below))
	rows := append(append(above, input...), below...)
	return term.Frame{Rows: rows, Cursor: term.Cursor{Row: len(above) + row, Col: col, Shape: term.Bar, Hidden: m.panel != nil || m.leaving != nil}}
}

// above is what stands over the composer, at most room rows of it. While a turn runs it
// does not get lower, so that the composer does not jump: what is gone leaves its room
// under the text, where more text will come.
func (m *model) above(now time.Time, room int) []string {
	fixed := m.fixed(now)
	fixed = fixed[max(0, len(fixed)-max(0, room)):]
	room -= len(fixed)
	tools := m.toolRows(now, min(maxTools, room))
	rows := append(m.tail(min(maxTail, room-len(tools))), tools...)
	if m.running {
		m.slot = max(m.slot, len(rows)+len(fixed))
		for len(rows)+len(fixed) < m.slot && len(rows) < room {
			rows = append(rows, "")
		}
	}
	return append(rows, fixed...)
}

// fixed is what stands right over the composer, the most important last.
func (m *model) fixed(now time.Time) (rows []string) {
	if !m.running && m.height >= low {
		rows = append(rows, "") // the composer stands apart from what was said
	}
	if m.height >= tiny {
		rows = append(rows, m.queueRows()...)
	}
	if m.running {
		glyph := m.look.Glyphs.Spin[m.spin%len(m.look.Glyphs.Spin)]
		line := m.cut(m.th.accent(glyph) + " " + termtext.Line(m.progress.running(now, m.keys.key("escape"), m.full()-2)))
		rows = append([]string{line}, rows...)
		if m.height < tiny {
			rows = []string{line}
		}
	}
	if m.shell != nil {
		rows = append(rows, m.cut(m.th.strong("! ")+termtext.Line(m.shell.text)+m.th.secondary(" · runs · "+m.keys.key("escape")+" stops it")))
	}
	if m.ask != nil {
		rows = append(rows, m.cut(m.th.attention("? "+m.keys.key("focus-approval")+" to answer")+" · "+termtext.Line(m.ask.request.Display.Verb+" "+m.ask.request.Display.Target)))
	}
	return rows
}

// tail is the last rows of what streams.
func (m *model) tail(room int) []string {
	if room <= 0 || m.height < tiny {
		return nil
	}
	b := m.streaming()
	if b == nil {
		return m.thought(min(maxThought, room))
	}
	rows := clone(m.render.Rows(b, m.options(false)))
	rows = rows[min(m.answer.printed, len(rows)):]
	return rows[max(0, len(rows)-room):]
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

// toolRows are the calls that run or wait, at most n rows, and calls that have ended
// but stand behind one that has not.
func (m *model) toolRows(now time.Time, n int) []string {
	if n <= 0 || m.height < tiny {
		return nil
	}
	var rows []string
	o := m.options(false)
	o.Now = now.UnixMilli()
	blocks := m.project.Blocks()
	for i := m.printed; i < len(blocks); i++ {
		b := &blocks[i]
		if b.Kind != transcript.Call && b.Kind != transcript.Notice && b.Kind != transcript.Job {
			continue
		}
		o.Output = ""
		if b.State == transcript.Running && m.open.Output != nil {
			o.Output = m.open.Output(b.CallID)
		}
		drawn := m.render.Rows(b, o)
		for m.height < low && len(drawn) > 0 && drawn[0] == "" {
			drawn = drawn[1:]
		}
		rows = append(rows, drawn...)
	}
	if len(rows) > n {
		hidden := len(rows) - n + 1
		rows = append(rows[:n-1:n-1], m.th.secondary(m.cut(fmt.Sprintf("  +%d more", hidden))))
	}
	return rows
}

// input is the composer's rows with its prompt, and the cursor in them.
func (m *model) input() (rows []string, row, col int) {
	if m.search != nil {
		return m.searchRow()
	}
	if m.leaving != nil {
		rows = m.wrap(m.th.attention(m.leavingText()))
		return rows[:min(len(rows), m.live())], 0, 0
	}
	prompt := m.look.Glyphs.You + " "
	if m.errand != nil {
		prompt = m.errand.prompt
	}
	indent := termtext.Width(prompt)
	rows, row, col = m.composer.View(max(4, m.full()-indent), max(1, min(maxInput, m.height*2/5, m.live())))
	for i := range rows {
		if i == 0 {
			rows[i] = m.th.strong(prompt) + rows[i]
		} else {
			rows[i] = strings.Repeat(" ", indent) + rows[i]
		}
	}
	return rows, row, col + indent
}

// searchRow is the search in place of the composer: what is looked for, what was found.
func (m *model) searchRow() (rows []string, row, col int) {
	match, found := m.search.Match()
	text := "search: " + termtext.Line(m.search.Query)
	col = min(termtext.Width(text), m.full())
	switch n, of := m.search.Count(); {
	case found:
		text += m.th.secondary(fmt.Sprintf("  %d of %d  ", n, of)) + termtext.Line(match.Text[:min(len(match.Text), 4*m.full())])
	case m.search.Query != "":
		text += m.th.secondary("  nothing found")
	}
	return []string{m.cut(text)}, 0, col
}

// below is what stands under the composer: the popup or the hint, and the status.
func (m *model) below() (rows []string) {
	switch {
	case m.height < tiny:
		return nil
	case m.panel != nil, m.leaving != nil: // the keys are not the composer's
	case m.popup.Open():
		rows = m.popup.Rows(m.full(), max(1, min(maxPopup, m.height/3)))
	case m.height >= low:
		if hint := m.hintText(); hint != "" || m.running {
			rows = append(rows, m.cut(m.th.secondary("  "+fitHint(hint, m.full()-2))))
		}
	}
	rows = append(rows, m.statusRow())
	switch {
	case m.panel != nil:
		rows = append(rows, m.panel.rows(m)...)
	case m.todoOpen && m.leaving == nil:
		rows = append(rows, m.todoRows()...)
	}
	return rows
}

// hintText says what Enter and Tab do now; it is always true. While a turn runs its
// row stays, so that typing does not move the rows above.
func (m *model) hintText() string {
	k := m.keys.key
	switch {
	case m.hint != "":
		return m.hint
	case m.search != nil:
		return k("accept-search") + " takes it · " + k("search-history") + " older · " + k("escape") + " back"
	case m.errand != nil:
		return m.errand.hint
	case m.composer.Empty():
		return m.waitingHint()
	}
	if hint := m.popup.ArgsHint(m.composer); hint != "" {
		return hint
	}
	if _, _, ok := ParseCommand(strings.TrimSpace(m.composer.Text())); ok && !m.composer.Literal() {
		return k("send") + " runs the command"
	}
	if text := strings.TrimSpace(m.composer.Text()); m.isShell(text) {
		return k("send") + " runs it in your shell; with !! the model does not hear of it"
	}
	if m.running {
		hint := k("steer") + " steer · " + k("queue") + " queue"
		if m.runsCommand() {
			hint += " · " + m.backgroundHint()
		}
		return hint
	}
	return k("send") + " send"
}

// waitingHint is the hint under an empty composer.
func (m *model) waitingHint() string {
	held := false
	for _, it := range m.project.Queue() {
		held = held || it.Held && it.Source.Kind == llm.FromUser
	}
	switch {
	case held:
		return m.keys.key("send-held") + " sends what is held · " + m.keys.key("up") + " edit last · " + m.keys.key("take-back") + " take all back"
	case len(m.project.Queue()) > 0 && m.running:
		return m.keys.key("up") + " edit last · " + m.keys.key("send-held") + " send all now · " + m.keys.key("take-back") + " take all back"
	case m.runsCommand():
		return m.backgroundHint()
	}
	return ""
}

func (m *model) statusRow() string {
	left := m.progress.status(m.open, m.project.Queue(), m.ask != nil, m.active, m.width)
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
