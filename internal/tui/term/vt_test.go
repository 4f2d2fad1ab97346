package term

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// vt is a small terminal: a screen with scrollback that wraps, scrolls and, if it
// reflows, wraps anew when its width changes. It knows what painter writes and panics
// on anything else.
type vt struct {
	w, h    int
	reflows bool
	rows    []vtRow // scrollback, then the screen
	top     int     // where the screen begins
	x, y    int     // from the screen's top left; x is w while a wrap is pending
	wrap    bool
	hidden  bool
	modes   map[string]bool
	main    *vt // while the alternate screen is shown
	shape   string
	syncs   int
	stacked int // kitty flags on this screen
}

type vtRow struct {
	cells   []string // "" is the right half of a wide cell
	wrapped bool     // goes on in the next row
}

func newVT(w, h int, reflows bool) *vt {
	return &vt{w: w, h: h, reflows: reflows, rows: make([]vtRow, h), wrap: true, modes: map[string]bool{}}
}

func (v *vt) row() *vtRow { return &v.rows[v.top+v.y] }

func (v *vt) Write(b []byte) (int, error) {
	for s := string(b); s != ""; {
		n := 1
		switch c := s[0]; {
		case c == '\r':
			v.x = 0
		case c == '\n':
			v.row().wrapped = false
			v.down()
		case c == '\a':
		case c == esc:
			n = v.escape(s)
		case c < ' ':
			panic(fmt.Sprintf("control %q", c))
		default:
			_, n = utf8.DecodeRuneInString(s)
			v.put(s[:n])
		}
		s = s[n:]
	}
	return len(b), nil
}

func (v *vt) down() {
	if v.y < v.h-1 {
		v.y++
		return
	}
	v.rows = append(v.rows, vtRow{})
	v.top++
}

func (v *vt) put(s string) {
	n := ansi.StringWidth(s)
	if n == 0 {
		return
	}
	if v.x+n > v.w {
		if v.wrap {
			v.row().wrapped = true
			v.x = 0
			v.down()
		} else {
			v.x = v.w - n
		}
	}
	r := v.row()
	for len(r.cells) < v.x+n {
		r.cells = append(r.cells, " ")
	}
	r.cells[v.x] = s
	if n == 2 {
		r.cells[v.x+1] = ""
	}
	v.x += n
}

func (v *vt) escape(s string) int {
	if s[1] == ']' {
		return stringEnd(s)
	}
	i := 2
	for s[i] < 0x40 {
		i++
	}
	body := s[2:i]
	n, _ := strconv.Atoi(body)
	n = max(n, 1)
	switch s[i] {
	case 'm':
	case 'A':
		v.y = max(0, v.y-n)
	case 'B':
		v.y = min(v.h-1, v.y+n)
	case 'C':
		v.x = min(v.w-1, v.x+n)
	case 'H':
		v.x, v.y = 0, 0
	case 'K':
		v.row().cells = v.row().cells[:min(min(v.x, v.w-1), len(v.row().cells))]
		v.row().wrapped = false
	case 'J':
		v.erase(body)
	case 'h', 'l':
		v.mode(body, s[i] == 'h')
	case 'q':
		v.shape = strings.TrimSpace(body)
	case 'u':
		v.stacked += map[byte]int{'>': 1, '<': -1}[body[0]]
	default:
		panic(fmt.Sprintf("sequence %q", s[:i+1]))
	}
	return i + 1
}

func (v *vt) erase(body string) {
	from := v.y
	if body == "2" {
		from = 0
	} else if v.x != 0 {
		panic("erased from amid a row")
	}
	for i := v.top + from; i < len(v.rows); i++ {
		v.rows[i] = vtRow{}
	}
}

func (v *vt) mode(body string, on bool) {
	switch body {
	case "?7":
		v.wrap = on
	case "?25":
		v.hidden = !on
	case "?2026":
		if on {
			v.syncs++
		}
		v.modes[body] = on
	case "?1049":
		if on {
			main := *v
			*v = *newVT(v.w, v.h, false)
			v.main, v.modes, v.syncs = &main, main.modes, main.syncs
			return
		}
		w, h, syncs := v.w, v.h, v.syncs
		*v = *v.main
		v.syncs = syncs
		v.resize(w, h)
	default:
		v.modes[body] = on
	}
}

// resize does what terminals do, those that wrap anew and those that cut.
func (v *vt) resize(w, h int) {
	if w == v.w && h == v.h {
		return
	}
	at := v.top + v.y
	if v.reflows && w != v.w {
		at = v.reflow(w, at)
	} else {
		for i := range v.rows {
			r := &v.rows[i]
			if i >= v.top && len(r.cells) > w {
				r.cells = r.cells[:w]
				if ansi.StringWidth(strings.Join(r.cells, "")) > w {
					r.cells[w-1] = " " // half a wide cell
				}
			}
		}
		v.x = min(v.x, w-1)
	}
	for len(v.rows) > at+1 && len(v.rows)-v.top > h && len(v.rows[len(v.rows)-1].cells) == 0 {
		v.rows = v.rows[:len(v.rows)-1] // blank rows below the cursor go first
	}
	v.w, v.h = w, h
	v.top = max(v.top, len(v.rows)-h)
	v.top = min(v.top, at)
	for len(v.rows) < v.top+h {
		v.rows = append(v.rows, vtRow{})
	}
	v.y = at - v.top
}

// reflow wraps all rows anew and returns where the cursor's row went.
func (v *vt) reflow(w, at int) int {
	var rows []vtRow
	newAt, newX, top := 0, v.x, 0
	for i := 0; i < len(v.rows); i++ {
		var cells []string
		offset, first := -1, i
		for {
			r := v.rows[i]
			if i == at {
				offset = len(cells) + v.x
			}
			cells = append(cells, r.cells...)
			if !r.wrapped || i+1 >= len(v.rows) {
				break
			}
			i++
		}
		start := len(rows)
		rows = append(rows, wrapCells(cells, w)...)
		if first <= v.top {
			top = start
		}
		if offset >= 0 {
			newAt, newX = start, offset
			for newAt < len(rows)-1 && newX >= len(rows[newAt].cells) {
				newX -= len(rows[newAt].cells)
				newAt++
			}
			newX = min(newX, w-1)
		}
	}
	v.rows, v.x, v.top = rows, newX, top
	return newAt
}

func wrapCells(cells []string, w int) []vtRow {
	var rows []vtRow
	for len(cells) > w {
		n := w
		if cells[n] == "" {
			n-- // a wide cell does not fit
		}
		rows = append(rows, vtRow{cells: cells[:n:n], wrapped: true})
		cells = cells[n:]
	}
	return append(rows, vtRow{cells: cells})
}

// text is all the terminal holds, one line for what was written as one, without the
// blanks at the end of rows and of all.
func (v *vt) text() []string {
	var lines []string
	line := ""
	for _, r := range v.rows {
		line += strings.Join(r.cells, "")
		if !r.wrapped {
			lines = append(lines, strings.TrimRight(line, " "))
			line = ""
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// screen is what is visible, row by row.
func (v *vt) screen() []string {
	var rows []string
	for _, r := range v.rows[v.top : v.top+v.h] {
		rows = append(rows, strings.TrimRight(strings.Join(r.cells, ""), " "))
	}
	return rows
}
