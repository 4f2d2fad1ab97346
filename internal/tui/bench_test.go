package tui

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"dsh/internal/llm"
)

// longSession is a screen over a session of n blocks, while an answer streams.
func longSession(t testing.TB, n int) *world {
	w := newWorld(t, setup{})
	w.prompt("go")
	for w.m.project.Settled() < n {
		w.answered(llm.TextBlock("An answer of some words."))
		w.nextStep()
	}
	w.term.printed = nil
	w.stream("The last answer, which streams, has a few words too.\n\nAnd a second paragraph")
	return w
}

var blockCounts = []int{10, 1000, 100000}

func BenchmarkFrame(b *testing.B) {
	for _, n := range blockCounts {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := longSession(b, n)
			w.m.Frame()
			b.ReportAllocs()
			for b.Loop() {
				w.m.Frame()
			}
		})
	}
}

func BenchmarkKeyEcho(b *testing.B) {
	for _, n := range blockCounts {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			w := longSession(b, n)
			b.ReportAllocs()
			var took []time.Duration // of a key with its frame
			for b.Loop() {
				for _, key := range []string{"x", "backspace"} {
					begun := time.Now()
					w.m.Update(keyMsg(key))
					w.m.Frame()
					took = append(took, time.Since(begun))
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
		})
	}
}

// TestPERF1AFrameCostsTheSameInALongSession compares by ratio, the best of several.
func TestPERF1AFrameCostsTheSameInALongSession(t *testing.T) {
	best := func(w *world) time.Duration {
		best := time.Hour
		for range 40 {
			start := time.Now()
			for range 20 {
				w.m.Update(keyMsg("x"))
				w.m.Frame()
				w.m.Update(keyMsg("backspace"))
				w.m.Frame()
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	short, tall := best(longSession(t, 10)), best(longSession(t, 10000))
	if tall > short*3/2 {
		t.Errorf("a key costs %v with 10,000 blocks, %v with 10", tall/40, short/40)
	}
}
