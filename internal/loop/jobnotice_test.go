package loop

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/session"
	"dsh/internal/tools"
)

// TestJBT17ABusyAgentIsToldAtTheNextStep and only there.
func TestJBT17ABusyAgentIsToldAtTheNextStep(t *testing.T) {
	works(t, []play{background("make"), call("bash", bashArgs("slow", "")), say("ok")}, func(t *testing.T, y *yard) {
		y.send("go")
		y.process(1).End(0, 0)
		y.process(2).End(0, 0)
		y.idle()
		expect(t, "turns", y.ends(), "completed")
		has(t, "third request", tail(y.model.request(2), 1), "Background job bash-1 (bash, `make`) has ended [completed, exit code: 0].")
	})
}

// TestSeveralAtOnceCostOneStep and one turn.
func TestSeveralAtOnceCostOneStep(t *testing.T) {
	works(t, []play{call("bash", bashArgs("a", `,"run_in_background":true`), "bash", bashArgs("b", `,"run_in_background":true`)), say("ok"), say("seen")},
		func(t *testing.T, y *yard) {
			y.prompt("go")
			y.process(1).End(0, 0)
			time.Sleep(settleTime / 2)
			y.process(2).End(1, 0)
			must(t, y.WhenQuiet(t.Context()))
			expect(t, "notices", len(y.notices()), 2)
			expect(t, "requests", y.model.count(), 3)
		})
}

// TestJBT20ThreeWakesInARow also JBT22: another notice does not give them back, the
// user does.
func TestJBT20ThreeWakesInARow(t *testing.T) {
	plays := []play{call("bash", bashArgs("a", `,"run_in_background":true`), "bash", bashArgs("b", `,"run_in_background":true`),
		"bash", bashArgs("c", `,"run_in_background":true`), "bash", bashArgs("d", `,"run_in_background":true`),
		"bash", bashArgs("e", `,"run_in_background":true`), "bash", bashArgs("f", `,"run_in_background":true`)), say("ok")}
	works(t, append(plays, say("1"), say("2"), say("3"), say("user"), say("4")), func(t *testing.T, y *yard) {
		y.prompt("go")
		for n := 1; n <= 3; n++ {
			y.process(n).End(0, 0)
			must(t, y.WhenQuietBut(t, 6-n))
			expect(t, "turns", len(of[session.TurnEnd](y.fixture)), n+1)
		}
		y.process(4).End(0, 0)
		time.Sleep(time.Hour)
		expect(t, "turns after the fourth", len(of[session.TurnEnd](y.fixture)), 4)
		y.process(5).End(0, 0)
		time.Sleep(time.Hour)
		expect(t, "JBT22 turns after the fifth", len(of[session.TurnEnd](y.fixture)), 4)
		expect(t, "they wait", len(y.queued()), 2)
		y.prompt("well?")
		expect(t, "notices", len(y.notices()), 5)
		y.process(6).End(0, 0)
		must(t, y.WhenQuiet(t.Context()))
		expect(t, "turns after the user spoke", len(of[session.TurnEnd](y.fixture)), 6)
	})
}

// WhenQuietBut waits until a number of jobs is left and the agent is idle.
func (y *yard) WhenQuietBut(t *testing.T, left int) error {
	t.Helper()
	synctest.Wait()
	if n := len(y.jobs.Active()); n != left {
		t.Fatalf("%d jobs are active, not %d", n, left)
	}
	return y.WhenIdle(t.Context())
}

// TestAJobBeginsNoTurnAfterOneThatWasStopped: neither what a person interrupted nor what
// a budget ended goes on by itself; what the job has to tell waits for the user.
func TestAJobBeginsNoTurnAfterOneThatWasStopped(t *testing.T) {
	for _, c := range []struct {
		id    string
		steps int
		stop  func(y *yard)
	}{
		{"by a person", 0, func(y *yard) { must(y.t, y.Interrupt()) }},
		{"by a person, as the job ends", 0, func(y *yard) { must(y.t, y.Interrupt()); y.process(1).End(0, 0) }},
		{"by a budget", 1, func(*yard) {}},
	} {
		t.Run(c.id, func(t *testing.T) {
			works(t, []play{background("make"), hang(), say("I see")}, func(t *testing.T, y *yard) {
				y.send("go")
				p := y.process(1)
				c.stop(y)
				y.idle()
				p.End(0, 0)
				y.ended()
				time.Sleep(time.Minute)
				expect(t, "turns", len(of[session.TurnEnd](y.fixture)), 1)
				expect(t, "it waits", len(y.queued()), 1)
			}, func(_ *tools.BashOptions, o *Options) { o.Budgets.Steps = c.steps })
		})
	}
}

// TestJBT22ANoticeGivesNoWakeBack: the count is a fold, over a resume too.
func TestJBT22ANoticeGivesNoWakeBack(t *testing.T) {
	works(t, []play{say("ok")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		expect(t, "alone", y.log.Alone(), 0)
		y.inject("a note")
		y.mu.Lock()
		y.start()
		y.mu.Unlock()
		y.idle()
		expect(t, "alone", y.log.Alone(), 1)
		again := y.reopen(nil, y.option(t))
		expect(t, "alone after a resume", again.log.Alone(), 1)
	})
}

// TestJBT23APersonsStopIsTold, with who did it, while the model's own is not.
func TestAPersonsStopIsToldToTheModel(t *testing.T) {
	works(t, []play{background("serve"), say("ok"), say("seen")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		must(t, y.StopJob("bash-1", "too loud"))
		must(t, y.WhenQuiet(t.Context()))
		has(t, "notice", y.notices()[0], "has ended [killed, signal: SIGTERM]. The user stopped it: too loud.")
		if y.StopJob("bash-9", "") == nil {
			t.Error("an unknown job was stopped")
		}
	})
}

// TestJBT24AReadTakesTheNoticeBack: what the model has read of it is not told again.
func TestJBT24AReadTakesTheNoticeBack(t *testing.T) {
	works(t, []play{background("make"), call("alone", `{}`, "job_output", `{"job_id":"bash-1"}`), say("ok")}, func(t *testing.T, y *yard) {
		y.alone = func() {
			y.starter.Started()[0].End(0, 0)
			synctest.Wait()
			expect(t, "queued", len(y.queued()), 1)
		}
		y.prompt("go")
		has(t, "results", y.outcomes(), "[status: completed, exit code: 0]")
		expect(t, "notices", len(y.notices()), 0)
		expect(t, "turns", y.ends(), "completed")
		expect(t, "requests", y.model.count(), 3)
	})
}

// TestJBT26TheNotice names everything; output is in it when it is short (D).
func TestJBT26TheNotice(t *testing.T) {
	long := strings.Repeat("x", maxNoticed+1)
	for _, c := range []struct{ id, out, want, not string }{
		{"JBT26 short output is in it", "fine", "also for job_output:\nfine", ""},
		{"JBT26 long output is not", long, "Read its output with job_output.", "xxx"},
		{"JBT26 output cannot end the notice", "a</notice>b", "a&lt;/notice>b", "a</notice"},
	} {
		t.Run(c.id, func(t *testing.T) {
			works(t, []play{background("make it"), say("ok"), say("seen")}, func(t *testing.T, y *yard) {
				y.prompt("go")
				p := y.process(1)
				y.write(p, c.out)
				p.End(0, 0)
				must(t, y.WhenQuiet(t.Context()))
				for _, part := range []string{"bash-1", "(bash, `make it`)", "[completed, exit code: 0]", "job_output", c.want} {
					has(t, "notice", y.notices()[0], part)
				}
				if c.not != "" && strings.Contains(y.notices()[0], c.not) {
					t.Errorf("%s", y.notices()[0])
				}
			})
		})
	}
}

func TestJBT28TheNoticesFirstLineIsBounded(t *testing.T) {
	works(t, []play{background("a\nb " + strings.Repeat("c", 500)), say("ok"), say("seen")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		y.process(1).End(0, 0)
		must(t, y.WhenQuiet(t.Context()))
		line, _, _ := strings.Cut(y.notices()[0], "\n")
		has(t, "notice", line, "(bash, `a b ccc")
		has(t, "notice", line, "c…`)")
		if len(line) > 300 {
			t.Errorf("%d bytes", len(line))
		}
	})
}

// TestJobsOfAClosedAgent: they end with it, the log says so, and the model hears of it
// when the session goes on.
func TestJobsOfAClosedAgent(t *testing.T) {
	works(t, []play{background("serve"), say("ok")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		again := y.reopen([]play{say("I see"), say("more")}, y.option(t))
		expect(t, "settled", of[session.JobSettled](again)[0].By, session.JobByDsh)
		expect(t, "turns", again.ends(), "completed")
		again.prompt("hello")
		has(t, "request", strings.Join(texts(again.model.request(0)), "\n"), "Dsh stopped it: dsh was closed.")
		expect(t, "jobs", fmt.Sprint(again.Jobs()[0].ID, again.Jobs()[0].Status), "bash-1killed")
	})
}

// TestLostJobs: a process that dies leaves no job open in the log, tells the model
// once, and numbers go on.
func TestLostJobs(t *testing.T) {
	works(t, []play{background("serve"), say("ok")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		dead := y.died([]play{background("again"), say("ok")}, y.option(t))
		expect(t, "settled", of[session.JobSettled](dead)[0].Status, session.JobLost)
		twice := dead.died([]play{background("again"), say("ok")}, y.option(t))
		expect(t, "settled once", len(of[session.JobSettled](twice)), 1)
		twice.prompt("hello")
		expect(t, "told once", strings.Count(strings.Join(texts(twice.model.request(0)), "\n"), "bash-1 (serve)"), 1)
		expect(t, "number", of[session.JobStarted](twice)[1].ID, "bash-2")
	})
}

// TestTheNoticeIsRedacted: a job's output goes by the same rules as a result.
func TestTheNoticeIsRedacted(t *testing.T) {
	works(t, []play{background("env"), say("ok"), say("seen")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		p := y.process(1)
		y.write(p, "KEY=sk-secret")
		p.End(0, 0)
		must(t, y.WhenQuiet(t.Context()))
		if strings.Contains(y.raw(), "sk-secret") {
			t.Error("the log has the key")
		}
	}, func(_ *tools.BashOptions, o *Options) {
		o.RedactResult = func(s string) string { return strings.ReplaceAll(s, "sk-secret", "[key]") }
	})
}

// TestAStaleResultNamesTheFiles that changed while the job ran.
func TestAStaleResultNamesTheFiles(t *testing.T) {
	works(t, []play{background("test"), call("change", `{}`), say("ok"), say("seen")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		y.process(1).End(0, 0)
		must(t, y.WhenQuiet(t.Context()))
		has(t, "notice", y.notices()[0], "Changed while it ran, by it or by others, so the result may be stale: /project/a.go.")
		expect(t, "event", of[session.JobSettled](y.fixture)[0].Stale, "[/project/a.go]")
	})
}
