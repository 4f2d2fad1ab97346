package jobs

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"

	"dsh/internal/sandbox"
)

// BenchmarkGigabyte takes 1 GB of output: the peak of this process's memory must not
// depend on the size, nor the time on more than the pipe.
func BenchmarkGigabyte(b *testing.B) {
	for _, size := range []int64{10_000_000, 1_000_000_000} {
		b.Run(fmt.Sprintf("%dMB", size/1_000_000), func(b *testing.B) {
			l := &sandbox.Launcher{}
			defer l.Close()
			tb := New(Options{Starter: l, Artifacts: NewArtifacts(b.TempDir(), 0, 0)})
			b.SetBytes(size)
			before := resident(b)
			for b.Loop() {
				p, err := tb.Start(Command{Command: fmt.Sprintf("yes | head -c %d", size), Env: Environ(os.Environ())})
				if err != nil {
					b.Fatal(err)
				}
				r, err := p.Wait(context.Background())
				if err != nil || r.Omitted != size-headSize-tailSize {
					b.Fatalf("%+v, %v", r.Exit, err)
				}
			}
			b.ReportMetric(before, "MB-before")
			b.ReportMetric(resident(b), "MB-peak")
		})
	}
}

// resident is the peak resident memory of this process so far, in MB.
func resident(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	kb, err := strconv.ParseFloat(string(bytes.Fields(rest)[0]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return kb / 1000
}

// BenchmarkReadJob compares what a look at a job costs after 1 MB and after 100 MB of
// output: it must not depend on it.
func BenchmarkReadJob(b *testing.B) {
	for _, size := range []int{1 << 20, 100 << 20} {
		b.Run(fmt.Sprint(size>>20, "MB"), func(b *testing.B) {
			c := newCapture(NewArtifacts(b.TempDir(), 0, 0))
			block := bytes.Repeat([]byte("0123456789abcde\n"), 4<<10)
			for n := 0; n < size; n += len(block) {
				c.write(block)
			}
			for b.Loop() {
				c.kept(c.total - 100)
			}
		})
	}
}
