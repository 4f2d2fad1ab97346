package loop

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// asking is an agent whose probe needs an answer; ran counts the bodies.
func asking(t *testing.T, ran *int, plays []play, opts ...option) *fixture {
	t.Helper()
	body := &probe{name: "probe", class: policy.Write, run: func(context.Context, string) (tools.Result, error) {
		*ran++
		return tools.Result{Text: "ok"}, nil
	}}
	ask := func(o *Options) { o.Asks, o.Rules.Preset = true, policy.PresetAsk }
	return newFixture(t, plays, append([]option{with(body), ask}, opts...)...)
}

// waiting is the one approval that waits.
func (f *fixture) waiting() session.ApprovalRequest {
	f.t.Helper()
	synctest.Wait()
	list := f.Waiting()
	if len(list) != 1 {
		f.t.Fatalf("%d approvals wait", len(list))
	}
	return list[0]
}

func (f *fixture) decide(a session.Answer) {
	f.t.Helper()
	if err := f.Decide(f.waiting().ID, a); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) approvals() (outcomes []string) {
	for _, d := range of[session.ApprovalDecided](f) {
		outcomes = append(outcomes, d.Outcome)
	}
	return outcomes
}

func TestPRM01AllowedOnceRunsOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		f := asking(t, &ran, []play{call("probe", `{"n":1}`), say("done")})
		f.send("go")
		q := f.waiting()
		expect(t, "what is asked", []any{q.Tool, q.CallID, q.Decision.Verdict, q.Display.Verb}, []any{"probe", "c1", session.Ask, "Probe"})
		expect(t, "the log", of[session.ApprovalAsked](f)[0].ID, q.ID)
		expect(t, "ran before the answer", ran, 0)
		f.decide(session.Answer{Outcome: session.Once})
		f.idle()
		expect(t, "ran", ran, 1)
		expect(t, "outcomes", f.approvals(), []string{"allowed-once"})
		decisions := of[session.PolicyDecision](f)
		expect(t, "decisions", []any{decisions[0].Decision, decisions[1].Decision}, []any{session.Ask, session.Allow})
		expect(t, "waiting", len(f.Waiting()), 0)
	})
}

func TestPRM02EachCallIsAskedForUnlessARuleWasMade(t *testing.T) {
	twice := []play{call("probe", `{}`), call("probe", `{}`), say("done"), call("probe", `{}`), say("done")}
	t.Run("PRM02 once", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ran := 0
			f := asking(t, &ran, twice)
			f.send("go")
			f.decide(session.Answer{Outcome: session.Once})
			f.decide(session.Answer{Outcome: session.Once})
			f.idle()
			expect(t, "ran", ran, 2)
			expect(t, "rules", len(of[session.PolicyRule](f)), 0)
		})
	})
	t.Run("PRM02 session", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ran := 0
			f := asking(t, &ran, twice)
			f.send("go")
			f.decide(session.Answer{Outcome: session.ForSession, Pattern: "probe"})
			f.idle()
			f.prompt("again")
			expect(t, "ran", ran, 3)
			expect(t, "asked", len(of[session.ApprovalAsked](f)), 1)
			expect(t, "the rule", of[session.PolicyRule](f), []session.PolicyRule{{Scope: "session", Pattern: "probe", Decision: session.Allow}})
		})
	})
	t.Run("PRM02 session, resumed", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ran := 0
			f := asking(t, &ran, twice)
			f.send("go")
			f.decide(session.Answer{Outcome: session.ForSession, Pattern: "probe"})
			f.idle()
			again := f.reopen([]play{call("probe", `{}`), say("done")}, func(o *Options) {
				o.Tools, o.Rules.Preset, o.Asks = f.o.Tools, policy.PresetAsk, true
			})
			again.prompt("more")
			expect(t, "ran", ran, 3)
			expect(t, "asked", len(of[session.ApprovalAsked](again)), 1)
		})
	})
}

func TestPRM03No(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer session.Answer
		says   string
	}{
		{"PRM03 no", session.Answer{Outcome: session.No}, "the user said no"},
		{"PRM03 no and say why", session.Answer{Outcome: session.No, Say: "use the other file"}, "the user said no to this call, and says: use the other file"},
	} {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ran := 0
				f := asking(t, &ran, []play{call("probe", `{}`), say("done")})
				f.send("go")
				f.decide(c.answer)
				f.idle()
				expect(t, "ran", ran, 0)
				expect(t, "outcomes", f.approvals(), []string{"rejected"})
				codes, texts := f.results()
				expect(t, "codes", codes, []string{"DENIED"})
				mustContain(t, "the result", texts[0], c.says)
				meta, ok := session.DecodeMeta(of[session.ToolResult](f)[0].Meta)
				if !ok || meta.Refused == nil || meta.Refused.Tool != "probe" {
					t.Errorf("the refusal is not in the result's meta: %+v", meta)
				}
				expect(t, "the turn goes on", f.lastEnd().Kind, session.Completed)
			})
		})
	}
}

func TestPRM04NobodyToAsk(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		f := asking(t, &ran, []play{call("probe", `{}`), say("done")}, func(o *Options) { o.Asks = false })
		f.prompt("go")
		expect(t, "ran", ran, 0)
		expect(t, "asked", len(of[session.ApprovalAsked](f)), 0)
		codes, texts := f.results()
		expect(t, "codes", codes, []string{"DENIED"})
		mustContain(t, "the result", texts[0], "Nobody can be asked")
	})
}

func TestPRM05EndWhileAsking(t *testing.T) {
	for name, end := range map[string]func(f *fixture){
		"cancel": func(f *fixture) { f.cancel(false) },
		"close":  func(f *fixture) { _ = f.Close(context.Background()) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ran := 0
				f := asking(t, &ran, []play{call("probe", `{}`, "probe", `{}`)})
				f.send("go")
				id := f.waiting().ID
				end(f)
				f.idle()
				if err := f.Decide(id, session.Answer{Outcome: session.Once}); err == nil {
					t.Error("a late answer was accepted")
				}
				expect(t, "ran", ran, 0)
				expect(t, "waiting", len(f.Waiting()), 0)
				expect(t, "outcomes", f.approvals(), []string{"cancelled"})
				codes, _ := f.results()
				expect(t, "codes", codes, []string{"ABORTED_BEFORE_DISPATCH", "ABORTED_BEFORE_DISPATCH"})
				expect(t, "the turn", f.lastEnd().Kind, session.Aborted)
			})
		})
	}
}

func TestPRM07TheFirstAnswerDecides(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		f := asking(t, &ran, []play{call("probe", `{}`), say("done")})
		f.send("go")
		id := f.waiting().ID
		if err := f.Decide("nobody", session.Answer{Outcome: session.Once}); err == nil {
			t.Error("an unknown id was accepted")
		}
		answers := make(chan error, 2)
		for _, o := range []session.Outcome{session.Once, session.Once} {
			go func() { answers <- f.Decide(id, session.Answer{Outcome: o}) }()
		}
		first, second := <-answers, <-answers
		if (first == nil) == (second == nil) {
			t.Errorf("two answers: %v, %v", first, second)
		}
		f.idle()
		expect(t, "ran", ran, 1)
		expect(t, "outcomes", f.approvals(), []string{"allowed-once"})
	})
}

func TestPRM07UnreadableRuleIsRefusedAndTheQuestionStays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		f := asking(t, &ran, []play{call("probe", `{}`), say("done")})
		f.send("go")
		id := f.waiting().ID
		if err := f.Decide(id, session.Answer{Outcome: session.ForSession, Pattern: "probe("}); err == nil {
			t.Error("accepted")
		}
		expect(t, "still waiting", f.waiting().ID, id)
		expect(t, "ran", ran, 0)
		f.decide(session.Answer{Outcome: session.No})
		f.idle()
		expect(t, "ran", ran, 0)
		expect(t, "rules", len(of[session.PolicyRule](f)), 0)
	})
}

func TestPRM07AnswerThatMeansNothingIsNoAllow(t *testing.T) {
	for _, outcome := range []session.Outcome{"", "perhaps", "allow"} {
		t.Run("PRM07 "+string(outcome), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ran := 0
				f := asking(t, &ran, []play{call("probe", `{}`), say("done")})
				f.send("go")
				f.decide(session.Answer{Outcome: outcome})
				f.idle()
				expect(t, "ran", ran, 0)
				codes, texts := f.results()
				expect(t, "codes", codes, []string{"DENIED"})
				mustContain(t, "the result", texts[0], "means nothing")
				expect(t, "outcomes", f.approvals(), []string{"rejected"})
			})
		})
	}
}

func TestPRM01CallsAreAskedForInTheModelsOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		f := asking(t, &ran, []play{call("probe", `{"n":1}`, "probe", `{"n":2}`, "probe", `{"n":3}`), say("done")})
		f.o.Tools, _ = tools.New(&probe{name: "probe", class: policy.Write, safe: always})
		f.send("go")
		for i := range 3 {
			expect(t, "asked", f.waiting().CallID, fmt.Sprint("c", i+1))
			outcome := session.Once
			if i == 1 {
				outcome = session.No
			}
			f.decide(session.Answer{Outcome: outcome})
		}
		f.idle()
		codes, _ := f.results()
		expect(t, "codes", codes, []string{"ok", "DENIED", "ok"})
	})
}

// The screen learns of a question from the log: it must be there to be answered.
func TestPRM01QuestionCanBeAnsweredWhenItIsLogged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		f := asking(t, &ran, []play{call("probe", `{}`), say("done")})
		reader := f.log.Reader(0)
		defer reader.Close()
		answered := make(chan error, 1)
		go func() {
			for range reader.Wake() {
				for _, ev := range reader.Next() {
					if p, ok := ev.Data.(session.ApprovalAsked); ok {
						answered <- f.Decide(p.ID, session.Answer{Outcome: session.Once})
						return
					}
				}
			}
		}()
		f.send("go")
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		f.idle()
		expect(t, "ran", ran, 1)
	})
}

func TestPRM01TheClockStandsStillWhileAsking(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		slow := func(ctx context.Context, args string) (tools.Result, error) {
			ran++
			if args == `{"n":2}` {
				return blocked(ctx, args)
			}
			return tools.Result{Text: "ok"}, nil
		}
		f := asking(t, &ran, []play{call("probe", `{"n":1}`), call("probe", `{"n":2}`)},
			with(&probe{name: "probe", class: policy.Write, run: slow}),
			func(o *Options) { o.Budgets.Time = time.Minute })
		start := time.Now()
		f.send("go")
		for range 2 {
			f.waiting()
			time.Sleep(time.Hour)
			f.decide(session.Answer{Outcome: session.Once})
			synctest.Wait()
		}
		expect(t, "ran", ran, 2)
		f.idle() // the second call does not end by itself: the clock runs again
		expect(t, "cause", *f.lastEnd().Cause, session.Cause{Kind: session.ByHook, Reason: "budget: time 1m0s"})
		expect(t, "took", time.Since(start), 2*time.Hour+time.Minute)
	})
}
