package transcript

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
)

var sizes = []int{10, 1_000, 100_000}

// longLog is a log of about n blocks.
func longLog(n int) *script {
	s := &script{now: 1000}
	for i := 0; i < n; i += 5 {
		c := call(fmt.Sprint("c", i), "bash", `{"target":"go test ./..."}`)
		s.prompt("next").add(session.AssistantMessage{Turn: s.turn, Step: 1, Message: llm.Message{Role: llm.Assistant,
			Content: []llm.Block{thought("hm"), llm.TextBlock("I will look at **this** and then at `that`, and say what I found."), c}}})
		s.start(c).result(c, "", "ok\nok\nok\n", nil).end(session.EndReason{Kind: session.Aborted})
	}
	return s
}

// BenchmarkApply is the cost of one streamed chunk after n blocks, and of a projection
// of all of them for each event.
func BenchmarkApply(b *testing.B) {
	for _, n := range sizes {
		s := longLog(n)
		p := project(s.events)
		s.prompt("more")
		p.Apply(s.events[len(s.events)-8:]...)
		b.Run(fmt.Sprint("chunk/", n), func(b *testing.B) {
			ev := session.Event{Type: session.TypeAssistantChunk, Seq: 1 << 30, Data: session.AssistantChunk{Chunk: llm.Chunk{Type: llm.TextDelta, Text: "word "}}}
			b.ReportAllocs()
			for b.Loop() {
				if ev.Seq++; ev.Seq%4096 == 0 { // the answer is not to grow with the benchmark
					p.Apply(session.Event{Seq: ev.Seq, Data: session.RequestSent{}})
				}
				p.Apply(ev)
			}
		})
		b.Run(fmt.Sprint("all/", n), func(b *testing.B) {
			for b.Loop() {
				project(s.events)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(s.events)), "ns/event")
		})
	}
}

// frame draws a pager of 120 columns and 45 rows.
func frame(n int) (*List, *Renderer, *Projection) {
	p, r := project(longLog(n).events), NewRenderer(present)
	l := NewList(func() int { return len(p.Blocks()) }, func(i, width int) []string { return r.Rows(&p.Blocks()[i], Options{Width: width}) })
	l.Resize(120, 45)
	return l, r, p
}

func BenchmarkFrame(b *testing.B) {
	for _, n := range sizes {
		l, _, _ := frame(n)
		b.Run(fmt.Sprint("warm/", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				l.View()
			}
		})
		b.Run(fmt.Sprint("jump/", n), func(b *testing.B) {
			for i := 0; b.Loop(); i += 7919 {
				l.JumpTo(i%n, 0)
				l.View()
			}
		})
	}
}

// BenchmarkMemory is what a block of a projection takes, without the log.
func BenchmarkMemory(b *testing.B) {
	s := longLog(100_000)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		before := heap()
		p := project(s.events)
		b.ReportMetric(float64(heap()-before)/float64(len(p.Blocks())), "B/block")
		runtime.KeepAlive(p)
	}
}

// BenchmarkScale compares within one run what a chunk and a warm frame cost after
// 1,000 blocks and after 100,000.
func BenchmarkScale(b *testing.B) {
	const rounds, chunks, frames = 20, 1000, 500
	cost := func(n int) (chunk, view float64) {
		p := project(longLog(n).events)
		l, _, _ := frame(n)
		l.View()
		seq := 1 << 30
		chunk, view = 1e12, 1e12
		for range rounds {
			p.Apply(session.Event{Seq: seq, Data: session.RequestSent{}})
			start := time.Now()
			for range chunks {
				seq++
				p.Apply(session.Event{Seq: seq, Data: session.AssistantChunk{Chunk: llm.Chunk{Type: llm.TextDelta, Text: "word "}}})
			}
			chunk = min(chunk, float64(time.Since(start)))
			start = time.Now()
			for range frames {
				l.View()
			}
			view = min(view, float64(time.Since(start)))
		}
		return chunk, view
	}
	for b.Loop() {
		chunk, view := cost(1_000)
		chunkLong, viewLong := cost(100_000)
		b.ReportMetric(chunkLong/chunk, "chunk-ratio")
		b.ReportMetric(viewLong/view, "frame-ratio")
	}
}

func TestTPERF01AWarmFrameAllocatesNothing(t *testing.T) {
	for _, n := range []int{10, 20_000} {
		l, _, _ := frame(n)
		l.View()
		if got := testing.AllocsPerRun(20, func() { l.View() }); got > 0 {
			t.Errorf("%d blocks: %v allocations in a frame", n, got)
		}
		p := project(longLog(n).events)
		seq := 1 << 30
		if got := testing.AllocsPerRun(500, func() {
			seq++
			p.Apply(session.Event{Seq: seq, Data: session.AssistantChunk{Chunk: llm.Chunk{Type: llm.TextDelta, Text: "word "}}})
		}); got > 1 {
			t.Errorf("%d blocks: %v allocations for a chunk", n, got)
		}
	}
}
