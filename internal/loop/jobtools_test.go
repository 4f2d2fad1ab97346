package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dsh/internal/session"
	"dsh/internal/tools"
)

// TestJBT05WaitReturnsAtTheEnd also JBT01, JBT02.
func TestJBT05WaitReturnsAtTheEnd(t *testing.T) {
	works(t, []play{background("make"), output("bash-1", `,"wait":true`), say("ok")}, func(t *testing.T, y *yard) {
		y.send("go")
		p := y.process(1)
		y.write(p, "JBT02 ends with a newline\n")
		time.Sleep(20 * time.Second)
		p.End(0, 0)
		y.idle()
		has(t, "result", y.outcomes(), "c1-2: JBT02 ends with a newline\n[status: completed, exit code: 0]")
	})
}

func TestJBT01ARunningJobIsRead(t *testing.T) {
	for _, c := range []struct{ id, written, want string }{
		{"JBT01 the status is on its own line", "half", "half\n[status: running]"},
		{"JBT02 a newline is not doubled", "whole\n", "whole\n[status: running]"},
		{"JBT01 nothing new", "", "(no new output)\n[status: running]"},
	} {
		t.Run(c.id, func(t *testing.T) {
			works(t, []play{background("make"), output("bash-1", `,"wait":true,"timeout_ms":1000`), say("ok")}, func(t *testing.T, y *yard) {
				y.send("go")
				p := y.process(1)
				if c.written != "" {
					y.write(p, c.written)
				}
				y.idle()
				has(t, "results", y.outcomes(), "c1-2: "+c.want)
				expect(t, "JBT08 no error", y.codes(), "ok ok")
				expect(t, "JBT08 alive", y.Jobs()[0].Status, session.JobRunning)
			})
		})
	}
}

func TestJBT06HowLongAWaitIs(t *testing.T) {
	for _, c := range []struct {
		id, more string
		want     time.Duration
	}{
		{"JBT06 by itself", `,"wait":true`, 30 * time.Second},
		{"JBT07 at most", `,"wait":true,"timeout_ms":9000000`, 600 * time.Second},
		{"JBT08 as asked", `,"wait":true,"timeout_ms":2000`, 2 * time.Second},
	} {
		t.Run(c.id, func(t *testing.T) {
			works(t, []play{background("make"), output("bash-1", c.more), say("ok")}, func(t *testing.T, y *yard) {
				begun := time.Now()
				y.prompt("go")
				expect(t, "it took", time.Since(begun), c.want)
				expect(t, "codes", y.codes(), "ok ok")
			})
		})
	}
}

// TestASteerEndsAWait: a follow-up does not, and the job runs on.
func TestASteerEndsAWait(t *testing.T) {
	for _, off := range []bool{false, true} {
		t.Run(fmt.Sprint("handover off: ", off), func(t *testing.T) {
			works(t, []play{background("make"), output("bash-1", `,"wait":true,"timeout_ms":600000`), say("heard"), say("next")}, func(t *testing.T, y *yard) {
				y.send("go")
				time.Sleep(time.Minute)
				y.send("later")
				time.Sleep(time.Minute)
				expect(t, "requests after a follow-up", y.model.count(), 2)
				begun := time.Now()
				y.steer("how is it?")
				y.idle()
				expect(t, "after", time.Since(begun), time.Duration(0))
				has(t, "results", y.outcomes(), "[status: running]")
				expect(t, "last words", tail(y.model.request(2), 1), "how is it?")
				expect(t, "status", y.Jobs()[0].Status, session.JobRunning)
			}, func(_ *tools.BashOptions, o *Options) { o.Handover = !off })
		})
	}
}

func TestJBT11JobList(t *testing.T) {
	works(t, []play{call("job_list", `{}`), background("make all"), background("serve\n  --now"), call("job_list", `{}`), say("ok")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		has(t, "JBT11 none", y.outcomes(), "c1: (no background jobs)\n")
		has(t, "JBT12 two", y.outcomes(), ": bash-1 [bash] running — make all\nbash-2 [bash] running — serve --now")
	})
}

func TestJBT12TwoJobsAreTwoLines(t *testing.T) {
	works(t, []play{background("one"), background("two"), call("job_list", `{}`), say("ok")}, func(t *testing.T, y *yard) {
		y.send("go")
		y.process(2).End(1, 0)
		y.idle()
		list := of[session.ToolResult](y.fixture)[2]
		if n := strings.Count(resultText(&list.Message), "\n"); n != 1 {
			t.Errorf("%d breaks in %q", n, resultText(&list.Message))
		}
	})
}
