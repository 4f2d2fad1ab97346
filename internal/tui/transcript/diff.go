package transcript

import (
	"fmt"
	"strconv"
	"strings"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

const (
	diffRows    = 6 // changed lines that are seen before a card is expanded
	createdRows = 4 // lines of a new file
	nearLines   = 1 // of context around a change
)

// diffs draws the changes of files: line number, sign, text.
func (w *writer) diffs(files []session.FileDiff) {
	if w.o.Expanded {
		for i := range files {
			w.file(&files[i], len(files) > 1)
		}
		return
	}
	room, left, what := diffRows, 0, "changed lines"
	if len(files) == 1 && files[0].Created {
		room, what = createdRows, "lines"
	}
	for i := range files {
		if room > 0 && len(files) > 1 {
			w.path(&files[i])
		}
		width := numberWidth(&files[i])
		for k := range files[i].Hunks {
			lines := number(&files[i].Hunks[k])
			n := w.few(lines, room, width)
			room -= n
			left += changes(lines) - n
		}
	}
	w.more(w.indent(), left, what)
}

func (w *writer) path(f *session.FileDiff) {
	w.line(trimStyled(w.indent() + w.cutEnd(termtext.Line(f.Path), w.o.Width-len(w.indent()))))
}

// file draws all of one file's change.
func (w *writer) file(f *session.FileDiff, named bool) {
	if named {
		w.path(f)
	}
	if len(f.Hunks) == 0 {
		w.line(w.indent() + w.t.Dim.Paint(w.cutEnd("(not text, or too large to compare)", w.o.Width-len(w.indent()))))
	}
	width := numberWidth(f)
	for i := range f.Hunks {
		if i > 0 {
			w.line(w.indent() + w.t.Dim.Paint(strings.Repeat(w.t.Glyphs.Dot, 3)))
		}
		lines := number(&f.Hunks[i])
		for at := range lines {
			w.diffLine(lines, at, width)
		}
	}
}

// few draws the first changed lines of a hunk, with the context next to them, and
// says how many were changed lines.
func (w *writer) few(lines []numbered, room, width int) (n int) {
	if room <= 0 {
		return 0
	}
	for i := range lines {
		if lines[i].sign == ' ' {
			if near(lines, i) {
				w.diffLine(lines, i, width)
			}
			continue
		}
		if n == room {
			return n
		}
		w.diffLine(lines, i, width)
		n++
	}
	return n
}

// near reports whether a line of context stands next to a changed one.
func near(lines []numbered, i int) bool {
	for j := max(0, i-nearLines); j <= min(len(lines)-1, i+nearLines); j++ {
		if lines[j].sign != ' ' {
			return true
		}
	}
	return false
}

// numbered is a line of a hunk.
type numbered struct {
	no   int // in the old file if it was removed, otherwise in the new one
	sign byte
	text string
	pair int // index of the line it was changed from or to, -1 for none
}

func number(h *session.Hunk) []numbered {
	lines := make([]numbered, 0, len(h.Lines))
	before, after := h.OldStart, h.NewStart
	for _, s := range h.Lines {
		l := numbered{sign: ' ', pair: -1, no: after}
		if s != "" {
			l.sign, l.text = s[0], s[1:]
		}
		switch l.sign {
		case '-':
			l.no = before
			before++
		case '+':
			after++
		default:
			if l.sign != ' ' { // not a line of ours: it is shown as it is
				l.sign, l.text = ' ', s
			}
			before++
			after++
		}
		lines = append(lines, l)
	}
	pairLines(lines)
	return lines
}

// pairLines finds which removed line became which added one: in a run of removed
// lines and the added ones behind it, by their order.
func pairLines(lines []numbered) {
	for i := 0; i < len(lines); {
		from := i
		for i < len(lines) && lines[i].sign == '-' {
			i++
		}
		mid := i
		for i < len(lines) && lines[i].sign == '+' {
			i++
		}
		for k := range min(mid-from, i-mid) {
			lines[from+k].pair, lines[mid+k].pair = mid+k, from+k
		}
		if i == from {
			i++
		}
	}
}

func changes(lines []numbered) (n int) {
	for i := range lines {
		if lines[i].sign != ' ' {
			n++
		}
	}
	return n
}

// numberWidth is the columns that the line numbers of a file take.
func numberWidth(f *session.FileDiff) int {
	last := 0
	for i := range f.Hunks {
		for _, l := range number(&f.Hunks[i]) {
			last = max(last, l.no)
		}
	}
	return len(strconv.Itoa(last))
}

// diffLine draws one line. What is too long goes on below, without number and sign.
func (w *writer) diffLine(lines []numbered, i, width int) {
	l := &lines[i]
	style, word := Style(""), Style("")
	switch l.sign {
	case '+':
		style, word = w.t.Added, w.t.AddedWord
	case '-':
		style, word = w.t.Removed, w.t.RemovedWord
	}
	text := clean(l.text)
	var spans []span
	if l.pair >= 0 && word != "" {
		spans = changed(text, clean(lines[l.pair].text))
	}
	if len(spans) > 0 {
		text = paintSpans(text, spans, style, word)
	} else {
		text = style.Paint(text)
	}
	no := fmt.Sprintf("%*d", width, l.no)
	lead := w.indent() + w.t.Dim.Paint(no) + " " + style.Paint(string(l.sign)) + " "
	blank := strings.Repeat(" ", len(w.indent())+width+3)
	for _, row := range termtext.Fold(text, max(w.o.Width-len(blank), 2)) {
		w.line(trimStyled(lead + row))
		lead = blank
	}
}

func clean(line string) string { return termtext.Expand(termtext.Clean(line)) }
