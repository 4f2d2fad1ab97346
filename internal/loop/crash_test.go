package loop

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// richLife is a session in which much happened: parallel calls with notes, answers
// of a person, a retry, a steer, an interrupt in mid-stream, a rejected prompt, and a
// queue that nobody ran.
func richLife(t *testing.T) *fixture {
	t.Helper()
	body := &probe{name: "probe", safe: func(args string) bool { return args != `{"n":3}` },
		run: func(ctx context.Context, args string) (tools.Result, error) {
			return tools.Result{Text: "ok " + args, Contexts: []llm.Message{note("context " + args)}}, nil
		}}
	careful := &probe{name: "careful", class: policy.Write}
	f := newFixture(t, []play{
		call("probe", `{"n":1}`, "probe", `{"n":2}`, "probe", `{"n":3}`, "careful", `{}`, "careful", `{"n":1}`),
		failsAfter("half an answer", transient),
		say("steered"),
		hang(llm.Chunk{Type: llm.ReasoningDelta, Text: "hm"}, text("par"), text("ti"), text("al")),
		say("after the interrupt"),
		call("careful", `{}`, "probe", `{"n":4}`),
	}, with(body, careful),
		beforeStep(func(_ context.Context, b Batch) ([]*llm.Message, string, error) {
			if slices.ContainsFunc(b.Messages, func(m *llm.Message) bool { return m.PlainText() == "bad" }) {
				return nil, "no", nil
			}
			return b.Messages, "", nil
		}),
		func(o *Options) {
			o.Asks, o.Rules.Preset = true, policy.PresetAsk
			o.Environment = func() llm.Message { return note("env") }
		})
	f.inject("injected")
	f.send("one")
	f.decide(session.Answer{Outcome: session.Once})
	f.steer("steer")
	f.decide(session.Answer{Outcome: session.No})
	f.idle()
	f.send("two")
	synctest.Wait()
	passFlush()
	f.send("kept")
	f.cancel(true)
	f.idle()
	f.prompt("bad")
	f.send("three")
	f.waiting()
	f.cancel(false)
	f.idle()
	f.inject("left over")
	return f
}

// TestB02CrashAfterEveryLine cuts a log after each of its lines. Whatever the moment,
// the next life closes what was open, loses no message, runs nothing by itself, and
// sends a conversation that a provider accepts.
func TestB02CrashAfterEveryLine(t *testing.T) {
	t.Parallel()
	var whole logFile
	synctest.Test(t, func(t *testing.T) {
		f := richLife(t)
		if err := f.log.Sync(); err != nil {
			t.Fatal(err)
		}
		whole = f.file()
	})
	lines := bytes.SplitAfter(whole.bytes, []byte{'\n'})
	for n := 2; n < len(lines); n++ { // the header and an event at least
		t.Run(fmt.Sprint("after line ", n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				crashedLife(t, logFile{whole.path, slices.Concat(lines[:n]...)})
			})
		})
	}
}

func crashedLife(t *testing.T, file logFile) {
	t.Helper()
	again, _ := file.open(t, []play{say("fine")}, with(&probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
		t.Error("a call of the dead life ran again")
		return tools.Result{}, nil
	}}))
	expect(t, "running", again.Running(), false)
	checkFates(t, again)
	checkStandIns(t, again)
	for _, it := range again.Queue() {
		if !it.Held {
			t.Errorf("%q waits and is not held", it.Text)
		}
	}
	again.prompt("go on")
	expect(t, "the turn", again.lastEnd().Kind, session.Completed)
	again.sent(0)
	checkFates(t, again)
}

// checkFates follows every message that ever was in the inbox: it entered a step
// once, or was cancelled, or belonged to a rejected batch, or still waits.
func checkFates(t *testing.T, f *fixture) {
	t.Helper()
	const (
		waits   = "waits"
		claimed = "claimed"
		entered = "entered"
		gone    = "cancelled"
	)
	fate := map[string]string{}
	queues := map[session.Target][]string{}
	text := map[string]string{}
	for _, ev := range f.events() {
		switch p := ev.Data.(type) {
		case session.InboxSpliced:
			q := queues[p.Target]
			for _, id := range q[p.Start : p.Start+p.RemovedCount] {
				fate[id] = claimed
				if p.Outcome != "" {
					fate[id] = gone
				}
			}
			var ids []string
			for _, m := range p.Inserted {
				if fate[m.ID] == entered {
					t.Errorf("%q entered and is queued again", m.PlainText())
				}
				ids, fate[m.ID], text[m.ID] = append(ids, m.ID), waits, m.PlainText()
			}
			queues[p.Target] = slices.Concat(q[:p.Start], ids, q[p.Start+p.RemovedCount:])
		case session.UserMessage:
			if was, ok := fate[p.ID]; ok && was != claimed {
				t.Errorf("%q entered a step; before that it %s", p.PlainText(), was)
			}
			fate[p.ID] = entered
		case session.TurnEnd:
			for id, now := range fate {
				if now == claimed && p.Reason.Kind == session.Blocked {
					fate[id] = gone
				}
			}
		}
	}
	var left []string
	for _, it := range f.Queue() {
		left = append(left, it.ID)
	}
	for id, now := range fate {
		if now == claimed {
			t.Errorf("%q was claimed and is lost", text[id])
		}
		if (now == waits) != slices.Contains(left, id) {
			t.Errorf("%q %s by the log, and the agent's queue differs", text[id], now)
		}
	}
}

// checkStandIns: a result that repair made says "outcome unknown" exactly when the
// log lets the call run.
func checkStandIns(t *testing.T, f *fixture) {
	t.Helper()
	allowed := map[string]bool{}
	asked := map[string]string{}
	for _, ev := range f.events() {
		switch p := ev.Data.(type) {
		case session.PolicyDecision:
			allowed[p.CallID] = p.Decision == session.Allow
		case session.ApprovalAsked:
			asked[p.ID] = p.CallID
		case session.ApprovalDecided:
			allowed[asked[p.ID]] = p.Outcome == approvedOnce
		case session.ToolResult:
			if p.Error == nil {
				continue
			}
			id := p.Message.Source.CallID
			switch p.Error.Code {
			case session.CodeNotStarted:
				expect(t, id+" was allowed", allowed[id], false)
			case session.CodeUnknown:
				expect(t, id+" was allowed", allowed[id], true)
			}
		}
	}
}

// TestINB08NoMessageIsLostInAStorm sends, steers, injects, edits and cancels from
// several goroutines while turns run. Every message has one fate, and when all is
// quiet a last prompt is answered.
func TestINB08NoMessageIsLostInAStorm(t *testing.T) {
	for seed := range uint64(10) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, stormPlays(seed), with(&probe{name: "probe", safe: always, run: pause}))
				var senders sync.WaitGroup
				for n := range uint64(3) {
					senders.Go(func() { storm(f, rand.New(rand.NewPCG(seed, n))) })
				}
				senders.Wait()
				f.idle()
				for len(f.Queue()) > 0 { // a cancel may have parked what came before it
					f.prompt("drain")
				}
				f.prompt("last")
				expect(t, "the last turn", f.lastEnd().Kind, session.Completed)
				expect(t, "the queue", f.waits(), "")
				checkFates(t, f)
				f.sent(f.model.count() - 1)
			})
		})
	}
}

// pause is a tool body, and a part of a play, that takes a little while.
func pause(ctx context.Context, _ string) (tools.Result, error) {
	select {
	case <-time.After(20 * time.Millisecond):
		return tools.Result{Text: "ok"}, nil
	case <-ctx.Done():
		return tools.Result{}, ctx.Err()
	}
}

func stormPlays(seed uint64) []play {
	r := rand.New(rand.NewPCG(seed, 99))
	plays := make([]play, 40)
	for i := range plays {
		answer := say("answer")
		if r.IntN(3) == 0 {
			answer = call("probe", fmt.Sprintf(`{"n":%d}`, i), "probe", `{}`)
		}
		plays[i] = func(ctx context.Context, q *llm.Request, yield func(llm.Chunk) bool) {
			_, _ = pause(ctx, "")
			answer(ctx, q, yield)
		}
	}
	return plays
}

func storm(f *fixture, r *rand.Rand) {
	cause := session.Cause{Kind: session.ByUser}
	for range 15 {
		time.Sleep(time.Duration(r.IntN(15)) * time.Millisecond)
		var err error
		switch r.IntN(9) {
		case 0, 1, 2:
			_, err = f.Followup(fmt.Sprint("followup ", r.IntN(100)))
		case 3, 4:
			_, err = f.Steer(fmt.Sprint("steer ", r.IntN(100)))
		case 5:
			_, err = f.Inject(note("inject"))
		case 6:
			err = f.Cancel(cause, true)
		case 7:
			err = f.Cancel(cause, false)
		case 8:
			if list := f.Queue(); len(list) > 0 {
				_, err = f.Move(list[r.IntN(len(list))].ID, session.NextStep, r.IntN(3))
			}
		}
		if err != nil {
			f.t.Error(err)
		}
	}
}
