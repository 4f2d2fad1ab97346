package tui

import (
	"slices"
	"strings"
)

// place is a position in the text: a line, and a byte in it. It is never inside a
// cluster.
type place struct{ row, col int }

func (p place) before(q place) bool { return p.row < q.row || p.row == q.row && p.col < q.col }

type span struct{ from, to place }

// opKind says what of neighbouring operations grows together.
type opKind uint8

const (
	opOther opKind = iota
	opType
	opBack // deletes clusters before the caret
	opKill
	opYank
	opVertical
)

// buffer is a text and the way back to what it was. Chips are marks in the text: see
// composer_chip.go.
type buffer struct {
	lines []string
	cur   place
	head  place // the end of what the text begins with and was pasted

	undos, redos []change
	sealed       bool // the next change begins a new step of undo
	goal         int  // the column that vertical moves try to keep, -1 if the next one sets it
	rows         layout
}

// caret is what a change takes back besides text.
type caret struct{ cur, head place }

// change is one step of undo.
type change struct {
	at                place
	removed, inserted string
	before, after     caret
	kind              opKind
}

// maxUndo and maxUndoBytes bound the steps of undo: more than anybody goes back, and
// what a few large pastes take.
const (
	maxUndo      = 1000
	maxUndoBytes = 16 << 20
)

// maxTypedStep bounds what one undo takes back of uninterrupted typing, in bytes.
const maxTypedStep = 64

func newBuffer(width int) *buffer {
	return &buffer{lines: []string{""}, goal: -1, rows: newLayout(width)}
}

// start makes text the state that undo cannot leave.
func (b *buffer) start(text string, literal bool) {
	b.apply(place{}, b.end(), text)
	b.undos, b.redos, b.head = nil, nil, place{}
	if literal {
		b.head = b.end()
	}
}

func (b *buffer) end() place {
	last := len(b.lines) - 1
	return place{last, len(b.lines[last])}
}

// slice is the text between two places.
func (b *buffer) slice(from, to place) string {
	if from.row == to.row {
		return b.lines[from.row][from.col:to.col]
	}
	parts := slices.Clone(b.lines[from.row : to.row+1])
	parts[0] = parts[0][from.col:]
	parts[len(parts)-1] = parts[len(parts)-1][:to.col]
	return strings.Join(parts, "\n")
}

// replace changes the text between two places, as a step of undo. The caret goes
// behind what was inserted.
func (b *buffer) replace(from, to place, text string, kind opKind) {
	if from == to && text == "" {
		return
	}
	ch := change{
		at: from, removed: b.slice(from, to), inserted: text,
		before: b.caret(), kind: kind,
	}
	b.apply(from, to, text)
	b.head = headAfter(b.head, from, to, text)
	ch.after = b.caret()
	b.record(ch)
}

func (b *buffer) caret() caret { return caret{b.cur, b.head} }

// headAfter is where the pasted head ends after a change that was not a paste.
func headAfter(head, from, to place, text string) place {
	switch {
	case !from.before(head):
		return head
	case from != place{}:
		return from
	case text != "" || !to.before(head):
		return place{}
	case to.row == head.row:
		return place{0, head.col - to.col}
	}
	return place{head.row - to.row, head.col}
}

// apply changes the text.
func (b *buffer) apply(from, to place, text string) {
	joined, fresh := b.lines[from.row][:from.col]+text+b.lines[to.row][to.col:], 1
	if from.row == to.row && strings.IndexByte(text, '\n') < 0 {
		b.lines[from.row] = joined
	} else {
		lines := strings.Split(joined, "\n")
		b.lines, fresh = slices.Replace(b.lines, from.row, to.row+1, lines...), len(lines)
	}
	b.cur = endOf(from, text)
	b.rows.changed(from, to, b.cur, fresh)
	b.cur.col = snap(b.lines[b.cur.row], b.cur.col)
}

// endOf is the place behind text that begins at a place.
func endOf(at place, text string) place {
	if n := strings.Count(text, "\n"); n > 0 {
		return place{at.row + n, len(text) - strings.LastIndexByte(text, '\n') - 1}
	}
	return place{at.row, at.col + len(text)}
}

func (b *buffer) record(ch change) {
	b.redos = nil
	if n := len(b.undos); n > 0 && !b.sealed && b.undos[n-1].absorb(ch) {
		return
	}
	b.sealed = false
	b.undos = append(b.undos, ch)
	size := 0
	for i := len(b.undos) - 1; i >= 0; i-- {
		size += len(b.undos[i].removed) + len(b.undos[i].inserted)
		if len(b.undos)-i > maxUndo || size > maxUndoBytes && i < len(b.undos)-1 {
			b.undos = slices.Delete(b.undos, 0, i+1)
			return
		}
	}
}

// absorb makes next, which follows ch at once, part of the same step: a word being
// typed, clusters being deleted.
func (ch *change) absorb(next change) bool {
	if ch.kind != next.kind || ch.after != next.before {
		return false
	}
	switch next.kind {
	case opType:
		starts := !strings.HasPrefix(next.inserted, " ") && strings.HasSuffix(ch.inserted, " ")
		if starts || len(ch.inserted) >= maxTypedStep || endOf(ch.at, ch.inserted) != next.at || next.removed != "" {
			return false
		}
		ch.inserted += next.inserted
	case opBack:
		if ch.inserted != "" || endOf(next.at, next.removed) != ch.at || len(ch.removed) >= maxTypedStep {
			return false
		}
		ch.removed, ch.at = next.removed+ch.removed, next.at
	default:
		return false
	}
	ch.after = next.after
	return true
}

// undo takes back one step, and reports whether there was one.
func (b *buffer) undo() bool {
	n := len(b.undos)
	if n == 0 {
		return false
	}
	ch := b.undos[n-1]
	b.undos = b.undos[:n-1]
	b.apply(ch.at, endOf(ch.at, ch.inserted), ch.removed)
	b.cur, b.head, b.sealed = ch.before.cur, ch.before.head, true
	b.redos = append(b.redos, ch)
	return true
}

func (b *buffer) redo() bool {
	n := len(b.redos)
	if n == 0 {
		return false
	}
	ch := b.redos[n-1]
	b.redos = b.redos[:n-1]
	b.apply(ch.at, endOf(ch.at, ch.removed), ch.inserted)
	b.cur, b.head, b.sealed = ch.after.cur, ch.after.head, true
	b.undos = append(b.undos, ch)
	return true
}
