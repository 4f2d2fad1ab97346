package transcript

import (
	"fmt"
	"strings"

	"dsh/internal/termtext"
)

// writer collects the rows of one block.
type writer struct {
	o    *Options
	t    *Theme
	rows []string
}

func (w *writer) line(s string) { w.rows = append(w.rows, s) }

// indent is that of what stands under a head.
func (w *writer) indent() string {
	if w.o.Width < compactWidth {
		return "  "
	}
	return "    "
}

const moreKey = "ctrl+o" // shows what a row says is left out

// more says how much is left out, and how to see it.
func (w *writer) more(indent string, n int, what string) {
	if n == 1 {
		what = strings.Replace(what, "lines", "line", 1)
	}
	if n > 0 {
		w.line(indent + w.t.Dim.Paint(w.cutEnd(fmt.Sprintf("+%d %s %s %s", n, what, w.t.Glyphs.Dot, moreKey), w.o.Width-len(indent))))
	}
}

// wrapped is foreign text as rows, broken at words.
func wrapped(text string, width int) []string {
	return trimmed(termtext.Wrap(termtext.Expand(termtext.Clean(strings.TrimRight(text, "\n"))), width))
}

// folded is foreign text as rows of which each space counts.
func folded(text string, width int) []string {
	return trimmed(termtext.Fold(termtext.Expand(termtext.Clean(strings.TrimRight(text, "\n"))), width))
}

func trimmed(rows []string) []string {
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	return rows
}

// trimStyled is a row without the spaces at its end, also those that carry a style.
func trimStyled(row string) string {
	end, styled := len(row), false
	for end > 0 {
		if row[end-1] == ' ' {
			end--
			continue
		}
		i := strings.LastIndex(row[:end], "\x1b[")
		if i < 0 || strings.Trim(row[i+2:end], "0123456789;") != "m" {
			break
		}
		end, styled = i, true
	}
	if styled && strings.Contains(row[:end], "\x1b[") {
		return row[:end] + reset
	}
	return row[:end]
}

const maxUserRows = 20 // of a message that is not expanded: pasted files are long

func (w *writer) user(b *Block) {
	glyph, fate := w.t.Glyphs.You, ""
	switch b.Fate {
	case Steered:
		glyph, fate = w.t.Glyphs.Steer, "steered"
	case Queued:
		fate = "queued"
	case Held:
		fate = "held, then sent"
	}
	rows := wrapped(b.Text, min(w.o.Width, maxText)-2)
	left := 0
	if !w.o.Expanded && len(rows) > maxUserRows {
		left = len(rows) - maxUserRows
		rows = rows[:maxUserRows]
	}
	for i, row := range rows {
		lead := "  "
		if i == 0 {
			lead = w.t.Bold.Paint(glyph) + " "
		}
		w.line(strings.TrimRight(lead+row, " "))
	}
	w.more("  ", left, "lines")
	w.aside(rows, fate)
}

// aside puts a word behind the last row, or under it.
func (w *writer) aside(rows []string, word string) {
	switch last := len(w.rows) - 1; {
	case word == "":
	case len(rows) == 1 && 2+termtext.Width(rows[0])+2+len(word) <= w.o.Width:
		w.rows[last] += "  " + w.t.Dim.Paint(word)
	default:
		w.line("  " + w.t.Dim.Paint(w.cutEnd(word, w.o.Width-2)))
	}
}

const (
	liveThought = 3       // rows of a thought while it streams
	tailBytes   = 4 << 10 // of a text of which the last rows are shown
)

func (w *writer) thought(b *Block) {
	width := min(w.o.Width, maxText) - 2
	head := "Thinking"
	var rows []string
	switch {
	case w.o.Expanded:
		rows = wrapped(b.Text, width)
	case b.State.Live():
		rows = last(wrapped(tail(b.Text), width), liveThought)
	}
	if !b.State.Live() {
		head = "Thought"
		if b.Tokens > 0 {
			head += fmt.Sprintf(" %s %d tok", w.t.Glyphs.Dot, b.Tokens)
		}
	}
	w.line(w.t.Dim.Paint(w.cutEnd(w.t.Glyphs.Thought+" "+head, w.o.Width)))
	for _, row := range rows {
		w.dim("  ", row)
	}
}

func (w *writer) dim(indent, row string) {
	if row == "" {
		indent = ""
	}
	w.line(indent + w.t.Dim.Paint(row))
}

// tail is the end of a long text, from the beginning of a line.
func tail(text string) string {
	if len(text) <= tailBytes {
		return text
	}
	text = text[len(text)-tailBytes:]
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
		return text[i+1:]
	}
	for len(text) > 0 && text[0]&0xc0 == 0x80 {
		text = text[1:]
	}
	return text
}

func last(rows []string, n int) []string { return rows[max(0, len(rows)-n):] }

func (w *writer) notice(b *Block) {
	text, state := b.Text, b.State
	switch {
	case state == Running && b.Tokens > 0:
		text, state = w.waiting(b), Warning
	case state == Done && b.Detail != "" && !w.o.Expanded:
		text += " " + w.t.Glyphs.Dot + " " + moreKey
	}
	w.sentence(state, text)
	if w.o.Expanded && b.State != Running && b.Detail != "" {
		for _, row := range wrapped(b.Detail, min(w.o.Width, maxText)-4) {
			w.dim("    ", row)
		}
	}
}

// waiting is the line of a request that is tried again.
func (w *writer) waiting(b *Block) string {
	when := "now"
	switch wait := b.Until - w.o.Now; {
	case b.Until > 0 && w.o.Now == 0:
		when = "soon"
	case wait > 0:
		when = fmt.Sprintf("in %ds", (wait+999)/1000)
	}
	return b.Text + " Trying again " + when + ", " + b.Detail + "."
}

// sentence is a line of dsh with the glyph of its state, wrapped.
func (w *writer) sentence(s State, text string) {
	glyph, style := w.glyph(s)
	if s == Stopped || s == Plain {
		glyph = ""
	}
	lead, rest := "", ""
	if glyph != "" {
		lead, rest = style.Paint(glyph)+" ", "  "
	}
	for i, row := range wrapped(text, min(w.o.Width, maxText)-len(rest)) {
		if s == Plain {
			row = w.t.Dim.Paint(row)
		}
		if i > 0 {
			lead = rest
		}
		w.line(trimStyled(lead + row))
	}
}

// glyph is the sign of a state.
func (w *writer) glyph(s State) (string, Style) {
	g := &w.t.Glyphs
	switch s {
	case Streaming, Pending:
		return g.Spin[w.spin()], w.t.Dim
	case Asked, Unknown:
		return g.Ask, w.t.Attention
	case Running:
		return g.Spin[w.spin()], ""
	case Failed:
		return g.Failed, w.t.Error
	case Stopped:
		return g.Failed, w.t.Attention
	case Refused:
		return g.Refused, w.t.Attention
	case NotRun:
		return g.NotRun, w.t.Dim
	case Warning:
		return g.Warning, w.t.Attention
	}
	return g.OK, w.t.OK
}

func (w *writer) spin() int {
	n := len(w.t.Glyphs.Spin)
	return (w.o.Frame%n + n) % n
}
