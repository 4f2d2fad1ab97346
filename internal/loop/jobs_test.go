package loop

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/policy"
	"dsh/internal/sandbox/sandboxtest"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// yard is an agent with bash and the job tools over played processes.
type yard struct {
	*fixture
	starter *sandboxtest.Starter
	alone   func() // the body of the tool alone, if set
}

// works runs a test over a yard in a time of its own.
func works(t *testing.T, plays []play, test func(t *testing.T, y *yard), opts ...func(*tools.BashOptions, *Options)) {
	t.Helper()
	bubble(t, func(t *testing.T) { test(t, newYard(t, plays, opts...)) })
}

func newYard(t *testing.T, plays []play, opts ...func(*tools.BashOptions, *Options)) *yard {
	t.Helper()
	y := &yard{starter: &sandboxtest.Starter{}}
	y.fixture = newFixture(t, plays, y.option(t, opts...))
	return y
}

// option is what makes an agent one of the yard.
func (y *yard) option(t *testing.T, opts ...func(*tools.BashOptions, *Options)) option {
	return func(o *Options) {
		table := jobs.New(jobs.Options{Starter: y.starter, Artifacts: jobs.NewArtifacts(t.TempDir(), 0, 0)})
		bash := tools.BashOptions{Jobs: table, Root: t.TempDir(), Background: true, KeepLate: true}
		o.Cwd, o.Handover = bash.Root, true
		for _, opt := range opts {
			opt(&bash, o)
		}
		with(tools.Bash(bash), tools.JobOutput(), tools.JobList(), tools.JobKill(), &probe{name: "probe", safe: always},
			&probe{name: "alone", class: policy.Exec, run: func(context.Context, string) (tools.Result, error) {
				if y.alone != nil {
					y.alone()
				}
				return tools.Result{Text: "ok"}, nil
			}},
			&probe{name: "change", class: policy.Write, run: func(context.Context, string) (tools.Result, error) {
				return tools.Result{Text: "ok", Changed: []string{"/project/a.go"}}, nil
			}})(o)
	}
}

// ended waits until every job has ended and the agent is idle.
func (y *yard) ended() {
	y.t.Helper()
	for _, j := range y.jobs.Active() {
		<-j.Told()
	}
	must(y.t, y.WhenQuiet(y.t.Context()))
}

func bashArgs(command string, more string) string {
	return fmt.Sprintf(`{"command":%q,"description":"Do it"%s}`, command, more)
}

func background(command string) play {
	return call("bash", bashArgs(command, `,"run_in_background":true`))
}

func output(id string, more string) play {
	return call("job_output", fmt.Sprintf(`{"job_id":%q%s}`, id, more))
}

// process waits until the nth process, from 1, was started, and nothing moves.
func (y *yard) process(n int) *sandboxtest.Process {
	y.t.Helper()
	synctest.Wait()
	all := y.starter.Started()
	if len(all) < n {
		y.t.Fatalf("%d processes were started, not %d", len(all), n)
	}
	return all[n-1]
}

func (y *yard) write(p *sandboxtest.Process, text string) {
	y.t.Helper()
	_, err := p.Write([]byte(text))
	must(y.t, err)
	synctest.Wait()
}

// notices are the texts of the notes of jobs that entered a step, without their frame.
func (y *yard) notices() []string {
	y.t.Helper()
	var list []string
	for _, m := range of[session.UserMessage](y.fixture) {
		if m.Source.Form == session.FormJob {
			list = append(list, strings.TrimSuffix(strings.TrimPrefix(m.PlainText(), "<notice>\n"), "\n</notice>"))
		}
	}
	return list
}

func (y *yard) result(id string) string {
	y.t.Helper()
	for _, r := range of[session.ToolResult](y.fixture) {
		if r.Message.Source.CallID == id {
			return resultText(&r.Message)
		}
	}
	y.t.Errorf("there is no result of %s", id)
	return ""
}

func TestBSH29ABackgroundCommandReturnsAtOnce(t *testing.T) {
	works(t, []play{background("make"), say("going on")}, func(t *testing.T, y *yard) {
		begun := time.Now()
		y.prompt("go")
		expect(t, "result", y.result("c1"), "started background job bash-1")
		expect(t, "it took", time.Since(begun), time.Duration(0))
		expect(t, "job", fmt.Sprint(y.Jobs()[0].ID, y.Jobs()[0].Status, y.Jobs()[0].Label, y.Jobs()[0].CallID), "bash-1runningmakec1")
		time.Sleep(24 * time.Hour)
		expect(t, "BSH41 no timeout applies", y.Jobs()[0].Status, session.JobRunning)
	})
}

func TestBSH41AJobHasNoTimeout(t *testing.T) {
	works(t, []play{call("bash", bashArgs("serve", `,"run_in_background":true,"timeoutMs":1000`)), say("ok")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		time.Sleep(time.Hour)
		expect(t, "status", y.Jobs()[0].Status, session.JobRunning)
	})
}

func TestJBT18TheNoticeOpensATurn(t *testing.T) {
	works(t, []play{background("make"), say("waiting"), say("I see")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		y.process(1).End(0, 0)
		must(t, y.WhenQuiet(t.Context()))
		has(t, "story", y.story(), "turn2 claim step1 user:<notice>\nBackground job bash-1")
		expect(t, "turns", y.ends(), "completed completed")
	})
}

func TestBSH30TheEndOfAJobWakesAnIdleAgent(t *testing.T) {
	works(t, []play{background("make"), say("waiting"), output("bash-1", ""), say("I saw it")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		p := y.process(1)
		y.write(p, "all good\n")
		p.End(0, 0)
		must(t, y.WhenQuiet(t.Context()))
		expect(t, "turns", y.ends(), "completed completed")
		expect(t, "notice", y.notices()[0], "Background job bash-1 (bash, `make`) has ended [completed, exit code: 0]. The rest of its output, also for job_output:\nall good")
		has(t, "job_output", y.outcomes(), "all good\n[status: completed, exit code: 0]")
	})
}

// TestBSH31AFailedCommandIsACompletedJob also BSH32 and JBT04.
func TestBSH31AFailedCommandIsACompletedJob(t *testing.T) {
	for _, c := range []struct {
		id     string
		code   int
		signal syscall.Signal
		want   string
	}{
		{"BSH31 exit code", 3, 0, "[status: completed, exit code: 3]"},
		{"BSH32 signal", -1, syscall.SIGSEGV, "[status: killed, signal: SIGSEGV]"},
		{"JBT04 success", 0, 0, "[status: completed, exit code: 0]"},
	} {
		t.Run(c.id, func(t *testing.T) {
			works(t, []play{background("make"), output("bash-1", `,"wait":true`), say("ok")}, func(t *testing.T, y *yard) {
				y.send("go")
				y.process(1).End(c.code, c.signal)
				y.idle()
				expect(t, "result", y.outcomes(), "c1: started background job bash-1\nc1-2: (no new output)\n"+c.want)
				expect(t, "JBT24 no notice", len(y.notices()), 0)
			})
		})
	}
}

// TestBSH33AKilledJob also JBT13 and JBT23.
func TestBSH33AKilledJob(t *testing.T) {
	works(t, []play{background("serve"), call("job_kill", `{"job_id":"bash-1","reason":"done with it"}`), output("bash-1", `,"wait":true`), say("ok")},
		func(t *testing.T, y *yard) {
			y.starter.Dying = time.Second
			y.prompt("go")
			has(t, "results", y.outcomes(), "job bash-1 was told to stop")
			has(t, "results", y.outcomes(), "[stopped by job_kill: done with it]\n[status: killed, signal: SIGTERM]")
			expect(t, "JBT23 no notice", len(y.notices()), 0)
		})
}

func TestJBT13AKillReturnsAtOnce(t *testing.T) {
	works(t, []play{background("serve"), call("job_kill", `{"job_id":"bash-1"}`), output("bash-1", ``), say("ok")}, func(t *testing.T, y *yard) {
		y.starter.Dying = time.Second
		y.prompt("go")
		has(t, "results", y.outcomes(), "[status: stopping]")
		must(t, y.WhenQuiet(t.Context()))
		expect(t, "JBT23 turns", y.ends(), "completed")
		expect(t, "settled", of[session.JobSettled](y.fixture)[0].Status, session.JobKilled)
	})
}

func TestJBT14AKillOfAnEndedJob(t *testing.T) {
	works(t, []play{background("make"), call("alone", `{}`), call("job_kill", `{"job_id":"bash-1"}`), output("bash-1", ``), say("ok")}, func(t *testing.T, y *yard) {
		y.alone = func() {
			y.write(y.starter.Started()[0], "text")
			y.starter.Started()[0].End(4, 0)
			synctest.Wait()
		}
		y.prompt("go")
		has(t, "results", y.outcomes(), "job bash-1 had already finished\n[status: completed, exit code: 4]")
		has(t, "results", y.outcomes(), "c1-4: text\n")
		has(t, "results", y.result("c1-4"), "\n[status: completed, exit code: 4]")
	})
}

func TestBSH36TheLimitStartsNothing(t *testing.T) {
	works(t, []play{background("one"), background("two"), say("ok")}, func(t *testing.T, y *yard) {
		y.prompt("go")
		expect(t, "codes", y.codes(), "ok "+tools.JobLimit)
		expect(t, "processes", len(y.starter.Started()), 1)
	}, func(_ *tools.BashOptions, o *Options) { o.JobLimit = 1 })
}

// TestBSH39CancelLeavesTheJob also H08: the user's stop does not kill jobs.
func TestBSH39CancelLeavesTheJob(t *testing.T) {
	works(t, []play{background("serve"), hang(), say("ok")}, func(t *testing.T, y *yard) {
		y.send("go")
		y.process(1)
		must(t, y.Interrupt())
		y.idle()
		expect(t, "status", y.Jobs()[0].Status, session.JobRunning)
		expect(t, "turns", y.ends(), "aborted{user,}")
	})
}

func TestBSH38WithoutJobsNothingRunsInTheBackground(t *testing.T) {
	works(t, nil, func(t *testing.T, y *yard) {
		call, bad := y.o.Tools.Prepare("bash", bashArgs("make", `,"run_in_background":true`))
		if bad != nil {
			t.Fatal(bad.Text)
		}
		env := tools.Env{Cwd: y.o.Cwd}
		if _, bad = call.Action(env); bad != nil {
			t.Fatal(bad.Text)
		}
		r := call.Run(t.Context(), env)
		expect(t, "code", r.Code, tools.JobsClosed)
		expect(t, "processes", len(y.starter.Started()), 0)
	})
}

// TestRacesOfAClose: an agent that is closed in the middle of everything leaves every
// call with its result and every job with its end, and no process.
func TestRacesOfAClose(t *testing.T) {
	for i := range 60 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			works(t, []play{background("serve"), call("bash", bashArgs("test", ""), "job_output", `{"job_id":"bash-1","wait":true}`), say("heard"), say("again"), say("again")},
				func(t *testing.T, y *yard) {
					y.starter.Dying = time.Duration(i%3) * time.Second
					y.send("go")
					serve, test := y.process(1), y.process(2)
					time.Sleep(time.Second)
					done := make(chan bool)
					for _, do := range []func(){
						func() { _, _ = test.Write([]byte("text")) },
						func() { serve.End(0, 0) },
						func() { _, _ = y.Steer("stop") },
						func() { _ = y.StopJob("bash-1", "") },
						func() { y.Background("") },
						func() {
							if err := y.Close(t.Context()); err != nil {
								t.Error(err)
							}
						},
					} {
						go func() { do(); done <- true }()
					}
					for range 5 {
						<-done
					}
					test.End(0, 0)
					<-done
					begun, ended := of[session.JobStarted](y.fixture), of[session.JobSettled](y.fixture)
					if len(begun) != len(ended) || y.log.OpenStep().Step != 0 {
						t.Errorf("%d jobs began, %d ended, step %d is open", len(begun), len(ended), y.log.OpenStep().Step)
					}
					for _, j := range y.Jobs() {
						if j.Status.Active() {
							t.Errorf("%s is %s", j.ID, j.Status)
						}
					}
				})
		})
	}
}
