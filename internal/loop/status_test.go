package loop

import (
	"context"
	"errors"
	"os"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func TestSM01OneTurnOneRunningOneIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &statuses{}
		f := newFixture(t, nil, s.option)
		f.prompt("hi")
		expect(t, "statuses", s, "[true false]")
	})
}

func TestSM02TwoQueuedTurnsOneActivity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		s := &statuses{}
		f = newFixture(t, []play{then(func() { f.send("two") }, say("a")), say("b")}, s.option)
		f.prompt("one")
		expect(t, "turns", turns(f), "[1 2]")
		expect(t, "statuses", s, "[true false]")
	})
}

func TestSM03IdleAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // a wait would fail
		must(t, f.WhenIdle(ctx))
	})
}

func TestSM04WaiterEndsWithTheAbort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang()})
		f.send("go")
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- f.WhenIdle(context.Background()) }()
		synctest.Wait()
		expect(t, "resolved before the cancel", len(done), 0)
		f.cancel(true)
		must(t, <-done)
		expect(t, "the end", f.ends(), "aborted{user,}")
	})
	t.Run("SM04 a waiter may give up", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, []play{hang()})
			f.send("go")
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if err := f.WhenIdle(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("got %v, not the context's end", err)
			}
		})
	})
}

func TestSM07WaiterBeforeACancelInPreStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		entered := make(chan struct{})
		f = newFixture(t, nil, entering(func(b Batch) ([]*llm.Message, string, error) {
			close(entered)
			synctestBlock(f)
			return b.Messages, "", nil
		}))
		f.send("go")
		<-entered
		done := make(chan error, 1)
		go func() { done <- f.WhenIdle(context.Background()) }()
		synctest.Wait()
		f.cancel(false)
		must(t, <-done)
		expect(t, "the log", f.story(), "queue:go turn1 claim queue:go drop end:aborted")
		expect(t, "requests", f.model.count(), 0)
	})
}

// synctestBlock waits for the end of the running turn, as an extension that obeys
// its context does.
func synctestBlock(f *fixture) {
	f.mu.Lock()
	ctx := f.act.ctx
	f.mu.Unlock()
	<-ctx.Done()
}

// held runs a maintenance that lasts until it is released or cancelled.
func (f *fixture) held() (release func(), ended <-chan error) {
	gate, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- f.Maintenance(context.Background(), func(ctx context.Context) error {
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	synctest.Wait()
	return func() { close(gate) }, done
}

func TestSM08PromptWaitsForMaintenance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &statuses{}
		f := newFixture(t, []play{say("hello")}, s.option)
		release, ended := f.held()
		f.send("hi")
		synctest.Wait()
		expect(t, "the log", f.story(), "queue:hi")
		expect(t, "running", f.Running(), false)
		expect(t, "statuses", s, "[]")
		release()
		must(t, <-ended)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer:hello stepend end:completed")
		expect(t, "statuses", s, "[true false]")
	})
}

func TestINB11MessageDuringMaintenanceWaitsThenRuns(t *testing.T) {
	for _, way := range []string{"followup", "steer"} {
		t.Run("INB11 "+way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{say("hello")})
				release, ended := f.held()
				if way == "steer" {
					f.steer("hi")
				} else {
					f.send("hi")
				}
				synctest.Wait()
				expect(t, "requests before", f.model.count(), 0)
				release()
				must(t, <-ended)
				f.idle()
				expect(t, "requests after", f.model.count(), 1)
				expect(t, "waiting", f.queued(), "[]")
			})
		})
	}
}

func TestSM09WakeWhoseMessageIsGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		release, ended := f.held()
		item, err := f.Followup("hi")
		must(t, err)
		removed, err := f.Remove(item.ID)
		must(t, err)
		expect(t, "removed", removed, true)
		release()
		must(t, <-ended)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi drop")
	})
}

func TestSM10CancelDuringMaintenance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		_, ended := f.held()
		f.send("hi")
		f.cancel(false)
		var cause *session.Cause
		if err := <-ended; !errors.As(err, &cause) || cause.Kind != session.ByUser {
			t.Errorf("the job ended with %v, not the user's cancel", err)
		}
		f.idle()
		expect(t, "the log", f.story(), "queue:hi drop")
	})
	t.Run("SM10 keeping the inbox the prompt runs after it", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, nil)
			_, ended := f.held()
			f.send("hi")
			f.cancel(true)
			<-ended
			f.idle()
			expect(t, "the end", f.ends(), "completed")
		})
	})
}

func TestSM11MaintenanceNeedsAnIdleAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang()})
		ran := false
		job := func(context.Context) error { ran = true; return nil }
		release, ended := f.held()
		if err := f.Maintenance(t.Context(), job); !errors.Is(err, ErrBusy) {
			t.Errorf("during maintenance: %v", err)
		}
		release()
		must(t, <-ended)
		f.send("go")
		synctest.Wait()
		if err := f.Maintenance(t.Context(), job); !errors.Is(err, ErrBusy) {
			t.Errorf("during a turn: %v", err)
		}
		must(t, f.Agent.Close(t.Context()))
		if err := f.Maintenance(t.Context(), job); !errors.Is(err, ErrClosed) {
			t.Errorf("after Close: %v", err)
		}
		expect(t, "ran", ran, false)
	})
}

func TestMaintenanceReturnsTheJobsError(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		err := f.Maintenance(t.Context(), func(context.Context) error { return errTest })
		expect(t, "error", err, errTest)
		f.prompt("hi")
		expect(t, "the end", f.ends(), "completed")
	})
}

func TestSM15TurnsDoNotOverlapInTheLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		s := &statuses{}
		f = newFixture(t, []play{hang(), say("b")}, s.option, func(o *Options) {
			heard := o.OnStatus
			o.OnStatus = func(running bool) {
				if !running && len(s.heard) == 1 {
					f.send("two") // the wake comes while the first driver is ending
				}
				heard(running)
			}
		})
		f.send("one")
		synctest.Wait()
		f.cancel(true)
		f.idle()
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one stepend end:aborted queue:two turn2 claim step1 user:two answer:b stepend end:completed")
		expect(t, "statuses", s, "[true false true false]")
	})
}

func TestSM16StatusIsNeverRepeated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &statuses{}
		f := newFixture(t, []play{say("a"), fail(llm.Failure{Code: llm.CodeAuth, Message: "x"}), hang(), say("d")}, s.option)
		f.prompt("one")
		f.prompt("two")
		f.send("three")
		synctest.Wait()
		f.send("four")
		f.cancel(true)
		f.cancel(false)
		f.idle()
		f.cancel(false)
		f.prompt("five")
		for i := range s.heard {
			if s.heard[i] != (i%2 == 0) {
				t.Fatalf("statuses do not alternate: %v", s)
			}
		}
		expect(t, "last", s.heard[len(s.heard)-1], false)
	})
}

func TestSendReturnsAfterItsMessageIsOnDisk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang()})
		for _, text := range []string{"one", "two"} {
			item, err := f.Followup(text)
			must(t, err)
			raw, err := os.ReadFile(f.log.Path())
			must(t, err)
			has(t, "the file", string(raw), item.ID)
		}
		f.cancel(false)
	})
}

func TestClosedAgentTakesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang()})
		f.send("one")
		synctest.Wait()
		f.send("two")
		must(t, f.Agent.Close(t.Context()))
		if _, err := f.Followup("three"); !errors.Is(err, ErrClosed) {
			t.Errorf("followup: %v", err)
		}
		if err := f.Release("x"); !errors.Is(err, ErrClosed) {
			t.Errorf("release: %v", err)
		}
		expect(t, "the end", f.ends(), "aborted{disposed,}")
		expect(t, "the inbox is kept", f.queued(), "[two]")
	})
}

// A call's notes are not lost when dsh closes while it runs.
func TestNotesOfACallThatEndsAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &probe{name: "probe", run: func(ctx context.Context, _ string) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{Text: "ok", Contexts: []llm.Message{note("a job started")}}, nil
		}}
		f := newFixture(t, []play{call("probe", "{}")}, with(p))
		f.send("go")
		synctest.Wait()
		must(t, f.Agent.Close(t.Context()))
		expect(t, "waiting", f.queued(), "[a job started]")
	})
}
