package tui

import (
	"fmt"
	"strings"

	"dsh/internal/termtext"
)

// From noteRows rows on there is room for a note about rows out of sight.
const noteRows = 3

// View is at most maxRows rows of at most width columns, and where the caret is among
// them: the row, and the column, which is less than width. Rows out of sight are
// counted in the first and the last row. The rows carry no style but that of ChipStyle
// and NoteStyle, and are not padded. They break at width-1: the last column is the
// caret's.
func (c *Composer) View(width, maxRows int) (rows []string, cursorRow, cursorCol int) {
	width, maxRows = max(width, 2), max(maxRows, 1)
	c.rows.setWidth(width)
	total, cur := c.countRows()
	visible := min(total, maxRows)
	notes := maxRows >= noteRows
	c.scroll(total, visible, cur, notes)
	rows = c.draw(c.top, visible)
	if notes && c.top > 0 {
		rows[0] = c.note("↑", c.top+1)
	}
	if below := total - c.top - visible; notes && below > 0 {
		rows[len(rows)-1] = c.note("↓", below+1)
	}
	return rows, cur - c.top, min(c.columnOf(c.cur), width-1)
}

// Rows is how many rows the whole text takes at a width.
func (c *Composer) Rows(width int) int {
	c.rows.setWidth(max(width, 2))
	total, _ := c.countRows()
	return total
}

// countRows is the number of rows, and the caret's.
func (c *Composer) countRows() (total, cur int) {
	for i := range c.lines {
		if i == c.cur.row {
			row, _ := c.rowOf(c.cur)
			cur = total + row
		}
		total += 1 + len(c.starts(i))
	}
	return total, cur
}

// scroll brings the caret's row into sight, and not under a note.
func (c *Composer) scroll(total, visible, cur int, notes bool) {
	margin := 0
	if notes {
		margin = 1
	}
	c.top = min(c.top, max(cur-margin, 0))
	if lowest := cur - visible + 1 + margin; c.top < lowest {
		c.top = lowest
	}
	c.top = max(min(c.top, total-visible), 0)
}

// draw renders rows from one on.
func (c *Composer) draw(top, n int) []string {
	rows := make([]string, 0, n)
	for i := 0; i < len(c.lines) && len(rows) < n; i++ {
		starts := c.starts(i)
		if top > len(starts) {
			top -= len(starts) + 1
			continue
		}
		for row := top; row <= len(starts) && len(rows) < n; row++ {
			start, end := 0, len(c.lines[i])
			if row > 0 {
				start = starts[row-1]
			}
			if row < len(starts) {
				end = starts[row]
			}
			rows = append(rows, c.drawRow(c.lines[i], start, end))
		}
		top = 0
	}
	return rows
}

func (c *Composer) drawRow(line string, start, end int) string {
	if isASCII(line[start:end]) {
		return line[start:end]
	}
	var b strings.Builder
	column := 0
	for i := start; i < end; {
		cl := c.cell(line, i, column)
		switch cl.kind {
		case cellTab:
			b.WriteString(strings.Repeat(" ", cl.width))
		case cellChip:
			b.WriteString(paint(c.ChipStyle, cl.show))
		default:
			b.WriteString(cl.show)
		}
		column += cl.width
		i = cl.end
	}
	return b.String()
}

func (c *Composer) note(arrow string, n int) string {
	return paint(c.NoteStyle, termtext.Cut(fmt.Sprintf("%s %d more lines", arrow, n), c.rows.width-1))
}

func paint(style func(string) string, s string) string {
	if style == nil {
		return s
	}
	return style(s)
}

// up moves the caret one row up, and reports whether there was one.
func (c *Composer) up() bool {
	c.begin(opVertical)
	row, _ := c.rowOf(c.cur)
	goal := c.goalColumn()
	switch {
	case row > 0:
		c.vertical(c.placeAt(c.cur.row, row-1, goal), goal)
	case c.cur.row > 0:
		c.vertical(c.placeAt(c.cur.row-1, len(c.starts(c.cur.row-1)), goal), goal)
	default:
		return false
	}
	return true
}

// down moves the caret one row down, and reports whether there was one.
func (c *Composer) down() bool {
	c.begin(opVertical)
	row, _ := c.rowOf(c.cur)
	goal := c.goalColumn()
	switch {
	case row < len(c.starts(c.cur.row)):
		c.vertical(c.placeAt(c.cur.row, row+1, goal), goal)
	case c.cur.row < len(c.lines)-1:
		c.vertical(c.placeAt(c.cur.row+1, 0, goal), goal)
	default:
		return false
	}
	return true
}

func (c *Composer) goalColumn() int {
	if c.goal >= 0 {
		return c.goal
	}
	return c.columnOf(c.cur)
}

func (c *Composer) vertical(to place, goal int) { c.cur, c.goal = to, goal }
