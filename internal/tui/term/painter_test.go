package term

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// bench is a painter and the terminal it paints on.
type bench struct {
	p       painter
	v       *vt
	printed []string
	live    []string
}

func newBench(w, h int, reflows bool) *bench {
	return &bench{p: painter{reflows: reflows, fresh: true}, v: newVT(w, h, reflows)}
}

func (b *bench) paint(printed []string, f Frame) []byte {
	out := b.p.paint(nil, b.v.w, b.v.h, printed, f)
	_, _ = b.v.Write(out)
	if !f.Alt {
		for _, row := range printed {
			b.printed = append(b.printed, strings.TrimRight(ansi.Strip(row), " "))
		}
	}
	b.live = f.Rows
	return out
}

// check compares all the terminal holds with what was printed and drawn.
func (b *bench) check(t *testing.T, f Frame) {
	t.Helper()
	want := slices.Clone(b.printed)
	for _, row := range f.Rows {
		want = append(want, strings.TrimRight(ansi.Strip(row), " "))
	}
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if got := b.v.text(); !slices.Equal(got, want) {
		t.Fatalf("the terminal holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if b.v.hidden != f.Cursor.Hidden {
		t.Fatalf("cursor hidden: %v", b.v.hidden)
	}
	if len(f.Rows) == 0 || f.Cursor.Hidden {
		return
	}
	row := strings.TrimRight(strings.Join(b.v.row().cells, ""), " ")
	if wantRow := strings.TrimRight(ansi.Strip(f.Rows[f.Cursor.Row]), " "); row != wantRow || b.v.x != f.Cursor.Col {
		t.Fatalf("the cursor stands at column %d of %q, want %d of %q", b.v.x, row, f.Cursor.Col, wantRow)
	}
}

// words are what random rows are made of: wide cells, colours, blanks.
var words = []string{"a", "go", "你好", "한", "\x1b[31mred\x1b[m", "x y", "世", "0123456789", " "}

func randomRow(r *rand.Rand, width int) string {
	row, n := "", r.IntN(width+1)
	for {
		w := words[r.IntN(len(words))]
		if ansi.StringWidth(row+w) > n {
			break
		}
		row += w
	}
	if r.IntN(4) == 0 { // exactly as wide as the window
		row += strings.Repeat("=", width-ansi.StringWidth(row))
	}
	return row
}

func randomFrame(r *rand.Rand, w, h int) Frame {
	f := Frame{Cursor: Cursor{Hidden: r.IntN(4) == 0, Shape: Shape(2 * r.IntN(4))}}
	for range r.IntN(min(5, h-2)) {
		f.Rows = append(f.Rows, randomRow(r, w))
	}
	if n := len(f.Rows); n > 0 {
		f.Cursor.Row = r.IntN(n)
		before := ansi.Truncate(f.Rows[f.Cursor.Row], r.IntN(w), "")
		f.Cursor.Col = ansi.StringWidth(before) // not amid a wide cell
	}
	return f
}

// TestG03TheTerminalHoldsWhatWasPrintedAndDrawn plays random prints, frames and
// resizes on a terminal and compares all it holds, scrollback included, with a flat
// list.
func TestG03TheTerminalHoldsWhatWasPrintedAndDrawn(t *testing.T) {
	t.Parallel()
	for _, reflows := range []bool{true, false} {
		for seed := range uint64(30) {
			t.Run(fmt.Sprintf("reflows %v, seed %d", reflows, seed), func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				b := newBench(30+r.IntN(50), 16+r.IntN(20), reflows)
				var f Frame
				for range 25 {
					var rows []string
					for range r.IntN(2) * r.IntN(2) * r.IntN(40) { // also more than the window has rows
						rows = append(rows, randomRow(r, b.v.w))
					}
					f = randomFrame(r, b.v.w, b.v.h)
					b.paint(rows, f)
					b.check(t, f)
					if r.IntN(5) == 0 && reflows {
						b.v.resize(25+r.IntN(60), 16+r.IntN(20))
					}
					if r.IntN(5) == 0 && !reflows { // such a terminal cuts what is printed
						b.v.resize(b.v.w, 16+r.IntN(20))
					}
					if r.IntN(9) == 0 {
						b.p.fresh = true
					}
				}
			})
		}
	}
}

func TestG08TheCursorIsTheTerminalsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(20, 10, true)
	f := Frame{Rows: []string{"", "> 你好", "status"}, Cursor: Cursor{Row: 1, Col: 6, Shape: Bar}}
	b.paint([]string{"one"}, f)
	b.check(t, f)
	if b.v.y != 2 || b.v.x != 6 || b.v.shape != "6" {
		t.Errorf("row %d, column %d, shape %s", b.v.y, b.v.x, b.v.shape)
	}
	f.Cursor.Hidden = true
	b.paint(nil, f)
	if !b.v.hidden {
		t.Error("the cursor is not hidden")
	}
	_, _ = b.v.Write(b.p.leave(nil, false))
	if b.v.hidden || b.v.shape != "0" || b.v.y != 1 || b.v.x != 0 {
		t.Errorf("left hidden=%v, shape %s, row %d", b.v.hidden, b.v.shape, b.v.y)
	}
}

func TestAFrameIsOneBracketedWriteOfWhatChanged(t *testing.T) {
	t.Parallel()
	b := newBench(80, 24, true)
	f := Frame{Rows: []string{"first", "second", "third"}, Cursor: Cursor{Row: 2, Col: 1}}
	b.paint(nil, f)
	f.Rows = []string{"first", "SECOND", "third"}
	out := string(b.paint(nil, f))
	if !strings.HasPrefix(out, syncOn) || !strings.HasSuffix(out, syncOff) || strings.Count(out, syncOn) != 1 {
		t.Errorf("not bracketed once: %q", out)
	}
	if strings.Contains(out, "first") || strings.Contains(out, "third") || !strings.Contains(out, "SECOND") {
		t.Errorf("repaints what did not change: %q", out)
	}
	if out := b.paint(nil, f); len(out) != 0 {
		t.Errorf("writes %q for nothing", out)
	}
}

func TestPrintedRowsMayBeWiderAndTaller(t *testing.T) {
	t.Parallel()
	b := newBench(20, 8, true)
	f := Frame{Rows: []string{"live"}}
	b.paint(nil, f)
	long := strings.Repeat("词语 word ", 20)
	rows := []string{strings.Repeat("=", 20), long}
	for i := range 100 {
		rows = append(rows, fmt.Sprint("row ", i))
	}
	b.paint(rows, f)
	b.check(t, f)
}

func TestAltKeepsThePrintedRowsWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(20, 8, true)
	b.p.pushKeys, b.p.popKeys = kittyPush, kittyPop
	main := Frame{Rows: []string{"above", "> live"}, Cursor: Cursor{Row: 1, Col: 2, Shape: Bar}}
	b.paint([]string{"printed"}, main)
	var rows []string
	for i := range 8 {
		rows = append(rows, fmt.Sprint("page ", i))
	}
	pager := Frame{Rows: rows, Cursor: Cursor{Hidden: true}, Alt: true, Mouse: true}
	b.paint(nil, pager)
	if got := b.v.screen(); !slices.Equal(got, rows) {
		t.Fatalf("%q", got)
	}
	if !b.v.modes["?1006"] || b.v.stacked != 1 {
		t.Errorf("modes %v, kitty flags %d", b.v.modes, b.v.stacked)
	}
	b.v.w, b.v.h = 24, 8
	b.paint(nil, pager)
	if got := b.v.screen(); !slices.Equal(got, rows) {
		t.Fatalf("after a resize: %q", got)
	}
	b.paint([]string{"later"}, main)
	b.check(t, main)
	if b.v.modes["?1006"] || b.v.stacked != 0 {
		t.Errorf("left modes %v, kitty flags %d", b.v.modes, b.v.stacked)
	}
}

func TestClearKeepsWhatStoodThere(t *testing.T) {
	t.Parallel()
	b := newBench(20, 8, true)
	f := Frame{Rows: []string{"> live"}, Cursor: Cursor{Col: 2}}
	b.paint([]string{"one", "two"}, f)
	_, _ = b.v.Write(b.p.clear(nil))
	b.paint(nil, f)
	b.check(t, f)
	if got := b.v.screen(); got[0] != "> live" {
		t.Errorf("the screen is %q", got)
	}
}

func TestALostPositionBeginsBelow(t *testing.T) {
	t.Parallel()
	b := newBench(20, 8, true)
	f := Frame{Rows: []string{"a", "> live"}, Cursor: Cursor{Row: 1, Col: 2}}
	b.paint(nil, f)
	_, _ = b.v.Write([]byte("\r\n$ fg"))
	_, _ = b.v.Write(b.p.lost(nil))
	b.paint(nil, f)
	if got, want := b.v.text(), []string{"a", "> live", "$ fg", "a", "> live"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestLeaveKeepsOrErasesTheLiveRegion(t *testing.T) {
	t.Parallel()
	for keep, want := range map[bool][]string{true: {"p", "a", "b", "$"}, false: {"p", "$"}} {
		b := newBench(20, 8, true)
		b.paint([]string{"p"}, Frame{Rows: []string{"a", "b"}})
		_, _ = b.v.Write(append(b.p.leave(nil, keep), '$'))
		if got := b.v.text(); !slices.Equal(got, want) {
			t.Errorf("keep %v: %q", keep, got)
		}
	}
}

func TestRowsAboveTheWindowAreCut(t *testing.T) {
	t.Parallel()
	b := newBench(10, 3, true)
	b.paint(nil, Frame{Rows: []string{"1", "2", "3", "4", "5"}, Cursor: Cursor{Row: 4, Col: 99}})
	if got := b.v.screen(); !slices.Equal(got, []string{"3", "4", "5"}) || b.v.y != 2 || b.v.x != 9 {
		t.Errorf("%q, cursor %d,%d", got, b.v.y, b.v.x)
	}
}

func TestG05ARowTheTerminalFindsWiderStaysOneRow(t *testing.T) {
	t.Parallel()
	b := newBench(10, 5, true)
	wide := "❤️❤️❤️❤️❤️❤️" // 12 by some measures
	f := Frame{Rows: []string{wide + "xx", "below"}, Cursor: Cursor{Row: 1}}
	b.paint(nil, f)
	if got := b.v.screen(); got[1] != "below" {
		t.Errorf("%q", got)
	}
}

func TestOnlyColoursPassInRows(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain 你好":                     "plain 你好",
		"\x1b[1;38:5:3mx":              "\x1b[1;38:5:3mx" + resetSGR,
		"a\x1b]52;c;eA==\ab":           "ab",
		"a\x1b]0;title\x1b\\b":         "ab",
		"\x1b]8;;http://x\x1b\\l":      "l",
		"a\x1b[2Jb\x1b[1;1Hc":          "abc",
		"a\x1b[?25hb\x1b[>4mc":         "abc",
		"a\x1bPq\x1b\\b\x1b_x\x1b\\c":  "abc",
		"a\tb\r\nc\x00\x7f\b\u009b31m": "a bc31m",
		"bad \xff\x9b":                 "bad \ufffd\ufffd",
		"\x1bcreset\x1b":               "reset",
		"\x1b[31":                      "",
		"\x1b]0;never ends":            "",
		"\x1b[3\u4f60":                 "你",
	} {
		if got := cleanRow(in); got != want {
			t.Errorf("cleanRow(%q) = %q, want %q", in, got, want)
		}
	}
}
