package loop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func TestRS03LiveSessionIsNotResumed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("par"))})
		f.send("hi")
		synctest.Wait()
		before := f.log.NextSeq()
		_, _, err := session.Open(f.root, f.log.Path())
		var locked *session.LockedError
		if !errors.As(err, &locked) {
			t.Errorf("open of a live session: %v", err)
		}
		expect(t, "no repair", f.log.NextSeq(), before)
	})
}

func TestRS05HeaderTellsStartFromResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a"), say("b")})
		f.prompt("one")
		f.prompt("two")
		again := f.reopen([]play{say("c")})
		again.prompt("three")
		var reasons []string
		for _, h := range of[session.RequestHeader](again) {
			reasons = append(reasons, h.Reason)
		}
		expect(t, "reasons", reasons, []string{"initial", "resume"})
	})
}

func TestRS05EffortIsKeptForTheSameRouteOnly(t *testing.T) {
	effort := func(model, effort string, defaults ...string) option {
		return func(o *Options) {
			o.Route.Config.Model, o.Route.Config.ReasoningEffort, o.Route.Defaults = model, effort, defaults
		}
	}
	for name, c := range map[string]struct{ model, want string }{
		"the same route": {"m", "high"}, "another": {"other", "medium"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{say("a")}, effort("m", "high"))
				f.prompt("one")
				again := f.reopen([]play{say("b")}, effort(c.model, "medium", "reasoningEffort"))
				again.prompt("two")
				expect(t, "effort", again.model.request(0).Header.Config.ReasoningEffort, c.want)
			})
		})
	}
}

func TestRS15CloseTwiceAndWhileRunning(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFixture(t, []play{stubborn(release)})
		f.send("hi")
		synctest.Wait()
		done := make(chan error, 2)
		for range 2 {
			go func() { done <- f.Close(context.Background()) }()
		}
		synctest.Wait()
		expect(t, "closed before the driver ended", len(done), 0)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		expect(t, "a bounded wait", f.Close(over), context.Canceled)
		close(release)
		expect(t, "both", []error{<-done, <-done}, []error{nil, nil})
		expect(t, "running", f.Running(), false)
		expect(t, "cause", *f.lastEnd().Cause, session.Cause{Kind: session.Disposed})
	})
}

func TestRS17NothingEntersAClosedAgent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		if err := f.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		for name, enter := range map[string]func() error{
			"followup":    func() error { _, err := f.Followup("x"); return err },
			"steer":       func() error { _, err := f.Steer("x"); return err },
			"inject":      func() error { _, err := f.Inject(note("x")); return err },
			"release":     func() error { return f.Release("x") },
			"maintenance": func() error { return f.Maintenance(t.Context(), func(context.Context) error { return nil }) },
		} {
			expect(t, name, enter(), ErrClosed)
		}
		expect(t, "events", f.log.NextSeq(), 0)
	})
}

func TestRS20HistoryAndNumbersContinue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", `{}`), say("a")})
		f.prompt("one")
		again := f.reopen([]play{say("b")})
		again.prompt("two")
		third := again.reopen([]play{call("probe", `{}`), say("c")})
		third.prompt("three")
		expect(t, "turns", third.log.LastTurn(), 3)
		expect(t, "the last request", third.sent(1), "user(one) assistant(call:c1) user(result:c1) assistant(a) user(two) assistant(b) "+
			"user(three) assistant(call:c1-2) user(result:c1-2)")
		for i, ev := range third.events() {
			if ev.Seq != i {
				t.Fatalf("event %d has seq %d", i, ev.Seq)
			}
		}
	})
}

func TestRS30ShutdownKeepsTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("par"))})
		f.send("one")
		synctest.Wait()
		f.send("two")
		f.inject("note")
		again := f.reopen([]play{say("a"), say("b")})
		synctest.Wait()
		expect(t, "held", again.waits(), "[note] [two]")
		expect(t, "nothing ran", []any{again.model.count(), again.Running(), again.log.LastTurn()}, []any{0, false, 1})
	})
}

// held is a resumed agent with "[note] [two]" in its inbox.
func held(t *testing.T, plays ...play) (f *fixture, ids map[string]string) {
	t.Helper()
	before := newFixture(t, []play{hang(text("par"))})
	before.send("one")
	synctest.Wait()
	before.send("two")
	before.inject("note")
	f = before.reopen(plays)
	ids = map[string]string{}
	for _, it := range f.Queue() {
		ids[it.Text] = it.ID
	}
	expect(t, "the queue", f.waits(), "[note] [two]")
	return f, ids
}

func TestRS30HeldMessagesAreSkippedUntilReleased(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, ids := held(t, say("a"), say("b"))
		f.prompt("three")
		expect(t, "a new prompt passes them", f.sent(0), "user(one) assistant(par) user(three)")
		expect(t, "still there", f.waits(), "[note] [two]")
		if err := f.Release(ids["note"], ids["two"]); err != nil {
			t.Fatal(err)
		}
		f.idle()
		expect(t, "released", f.sent(1), "user(one) assistant(par) user(three) assistant(a) user(note) user(two)")
		expect(t, "the queue", f.waits(), "")
	})
}

func TestRS30ReleaseOfOne(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, ids := held(t, say("a"))
		if err := f.Release(ids["two"]); err != nil {
			t.Fatal(err)
		}
		f.idle()
		expect(t, "the request", f.sent(0), "user(one) assistant(par) user(two)")
		expect(t, "the queue", f.waits(), "[note]")
	})
}

func TestRS30ReleaseWhileATurnRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f, ids := held(t, stubborn(release, text("a")), say("b"), say("c"))
		f.send("three")
		synctest.Wait()
		if err := f.Release(ids["note"], ids["two"]); err != nil {
			t.Fatal(err)
		}
		close(release)
		f.idle()
		expect(t, "turns", f.log.LastTurn(), 3)
		expect(t, "the last request", f.sent(2), "user(one) assistant(par) user(three) assistant(a) user(note) assistant(b) user(two)")
	})
}

func TestRS30ReleaseInTheLatchWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f, ids := held(t, stubborn(release), say("b"))
		f.send("three")
		synctest.Wait()
		f.cancel(true)
		if err := f.Release(ids["two"]); err != nil {
			t.Fatal(err)
		}
		close(release)
		f.idle()
		expect(t, "the request", f.sent(1), "user(one) assistant(par) user(three) user(two)")
	})
}

func TestRS30ReleaseOfNothingWakesNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, ids := held(t)
		before := f.log.NextSeq()
		for _, list := range [][]string{nil, {"gone"}} {
			if err := f.Release(list...); err != nil {
				t.Fatal(err)
			}
		}
		f.idle()
		expect(t, "events", f.log.NextSeq(), before)
		if ok, err := f.Remove(ids["two"]); !ok || err != nil {
			t.Fatalf("remove of a held message: %v, %v", ok, err)
		}
		expect(t, "the queue", f.waits(), "[note]")
	})
}

func TestRS30CancelDropsHeldMessagesToo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, _ := held(t)
		f.cancel(false)
		expect(t, "the queue", f.waits(), "")
	})
}

func TestPS03SecondResumeAddsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("par"))})
		f.send("hi")
		synctest.Wait()
		f.send("two")
		second, opened := f.crash(nil)
		if len(opened.Closed) == 0 {
			t.Fatal("the open turn was not closed")
		}
		n := second.log.NextSeq()
		third := second.reopen(nil)
		expect(t, "events", third.log.NextSeq(), n)
		ends := of[session.TurnEnd](third)
		expect(t, "turn ends", []any{len(ends), ends[0].Reason.Kind}, []any{1, session.Interrupted})
	})
}

func TestPS25TornTailThenGoOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("par"))})
		f.send("hi")
		synctest.Wait()
		file := f.file()
		file.bytes = file.bytes[:len(file.bytes)-7]
		again, opened := file.open(t, []play{say("a")})
		if opened.Cut.Bytes == 0 {
			t.Error("nothing was cut")
		}
		again.prompt("go on")
		expect(t, "the request's end", readAs(again.model.request(0).Messages[len(again.model.request(0).Messages)-1]), "user(go on)")
	})
}

// A crash at each moment of a turn. The next life must know what may have happened,
// lose nothing, run nothing by itself, and be able to go on.
func TestB02CrashAtEachMoment(t *testing.T) {
	threeAndOne := call("probe", `{"n":1}`, "probe", `{"n":2}`, "probe", `{"n":3}`, "probe", `{"n":4}`)
	for _, c := range []struct {
		name  string
		plays []play
		opts  []option
		codes []string // of all results after the resume
		waits string   // in the inbox after the resume
		reads string   // what the model is sent after "go on"
	}{
		{
			name:  "RP02 in pre-step: claimed, no step",
			plays: nil,
			opts: []option{beforeStep(func(ctx context.Context, b Batch) ([]*llm.Message, string, error) {
				<-ctx.Done()
				return b.Messages, "", nil
			})},
			waits: "[note] [hi] [queued]",
			reads: "user(go on)",
		},
		{
			name:  "RP02 before the second step: a steer was claimed",
			plays: []play{call("probe", `{}`)},
			opts: []option{beforeStep(func(ctx context.Context, b Batch) ([]*llm.Message, string, error) {
				if b.Step == 2 {
					<-ctx.Done()
				}
				return b.Messages, "", nil
			}), with(&probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
				return tools.Result{Text: "ok", Contexts: []llm.Message{note("context")}}, nil
			}})},
			codes: []string{"ok"},
			waits: "[context] [queued]",
			reads: "user(note) user(hi) assistant(call:c1) user(result:c1) user(go on)",
		},
		{
			name:  "RP02 before the first byte",
			plays: []play{hang()},
			waits: "[queued]",
			reads: "user(note) user(hi) user(go on)",
		},
		{
			name:  "RP02 in mid-stream",
			plays: []play{hang(llm.Chunk{Type: llm.ReasoningDelta, Index: 1, Text: "hm"}, text("par"), text("tial"))},
			waits: "[queued]",
			reads: "user(note) user(hi) assistant(thought:hm,partial) user(go on)",
		},
		{
			name:  "RP02 in mid-stream of a call",
			plays: []play{hang(text("I will"), llm.Chunk{Type: llm.ToolCallDelta, Index: 1, ID: "c1", Name: "probe", HasName: true, ArgumentsDelta: `{"n"`})},
			waits: "[queued]",
			reads: "user(note) user(hi) assistant(I will) user(go on)",
		},
		{
			name:  "RP02 in mid-stream of blank text",
			plays: []play{hang(text(" "), text("\n"))},
			waits: "[queued]",
			reads: "user(note) user(hi) user(go on)",
		},
		{
			name:  "RP02 in the back-off after a failed attempt",
			plays: []play{failsAfter("half", llm.Failure{Code: llm.CodeServer, Message: "x", ProviderRetryAfterMs: new(int64(30_000))})},
			waits: "[queued]",
			reads: "user(note) user(hi) user(go on)",
		},
		{
			name:  "RP04 taken up, not judged",
			plays: []play{call("probe", `{}`, "probe", `{"n":2}`)},
			opts: []option{extended(Extensions{Tool: []ToolHook{
				beforeCall(func(ctx context.Context, _ Call) (string, error) { <-ctx.Done(); return "", nil })}})},
			codes: []string{"TOOL_NOT_STARTED", "TOOL_NOT_STARTED"},
			waits: "[queued]",
			reads: "user(note) user(hi) assistant(call:c1,call:c2) user(result:c1) user(result:c2) user(go on)",
		},
		{
			name:  "RP04 waiting for an answer",
			plays: []play{call("probe", `{}`)},
			opts: []option{with(&probe{name: "probe", class: "write"}),
				func(o *Options) { o.Asks, o.Rules.Preset = true, "ask" }},
			codes: []string{"TOOL_NOT_STARTED"},
			waits: "[queued]",
			reads: "user(note) user(hi) assistant(call:c1) user(result:c1) user(go on)",
		},
		{
			name:  "RP05 a body runs",
			plays: []play{call("probe", `{}`)},
			opts:  []option{with(&probe{name: "probe", run: blocked})},
			codes: []string{"TOOL_OUTCOME_UNKNOWN"},
			waits: "[queued]",
			reads: "user(note) user(hi) assistant(call:c1) user(result:c1) user(go on)",
		},
		{
			name:  "RP05 RP06 one result is there, two bodies ran, one waits",
			plays: []play{threeAndOne},
			opts: []option{with(&probe{name: "probe", safe: func(args string) bool { return args != `{"n":4}` },
				run: func(ctx context.Context, args string) (tools.Result, error) {
					if args == `{"n":2}` {
						return blocked(ctx, args)
					}
					return tools.Result{Text: "ok"}, nil
				}})},
			codes: []string{"ok", "TOOL_OUTCOME_UNKNOWN", "TOOL_OUTCOME_UNKNOWN", "TOOL_NOT_STARTED"},
			waits: "[queued]",
			reads: "user(note) user(hi) assistant(call:c1,call:c2,call:c3,call:c4) user(result:c1) user(result:c2) user(result:c3) user(result:c4) user(go on)",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, c.plays, c.opts...)
				f.inject("note")
				f.send("hi")
				synctest.Wait()
				f.send("queued")
				passFlush()
				again, opened := f.crash([]play{say("fine"), say("fine"), say("fine")}, with(&probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
					t.Error("a call of the dead life ran again")
					return tools.Result{}, nil
				}}))
				synctest.Wait()
				expect(t, "nothing runs by itself", []any{again.Running(), again.model.count(), again.log.LastTurn()}, []any{false, 0, 1})
				expect(t, "the dead turn", again.lastEnd().Kind, session.Interrupted)
				codes, _ := again.results()
				expect(t, "codes", codes, c.codes)
				expect(t, "the inbox", again.waits(), c.waits)
				expect(t, "the user is told", len(opened.Held), len(again.Queue()))

				again.prompt("go on")
				expect(t, "the request", again.sent(0), c.reads)
				expect(t, "the turn", []any{again.log.LastTurn(), again.lastEnd().Kind}, []any{2, session.Completed})

				var ids []string
				for _, it := range again.Queue() {
					ids = append(ids, it.ID)
				}
				if err := again.Release(ids...); err != nil {
					t.Fatal(err)
				}
				again.idle()
				expect(t, "what was held is delivered", again.waits(), "")
				again.sent(again.model.count() - 1)
			})
		})
	}
}
