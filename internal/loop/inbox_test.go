package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// parked is an agent with messages in its inbox and no turn: next-step "n1 n2",
// next-turn "p1 p2".
func parked(t *testing.T, plays ...play) (f *fixture, ids map[string]string) {
	t.Helper()
	f = newFixture(t, append([]play{hang()}, plays...))
	f.send("first")
	synctest.Wait()
	f.send("p1")
	f.send("p2")
	f.inject("n1")
	f.inject("n2")
	f.cancel(true)
	f.idle()
	ids = map[string]string{}
	for _, it := range f.Queue() {
		ids[it.Text] = it.ID
	}
	expect(t, "the queue", f.waits(), "n1 n2 p1 p2")
	return f, ids
}

func TestIN03UnknownIDsChangeNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, _ := parked(t)
		before := f.log.NextSeq()
		for name, edit := range map[string]func() (bool, error){
			"replace": func() (bool, error) { return f.Replace("gone", "x") },
			"remove":  func() (bool, error) { return f.Remove("gone") },
			"move":    func() (bool, error) { return f.Move("gone", session.NextStep, 0) },
		} {
			ok, err := edit()
			expect(t, name, []any{ok, err}, []any{false, nil})
		}
		expect(t, "events", f.log.NextSeq(), before)
	})
}

func TestIN05MovePositionsAreClamped(t *testing.T) {
	for _, c := range []struct {
		name  string
		to    session.Target
		at    int
		waits string
	}{
		{"IN05 to the head", session.NextTurn, 0, "n1 n2 p2 p1"},
		{"IN05 past the end", session.NextTurn, 99, "n1 n2 p1 p2"},
		{"IN05 negative is the end", session.NextTurn, -1, "n1 n2 p1 p2"},
		{"IN05 to the other queue", session.NextStep, 1, "n1 p2 n2 p1"},
		{"IN05 past the end of the other queue", session.NextStep, 99, "n1 n2 p2 p1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f, ids := parked(t)
				ok, err := f.Move(ids["p2"], c.to, c.at)
				expect(t, "move", []any{ok, err}, []any{true, nil})
				expect(t, "the queue", f.waits(), c.waits)
				expect(t, "nothing ran", f.log.LastTurn(), 1)
			})
		})
	}
}

func TestIN06TheSameMessageTwiceIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		m := note("once")
		m.ID = "the same"
		if _, err := f.Inject(m); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Inject(m); err == nil {
			t.Error("the second was accepted")
		}
		expect(t, "the queue", f.waits(), "once")
	})
}

func TestIN07CancelClearsBothQueues(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, _ := parked(t)
		f.cancel(false)
		splices := of[session.InboxSpliced](f)
		for i, target := range []session.Target{session.NextStep, session.NextTurn} {
			p := splices[len(splices)-2+i]
			expect(t, "splice", []any{p.Target, p.RemovedCount, p.Outcome}, []any{target, 2, session.OutcomeCanceled})
		}
		expect(t, "the queue", f.waits(), "")
		expect(t, "dropped", len(f.log.State().Consumed.Dropped), 4)
	})
}

func TestIN09NextStepComesBeforeOnePrompt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, _ := parked(t, say("a"), say("b"), say("c"))
		f.prompt("p3")
		expect(t, "one prompt a turn", f.log.LastTurn(), 4)
		expect(t, "the last request", f.sent(3), "user(first) user(n1) user(n2) user(p1) assistant(a) user(p2) assistant(b) user(p3)")
		for _, p := range of[session.InboxSpliced](f) {
			if p.RemovedCount > 0 && p.Outcome != "" {
				t.Errorf("a claim carries the outcome %q", p.Outcome)
			}
		}
	})
}

func TestIN10AStepLeavesPromptsAlone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		body := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			f.send("prompt")
			f.inject("note")
			f.steer("steer")
			return tools.Result{Text: "ok"}, nil
		}}
		f = newFixture(t, []play{call("probe", `{}`), say("a"), say("b")}, with(body))
		f.prompt("go")
		expect(t, "step 2", f.sent(1), "user(go) assistant(call:c1) user(result:c1) user(note) user(steer)")
		expect(t, "turns", f.log.LastTurn(), 2)
	})
}

func TestIN12RefusedAppendQueuesAndWakesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.inject("kept")
		for name, m := range map[string]llm.Message{
			"no role":   {Content: []llm.Block{llm.TextBlock("x")}, Source: llm.Source{Kind: llm.FromUser}},
			"assistant": {Role: llm.Assistant, Content: []llm.Block{}, Source: llm.Source{Kind: llm.FromUser}, ID: "a"},
		} {
			if _, err := f.Inject(m); err == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		if err := f.log.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := f.Followup("hi"); !errors.Is(err, session.ErrClosed) {
			t.Errorf("a followup that cannot be logged: %v", err)
		}
		expect(t, "running", f.Running(), false)
		expect(t, "the queue", f.waits(), "kept")
	})
}

// The log alone tells what became of a message, with the message itself.
func TestIN13TheLogHoldsTheExactMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a")})
		item, err := f.Followup("hi <&> \u2028")
		if err != nil {
			t.Fatal(err)
		}
		f.idle()
		inserted := of[session.InboxSpliced](f)[0].Inserted[0]
		entered := of[session.UserMessage](f)[0].Message
		expect(t, "the id", inserted.ID, item.ID)
		expect(t, "what entered", entered, inserted)
		expect(t, "the text", entered.PlainText(), "hi <&> \u2028")
	})
}

func TestIN15SourceIsPreserved(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a")})
		m := note("x")
		m.Source = llm.Source{Kind: llm.FromPlugin, Plugin: ""}
		if _, err := f.Inject(m); err != nil {
			t.Fatal(err)
		}
		f.prompt("hi")
		expect(t, "source", of[session.UserMessage](f)[0].Source, m.Source)
	})
}

func TestIN16PendingInjectionSurvivesAResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.inject("note")
		again := f.reopen([]play{say("a")})
		synctest.Wait()
		expect(t, "the queue", again.waits(), "[note]")
		expect(t, "turns", again.log.LastTurn(), 0)
	})
}

func TestIN28StagedDuringPreStepJoinsTheNextStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{say("a"), say("b")}, beforeStep(func(_ context.Context, b Batch) ([]*llm.Message, string, error) {
			if b.Step == 1 {
				f.inject("inject")
				f.steer("steer")
			}
			return b.Messages, "", nil
		}))
		f.prompt("hi")
		expect(t, "step 1", f.sent(0), "user(hi)")
		expect(t, "step 2", f.sent(1), "user(hi) assistant(a) user(inject) user(steer)")
		expect(t, "turns", f.log.LastTurn(), 1)
	})
}

// blocksOnce rejects the first batch, after during ran.
func blocksOnce(during func()) option {
	blocked := false
	return beforeStep(func(_ context.Context, b Batch) ([]*llm.Message, string, error) {
		if !blocked {
			blocked = true
			during()
			return nil, "not today", nil
		}
		return b.Messages, "", nil
	})
}

func TestIN29ItemsStagedDuringABlockSurvive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{say("a")}, blocksOnce(func() { f.inject("later") }))
		f.prompt("bad")
		expect(t, "the turn", f.lastEnd().Kind, session.Blocked)
		expect(t, "the queue", f.waits(), "later")
		f.prompt("good")
		expect(t, "the request", f.sent(0), "user(later) user(good)")
	})
}

func TestIN30PromptsBesideABlockedOneSurvive(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{say("a"), say("b")}, blocksOnce(func() { f.send("next") }))
		f.prompt("bad")
		synctest.Wait()
		expect(t, "parked", f.waits(), "next")
		expect(t, "requests", f.model.count(), 0)
		f.prompt("more")
		expect(t, "the last request", f.sent(1), "user(next) assistant(a) user(more)")
	})
}

func TestIN31InjectionAfterPreStepIsConsumedLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		inject := func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
			f.inject("late")
			yield(text("a"))
		}
		f = newFixture(t, []play{inject, say("b")})
		f.prompt("hi")
		expect(t, "the next boundary", f.sent(1), "user(hi) assistant(a) user(late)")
		expect(t, "the queue", f.waits(), "")
	})
}

// A batch that never entered a step is back at the head of its queues, in its
// order, and nothing of it is lost.
func TestIN29BatchThatCouldNotEnterGoesBack(t *testing.T) {
	for name, spoil := range map[string]func(f *fixture, b Batch) ([]*llm.Message, string, error){
		"an extension fails": func(*fixture, Batch) ([]*llm.Message, string, error) {
			return nil, "", errors.New("broken")
		},
		"the log refuses the input": func(_ *fixture, b Batch) ([]*llm.Message, string, error) {
			return append(b.Messages[:len(b.Messages):len(b.Messages)], &llm.Message{Role: llm.User}), "", nil
		},
		"a cancel with keepInbox, then a reject": func(f *fixture, b Batch) ([]*llm.Message, string, error) {
			f.cancel(true)
			return nil, "interrupted", nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var f *fixture
				once := true
				f = newFixture(t, []play{say("a"), say("b")}, beforeStep(func(_ context.Context, b Batch) ([]*llm.Message, string, error) {
					if once {
						once = false
						f.send("later")
						return spoil(f, b)
					}
					return b.Messages, "", nil
				}), func(o *Options) { o.Environment = func() llm.Message { return note("env") } })
				f.inject("n1")
				f.inject("n2")
				f.prompt("hi")
				expect(t, "steps", len(of[session.StepStart](f)), 0)
				expect(t, "the queue", f.waits(), "n1 n2 hi later")
				f.prompt("more")
				expect(t, "the next turn", f.sent(0), "user(n1) user(n2) user(hi) user(env)")
				expect(t, "turns", f.log.LastTurn(), 4)
			})
		})
	}
}

func TestIN29RejectedBatchIsGoneAndTheEnvironmentIsNot(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a"), say("b")}, blocksOnce(func() {}),
			func(o *Options) { o.Environment = func() llm.Message { return note("env") } })
		f.prompt("bad")
		f.prompt("good")
		f.prompt("more")
		expect(t, "the requests", f.sent(1), "user(good) user(env) assistant(a) user(more)")
	})
}

func TestINB02SteerJoinsTheRunningTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFixture(t, []play{stubborn(release, text("a")), say("b")})
		f.send("hi")
		synctest.Wait()
		f.steer("also")
		close(release)
		f.idle()
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi queue:also answer:a stepend claim step2 user:also answer:b stepend end:completed")
	})
}

// A driver that goes on with the queue opens each turn to steering anew.
func TestINB02SteerJoinsTheSecondTurnOfADriver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFixture(t, []play{stubborn(release, text("a")), stubborn(release, text("b")), say("c")})
		f.send("one")
		f.send("two")
		synctest.Wait()
		release <- struct{}{}
		synctest.Wait()
		f.steer("also")
		expect(t, "the queue", f.Queue()[0].Target, session.NextStep)
		close(release)
		f.idle()
		expect(t, "turns", f.log.LastTurn(), 2)
		expect(t, "step 2", f.sent(2), "user(one) assistant(a) user(two) assistant(b) user(also)")
	})
}

func TestINB03SteerWhileTheTurnIsStoppingGetsItsStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		once := true
		f = newFixture(t, []play{say("a"), say("b")}, extended(Extensions{TurnStopping: []TurnStopping{
			atStopping(func(context.Context, Stopping) (Ending, error) {
				if once {
					once = false
					f.steer("also")
				}
				return Ending{}, nil
			})}}))
		f.prompt("hi")
		expect(t, "turns", f.log.LastTurn(), 1)
		expect(t, "step 2", f.sent(1), "user(hi) assistant(a) user(also)")
	})
}

// An injection after the last boundary of a turn wakes nobody; a steer does.
func TestIN31InputAfterTheTurnsDecision(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		act := f.busy()
		f.Agent.close(act)
		f.inject("note")
		expect(t, "goes on for an injection", f.next(act), false)
		f.steer("steer")
		expect(t, "the steer opens a turn", f.Queue()[1].Target, session.NextTurn)
		expect(t, "goes on for a steer", f.next(act), true)
		f.drive(act)
		expect(t, "the request", f.sent(0), "user(note) user(steer)")
	})
}

func TestINB03PendingNoticeGetsItsStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFixture(t, []play{stubborn(release, text("a")), say("b")})
		f.send("hi")
		synctest.Wait()
		f.inject("notice")
		close(release)
		f.idle()
		expect(t, "step 2", f.sent(1), "user(hi) assistant(a) user(notice)")
		expect(t, "turns", f.log.LastTurn(), 1)
	})
}

func TestINB04OneTurnForEachMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a"), say("b"), say("c")})
		var want []string
		for i := range 3 {
			text := fmt.Sprint("m", i+1)
			f.send(text)
			want = append(want, text)
		}
		f.idle()
		var got []string
		for _, m := range of[session.UserMessage](f) {
			got = append(got, m.PlainText())
		}
		expect(t, "order", got, want)
		expect(t, "turns", f.log.LastTurn(), 3)
	})
}

func TestINB05SteerDoesNotInterruptATool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		body := &probe{name: "probe", run: func(ctx context.Context, _ string) (tools.Result, error) {
			<-release
			return tools.Result{Text: "whole"}, ctx.Err()
		}}
		f := newFixture(t, []play{call("probe", `{}`), say("a")}, with(body))
		f.send("go")
		synctest.Wait()
		f.steer("also")
		synctest.Wait()
		expect(t, "requests", f.model.count(), 1)
		close(release)
		f.idle()
		_, texts := f.results()
		expect(t, "the result", texts, []string{"whole"})
		expect(t, "step 2", f.sent(1), "user(go) assistant(call:c1) user(result:c1) user(also)")
	})
}

func TestINB06InterruptedTextIsFlagged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("deliv"), text("ered"))})
		f.send("hi")
		synctest.Wait()
		f.cancel(true)
		f.idle()
		m := of[session.AssistantMessage](f)[0]
		expect(t, "the message", []any{m.Message.PlainText(), m.Interrupted}, []any{"delivered", true})
		expect(t, "the turn", f.lastEnd().Kind, session.Aborted)
	})
}

func TestINB08MessageBetweenCancelAndCloseIsNotLost(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(f *fixture)
	}{
		{"INB08 followup", func(f *fixture) { f.send("new") }},
		{"INB08 steer", func(f *fixture) { f.steer("new") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				release := make(chan struct{})
				f := newFixture(t, []play{stubborn(release), say("b")})
				f.send("old")
				synctest.Wait()
				f.cancel(false)
				c.send(f)
				close(release)
				f.idle()
				expect(t, "the log", f.story(), "queue:old turn1 claim step1 user:old queue:new stepend end:aborted turn2 claim step1 user:new answer:b stepend end:completed")
			})
		})
	}
}

func TestINB09StopWithKeepKeepsTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, release := inLatchWindow(t)
		f.send("wake") // D: the queue goes on with the next wake
		release()
		expect(t, "the log's end", strings.Contains(f.story(), "end:aborted turn2 claim step1 user:two"), true)
		expect(t, "the queue", f.waits(), "")
	})
}

func TestINB10RemovedMessageIsNeverDelivered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f := newFixture(t, []play{stubborn(release, text("a")), say("b")})
		f.send("one")
		synctest.Wait()
		gone, err := f.Followup("gone")
		if err != nil {
			t.Fatal(err)
		}
		f.send("two")
		if ok, err := f.Remove(gone.ID); !ok || err != nil {
			t.Fatalf("remove: %v, %v", ok, err)
		}
		close(release)
		f.idle()
		expect(t, "the last request", f.sent(1), "user(one) assistant(a) user(two)")
		expect(t, "turns", f.log.LastTurn(), 2)
	})
}

func TestINB10ReplacedTextIsWhatIsDelivered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f, ids := parked(t, say("a"), say("b"), say("c"))
		if ok, err := f.Replace(ids["p1"], "P1"); !ok || err != nil {
			t.Fatalf("replace: %v, %v", ok, err)
		}
		expect(t, "in its place", f.waits(), "n1 n2 P1 p2")
		f.prompt("p3")
		expect(t, "the request", f.sent(1), "user(first) user(n1) user(n2) user(P1)")
	})
}

func TestINB12MaxTokensIsReported(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cut := func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
			yield(text("half"))
			yield(finish(llm.MaxTokens))
		}
		f := newFixture(t, []play{cut})
		f.prompt("hi")
		expect(t, "the turn", f.lastEnd().Kind, session.MaxTokens)
	})
}
