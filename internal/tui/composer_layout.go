package tui

import (
	"slices"

	"dsh/internal/termtext"
)

// defaultWidth is the width before the first View.
const defaultWidth = 80

// layout says where the rows of each line begin, at one width. A line that changed is
// laid out again when it is asked for, from the row before the change to where its
// rows begin as before.
type layout struct {
	width int
	lines []lineRows
}

// lineRows are the rows of one line.
type lineRows struct {
	starts []int // of the rows but the first, in bytes
	known  bool
	// What changed since starts was made: bytes from..to of a line that is now delta
	// bytes longer. Rows outside may still be right.
	dirty           bool
	from, to, delta int
}

func newLayout(width int) layout { return layout{width: width, lines: make([]lineRows, 1)} }

// changed notes that the text between two places became fresh lines that end at
// place now.
func (l *layout) changed(from, to, now place, fresh int) {
	if fresh > 1 || from.row != to.row {
		l.lines = slices.Replace(l.lines, from.row, to.row+1, make([]lineRows, fresh)...)
		return
	}
	r, delta := &l.lines[from.row], now.col-to.col
	switch {
	case !r.known || len(r.starts) < longLine:
		*r = lineRows{}
	case !r.dirty:
		r.dirty, r.from, r.to, r.delta = true, from.col, now.col, delta
	default: // both changes, and what lies between them
		if r.to >= to.col {
			r.to += delta
		}
		r.from, r.to, r.delta = min(r.from, from.col), max(r.to, now.col), r.delta+delta
	}
}

// longLine is the number of rows from which on a changed line is not laid out whole.
const longLine = 16

// setWidth changes the width.
func (l *layout) setWidth(width int) {
	if width != l.width {
		l.width = width
		l.lines = make([]lineRows, len(l.lines))
	}
}

// starts are the rows of a line but its first one.
func (c *Composer) starts(row int) []int {
	r := &c.rows.lines[row]
	switch line := c.lines[row]; {
	case r.known && !r.dirty:
	case r.known:
		*r = lineRows{known: true, starts: c.relayout(line, *r)}
	default:
		var starts []int
		for at := c.rowEnd(line, 0); at >= 0; at = c.rowEnd(line, at) {
			starts = append(starts, at)
		}
		*r = lineRows{known: true, starts: starts}
	}
	return r.starts
}

// relayout lays out a line from a few rows before its change on, until a row begins
// where one began before the change: from there on all do.
func (c *Composer) relayout(line string, r lineRows) []int {
	first, _ := slices.BinarySearch(r.starts, r.from)
	first = max(first-3, 0)
	old := r.starts[first:]
	starts := slices.Clone(r.starts[:first])
	at := 0
	if first > 0 {
		at = starts[first-1]
	}
	for at = c.rowEnd(line, at); at >= 0; at = c.rowEnd(line, at) {
		if at > r.to+maxCluster {
			for len(old) > 0 && old[0]+r.delta < at {
				old = old[1:]
			}
			if len(old) > 0 && old[0]+r.delta == at {
				for _, s := range old {
					starts = append(starts, s+r.delta)
				}
				return starts
			}
		}
		starts = append(starts, at)
	}
	return starts
}

// rowEnd is where the row after the one that begins at byte start begins, -1 if there
// is none. Rows break as termtext.Wrap breaks them, but leave out nothing. The last
// column is for the caret behind the row, or for the space at the break.
func (c *Composer) rowEnd(line string, start int) int {
	if len(line)-start < c.rows.width && isASCII(line[start:]) {
		return -1
	}
	limit := max(c.rows.width-1, 1)
	column, most, brk := 0, 0, -1
	var prev cell
	for i := start; i < len(line); {
		cl := c.cell(line, i, column)
		if i > start && mayBreak(prev, cl) {
			brk = i
		}
		room := limit
		if cl.kind == cellSpace {
			room = max(c.rows.width, 1)
		}
		if i > start && most+cl.most > room {
			if brk > start && cl.kind != cellSpace {
				return brk
			}
			return i
		}
		column += cl.width
		most += cl.most
		prev, i = cl, cl.end
	}
	if len(line) > start && most >= c.rows.width {
		return len(line) // a row for the caret
	}
	return -1
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func mayBreak(prev, next cell) bool {
	switch {
	case prev.kind == cellChip || next.kind == cellChip:
		return next.kind != cellSpace
	case prev.kind == cellTab:
		return next.kind != cellSpace
	}
	return termtext.MayBreak(prev.show, next.show)
}

// cell is the unit that begins at byte i of a line. None is wider than a row.
func (c *Composer) cell(line string, i, column int) cell {
	cl := cellAt(line, i, column)
	if cl.kind == cellChip {
		cl.show = c.chipLabel(cl.show)
		cl.width = termtext.Width(cl.show)
		cl.most = cl.width
	}
	if limit := max(c.rows.width-1, 1); cl.most > limit {
		switch cl.kind {
		case cellChip:
			cl.show = termtext.Cut(cl.show, limit)
			cl.width = termtext.Width(cl.show)
		case cellTab:
			cl.width = limit
		default:
			cl.show, cl.width = "\ufffd", 1
		}
		cl.most = cl.width
	}
	return cl
}

// rowOf is the row of a line, counted from 0, in which byte col stands, and where that
// row begins.
func (c *Composer) rowOf(p place) (row, start int) {
	starts := c.starts(p.row)
	row, found := slices.BinarySearch(starts, p.col)
	if found {
		row++
	}
	if row > 0 {
		start = starts[row-1]
	}
	return row, start
}

// columnOf is the column of a place in its row.
func (c *Composer) columnOf(p place) int {
	_, start := c.rowOf(p)
	line, column := c.lines[p.row], 0
	for i := start; i < p.col; {
		cl := c.cell(line, i, column)
		column += cl.width
		i = cl.end
	}
	return column
}

// placeAt is the place nearest to a column in a row of a line.
func (c *Composer) placeAt(lineNo, row, goal int) place {
	line, starts := c.lines[lineNo], c.starts(lineNo)
	i, end := 0, len(line)
	if row > 0 {
		i = starts[row-1]
	}
	if row < len(starts) {
		end = starts[row]
	}
	for column := 0; i < end; {
		cl := c.cell(line, i, column)
		if column+cl.width > goal || cl.end == end && row < len(starts) {
			break // behind the last unit the caret would show in the next row
		}
		column += cl.width
		i = cl.end
	}
	return place{lineNo, i}
}
