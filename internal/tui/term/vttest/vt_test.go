package vttest

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/vt"
	"golang.org/x/sys/unix"

	"dsh/internal/tui/term"
)

// terminal is an emulator behind a pseudo terminal.
type terminal struct {
	t      *testing.T
	master *os.File
	slave  *os.File
	em     *vt.Emulator
}

func open(t *testing.T, w, h int) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	y := &terminal{t: t, master: master, slave: slave, em: vt.NewEmulator(w, h)}
	y.resize(w, h)
	t.Cleanup(func() {
		_ = slave.Close()
		_ = master.Close()
		_ = y.em.Close()
	})
	return y
}

func (y *terminal) resize(w, h int) {
	y.t.Helper()
	y.em.Resize(w, h)
	if err := unix.IoctlSetWinsize(int(y.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(w), Row: uint16(h)}); err != nil {
		y.t.Fatal(err)
	}
}

// shown feeds the emulator up to the end of the frame that holds mark.
func (y *terminal) shown(mark string) {
	y.t.Helper()
	seen := ""
	b := make([]byte, 64<<10)
	for {
		n, err := y.master.Read(b)
		if err != nil {
			y.t.Fatal(err)
		}
		_, _ = y.em.Write(b[:n])
		seen += string(b[:n])
		if i := strings.Index(seen, mark); i >= 0 && strings.Contains(seen[i:], "\x1b[?2026l") {
			return
		}
	}
}

// text is all the emulator holds, without blanks at the end.
func (y *terminal) text() []string {
	var rows []string
	for i := range y.em.ScrollbackLen() {
		row := ""
		for _, cell := range y.em.Scrollback().Line(i) {
			row += cell.Content
		}
		rows = append(rows, strings.TrimRight(row, " "))
	}
	for row := range strings.SplitSeq(y.em.String(), "\n") {
		rows = append(rows, strings.TrimRight(row, " \r"))
	}
	for len(rows) > 0 && rows[len(rows)-1] == "" {
		rows = rows[:len(rows)-1]
	}
	return rows
}

var words = []string{"a", "go", "你好", "한글", "\x1b[31mred\x1b[m", "x y", "世界", "0123456789"}

func randomRow(r *rand.Rand, width int) string {
	row, n := "", r.IntN(width+1)
	for {
		w := words[r.IntN(len(words))]
		if ansi.StringWidth(row+w) > n {
			break
		}
		row += w
	}
	if r.IntN(4) == 0 {
		row += strings.Repeat("=", width-ansi.StringWidth(row))
	}
	return row
}

// TestG03AnEmulatorHoldsWhatWasPrintedAndDrawn plays random prints and frames, with
// blocks taller than the window, and compares scrollback and screen with a flat list.
func TestG03AnEmulatorHoldsWhatWasPrintedAndDrawn(t *testing.T) {
	t.Parallel()
	for seed := range uint64(8) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 2))
			w, h := 30+r.IntN(60), 10+r.IntN(20)
			y := open(t, w, h)
			y.em.SetScrollbackSize(100_000)
			screen, err := term.Open(term.Options{In: y.slave, Out: y.slave, Env: term.Env{Depth: term.Color16, Chords: true}})
			if err != nil {
				t.Fatal(err)
			}
			defer screen.Restore()
			var printed []string
			for i := range 40 {
				var rows []string
				for range r.IntN(2) * r.IntN(3*h) {
					rows = append(rows, randomRow(r, w))
				}
				f := term.Frame{Rows: []string{fmt.Sprintf("frame %d.", i)}}
				for range r.IntN(5) {
					f.Rows = append(f.Rows, randomRow(r, w))
				}
				f.Cursor = term.Cursor{Row: r.IntN(len(f.Rows)), Col: r.IntN(w)}
				screen.Print(rows)
				screen.Draw(f)
				y.shown(f.Rows[0])
				printed = append(printed, rows...)
				check(t, y, printed, f)
				if r.IntN(4) == 0 {
					h = 10 + r.IntN(20)
					if h > y.em.Height() { // smaller, it drops rows
						y.resize(w, h)
					}
					h = y.em.Height()
				}
			}
		})
	}
}

func check(t *testing.T, y *terminal, printed []string, f term.Frame) {
	t.Helper()
	var want []string
	for _, row := range append(slices.Clone(printed), f.Rows...) {
		want = append(want, strings.TrimRight(ansi.Strip(row), " "))
	}
	for len(want) > 0 && want[len(want)-1] == "" {
		want = want[:len(want)-1]
	}
	if got := y.text(); !slices.Equal(got, want) {
		t.Fatalf("the emulator holds\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	row := strings.Split(y.em.String(), "\n")[y.em.CursorPosition().Y]
	if got, want := strings.TrimRight(row, " \r"), strings.TrimRight(ansi.Strip(f.Rows[f.Cursor.Row]), " "); got != want || y.em.CursorPosition().X != f.Cursor.Col {
		t.Fatalf("the cursor stands at column %d of %q, want %d of %q", y.em.CursorPosition().X, got, f.Cursor.Col, want)
	}
}

// TestAltLeavesTheMainScreenAsItWas opens a pager over the live region, and prints
// meanwhile.
func TestAltLeavesTheMainScreenAsItWas(t *testing.T) {
	t.Parallel()
	y := open(t, 40, 10)
	screen, err := term.Open(term.Options{In: y.slave, Out: y.slave, Env: term.Env{}})
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Restore()
	live := term.Frame{Rows: []string{"", "> first"}, Cursor: term.Cursor{Row: 1, Col: 2}}
	screen.Print([]string{"one"})
	screen.Draw(live)
	y.shown("first")
	pager := term.Frame{Rows: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "the end"}, Alt: true, Cursor: term.Cursor{Hidden: true}}
	screen.Print([]string{"two"})
	screen.Draw(pager)
	y.shown("the end")
	if got := strings.Fields(y.em.String()); !slices.Equal(got, []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "the", "end"}) {
		t.Errorf("the pager shows %q", got)
	}
	live.Rows[1] = "> second"
	screen.Draw(live)
	y.shown("second")
	check(t, y, []string{"one", "two"}, live)
}
