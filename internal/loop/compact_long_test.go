package loop

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"dsh/internal/audit"
	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// longWindow is in tokens, for the server as for the agent.
const longWindow = 32_000

// asksForSummary is a text of every request for a summary, and of no other.
const asksForSummary = "about to outgrow the context window"

// longScript plays a model that calls a tool again and again, for as many steps, and
// that summarises when asked to.
func longScript(steps int) string {
	return fmt.Sprintf(`
window %d

== summary
when %q
loop
text Step {{n}} of a long task. {{repeat 60 The user wants all of it, and nothing went wrong. }}

== step
repeat %d
call probe {"n":{{n}}}

== end
text All done.
`, longWindow, asksForSummary, steps)
}

// small is a route with the window of the long scripts.
func small(o *Options) {
	o.Route.Window, o.Route.Config.MaxTokens = longWindow, longWindow/8
}

// cost is what this process has used so far.
type cost struct {
	bytes uint64 // allocated
	cpu   int64  // nanoseconds
}

func costNow(t *testing.T) cost {
	t.Helper()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	var u syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return cost{m.TotalAlloc, u.Utime.Nano() + u.Stime.Nano()}
}

// TestLongSessionStaysUnderItsWindow runs one turn of 2,000 steps (fewer under the race detector) through the real
// client against the strict validator. Every request fits the window, compactions come
// again and again, a step costs at the end what it cost early, and the log derives
// every request. It is not parallel: it measures the process.
func TestLongSessionStaysUnderItsWindow(t *testing.T) {
	at := map[int]cost{}
	n := 0
	body := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
		if n++; n%25 == 0 {
			at[n] = costNow(t)
		}
		return tools.Result{Text: strings.Repeat(fmt.Sprintf("line %d of a file, \"quoted\"\n", n), 10+n%90)}, nil
	}}
	server := scripted(t, longScript(longSteps))
	f := newFixture(t, nil, dialing(t, "http://model.invalid", server.Pipe()), small, with(body))
	f.prompt("Do all of it.")
	expect(t, "the end", f.ends(), "completed")
	expect(t, "steps", f.log.State().Steps, longSteps+1)

	compactions := len(of[session.CompactionSummary](f))
	expect(t, "compactions that failed", failedCompactions(f), "[]")
	if compactions < longSteps/100 {
		t.Errorf("%d compactions in %d steps", compactions, longSteps)
	}
	for i, body := range server.Requests() {
		if tokens := len(body)/4 + longWindow/8; tokens > longWindow {
			t.Errorf("request %d asks for %d tokens", i, tokens)
		}
	}
	for _, m := range mustMessages(f) {
		if session.IsCompaction(m) {
			mustContain(t, "the checkpoint", m.PlainText(), "Do all of it.", "Step ")
		}
	}
	early, late := perStep(at, longSteps/4, longSteps/2), perStep(at, longSteps-longSteps/4, longSteps)
	t.Logf("%d compactions; a step costs %d bytes and %d µs of CPU early, %d and %d late", compactions, early.bytes, early.cpu/1000, late.bytes, late.cpu/1000)
	if late.bytes > early.bytes*3/2 || late.cpu > early.cpu*2 {
		t.Errorf("a step of the end costs %+v, one of the beginning %+v", late, early)
	}
	f.verify()
}

func perStep(at map[int]cost, from, to int) cost {
	n := to - from
	return cost{(at[to].bytes - at[from].bytes) / uint64(n), (at[to].cpu - at[from].cpu) / int64(n)}
}

func failedCompactions(f *fixture) []string {
	list := []string{}
	for _, end := range of[session.CompactionEnd](f) {
		if end.Error != "" {
			list = append(list, end.Error)
		}
	}
	return list
}

func mustMessages(f *fixture) []*llm.Message {
	messages, _ := f.log.Messages()
	return messages
}

// verify audits the log as dsh verify does.
func (f *fixture) verify() {
	f.t.Helper()
	must(f.t, f.log.Sync())
	snapshot, err := session.Read(f.log.Path())
	must(f.t, err)
	report, err := audit.Verify(snapshot)
	must(f.t, err)
	if report.Structure != nil || report.Wrong != nil || report.Derived != report.Requests || report.Requests == 0 {
		f.t.Errorf("verify: %+v, structure %v, wrong %v", report, report.Structure, report.Wrong)
	}
}
