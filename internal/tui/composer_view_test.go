package tui

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

var update = flag.Bool("update", false, "write the goldens")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil || string(want) != got {
		t.Errorf("%s differs (%v):\n%s", path, err, got)
	}
}

// shown is a view with the caret as a bar, and the edges.
func shown(c *Composer, width, rows int) string {
	lines, row, col := c.View(width, rows)
	var b strings.Builder
	for i, line := range lines {
		pad := strings.Repeat(" ", max(width-ansi.StringWidth(line), 0))
		if i == row {
			left := ansi.Truncate(line, col, "")
			line = left + "|" + strings.TrimPrefix(line+pad, left)
			pad = ""
		}
		fmt.Fprintf(&b, "%s%s<\n", line, pad)
	}
	return b.String()
}

const mixed = "Please look at internal/cart/expiry.go and find out why the checkout test is flaky, then fix it.\n" +
	"请看一下这个测试为什么不稳定，然后修复它；不要用sleep，用假时钟（见「docs/testing.md」）。它每二十次失败一次。\n" +
	"emoji 👩‍👩‍👧 and 🇩🇪 and ❤️ and 👍🏽 in a row: 👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧👩‍👩‍👧\n" +
	"\tindented\tby tabs, e\u0301 combined, مرحبا, ไทย, 한국어 텍스트도 있습니다\n" +
	"averyveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryveryverylongword end"

func TestTWIDTHGoldens(t *testing.T) {
	t.Parallel()
	for _, width := range []int{40, 80} {
		c := newAt(mixed)
		c.TextStart()
		golden(t, fmt.Sprintf("composer-%d.txt", width), shown(c, width, 100))
		c.TextEnd()
		golden(t, fmt.Sprintf("composer-%d-end.txt", width), shown(c, width, 8))
		c.TextStart()
		golden(t, fmt.Sprintf("composer-%d-start.txt", width), shown(c, width, 8))
		c.Edit("down")
		c.LineEnd()
		c.Paste(strings.Repeat("pasted line\n", 42))
		golden(t, fmt.Sprintf("composer-%d-chip.txt", width), shown(c, width, 8))
	}
}

// widest is the width of a row in the terminal that takes the most columns for it.
func widest(row string) int { return max(ansi.StringWidth(row), ansi.StringWidthWc(row)) }

func TestTWIDTHRowsFit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 3))
		c := NewComposer(nil)
		for range 60 {
			randomEdit(c, rnd)
		}
		for _, width := range []int{2, 3, 5, 12, 39, 80} {
			rows, row, col := c.View(width, 1+rnd.IntN(8))
			for i, r := range rows {
				// The last column holds only a space at a break.
				if widest(strings.TrimSuffix(r, " ")) > max(width-1, 1) || widest(r) > width {
					t.Fatalf("seed %d: row %q is too wide for %d", seed, r, width)
				}
				if strings.ContainsAny(r, "\t\n") || strings.IndexByte(r, chipOpen) >= 0 {
					t.Fatalf("seed %d: row %d is %q", seed, i, r)
				}
			}
			if row < 0 || row >= len(rows) || col < 0 || col >= width {
				t.Fatalf("seed %d: caret at %d,%d in %d rows of %d", seed, row, col, len(rows), width)
			}
		}
	}
}

func TestTWIDTHHiddenCharactersShow(t *testing.T) {
	t.Parallel()
	c := newAt("a\u202eb\u200bc\u0301\n\u0301d")
	rows, _, _ := c.View(40, 8)
	if got := strings.Join(rows, "|"); got != "a\ufffdb\ufffdc\u0301|\u25cc\u0301d" {
		t.Errorf("got %q", got)
	}
	if c.Text() != "a\u202eb\u200bc\u0301\n\u0301d" {
		t.Errorf("the text changed: %q", c.Text())
	}
}

// everyPlace are the places of the text, one unit after another.
func everyPlace(c *Composer) []place {
	all := []place{{}}
	for {
		p := all[len(all)-1]
		q := c.right(p)
		if q == p {
			return all
		}
		all = append(all, q)
	}
}

func TestWrapLosesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 4))
		var b strings.Builder
		for range rnd.IntN(120) {
			b.WriteString(clusters[rnd.IntN(len(clusters))])
			if rnd.IntN(30) == 0 {
				b.WriteByte('\n')
			}
		}
		text := strings.ReplaceAll(b.String(), "\t", " ")
		c := newAt(text)
		for _, width := range []int{2, 3, 7, 20, 80} {
			c.rows.setWidth(width)
			var got []string
			for i, line := range c.lines {
				at := 0
				var rows strings.Builder
				for _, start := range append(slices.Clone(c.starts(i)), len(line)) {
					rows.WriteString(line[at:start])
					at = start
				}
				got = append(got, rows.String())
			}
			if strings.Join(got, "\n") != text {
				t.Fatalf("seed %d width %d: %q became %q", seed, width, text, got)
			}
			if rows, _, _ := c.View(width, 1000); width > 6 && strings.Join(rows, "") != strings.ReplaceAll(text, "\n", "") {
				t.Fatalf("seed %d width %d: %q shows as %q", seed, width, text, rows)
			}
		}
	}
}

func TestCaretMapsBothWays(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rnd := rand.New(rand.NewPCG(seed, 5))
		c := NewComposer(nil)
		for range 40 {
			randomEdit(c, rnd)
		}
		c.View(3+rnd.IntN(30), 8)
		lastLine, lastRow, lastColumn := 0, 0, -1
		for _, p := range everyPlace(c) {
			row, _ := c.rowOf(p)
			column := c.columnOf(p)
			if back := c.placeAt(p.row, row, column); back != p {
				t.Fatalf("seed %d width %d: %v is at row %d column %d, where %v is, in %q", seed, c.rows.width, p, row, column, back, c.lines[p.row])
			}
			if p.row == lastLine && row == lastRow && column <= lastColumn {
				t.Fatalf("seed %d: %v does not move the caret", seed, p)
			}
			lastLine, lastRow, lastColumn = p.row, row, column
		}
	}
}

func TestUnitsAreTheSameFromBothEnds(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 6))
		var b strings.Builder
		pieces := append(slices.Clone(clusters), "\u0301", "\u200d", "👩", "🇩", "🇪", "\ufe0f", "ᄀ", "ᅡ", "क", "्", "ष", chipMark(1), chipMark(22))
		for range 40 {
			b.WriteString(pieces[rnd.IntN(len(pieces))])
		}
		line := b.String()
		var ends []int
		for i := 0; i < len(line); {
			i = nextEnd(line, i)
			ends = append(ends, i)
		}
		back := []int{}
		for i := len(line); i > 0; i = prevStart(line, i) {
			back = append(back, i)
		}
		slices.Reverse(back)
		if !slices.Equal(ends, back) {
			t.Fatalf("seed %d: %q\nforward %v\nback    %v", seed, line, ends, back)
		}
		for i := range line {
			if got := snap(line, i); i > 0 && strings.IndexByte(line, chipOpen) < 0 && got != ends[slices.IndexFunc(ends, func(e int) bool { return e >= i })] {
				t.Fatalf("seed %d: snap(%d) = %d, ends %v", seed, i, got, ends)
			}
		}
	}
}

// A line that is laid out again in part has the rows that it has laid out whole.
func TestRelayoutOfLongLines(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		var b strings.Builder
		for range 400 {
			b.WriteString(clusters[rnd.IntN(len(clusters))])
		}
		c := newAt(b.String())
		c.View(8+rnd.IntN(12), 8)
		for n := range 60 {
			places := everyPlace(c)
			if n%5 == 0 {
				c.move(places[rnd.IntN(len(places))])
			}
			switch rnd.IntN(4) {
			case 0:
				c.DeleteBack()
			case 1:
				c.KillWord()
			default:
				c.Type(clusters[rnd.IntN(len(clusters))])
			}
			if n%3 == 0 {
				continue // several changes between two views
			}
			got := slices.Clone(c.starts(0))
			c.rows.lines[0] = lineRows{}
			if want := c.starts(0); !slices.Equal(got, want) {
				t.Fatalf("seed %d step %d: rows begin at\n%v, whole\n%v", seed, n, got, want)
			}
			c.rows.lines[0] = lineRows{known: true, starts: got}
		}
	}
}

func TestViewScrolls(t *testing.T) {
	t.Parallel()
	c := NewComposer(nil)
	for i := range 20 {
		c.Type(fmt.Sprint("line ", i))
		if i < 19 {
			c.Newline()
		}
	}
	rows, row, _ := c.View(40, 5)
	if got := strings.Join(rows, ","); got != "↑ 16 more lines,line 16,line 17,line 18,line 19" || row != 4 {
		t.Errorf("at the end: %s, caret in %d", got, row)
	}
	c.TextStart()
	rows, row, _ = c.View(40, 5)
	if got := strings.Join(rows, ","); got != "line 0,line 1,line 2,line 3,↓ 16 more lines" || row != 0 {
		t.Errorf("at the start: %s, caret in %d", got, row)
	}
	for range 10 {
		c.Edit("down")
	}
	rows, row, _ = c.View(40, 5)
	if got := strings.Join(rows, ","); got != "↑ 8 more lines,line 8,line 9,line 10,↓ 9 more lines" || row != 3 {
		t.Errorf("in the middle: %s, caret in %d", got, row)
	}
	c.Edit("up")
	if again, row, _ := c.View(40, 5); strings.Join(again, ",") != strings.Join(rows, ",") || row != 2 {
		t.Errorf("a move in sight scrolls: %s, caret in %d", again, row)
	}
	if rows, row, _ := c.View(40, 1); strings.Join(rows, ",") != "line 9" || row != 0 {
		t.Errorf("one row: %s, caret in %d", rows, row)
	}
	if n := c.Rows(40); n != 20 {
		t.Errorf("%d rows", n)
	}
}

func TestTIMECaretStandsBehindWhatWasTyped(t *testing.T) {
	t.Parallel()
	c := NewComposer(nil)
	at := func(want int) {
		t.Helper()
		if _, row, col := c.View(40, 8); row != 0 || col != want {
			t.Errorf("caret at %d,%d behind %q, want column %d", row, col, c.Text(), want)
		}
	}
	c.Type("你好世界") // one read
	at(8)
	c.Type("👩")
	c.Type("\u200d")
	c.Type("👩")
	c.Type("\u200d")
	c.Type("👧") // one rune after another
	at(10)
	c.Type("e")
	c.Type("\u0301")
	at(11)
	if c.Text() != "你好世界👩‍👩‍👧e\u0301" {
		t.Fatalf("got %q", c.Text())
	}
	for _, want := range []string{"你好世界👩‍👩‍👧", "你好世界", "你好世", "你好"} {
		c.DeleteBack()
		if c.Text() != want {
			t.Errorf("got %q, want %q", c.Text(), want)
		}
	}
	at(4)
	c.Type(strings.Repeat("字", 20))
	if rows, row, col := c.View(40, 8); len(rows) != 2 || row != 1 || col != 6 {
		t.Errorf("%q, caret at %d,%d", rows, row, col)
	}
}

func TestTIMECaretIsNeverInsideACluster(t *testing.T) {
	t.Parallel()
	c := newAt("👩👧")
	c.Left()
	c.Type("\u200d") // joins its neighbours
	if c.cur.col != len("👩‍👧") {
		t.Errorf("caret at byte %d", c.cur.col)
	}
	c.DeleteBack()
	if !c.Empty() {
		t.Errorf("left: %q", c.Text())
	}
}
