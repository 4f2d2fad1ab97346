package files

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkSearch searches trees of two sizes: the time for a file, and the memory, must
// not grow with their number.
func BenchmarkSearch(b *testing.B) {
	text := strings.Repeat("func handler(request string) error { return nil } // context buffer\n", 40) + "ID-1234 needle\n"
	for _, n := range []int{1_000, 20_000} {
		root := b.TempDir()
		for i := range n {
			dir := filepath.Join(root, fmt.Sprintf("d%d", i/100))
			if i%100 == 0 {
				if err := os.Mkdir(dir, 0o755); err != nil {
					b.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.go", i)), []byte(text), 0o644); err != nil {
				b.Fatal(err)
			}
		}
		run := func(name string, search func() (int, error)) {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				before := resident(b)
				for b.Loop() {
					if found, err := search(); err != nil || found != n {
						b.Fatalf("%d files, %v", found, err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/file")
				b.ReportMetric(before, "MB-before")
				b.ReportMetric(resident(b), "MB-peak")
			})
		}
		for name, p := range map[string]struct {
			expr string
			fold bool
		}{"literal": {"needle", false}, "class": {`[A-Z]{2}-\d+ \w+`, false}, "ignore-case": {"NEEDLE", true}, "no-literal": {`\d\d\d\d`, false}} {
			pattern, err := NewPattern(p.expr, p.fold)
			if err != nil {
				b.Fatal(err)
			}
			run(name, func() (int, error) {
				found, _, err := Search(context.Background(), root, Query{Pattern: pattern, Counts: true}, Options{})
				return len(found), err
			})
		}
		glob, err := NewGlob("**/*.go")
		if err != nil {
			b.Fatal(err)
		}
		run("glob", func() (int, error) {
			found, _, err := Find(context.Background(), root, glob, Options{})
			return len(found), err
		})
	}
}

// resident is the peak resident memory of this process so far, in MB.
func resident(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Skip(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, err := strconv.Atoi(strings.Fields(rest)[0])
	if err != nil {
		b.Fatal(err)
	}
	return float64(kb) / 1024
}
