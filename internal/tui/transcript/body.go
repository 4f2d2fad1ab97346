package transcript

import (
	"strings"

	"dsh/internal/session"
)

// How many rows of a body are seen before it is expanded.
const (
	outputDone   = 3 // of a command that went well: its last ones
	outputFailed = 8
	listRows     = 2
	liveRows     = 3
	maxLine      = 1 << 10 // bytes of a line of live output
)

// body draws what came of a call, by the kind of its display.
func (w *writer) body(d *session.Display, state State) {
	switch d.Kind {
	case session.ShowDiff:
		if len(d.Diffs) > 0 {
			w.diffs(d.Diffs)
			return
		}
		w.text(d.Text, 0)
	case session.ShowCommand:
		rows := outputDone
		if state != Done {
			rows = outputFailed
		}
		w.text(d.Text, -rows)
	case session.ShowFiles, session.ShowMatches:
		w.text(d.Text, listRows)
	case session.ShowJob:
		w.text(d.Text, -listRows)
	case session.ShowTodo:
		w.checklist(d.Text)
	default:
		w.text(d.Text, 0)
	}
}

// text draws n rows of a text, its last ones if n is negative, all if the card is
// expanded. With n 0 the line above says enough.
func (w *writer) text(text string, n int) {
	if strings.TrimSpace(text) == "" || n == 0 && !w.o.Expanded {
		return
	}
	indent := w.indent()
	rows := folded(strings.TrimLeft(text, "\n"), w.o.Width-len(indent))
	left, what := len(rows)-max(n, -n), "lines"
	switch {
	case w.o.Expanded || left <= 0:
		left = 0
	case n < 0:
		rows, what = rows[left:], "lines above"
	default:
		rows = rows[:n]
	}
	for _, row := range rows {
		w.content(indent, row)
	}
	w.more(indent, left, what)
}

// checklist draws the lines of a text, the rest of each set in under its mark, such as
// [x]. Unless the card is expanded, the line above says enough.
func (w *writer) checklist(text string) {
	if !w.o.Expanded || strings.TrimSpace(text) == "" {
		return
	}
	indent := w.indent()
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		mark, under := "", ""
		if len(line) > 4 && line[0] == '[' && strings.IndexByte("x~? ", line[1]) >= 0 && line[2:4] == "] " {
			mark, under, line = line[:4], "    ", line[4:]
		}
		for i, row := range wrapped(line, w.o.Width-len(indent)-len(under)) {
			if i > 0 {
				mark = under
			}
			w.content(indent, mark+row)
		}
	}
}

// content is a row of what a call brought: set back while it is only a glance at it.
func (w *writer) content(indent, row string) {
	if w.o.Expanded && row != "" {
		w.line(indent + row)
		return
	}
	w.dim(indent, row)
}

// output draws the last rows of what a command says while it runs. Of a line that
// overwrites itself the last state counts.
func (w *writer) output(text string) {
	indent := w.indent()
	lines := strings.Split(strings.TrimRight(tail(text), "\r\n"), "\n")
	for _, line := range last(lines, liveRows) {
		line = strings.TrimRight(line, "\r")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if len(line) > maxLine {
			line = line[:maxLine]
		}
		for _, row := range folded(line, w.o.Width-len(indent))[:1] {
			w.dim(indent, row)
		}
	}
}
