package loop

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// stepsEach is how many steps are measured on one log: few, so that the history
// stays about as long as the name of the benchmark says.
const stepsEach = 20

// BenchmarkStep is what a step costs by itself: its turn and input, the request
// built and checked, an answer of 20 chunks streamed and logged, the barriers. None
// of it may grow with the history. The time on the clock is mostly the disk's; cpu-µs
// is what the process used.
func BenchmarkStep(b *testing.B) {
	for _, history := range []int{10, 1000} {
		b.Run(fmt.Sprint("history=", history), func(b *testing.B) {
			b.ReportAllocs()
			var cpu time.Duration
			for done := 0; done < b.N; done += stepsEach {
				b.StopTimer()
				a, end := withHistory(b, history)
				b.StartTimer()
				start := cpuTime(b)
				for range min(stepsEach, b.N-done) {
					if _, err := a.Followup("go on"); err != nil {
						b.Fatal(err)
					}
					if err := a.WhenIdle(context.Background()); err != nil {
						b.Fatal(err)
					}
				}
				cpu += cpuTime(b) - start
				b.StopTimer()
				end()
			}
			b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/op")
		})
	}
}

// withHistory is an agent over a log of n messages, half of them answers. It has
// made one request already: what is due once is not measured.
func withHistory(b *testing.B, n int) (a *Agent, end func()) {
	b.Helper()
	log, err := session.Create(filepath.Join(b.TempDir(), "sessions"), session.Header{Cwd: "/work"})
	if err != nil {
		b.Fatal(err)
	}
	drafts := []session.Draft{{Data: session.TurnStart{Turn: 1}}}
	for step := 1; step <= n/2; step++ {
		drafts = append(drafts, session.Draft{Data: session.StepStart{Turn: 1, Step: step}})
		prompt := note("what about it?")
		prompt.ID = session.NewID()
		answer := llm.Message{Role: llm.Assistant, ID: session.NewID(), Content: []llm.Block{llm.TextBlock("this about it")},
			Source: llm.Source{Kind: llm.FromModel, Provider: "test", Model: "m"}}
		drafts = append(drafts, session.Visible(session.UserMessage{Message: prompt}),
			session.Visible(session.AssistantMessage{Turn: 1, Step: step, Message: answer}),
			session.Draft{Data: session.StepEnd{Turn: 1, Step: step}})
	}
	drafts = append(drafts, session.Draft{Data: session.TurnEnd{Turn: 1, Reason: session.EndReason{Kind: session.Completed}}})
	if _, err := log.Append(drafts...); err != nil {
		b.Fatal(err)
	}
	answer := make([]llm.Chunk, 20)
	for i := range answer {
		answer[i] = text("a few words ")
	}
	o := Options{Log: log, Route: Route{Model: chunks(nil, answer...), Config: llm.Config{Provider: "test", Model: "m"}},
		Rules: policy.Rules{Preset: policy.PresetFull}, Cwd: "/work", System: "Be good."}
	with(&probe{name: "probe"})(&o)
	if a, err = New(o); err != nil {
		b.Fatal(err)
	}
	if _, err := a.Followup("begin"); err != nil {
		b.Fatal(err)
	}
	if err := a.WhenIdle(context.Background()); err != nil {
		b.Fatal(err)
	}
	return a, func() {
		if err := a.Close(context.Background()); err != nil {
			b.Error(err)
		}
		if err := log.Close(); err != nil {
			b.Error(err)
		}
	}
}

// cpuTime is what this process has used, in its own code and in the kernel.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
