package loop

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func TestCX01CancelWhileIdleDoesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("hello")})
		f.cancel(false)
		expect(t, "events", f.log.NextSeq(), 0)
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer:hello stepend end:completed")
	})
}

func TestCX01CancelWhileIdleWithQueuedInjections(t *testing.T) {
	for name, keep := range map[string]bool{"dropped": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{say("hello")})
				f.inject("note")
				f.cancel(keep)
				synctest.Wait()
				expect(t, "turns", f.log.LastTurn(), 0)
				story, read := "queue:note drop", "user(hi)"
				if keep {
					story, read = "queue:note", "user(note) user(hi)"
				}
				expect(t, "the log", f.story(), story)
				f.prompt("hi")
				expect(t, "the request", f.sent(0), read)
			})
		})
	}
}

func TestCX03KeepInboxParksTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("par")), say("second"), say("third")})
		f.send("one")
		synctest.Wait()
		f.send("two")
		f.cancel(true)
		f.idle()
		synctest.Wait()
		expect(t, "the turn", f.lastEnd().Kind, session.Aborted)
		expect(t, "running", f.Running(), false)
		expect(t, "requests", f.model.count(), 1)
		expect(t, "the queue", f.waits(), "two")
		f.prompt("three")
		expect(t, "turns", f.log.LastTurn(), 3)
		expect(t, "the last request", f.sent(2), "user(one) assistant(par) user(two) assistant(second) user(three)")
	})
}

// inLatchWindow is an agent whose turn was cancelled with keepInbox and has not
// ended: the model does not listen. "two" was queued before the cancel.
func inLatchWindow(t *testing.T, opts ...option) (f *fixture, release func()) {
	t.Helper()
	ch := make(chan struct{})
	f = newFixture(t, []play{stubborn(ch), say("a"), say("b")}, opts...)
	f.send("one")
	synctest.Wait()
	f.send("two")
	f.cancel(true)
	synctest.Wait()
	expect(t, "running in the window", f.Running(), true)
	return f, func() { close(ch); f.idle(); synctest.Wait() }
}

func TestCX04WakeInTheLatchWindowRunsAfterIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var statuses []bool
		f, release := inLatchWindow(t, onStatus(func(running bool) { statuses = append(statuses, running) }))
		f.send("three")
		f.send("four") // many wakes are one
		release()
		expect(t, "turns", f.log.LastTurn(), 4)
		expect(t, "the queue", f.waits(), "")
		expect(t, "statuses", statuses, []bool{true, false, true, false})
		expect(t, "the last request", f.sent(3), "user(one) user(two) assistant(a) user(three) assistant(b) user(four)")
	})
}

func TestCX05CancelClearsTheLatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, release := inLatchWindow(t)
		f.send("three")
		f.cancel(false)
		f.inject("note") // waits for a wake, and there is none any more
		release()
		expect(t, "turns", f.log.LastTurn(), 1)
		expect(t, "the queue", f.waits(), "note")
		expect(t, "requests", f.model.count(), 1)
	})
}

func TestCX06RemovedMessageIsNotReplayed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ch := make(chan struct{})
		f := newFixture(t, []play{stubborn(ch)})
		f.send("one")
		synctest.Wait()
		f.cancel(true)
		item, err := f.Followup("two")
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := f.Remove(item.ID); !ok || err != nil {
			t.Fatalf("remove: %v, %v", ok, err)
		}
		close(ch)
		f.idle()
		synctest.Wait()
		expect(t, "turns", f.log.LastTurn(), 1)
	})
}

func TestCX07ToolThatIgnoresTheCancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		body := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			<-release
			return tools.Result{Text: "done after all"}, nil
		}}
		f := newFixture(t, []play{call("probe", `{}`), say("answer")}, with(body))
		f.send("one")
		synctest.Wait()
		f.cancel(false)
		synctest.Wait()
		expect(t, "the turn waits for the body", f.Running(), true)
		f.steer("two") // cannot join the dying turn
		expect(t, "the queue", f.Queue()[0].Target, session.NextTurn)
		close(release)
		f.idle()
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one answer: call:c1 queue:two result:c1 stepend end:aborted turn2 claim step1 user:two answer:answer stepend end:completed")
		codes, texts := f.results()
		expect(t, "codes", codes, []string{"ABORTED"})
		mustContain(t, "the result", texts[0], "the user interrupted on purpose", "while this call was running")
		expect(t, "the next request", f.sent(1), "user(one) assistant(call:c1) user(result:c1) user(two)")
	})
}

func TestCX09CancelBeforeAnyStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, nil, beforeStep(func(_ context.Context, b Batch) ([]*llm.Message, string, error) {
			f.cancel(false)
			return b.Messages, "", nil
		}))
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi turn1 claim queue:hi drop end:aborted")
		expect(t, "requests", f.model.count(), 0)
		expect(t, "the queue", f.waits(), "")
	})
}

func TestCX10StatusListenerCloses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, nil, onStatus(func(running bool) {
			if running {
				// The driver itself must not wait for the driver.
				over, cancel := context.WithCancel(t.Context())
				cancel()
				if err := f.Close(over); !errors.Is(err, context.Canceled) {
					t.Errorf("close: %v", err)
				}
			}
		}))
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi") // closing keeps the inbox
		_, err := f.Followup("more")
		expect(t, "a send", err, ErrClosed)
	})
}

func TestCX11IdleListenerCancels(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{say("a"), say("b")}, onStatus(func(running bool) {
			if !running {
				f.cancel(false)
			}
		}))
		f.prompt("one")
		f.prompt("two")
		expect(t, "turns", f.log.LastTurn(), 2)
		expect(t, "the last turn", f.lastEnd().Kind, session.Completed)
	})
}

func TestCX12IdleListenerCancelsThenSends(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		again := true
		f = newFixture(t, []play{say("a"), say("b")}, onStatus(func(running bool) {
			if !running && again {
				again = false
				f.cancel(false)
				f.send("replacement")
			}
		}))
		f.prompt("one")
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one answer:a stepend end:completed queue:replacement turn2 claim step1 user:replacement answer:b stepend end:completed")
	})
}

func TestCX13CancelDropsTheQueueDurably(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("par"))})
		f.send("one")
		synctest.Wait()
		f.steer("steer")
		f.send("two")
		f.send("three")
		f.cancel(false)
		f.idle()
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one queue:steer queue:two queue:three drop drop answer:par stepend end:aborted")
		splices := of[session.InboxSpliced](f)
		last := splices[len(splices)-2:]
		expect(t, "next-step first", last[0].Target, session.NextStep)
		expect(t, "then the prompts", [2]any{last[1].Target, last[1].RemovedCount}, [2]any{session.NextTurn, 2})
		expect(t, "outcomes", [2]string{last[0].Outcome, last[1].Outcome}, [2]string{"canceled", "canceled"})
	})
}

func TestCX15AfterACancelThingsAreNormal(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("par")), say("b"), say("c")})
		f.send("one")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		f.prompt("two")
		f.prompt("three")
		expect(t, "turns", f.log.LastTurn(), 3)
		expect(t, "the last turn", f.lastEnd().Kind, session.Completed)
		expect(t, "the last request", f.sent(2), "user(one) assistant(par) user(two) assistant(b) user(three)")
	})
}

func TestCX16StreamedTextIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		usage := llm.Usage{InputTokens: 7, OutputTokens: 2}
		f := newFixture(t, []play{hang(text("par"), text("tial"), llm.Chunk{Type: llm.UsageChunk, Usage: &usage})})
		f.send("hi")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer:partial stepend end:aborted")
		var chunks []int
		for _, ev := range f.events() {
			switch p := ev.Data.(type) {
			case session.AssistantChunk:
				chunks = append(chunks, ev.Seq)
			case session.AssistantMessage:
				expect(t, "interrupted", p.Interrupted, true)
				expect(t, "usage", *p.Usage, usage)
				expect(t, "cites its chunks", ev.Sources, chunks)
			}
		}
		expect(t, "chunks", len(chunks), 3)
	})
}

func TestCX17StreamedReasoningIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(llm.Chunk{Type: llm.ReasoningDelta, Text: "hmm"}), say("b")})
		f.send("hi")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		f.prompt("again")
		expect(t, "the next request", f.sent(1), "user(hi) assistant(thought:hmm) user(again)")
	})
}

func TestCX18HalfStreamedCallIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		half := llm.Chunk{Type: llm.ToolCallDelta, Index: 1, ID: "c1", Name: "probe", HasName: true, ArgumentsDelta: `{"n":`}
		f := newFixture(t, []play{hang(text("I will"), half), say("b")})
		f.send("hi")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		f.prompt("again")
		expect(t, "calls taken up", len(of[session.ToolCall](f)), 0)
		expect(t, "the next request", f.sent(1), "user(hi) assistant(I will) user(again)")
	})
}

// failsAfter streams text and then fails.
func failsAfter(s string, f llm.Failure) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		yield(text(s))
		yield(llm.Chunk{Type: llm.FinishChunk, Reason: &llm.Finish{Kind: llm.Failed, Failure: &f}})
	}
}

var transient = llm.Failure{Code: llm.CodeRateLimit, Message: "slow down"}

func TestCX19FailedAttemptIsNotFinalised(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{failsAfter("half", transient)})
		f.send("hi")
		synctest.Wait() // in the back-off
		expect(t, "waits", len(of[session.Retry](f)), 1)
		f.cancel(false)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi stepend end:aborted")
		expect(t, "attempts started", len(of[session.RetryStarted](f)), 0)
		expect(t, "requests", f.model.count(), 1)
	})
}

func TestCX21BlankTextMakesNoMessage(t *testing.T) {
	for name, chunks := range map[string][]llm.Chunk{"blank": {text(" \n"), text("\t")}, "nothing": nil} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{hang(chunks...)})
				f.send("hi")
				synctest.Wait()
				f.cancel(false)
				f.idle()
				expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi stepend end:aborted")
				expect(t, "chunks in the log", len(of[session.AssistantChunk](f)), len(chunks))
			})
		})
	}
}

// modelFunc is a provider that does what it likes, also before the gate.
type modelFunc func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error]

func (m modelFunc) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
	return m(ctx, r)
}

// hitBeforeTheGate ends the turn when the step is open and nothing has been sent.
func hitBeforeTheGate(t *testing.T, hit func(f *fixture)) *fixture {
	t.Helper()
	var f *fixture
	f = newFixture(t, nil, func(o *Options) {
		o.Route.Model = modelFunc(func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
			return func(yield func(llm.Chunk, error) bool) {
				hit(f)
				<-ctx.Done()
				if err := r.BeforeSend(llm.Sent{Messages: len(r.Messages), SHA256: "0", Profile: "test"}); err != nil {
					yield(llm.Chunk{}, err)
					return
				}
				t.Error("the gate let a cancelled request through")
			}
		})
	})
	f.prompt("hi")
	expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi stepend end:aborted")
	expect(t, "requests that left", len(of[session.RequestSent](f)), 0)
	return f
}

func TestCX22CancelAfterStepStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := hitBeforeTheGate(t, func(f *fixture) { f.cancel(false) })
		expect(t, "cause", *f.lastEnd().Cause, session.Cause{Kind: session.ByUser})
	})
}

func TestCX23CloseAfterStepStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		closed := make(chan error, 1)
		f := hitBeforeTheGate(t, func(f *fixture) {
			go func() { closed <- f.Close(context.Background()) }()
		})
		expect(t, "close", <-closed, nil)
		expect(t, "cause", *f.lastEnd().Cause, session.Cause{Kind: session.Disposed})
	})
}

func TestCX24CancelWhileTheTurnIsStopping(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a")}, extended(Extensions{TurnStopping: []TurnStopping{
			atStopping(func(ctx context.Context, _ Stopping) (Ending, error) {
				<-ctx.Done()
				return Ending{Continue: []llm.Message{note("go on")}}, nil
			})}}))
		f.send("hi")
		synctest.Wait()
		f.cancel(true)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer:a stepend end:aborted")
	})
}

func TestCX25StatusListenerCancels(t *testing.T) {
	for name, keep := range map[string]bool{"dropped": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var f *fixture
				once := true
				f = newFixture(t, []play{say("a"), say("b")}, onStatus(func(running bool) {
					if running && once {
						once = false
						f.cancel(keep)
					}
				}))
				f.prompt("hi")
				synctest.Wait()
				story, read := "queue:hi drop", "user(more)"
				if keep {
					story, read = "queue:hi", "user(hi)"
				}
				expect(t, "no turn", f.story(), story)
				f.prompt("more")
				expect(t, "the request", f.sent(0), read)
			})
		})
	}
}

func TestCX25StatusListenerCancelsAndSendsAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		once := true
		f = newFixture(t, []play{say("a")}, onStatus(func(running bool) {
			if running && once {
				once = false
				f.cancel(false)
				f.send("replacement")
			}
		}))
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi drop queue:replacement turn1 claim step1 user:replacement answer:a stepend end:completed")
	})
}

func TestCX27CancelInPreStepThenSend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		once := true
		f := newFixture(t, []play{say("a")}, beforeStep(func(ctx context.Context, b Batch) ([]*llm.Message, string, error) {
			if once {
				once = false
				<-ctx.Done()
			}
			return b.Messages, "", nil
		}))
		f.send("one")
		synctest.Wait()
		f.cancel(false)
		f.send("two")
		f.idle()
		expect(t, "turns", f.log.LastTurn(), 2)
		expect(t, "the request", f.sent(0), "user(two)")
		expect(t, "the first turn", of[session.TurnEnd](f)[0].Reason.Kind, session.Aborted)
		expect(t, "the second turn", f.lastEnd().Kind, session.Completed)
	})
}

func TestCX28SteeringOfACancelledTurnIsDropped(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("par")), say("b")})
		f.send("one")
		synctest.Wait()
		f.steer("steer")
		f.cancel(false)
		f.idle()
		f.prompt("two")
		expect(t, "the request", f.sent(1), "user(one) assistant(par) user(two)")
	})
}

func TestCX29ReplacementSentAtTheCancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		replace := func(ctx context.Context, _ *llm.Request, _ func(llm.Chunk) bool) {
			<-ctx.Done()
			f.send("replacement")
		}
		f = newFixture(t, []play{replace, say("b")})
		f.send("one")
		synctest.Wait()
		f.send("queued")
		f.cancel(false)
		f.idle()
		expect(t, "the request", f.sent(1), "user(one) user(replacement)")
		expect(t, "turns", f.log.LastTurn(), 2)
	})
}

func TestCX30TheFirstCauseWins(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFixture(t, []play{stubborn(release)})
		f.send("hi")
		synctest.Wait()
		first := session.Cause{Kind: session.ByHook, Reason: "guard: enough"}
		for _, c := range []session.Cause{first, {Kind: session.ByUser}, {Kind: session.ByParent}} {
			if err := f.Cancel(c, true); err != nil {
				t.Fatal(err)
			}
		}
		close(release)
		f.idle()
		expect(t, "cause", *f.lastEnd().Cause, first)
	})
}

func TestCX31CancelThenClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFixture(t, []play{stubborn(release)})
		f.send("hi")
		synctest.Wait()
		f.cancel(false)
		closed := make(chan error, 1)
		go func() { closed <- f.Close(context.Background()) }()
		synctest.Wait()
		close(release)
		expect(t, "close", <-closed, nil)
		expect(t, "cause", *f.lastEnd().Cause, session.Cause{Kind: session.ByUser})
	})
}

// Every cause is logged as it was given, and results say who it was.
func TestCX30CausesAreLoggedExactly(t *testing.T) {
	for cause, says := range map[session.Cause]string{
		{Kind: session.ByUser}:                          "the user interrupted on purpose",
		{Kind: session.ByParent}:                        "the task was cancelled",
		{Kind: session.ByHook, Reason: "budget: cost"}:  "the turn was ended (budget: cost)",
		{Kind: session.ByUser, Reason: "pressed twice"}: "the user interrupted on purpose",
	} {
		t.Run(string(cause.Kind)+cause.Reason, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{call("probe", `{}`, "probe", `{}`)}, with(&probe{name: "probe", run: blocked}))
				f.send("hi")
				synctest.Wait()
				if err := f.Cancel(cause, false); err != nil {
					t.Fatal(err)
				}
				f.idle()
				expect(t, "cause", *f.lastEnd().Cause, cause)
				_, texts := f.results()
				for _, text := range texts {
					mustContain(t, "the result", text, says)
				}
			})
		})
	}
}

// inPreStepOf is an agent whose driver is held before its first step.
func inPreStepOf(t *testing.T, hold func(ctx context.Context)) *fixture {
	t.Helper()
	f := newFixture(t, nil, beforeStep(func(ctx context.Context, b Batch) ([]*llm.Message, string, error) {
		hold(ctx)
		return b.Messages, "", nil
	}))
	f.inject("note")
	f.send("hi")
	synctest.Wait()
	return f
}

func TestCX34EndsInPreStep(t *testing.T) {
	for _, c := range []struct {
		name  string
		end   func(f *fixture)
		kind  session.CauseKind
		story string
		waits string
	}{
		{"cancel", func(f *fixture) { f.cancel(false) }, session.ByUser,
			"queue:note queue:hi turn1 claim claim queue:note drop queue:hi drop end:aborted", ""},
		{"cancel with keepInbox", func(f *fixture) { f.cancel(true) }, session.ByUser,
			"queue:note queue:hi turn1 claim claim queue:note queue:hi end:aborted", "note hi"},
		{"close", func(f *fixture) { _ = f.Close(context.Background()) }, session.Disposed,
			"queue:note queue:hi turn1 claim claim queue:note queue:hi end:aborted", "note hi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := inPreStepOf(t, func(ctx context.Context) { <-ctx.Done() })
				c.end(f)
				f.idle()
				expect(t, "the log", f.story(), c.story)
				expect(t, "cause", f.lastEnd().Cause.Kind, c.kind)
				expect(t, "the queue", f.waits(), c.waits)
				expect(t, "requests", f.model.count(), 0)
				expect(t, "chunks", len(of[session.AssistantChunk](f)), 0)
			})
		})
	}
}

// What the environment block needs may take a while, too.
func TestCX33EndsWhilePromptIsAssembled(t *testing.T) {
	for name, end := range map[string]func(f *fixture){
		"cancel": func(f *fixture) { f.cancel(true) },
		"close": func(f *fixture) {
			over, cancel := context.WithCancel(context.Background())
			cancel()
			_ = f.Close(over)
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release := make(chan struct{})
				f := newFixture(t, nil, func(o *Options) {
					o.Environment = func() llm.Message { <-release; return note("env") }
				})
				f.send("hi")
				synctest.Wait()
				end(f)
				close(release)
				f.idle()
				expect(t, "the log", f.story(), "queue:hi turn1 claim queue:hi end:aborted")
				expect(t, "requests", f.model.count(), 0)
				expect(t, "headers", len(of[session.RequestHeader](f)), 0)
			})
		})
	}
}

func TestCX35ErrorAfterTheCancelIsTheCancel(t *testing.T) {
	broken := errors.New("torn down")
	for name, ext := range map[string]Extensions{
		"PreStep": {PreStep: []PreStep{atPreStep(func(ctx context.Context, _ Batch) ([]*llm.Message, string, error) {
			<-ctx.Done()
			return nil, "", broken
		})}},
		"TurnStopping": {TurnStopping: []TurnStopping{atStopping(func(ctx context.Context, _ Stopping) (Ending, error) {
			<-ctx.Done()
			return Ending{}, broken
		})}},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{say("a")}, extended(ext))
				f.send("hi")
				synctest.Wait()
				f.cancel(false)
				f.idle()
				expect(t, "the turn", f.lastEnd().Kind, session.Aborted)
				expect(t, "failure", f.lastEnd().Failure == nil, true)
				expect(t, "the agent's error", f.Err(), nil)
			})
		})
	}
}

func TestCX36RetryAfterTheCancelIsIgnored(t *testing.T) {
	testNoRetryAfterCancel(t, func(f *fixture, ctx context.Context) { <-ctx.Done() })
}

func TestCX37CancelWhileTheRecoveryAnswers(t *testing.T) {
	testNoRetryAfterCancel(t, func(f *fixture, _ context.Context) { f.cancel(false) })
}

// testNoRetryAfterCancel fails a request; the recovery does as given and says retry.
func testNoRetryAfterCancel(t *testing.T, recovery func(*fixture, context.Context)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{failsAfter("half", transient)}, extended(Extensions{RequestError: []RequestError{
			atFailure(func(ctx context.Context, _ RequestFailure) (bool, error) {
				recovery(f, ctx)
				return true, nil
			})}}))
		f.send("hi")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		expect(t, "requests", f.model.count(), 1)
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi stepend end:aborted")
	})
}

func TestCX39ContextOfACallThatEndsAfterCloseIsParked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		body := &probe{name: "probe", run: func(ctx context.Context, _ string) (tools.Result, error) {
			<-ctx.Done()
			return tools.Result{Text: "late", Contexts: []llm.Message{note("context")}}, nil
		}}
		f := newFixture(t, []play{call("probe", `{}`)}, with(body))
		f.send("hi")
		synctest.Wait()
		if err := f.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		expect(t, "turns", f.log.LastTurn(), 1)
		expect(t, "the queue", f.waits(), "context")
		again := f.reopen([]play{say("a")}, with(body))
		expect(t, "after the resume", again.waits(), "[context]")
	})
}

func TestCX40ContextsOfCommittedResultsAreRecorded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		body := &probe{name: "probe", run: func(ctx context.Context, args string) (tools.Result, error) {
			if args == `{"n":1}` {
				return tools.Result{Text: "one", Contexts: []llm.Message{note("context")}}, nil
			}
			return blocked(ctx, args)
		}}
		f := newFixture(t, []play{call("probe", `{"n":1}`, "probe", `{"n":2}`)}, with(body))
		f.send("hi")
		synctest.Wait()
		f.cancel(true)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer: call:c1 result:c1 queue:context call:c2 result:c2 stepend end:aborted")
		expect(t, "the queue", f.waits(), "context")
	})
}

func TestLM09ModelThatBreaksAtTheCancel(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, func(o *Options) {
			o.Route.Model = modelFunc(func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
				return func(yield func(llm.Chunk, error) bool) {
					yield(text("par"), nil)
					<-ctx.Done()
					yield(llm.Chunk{}, errors.New("connection reset"))
				}
			})
		})
		f.send("hi")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer:par stepend end:aborted")
	})
}

// The cancel lands after the answer is logged and before its first call is taken up.
func TestCX09CancelBetweenTheAnswerAndItsCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		ran := false
		body := &probe{name: "probe",
			safe: func(string) bool { f.cancel(false); return true },
			run:  func(context.Context, string) (tools.Result, error) { ran = true; return tools.Result{}, nil }}
		f = newFixture(t, []play{call("probe", `{}`, "probe", `{}`), say("b")}, with(body))
		f.prompt("hi")
		expect(t, "a body ran", ran, false)
		expect(t, "decisions", len(of[session.PolicyDecision](f)), 0)
		codes, texts := f.results()
		expect(t, "codes", codes, []string{"ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"})
		for _, text := range texts {
			mustContain(t, "the result", text, "the user interrupted on purpose", "did not run")
		}
		f.prompt("again")
		expect(t, "the next request", f.sent(1), "user(hi) assistant(call:c1,call:c2) user(result:c1) user(result:c2) user(again)")
	})
}

func TestCX09CancelInAToolHook(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", `{}`, "probe", `{}`)}, extended(Extensions{Tool: []ToolHook{
			beforeCall(func(ctx context.Context, _ Call) (string, error) { <-ctx.Done(); return "", nil })}}))
		f.send("hi")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		codes, _ := f.results()
		expect(t, "codes", codes, []string{"ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"})
		expect(t, "decisions", len(of[session.PolicyDecision](f)), 0)
	})
}

// What the model reads of calls after a cancel: on purpose, and whether each had
// started or ended.
func TestB08ResultsAfterACancelTellWhatHappened(t *testing.T) {
	bubble(t, func(t *testing.T) {
		body := &probe{name: "probe", safe: func(args string) bool { return args != `{"n":4}` },
			run: func(ctx context.Context, args string) (tools.Result, error) {
				switch args {
				case `{"n":1}`:
					return blocked(ctx, args)
				case `{"n":2}`:
					return tools.Result{Text: "ended before"}, nil
				case `{"n":3}`:
					<-ctx.Done()
					return tools.Result{}, &tools.Error{Code: tools.FSIO, Text: "the disk broke"}
				}
				t.Error("a call ran that was never to start")
				return tools.Result{}, nil
			}}
		f := newFixture(t, []play{call("probe", `{"n":1}`, "probe", `{"n":2}`, "probe", `{"n":3}`, "probe", `{"n":4}`), say("b")}, with(body))
		f.send("hi")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		codes, texts := f.results()
		expect(t, "codes", codes, []string{"ABORTED", "ok", "FS_IO_ERROR", "ABORTED_BEFORE_DISPATCH"})
		mustContain(t, "the running call", texts[0], "the user interrupted on purpose", "running", "do not repeat")
		expect(t, "the call that had ended", texts[1], "ended before")
		mustContain(t, "the call that failed", texts[2], "the disk broke")
		mustContain(t, "the call that waited", texts[3], "the user interrupted on purpose", "did not run", "Do not repeat")
		f.prompt("again")
		f.sent(1)
	})
}

func TestB03InterruptedAndFailedTurnsLeaveAValidHistory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		broken := fail(llm.Failure{Code: llm.CodeAuth, Message: "no"})
		plays := []play{hang(llm.Chunk{Type: llm.ReasoningDelta, Text: " "}), broken, broken, broken, broken, broken, say("a")}
		f := newFixture(t, plays)
		f.send("think")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		for range 5 {
			f.prompt("try")
		}
		f.prompt("hi")
		expect(t, "the request", f.sent(6), "user(think) user(try) user(try) user(try) user(try) user(try) user(hi)")
	})
}

// Messages typed while a tool runs, an interrupt, and another message: each reaches
// the model once, in order.
func TestH05QueuedMessagesSurviveAnInterrupt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", `{}`), say("a"), say("b"), say("c")}, with(&probe{name: "probe", run: blocked}))
		f.send("go")
		synctest.Wait()
		f.send("m1")
		f.send("m2")
		f.cancel(true)
		f.idle()
		expect(t, "visible after the interrupt", f.waits(), "m1 m2")
		f.prompt("m3")
		expect(t, "the last request", f.sent(3),
			"user(go) assistant(call:c1) user(result:c1) user(m1) assistant(a) user(m2) assistant(b) user(m3)")
		expect(t, "the queue", f.waits(), "")
	})
}

// busy makes the agent busy with a driver that the test plays.
func (f *fixture) busy() *activity {
	act := newActivity(context.Background())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.act = act
	return act
}

// A cancel that comes when the turn has decided to end stops the queue.
func TestCX03CancelAfterTheTurnsDecisionParksTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		act := f.busy()
		f.send("queued")
		f.Agent.close(act)
		f.cancel(true)
		expect(t, "goes on", f.next(act), false)
		f.finish(act)
		expect(t, "running", f.Running(), false)
		expect(t, "the queue", f.waits(), "queued")
	})
}

func TestINB11MessageDuringMaintenance(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a")})
		end := make(chan struct{})
		done := make(chan error, 1)
		go func() {
			done <- f.Maintenance(t.Context(), func(context.Context) error { <-end; return nil })
		}()
		synctest.Wait()
		f.send("hi")
		synctest.Wait()
		expect(t, "running", f.Running(), false)
		expect(t, "the log", f.story(), "queue:hi")
		close(end)
		expect(t, "maintenance", <-done, nil)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer:a stepend end:completed")
	})
}

func TestCX04CancelDuringMaintenance(t *testing.T) {
	for name, keep := range map[string]bool{"dropped": false, "kept": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{say("a")})
				done := make(chan error, 1)
				go func() {
					done <- f.Maintenance(t.Context(), func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) })
				}()
				synctest.Wait()
				f.send("hi")
				f.cancel(keep)
				var cause *session.Cause
				if err := <-done; !errors.As(err, &cause) || cause.Kind != session.ByUser {
					t.Errorf("maintenance ended with %v", err)
				}
				f.idle()
				turns := 0
				if keep {
					turns = 1
				}
				expect(t, "turns", f.log.LastTurn(), turns)
			})
		})
	}
}

// A turn's clock may run out in the very moment the turn ends: it must not hit the
// next turn.
func TestCX30LateClockDoesNotHitTheNextTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a")})
		act := f.busy()
		f.send("next")
		ended := &turn{a: f.Agent, act: act, ctx: act.ctx, end: act.cancel, n: 1}
		expect(t, "goes on", f.next(act), true)
		ended.stop("budget: time 1m0s")
		f.drive(act)
		expect(t, "the next turn", f.lastEnd().Kind, session.Completed)
	})
}
