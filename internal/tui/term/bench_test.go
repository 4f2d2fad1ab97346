package term

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
)

const proseLine = "读取 main.go 之后，the cart test 在并发时偶尔失败：两个 goroutine 同时写 total，\x1b[1m没有锁\x1b[m。"

// prose is a row of n columns with wide cells and colours.
func prose(n int) string {
	return ansi.Truncate(strings.Repeat(proseLine, 1+n/40), n, "")
}

func liveRegion(rows int) Frame {
	f := Frame{Cursor: Cursor{Row: rows - 2, Col: 8, Shape: Bar}}
	for i := range rows {
		f.Rows = append(f.Rows, prose(100+i))
	}
	return f
}

// BenchmarkFrame is what a frame costs at 200x50 with wide text on screen.
func BenchmarkFrame(b *testing.B) {
	const w, h = 200, 50
	for _, c := range []struct {
		name   string
		change func(i int, f *Frame) []string
	}{
		{"one row grows", func(i int, f *Frame) []string { f.Rows[3] = prose(20 + i%170); return nil }},
		{"a row is printed", func(i int, f *Frame) []string { return []string{prose(190)} }},
		{"all rows change", func(i int, f *Frame) []string {
			for j := range f.Rows {
				f.Rows[j] = prose(100 + (i+j)%90)
			}
			return nil
		}},
		{"the cursor moves", func(i int, f *Frame) []string { f.Cursor.Col = i % 100; return nil }},
		{"nothing changes", func(int, *Frame) []string { return nil }},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := painter{reflows: true, fresh: true}
			f := liveRegion(12)
			var out []byte
			written := 0
			i := 0
			for b.Loop() {
				f.Rows = slices.Clone(f.Rows)
				printed := c.change(i, &f)
				out = p.paint(out[:0], w, h, printed, f)
				written += len(out)
				i++
			}
			b.ReportMetric(float64(written)/float64(i), "bytes/frame")
		})
	}
}

// BenchmarkDecode is what keys and pastes cost.
func BenchmarkDecode(b *testing.B) {
	for _, c := range []struct{ name, in string }{
		{"a letter", "a"},
		{"shift+enter", "\x1b[13;2u"},
		{"text", strings.Repeat("你好 hello ", 20)},
		{"a paste of 1 MB", pasteStartEnd(strings.Repeat("0123456789abcde\r", 1<<16))},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(c.in)))
			var d decoder
			for b.Loop() {
				for in := c.in; in != ""; {
					n := min(len(in), 4095)
					d.feed([]byte(in[:n]))
					in = in[n:]
				}
			}
		})
	}
}

// BenchmarkSessionLength shows that a frame does not grow with what was printed before.
func BenchmarkSessionLength(b *testing.B) {
	for _, printed := range []int{10, 10_000} {
		b.Run(fmt.Sprint(printed), func(b *testing.B) {
			p := painter{reflows: true, fresh: true}
			f := liveRegion(12)
			p.paint(nil, 200, 50, make([]string, printed), f)
			var out []byte
			for i := 0; b.Loop(); i++ {
				f.Rows = slices.Clone(f.Rows)
				f.Rows[3] = prose(20 + i%170)
				out = p.paint(out[:0], 200, 50, nil, f)
			}
		})
	}
}

// BenchmarkIdle counts how often a program wakes up that has nothing to do, all its
// threads together. Bubble Tea's own renderer makes it about 300 times a second.
func BenchmarkIdle(b *testing.B) {
	y := start(b, "program")
	y.wait("status 40")
	before := switches(b, y.cmd.Process.Pid)
	began := time.Now()
	for b.Loop() {
		<-time.After(100 * time.Millisecond)
	}
	woken := switches(b, y.cmd.Process.Pid) - before
	b.ReportMetric(float64(woken)/time.Since(began).Seconds(), "wakeups/s")
}

// switches is how often the threads of a process gave up the processor of themselves.
func switches(b *testing.B, pid int) int {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil || len(files) == 0 {
		b.Fatalf("no threads of %d: %v", pid, err)
	}
	sum := 0
	for _, name := range files {
		status, err := os.ReadFile(name)
		if err != nil {
			b.Fatal(err)
		}
		_, n, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
		n, _, _ = strings.Cut(n, "\n")
		count, err := strconv.Atoi(strings.TrimSpace(n))
		if err != nil {
			b.Fatal(err)
		}
		sum += count
	}
	return sum
}
