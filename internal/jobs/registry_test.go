package jobs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/sandbox"
	"dsh/internal/sandbox/sandboxtest"
	"dsh/internal/session"
)

// desk is a registry in a bubble, over played processes, with all that its hooks hear.
type desk struct {
	*Registry
	t       *testing.T
	table   *Table
	starter *sandboxtest.Starter

	mu    sync.Mutex
	heard []string
	fail  error // of the next Started
}

// bubble runs a test over a desk in a time of its own.
func bubble(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, newDesk(t, RegistryOptions{})) })
}

func newDesk(t *testing.T, o RegistryOptions) *desk {
	t.Helper()
	d := &desk{t: t, starter: &sandboxtest.Starter{}}
	d.table = New(Options{Starter: d.starter, Artifacts: NewArtifacts(t.TempDir(), 0, 0)})
	o.Hooks = Hooks{
		Started: func(p session.JobStarted) error { d.hear("started " + p.ID); return d.fail },
		Settled: func(j *Job, end session.JobSettled) {
			word := fmt.Sprintf("settled %s %s", end.ID, end.Status)
			if d.Tell(j) {
				word += ", tell"
			}
			d.hear(word)
		},
		Known: func(id string) { d.hear("known " + id) },
	}
	d.Registry = NewRegistry(o)
	t.Cleanup(func() {
		if err := errors.Join(d.Close(t.Context()), d.table.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return d
}

func (d *desk) hear(word string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.heard = append(d.heard, word)
}

// story is what the hooks heard, once nothing moves.
func (d *desk) story() string {
	synctest.Wait()
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.heard, "; ")
}

// job starts a job and returns the process behind it.
func (d *desk) job(kind string) (*Job, *sandboxtest.Process) {
	d.t.Helper()
	j, err := d.Start(Spec{Kind: kind, Label: "make " + kind}, d.start)
	if err != nil {
		d.t.Fatal(err)
	}
	all := d.starter.Started()
	return j, all[len(all)-1]
}

func (d *desk) start() (*Process, error) { return d.table.Start(Command{Command: "x"}) }

func (d *desk) write(p *sandboxtest.Process, text string) {
	d.t.Helper()
	if _, err := p.Write([]byte(text)); err != nil {
		d.t.Fatal(err)
	}
	synctest.Wait()
}

// read is a reading in one word.
func (d *desk) read(id string) string {
	d.t.Helper()
	r, err := d.Read(id)
	if err != nil {
		d.t.Fatal(err)
	}
	return fmt.Sprintf("%q %s", r.Output, r.State())
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s\n got: %s\nwant: %s", what, g, w)
	}
}

func TestJOB02KindAndLabelAreNeeded(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		for _, s := range []Spec{{Kind: " ", Label: "x"}, {Kind: "bash", Label: "\t"}} {
			if _, err := d.Start(s, d.start); err == nil {
				t.Errorf("%+v was started", s)
			}
		}
		expect(t, "processes", len(d.starter.Started()), 0)
	})
}

func TestJOB04AClosedRegistryStartsNothing(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Start(Spec{Kind: "bash", Label: "x"}, d.start); !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		expect(t, "processes", len(d.starter.Started()), 0)
	})
}

func TestJOB05TheLimitCountsWhatIsStopping(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.starter.Dying = time.Hour
		var last *sandboxtest.Process
		for range DefaultLimit {
			_, last = d.job("bash")
		}
		if _, err := d.Kill("bash-1", session.JobByModel, ""); err != nil {
			t.Fatal(err)
		}
		_, err := d.Start(Spec{Kind: "bash", Label: "x"}, d.start)
		if !errors.Is(err, ErrTooMany) || !strings.Contains(err.Error(), "10") || !strings.Contains(err.Error(), "job_kill") {
			t.Error(err)
		}
		expect(t, "processes", len(d.starter.Started()), DefaultLimit)

		t.Log("JOB06: one that settles makes room at once, and no number was lost")
		last.End(0, 0)
		synctest.Wait()
		j, _ := d.job("bash")
		expect(t, "id", j.ID(), "bash-11")
	})
}

func TestJOB06ASettledJobMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, RegistryOptions{Limit: 1})
		_, p := d.job("bash")
		if _, err := d.Start(Spec{Kind: "bash", Label: "x"}, d.start); !errors.Is(err, ErrTooMany) {
			t.Error(err)
		}
		p.End(0, 0)
		synctest.Wait()
		d.job("bash")
	})
}

func TestJOB08EveryAgentHasItsOwnLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b := newDesk(t, RegistryOptions{Limit: 1}), newDesk(t, RegistryOptions{Limit: 1})
		a.job("bash")
		b.job("bash")
	})
}

func TestJOB09NumbersAreOfAKind(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		var ids []string
		for _, kind := range []string{"bash", "bash", "subagent"} {
			j, _ := d.job(kind)
			ids = append(ids, j.ID())
		}
		expect(t, "ids", ids, "[bash-1 bash-2 subagent-1]")
	})
}

func TestJOB09NumbersGoOnAfterTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, RegistryOptions{Past: []session.JobInfo{{ID: "bash-7", Kind: "bash", Status: session.JobLost},
			{ID: "bash-3", Kind: "bash", Status: session.JobCompleted, Detail: "exit code: 1"}}})
		j, _ := d.job("bash")
		expect(t, "id", j.ID(), "bash-8")
		expect(t, "of an earlier process", d.read("bash-3"), `"" completed, exit code: 1`)
	})
}

func TestJOB10WhatDoesNotStartLeavesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		broken := errors.New("no such program")
		if _, err := d.Start(Spec{Kind: "bash", Label: "x"}, func() (*Process, error) { return nil, broken }); err != broken {
			t.Error(err)
		}
		d.fail = errors.New("the disk is full")
		if _, err := d.Start(Spec{Kind: "bash", Label: "x"}, d.start); !errors.Is(err, d.fail) {
			t.Error(err)
		}
		d.fail = nil
		expect(t, "jobs", len(d.List()), 0)
		j, _ := d.job("bash")
		expect(t, "id", j.ID(), "bash-1")
	})
}

func TestJOB11AReadTakesWhatIsNew(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		d.write(p, "a")
		peeked, next := d.Peek("bash-1", 0)
		expect(t, "a person's look takes nothing", fmt.Sprint(peeked, next), "a1")
		expect(t, "first", d.read("bash-1"), `"a" running`)
		d.write(p, "b")
		expect(t, "second", d.read("bash-1"), `"b" running`)

		p.End(0, 0)
		synctest.Wait()
		expect(t, "JOB12 drained", d.read("bash-1"), `"" completed, exit code: 0`)
		peeked, _ = d.Peek("bash-1", 0)
		expect(t, "all of it stays for people", peeked, "ab")
	})
}

func TestJOB12ASettledJobIsReadOnce(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		d.write(p, "late")
		p.End(2, 0)
		synctest.Wait()
		expect(t, "first", d.read("bash-1"), `"late" completed, exit code: 2`)
		expect(t, "again", d.read("bash-1"), `"" completed, exit code: 2`)
	})
}

func TestJOB15NoOutputIsEmpty(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		p.End(0, 0)
		synctest.Wait()
		expect(t, "read", d.read("bash-1"), `"" completed, exit code: 0`)
	})
}

// TestJOB16AnUnknownIDIsAnError also JOB17: a job of another agent is not there.
func TestJOB16AnUnknownIDIsAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		theirs, d := newDesk(t, RegistryOptions{}), newDesk(t, RegistryOptions{})
		theirs.job("bash")
		_, readErr := d.Read("bash-1")
		_, killErr := d.Kill("bash-1", session.JobByModel, "")
		for _, err := range []error{readErr, killErr, d.Wait(t.Context(), "bash-1", time.Second, nil)} {
			if !errors.Is(err, ErrUnknown) {
				t.Error(err)
			}
		}
		text, _ := d.Peek("bash-1", 0)
		expect(t, "peek", text, "")
		expect(t, "JOB17 list", len(d.List()), 0)
		expect(t, "theirs", theirs.List()[0].Status, session.JobRunning)
	})
}

func TestJOB17AnotherAgentsJobIsNotThere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		theirs, d := newDesk(t, RegistryOptions{}), newDesk(t, RegistryOptions{})
		theirs.job("bash")
		d.job("bash")
		if _, err := d.Kill("bash-1", session.JobByModel, ""); err != nil {
			t.Fatal(err)
		}
		expect(t, "ours", d.story(), "started bash-1; settled bash-1 killed")
		expect(t, "theirs", theirs.story(), "started bash-1")
	})
}

// lost is a process whose end nobody saw.
type lost struct{ *sandboxtest.Process }

func (l lost) Wait(ctx context.Context) (sandbox.Exit, error) {
	exit, _ := l.Process.Wait(ctx)
	return exit, sandbox.ErrLost
}

type losing struct{ *sandboxtest.Starter }

func (l losing) Start(s sandbox.Spec) (sandbox.Process, error) {
	p, err := l.Starter.Start(s)
	return lost{p.(*sandboxtest.Process)}, err
}

func TestJOB20ALostProcessIsAFailedJob(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.table = New(Options{Starter: losing{d.starter}, Artifacts: NewArtifacts(t.TempDir(), 0, 0)})
		_, p := d.job("bash")
		p.End(-1, syscall.SIGKILL)
		expect(t, "story", d.story(), "started bash-1; settled bash-1 failed, tell")
		expect(t, "detail", d.List()[0].Detail, sandbox.ErrLost)
	})
}

func TestJOB21TheFirstOutcomeWins(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		var race sync.WaitGroup
		race.Go(func() { p.End(0, 0) })
		race.Go(func() { _, _ = d.Kill("bash-1", session.JobByUser, "") })
		race.Wait()
		synctest.Wait()
		first := d.List()[0]
		p.End(7, 0)
		_, _ = d.Kill("bash-1", session.JobByUser, "again")
		if n := strings.Count(d.story(), "settled"); n != 1 {
			t.Errorf("%d ends: %s", n, d.story())
		}
		expect(t, "later outcomes change nothing", d.List()[0], first)
	})
}

func TestJOB23AKillIsHeardAtOnceAndSettlesLater(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.starter.Dying = time.Second
		_, p := d.job("bash")
		if _, err := d.Kill("bash-1", session.JobByModel, "not needed"); err != nil {
			t.Fatal(err)
		}
		j := d.List()[0]
		expect(t, "at once", fmt.Sprint(j.Status, " ", j.By, " ", j.Reason), "stopping model not needed")
		expect(t, "nothing settled", d.story(), "started bash-1")
		d.write(p, "bye")
		time.Sleep(2 * time.Second)
		expect(t, "reported", d.story(), "started bash-1; settled bash-1 killed")

		before, err := d.Kill("bash-1", session.JobByModel, "")
		expect(t, "JOB24 a kill of an ended job", fmt.Sprint(before.State(), err), "killed, signal: SIGTERM<nil>")
		expect(t, "JOB24 its output stays", d.read("bash-1"), `"bye" killed, signal: SIGTERM`)
	})
}

// obedient ends a process inside Stop, and lets that be heard.
type obedient struct {
	*sandboxtest.Starter
	heard func()
}

type obedientProcess struct {
	*sandboxtest.Process
	heard func()
}

func (o obedient) Start(spec sandbox.Spec) (sandbox.Process, error) {
	p, err := o.Starter.Start(spec)
	if err != nil {
		return nil, err
	}
	return obedientProcess{p.(*sandboxtest.Process), o.heard}, nil
}

func (p obedientProcess) Stop() {
	p.End(-1, syscall.SIGTERM)
	p.heard()
}

// TestJOB23AKillIsReportedBeforeTheEnd: the model is not told of what it stopped
// itself, however fast it ends.
func TestJOB23AKillIsReportedBeforeTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.table = New(Options{Starter: obedient{d.starter, synctest.Wait}, Artifacts: NewArtifacts(t.TempDir(), 0, 0)})
		d.job("bash")
		if _, err := d.Kill("bash-1", session.JobByModel, ""); err != nil {
			t.Fatal(err)
		}
		expect(t, "heard", d.story(), "started bash-1; settled bash-1 killed")
	})
}

func TestJOB24AKillOfAnEndedJobTakesNoOutput(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		d.write(p, "done")
		p.End(0, 0)
		synctest.Wait()
		before, err := d.Kill("bash-1", session.JobByModel, "")
		expect(t, "before", fmt.Sprint(before.Status, err), "completed<nil>")
		expect(t, "output", d.read("bash-1"), `"done" completed, exit code: 0`)
	})
}

// TestAPersonsStopIsTold: a stop by hand leaves the job unreported.
func TestAPersonsStopIsTold(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.job("bash")
		if _, err := d.Kill("bash-1", session.JobByUser, "too loud"); err != nil {
			t.Fatal(err)
		}
		expect(t, "story", d.story(), "started bash-1; settled bash-1 killed, tell")
	})
}

// waiting begins a wait and returns its error's channel.
func (d *desk) waiting(ctx context.Context, timeout time.Duration, early <-chan string) <-chan error {
	done := make(chan error, 1)
	go func() { done <- d.Wait(ctx, "bash-1", timeout, early) }()
	synctest.Wait()
	return done
}

func TestJOB26AWaiterIsToldByItsWait(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		done := d.waiting(t.Context(), time.Minute, nil)
		p.End(0, 0)
		expect(t, "wait", <-done, nil)
		expect(t, "no notice", d.story(), "started bash-1; settled bash-1 completed")
	})
}

func TestJOB27AWaitThatTimesOutChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		begun := time.Now()
		expect(t, "wait", d.Wait(t.Context(), "bash-1", time.Minute, nil), nil)
		expect(t, "after", time.Since(begun), time.Minute)
		expect(t, "status", d.List()[0].Status, session.JobRunning)
		p.End(0, 0)
		expect(t, "told", d.story(), "started bash-1; settled bash-1 completed, tell")
	})
}

func TestJOB28AWaitForAnEndedJobReturnsAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		p.End(0, 0)
		synctest.Wait()
		begun := time.Now()
		expect(t, "wait", d.Wait(t.Context(), "bash-1", time.Hour, nil), nil)
		expect(t, "after", time.Since(begun), time.Duration(0))
	})
}

func TestJOB29AWaitNeedsATime(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.job("bash")
		for _, timeout := range []time.Duration{0, -1} {
			if d.Wait(t.Context(), "bash-1", timeout, nil) == nil {
				t.Errorf("%v", timeout)
			}
		}
	})
}

func TestJOB30ACancelledWaitLeavesTheJob(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		ctx, cancel := context.WithCancel(t.Context())
		done := d.waiting(ctx, time.Hour, nil)
		cancel()
		expect(t, "wait", <-done, context.Canceled)
		expect(t, "status", d.List()[0].Status, session.JobRunning)
		expect(t, "JOB33 a cancelled one does not begin", d.Wait(ctx, "bash-1", time.Hour, nil), context.Canceled)
		p.End(0, 0)
		expect(t, "told", d.story(), "started bash-1; settled bash-1 completed, tell")
	})
}

// TestJOB32SettleAndCancelInOneMoment: whoever wins, exactly one of the waiter and the
// notice tells of the end.
func TestJOB32SettleAndCancelInOneMoment(t *testing.T) {
	for i := range 200 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			bubble(t, func(t *testing.T, d *desk) {
				_, p := d.job("bash")
				ctx, cancel := context.WithCancel(t.Context())
				done := d.waiting(ctx, time.Hour, nil)
				go p.End(0, 0)
				go cancel()
				waiterTold := <-done == nil
				noticeTold := strings.HasSuffix(d.story(), "tell")
				if waiterTold == noticeTold {
					t.Errorf("waiter %v, notice %v", waiterTold, noticeTold)
				}
			})
		})
	}
}

func TestJOB33ACancelledCallerDoesNotWait(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, p := d.job("bash")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		expect(t, "wait", d.Wait(ctx, "bash-1", time.Hour, nil), context.Canceled)
		p.End(0, 0)
		expect(t, "told, for nobody waits", d.story(), "started bash-1; settled bash-1 completed, tell")
	})
}

func TestAWaitEndsEarlyWhenAsked(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.job("bash")
		early := make(chan string, 1)
		done := d.waiting(t.Context(), time.Hour, early)
		early <- session.HandoverSteer
		expect(t, "wait", <-done, nil)
		expect(t, "status", d.List()[0].Status, session.JobRunning)
	})
}

// TestJOB35TheOrderOfASettlement is record, waiters, event and notice; also JOB34: a
// hook sees what it is told of.
func TestJOB35TheOrderOfASettlement(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		released, proceed := false, make(chan bool)
		d.o.Hooks.Settled = func(j *Job, _ session.JobSettled) {
			expect(t, "JOB34 the record", d.List()[0].Status, session.JobCompleted)
			select {
			case <-j.settled:
				released = true
			default:
			}
			<-proceed
		}
		j, p := d.job("bash")
		done := d.waiting(t.Context(), time.Hour, nil)
		p.End(0, 0)
		expect(t, "waiters do not wait for the hook", <-done, nil)
		synctest.Wait()
		if !released {
			t.Error("the hook came before the waiters")
		}
		select {
		case <-j.Told():
			t.Error("told before the hook was done")
		default:
		}
		close(proceed)
		<-j.Told()
	})
}

// TestALookDoesNotHoldTheEnd: a look at the start that is not done when the command has
// ended is given up.
func TestALookDoesNotHoldTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first := true
		d := newDesk(t, RegistryOptions{Look: func(ctx context.Context, r Revision) Revision {
			if first {
				first = false
				<-ctx.Done()
			}
			return r
		}})
		_, p := d.job("bash")
		p.End(0, 0)
		expect(t, "heard", d.story(), "started bash-1; settled bash-1 completed, tell")
	})
}

func TestJOB34HooksSeeWhatTheyAreToldOf(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.o.Hooks.Started = func(p session.JobStarted) error {
			expect(t, "jobs at the start", len(d.List()), 1)
			expect(t, "status at the start", d.List()[0].Status, session.JobRunning)
			return nil
		}
		d.job("bash")
	})
}

func TestJOB36CloseEndsTheJobsOfTheAgent(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		other := newDesk(t, RegistryOptions{})
		d.starter.Dying = time.Second
		d.job("bash")
		d.job("bash")
		other.job("bash")
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, j := range d.List() {
			expect(t, j.ID, fmt.Sprint(j.Status, " ", j.By), "killed dsh")
		}
		expect(t, "JOB38 of another agent", other.List()[0].Status, session.JobRunning)
	})
}

func TestJOB38AnotherAgentsJobsAreUntouched(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		old, next := newDesk(t, RegistryOptions{}), newDesk(t, RegistryOptions{})
		_, p := old.job("bash")
		next.job("bash")
		if err := old.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.End(0, 0)
		expect(t, "the next one heard", next.story(), "started bash-1")
	})
}

// TestJOB39CloseIsBounded: what ignores TERM is killed when the patience ends.
func TestJOB39CloseIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		d.starter.Dying = time.Hour
		d.job("bash")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begun := time.Now()
		if err := d.Close(ctx); err != nil {
			t.Error(err)
		}
		expect(t, "after", time.Since(begun), time.Second)
		expect(t, "detail", d.List()[0].Detail, "signal: SIGKILL")
	})
}

// TestRacesOfARegistry: whatever happens at once, every job settles exactly once, and
// every end is told exactly once or is known.
func TestRacesOfARegistry(t *testing.T) {
	for i := range 100 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			bubble(t, func(t *testing.T, d *desk) {
				var all sync.WaitGroup
				for range 4 {
					_, p := d.job("bash")
					all.Go(func() { _, _ = p.Write([]byte("some text")) })
					all.Go(func() { p.End(0, 0) })
				}
				for _, id := range []string{"bash-1", "bash-2", "bash-3"} {
					all.Go(func() { _, _ = d.Kill(id, session.JobByUser, "") })
					all.Go(func() { _, _ = d.Read(id) })
					all.Go(func() { _ = d.Wait(t.Context(), id, time.Second, nil) })
				}
				all.Go(func() {
					if p, err := d.start(); err == nil {
						if _, err := d.Adopt(Spec{Kind: "bash", Label: "adopted"}, p); err != nil {
							p.Stop()
						}
					}
				})
				all.Go(func() {
					if err := d.Close(t.Context()); err != nil {
						t.Error(err)
					}
				})
				all.Wait()
				story := d.story()
				for _, j := range d.List() {
					if n := strings.Count(story, "settled "+j.ID+" "); n != 1 || j.Status.Active() {
						t.Errorf("%s is %s and settled %d times: %s", j.ID, j.Status, n, story)
					}
				}
			})
		})
	}
}

// TestOldOutputsLeaveMemory, those of the last jobs and of one that runs do not.
func TestOldOutputsLeaveMemory(t *testing.T) {
	bubble(t, func(t *testing.T, d *desk) {
		_, server := d.job("bash")
		d.write(server, "ready")
		for range keptJobs + 5 {
			_, p := d.job("bash")
			d.write(p, "out")
			p.End(0, 0)
			synctest.Wait()
		}
		expect(t, "the one that runs", d.read("bash-1"), `"ready" running`)
		expect(t, "an early one", d.read("bash-2"), `"\n[... 3 bytes omitted ...]\n" completed, exit code: 0`)
		expect(t, "a late one", d.read(fmt.Sprintf("bash-%d", keptJobs+6)), `"out" completed, exit code: 0`)
		server.End(0, 0)
		synctest.Wait()
	})
}
