package term

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// painter turns frames into bytes. It knows what the terminal shows of the live
// region and where the cursor stands in it, and nothing above it: all moves are
// relative, so what the terminal does with the rows above does not matter.
type painter struct {
	width, height int
	reflows       bool   // the terminal wraps rows anew when its width changes
	pushKeys      string // the alternate screen has key modes of its own
	popKeys       string

	shown Frame // what the terminal shows; Rows are cleaned
	shape Shape // of the terminal's cursor, on both screens
	at    int   // the row of the live region the cursor stands in
	fresh bool  // nothing was painted yet, or all of it is to be painted again

	given, cleaned []string // the rows of the last frame, before and after cleanRow

	under *painter // the main screen's state while the alternate one is shown
}

// The parts of a frame.
const (
	syncOn   = "\x1b[?2026h"
	syncOff  = "\x1b[?2026l"
	hide     = "\x1b[?25l"
	show     = "\x1b[?25h"
	wrapOff  = "\x1b[?7l"
	wrapOn   = "\x1b[?7h"
	eraseRow = "\r\x1b[K"
	eraseEnd = "\r\x1b[J" // from the cursor's row to the end of the screen
	altOn    = "\x1b[?1049h\x1b[H\x1b[2J"
	altOff   = "\x1b[?1049l"
	mouseOn  = "\x1b[?1000h\x1b[?1002h\x1b[?1006h"
	mouseOff = "\x1b[?1006l\x1b[?1002l\x1b[?1000l"
)

// paint appends the bytes that bring the terminal, now of size w x h, from what it
// shows to printed rows followed by f. It appends nothing if nothing changes. Printed
// rows may be wider than the window: the terminal wraps them, and copying joins them.
func (p *painter) paint(b []byte, w, h int, printed []string, f Frame) []byte {
	rows := p.clean(f.Rows[max(0, len(f.Rows)-h):])
	f.Cursor = place(f.Cursor, len(f.Rows)-len(rows), len(rows), w)
	f.Rows = rows
	if len(printed) == 0 && !p.fresh && w == p.width && h == p.height && p.shown.same(f) {
		return b
	}
	b = append(b, syncOn+hide...)
	b = p.screen(b, f)
	b = p.resize(b, w, h)
	if p.fresh {
		b = p.wipe(b)
	}
	if len(printed) > 0 {
		b = p.print(b, printed)
	}
	b = p.rows(b, f.Rows)
	b = p.cursor(b, f.Cursor)
	p.shown, p.fresh = f, false
	return append(b, syncOff...)
}

// clean cleans rows, most of which are the last frame's.
func (p *painter) clean(rows []string) []string {
	cleaned := make([]string, len(rows))
	for i, row := range rows {
		if i < len(p.given) && p.given[i] == row {
			cleaned[i] = p.cleaned[i]
		} else {
			cleaned[i] = cleanRow(row)
		}
	}
	p.given, p.cleaned = rows, cleaned
	return cleaned
}

// place clamps the cursor of a frame that lost its first cut rows.
func place(c Cursor, cut, rows, width int) Cursor {
	c.Row = max(0, min(c.Row-cut, rows-1))
	c.Col = max(0, min(c.Col, width-1))
	return c
}

// screen changes to the screen f wants.
func (p *painter) screen(b []byte, f Frame) []byte {
	if f.Mouse != p.shown.Mouse {
		if f.Mouse {
			b = append(b, mouseOn...)
		} else {
			b = append(b, mouseOff...)
		}
	}
	if f.Alt && p.under == nil {
		main := *p
		p.under = &main
		p.shown, p.at, p.fresh = Frame{}, 0, false
		return append(append(b, altOn...), p.pushKeys...)
	}
	if !f.Alt && p.under != nil {
		b = append(append(b, p.popKeys...), altOff...)
		shape := p.shape
		*p = *p.under
		p.shape = shape
	}
	return b
}

// resize wipes the live region after the window changed: the terminal may have
// wrapped its rows anew, or cut them.
func (p *painter) resize(b []byte, w, h int) []byte {
	if w == p.width && h == p.height {
		return b
	}
	up := p.at
	if p.reflows && w < p.width && p.under == nil {
		up = p.wrapped(w)
	}
	p.width, p.height = w, h
	if p.under != nil {
		p.at, p.shown.Rows = 0, nil
		return append(b, "\x1b[H\x1b[2J"...)
	}
	p.at = up
	return p.wipe(b)
}

// wrapped is how many rows the cursor stands below the live region's first one after
// a terminal of width w wrapped them.
func (p *painter) wrapped(w int) int {
	up := 0
	for _, row := range p.shown.Rows[:p.at] {
		up += breaks(row, w) + 1
	}
	if c := p.shown.Cursor; !c.Hidden && p.at < len(p.shown.Rows) {
		upTo := ansi.Truncate(p.shown.Rows[p.at], c.Col+1, "")
		if ansi.StringWidth(upTo) == c.Col { // a wide cell, or none, is under the cursor
			upTo = ansi.Truncate(p.shown.Rows[p.at], c.Col+2, "")
		}
		up += breaks(upTo, w)
	}
	return up
}

// breaks is how often a terminal of width w wraps row.
func breaks(row string, w int) int { return strings.Count(ansi.Hardwrap(row, w, true), "\n") }

// wipe erases the live region and leaves the cursor at its start.
func (p *painter) wipe(b []byte) []byte {
	b = p.move(b, 0)
	p.shown.Rows, p.fresh = nil, false
	return append(b, eraseEnd...)
}

// print puts rows where the live region was; the terminal scrolls them up as it needs.
func (p *painter) print(b []byte, rows []string) []byte {
	b = p.wipe(b)
	for _, row := range rows {
		b = append(append(b, cleanRow(row)...), "\r\n"...)
	}
	return b
}

// rows repaints the rows that differ from what is shown.
func (p *painter) rows(b []byte, rows []string) []byte {
	old := p.shown.Rows
	guarded := false
	for i, row := range rows {
		if i < len(old) && old[i] == row {
			continue
		}
		switch {
		case i < len(old) || i == 0:
			b = p.move(b, i)
		default: // a row the terminal does not have yet; it may have to scroll
			b = append(p.move(b, i-1), "\r\n"...)
			p.at = i
		}
		// A row that the terminal measures wider than we do must not wrap: it would
		// shift all below.
		if !guarded && risky(row, p.width) {
			b = append(b, wrapOff...)
			guarded = true
		}
		b = append(append(b, eraseRow...), row...)
	}
	if guarded {
		b = append(b, wrapOn...)
	}
	if len(old) > len(rows) {
		b = append(p.move(b, len(rows)), eraseEnd...)
	}
	return b
}

// risky reports whether a terminal might find row wider than width.
func risky(row string, width int) bool {
	if len(row) > width {
		return true
	}
	for i := 0; i < len(row); i++ {
		if row[i] >= 0x80 {
			return true
		}
	}
	return false
}

// cursor puts the cursor into its place. A hidden one waits in the first column, where
// a change of width cannot move it to another row.
func (p *painter) cursor(b []byte, c Cursor) []byte {
	b = append(p.move(b, c.Row), '\r')
	if c.Hidden {
		return b
	}
	if c.Col > 0 {
		b = csi(b, c.Col, 'C')
	}
	if c.Shape != p.shape {
		b = append(b, "\x1b["+strconv.Itoa(int(c.Shape))+" q"...)
		p.shape = c.Shape
	}
	return append(b, show...)
}

// move goes to a row that the terminal has, in whatever column.
func (p *painter) move(b []byte, row int) []byte {
	switch {
	case row < p.at:
		b = csi(b, p.at-row, 'A')
	case row > p.at:
		b = csi(b, row-p.at, 'B')
	}
	p.at = row
	return b
}

func csi(b []byte, n int, final byte) []byte {
	b = append(b, "\x1b["...)
	if n > 1 {
		b = strconv.AppendInt(b, int64(n), 10)
	}
	return append(b, final)
}

// clear empties the screen: what stood above the live region goes into the scrollback,
// which all terminals do with rows that newlines push out.
func (p *painter) clear(b []byte) []byte {
	if p.under != nil {
		p.at, p.shown.Rows, p.fresh = 0, nil, true
		return append(b, "\x1b[H\x1b[2J"...)
	}
	b = p.wipe(b)
	for range p.height - 1 {
		b = append(b, '\n')
	}
	p.fresh = true
	return append(b, "\x1b[H"...)
}

// lost says that another program moved the cursor: a new live region begins below it.
func (p *painter) lost(b []byte) []byte {
	p.at, p.shown.Rows, p.fresh = 0, nil, true
	if p.under != nil {
		return append(b, "\x1b[H\x1b[2J"...)
	}
	return append(b, "\r\n"...)
}

// leave gives the terminal back: on the main screen, the cursor shown, below the live
// region if it is kept, else in its place. The next paint paints all of a frame.
func (p *painter) leave(b []byte, keep bool) []byte {
	b = p.screen(b, Frame{})
	if keep && len(p.shown.Rows) > 0 {
		b = append(p.move(b, len(p.shown.Rows)-1), "\r\n"...)
	} else {
		b = p.wipe(b)
	}
	if p.shape != DefaultShape {
		b = append(b, "\x1b[0 q"...)
	}
	p.shown, p.shape, p.at, p.fresh = Frame{}, DefaultShape, 0, true
	return append(b, show...)
}
