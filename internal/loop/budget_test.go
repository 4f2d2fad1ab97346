package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func budgets(b Budgets) option { return func(o *Options) { o.Budgets = b } }

// calling are n plays with a call each, different from one another.
func calling(n int) []play {
	var plays []play
	for i := range n {
		plays = append(plays, call("probe", fmt.Sprintf(`{"n":%d}`, i)))
	}
	return plays
}

// told are the budget events: kind, used, limit, and whether it ended the turn.
func told(f *fixture) []string {
	var list []string
	for _, b := range of[session.TurnBudget](f) {
		word := fmt.Sprintf("%s %d/%d", b.Kind, b.Used, b.Limit)
		if b.Ended {
			word += " ended"
		}
		list = append(list, word)
	}
	return list
}

// notices counts the messages about a budget in a request.
func notices(r *llm.Request) int {
	n := 0
	for _, text := range texts(r) {
		if strings.Contains(text, "budget of this turn") {
			n++
		}
	}
	return n
}

func TestBudgetOfSteps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, calling(10), budgets(Budgets{Steps: 10}))
		f.prompt("go")
		expect(t, "requests", f.model.count(), 10)
		expect(t, "the end", f.ends(), "aborted{hook,budget: steps 10}")
		expect(t, "results", len(of[session.ToolResult](f)), 10)
		expect(t, "events, each once", told(f), "[steps 8/10 steps 10/10 ended]")
		for i, want := range []int{0, 0, 0, 0, 0, 0, 0, 0, 1, 1} {
			expect(t, fmt.Sprint("notices in request ", i), notices(f.model.request(i)), want)
		}
		f.prompt("go on")
		expect(t, "a new turn has its own", f.ends(), "aborted{hook,budget: steps 10} completed")
	})
}

func TestBudgetOfStepsLeavesWhatItDidNotTake(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{then(func() { f.steer("and then"); f.send("later") }, say("a")), say("b")},
			budgets(Budgets{Steps: 1}))
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go queue:and then queue:later answer:a stepend claim queue:and then end:aborted")
		expect(t, "waiting", f.queued(), "[and then later]")
		expect(t, "events", told(f), "[steps 1/1 ended]")
		f.prompt("now")
		expect(t, "what the next turns read", userTexts(f), "[go and then later now]")
	})
}

func TestBudgetOfStepsCountsForcedContinuations(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, budgets(Budgets{Steps: 3}),
			ending(func(Stopping) (Ending, error) { return Ending{Continue: []llm.Message{note("again")}}, nil }))
		f.prompt("go")
		expect(t, "requests", f.model.count(), 3)
		expect(t, "the end", f.ends(), "aborted{hook,budget: steps 3}")
	})
}

func TestNoBudgetNoLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, calling(10), budgets(Budgets{}))
		f.prompt("go")
		expect(t, "the end", f.ends(), "completed")
		expect(t, "events", told(f), "[]")
	})
}

func TestBudgetOfCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := 0
		f := newFixture(t, []play{
			call("probe", `{"n":1}`, "probe", `{"n":2}`, "probe", `{"n":3}`, "probe", `{"n":4}`),
			call("probe", `{"n":5}`, "probe", `{"n":6}`, "probe", `{"n":7}`),
		}, budgets(Budgets{Calls: 5}), with(reaching(&ran, func() {})))
		f.prompt("go")
		expect(t, "bodies", ran, 5)
		expect(t, "the end", f.ends(), "aborted{hook,budget: calls 5}")
		expect(t, "events", told(f), "[calls 4/5 calls 5/5 ended]")
		expect(t, "notices", notices(f.model.request(1)), 1)
		results := of[session.ToolResult](f)
		expect(t, "every call has a result", len(results), 7)
		for _, r := range results[5:] {
			expect(t, "code", r.Error.Code, session.CodeNotRun)
			has(t, "the result", r.Message.Content[0].Content[0].Text, "budget: calls 5")
		}
	})
}

// The clock of the turn runs while the model and the tools work.
func TestBudgetOfTime(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &probe{name: "probe", run: func(ctx context.Context, _ string) (tools.Result, error) {
			select {
			case <-time.After(20 * time.Second):
			case <-ctx.Done():
			}
			return tools.Result{Text: "ok"}, nil
		}}
		f := newFixture(t, calling(9), budgets(Budgets{Time: 50 * time.Second}), with(p))
		start := time.Now()
		f.prompt("go")
		expect(t, "took", time.Since(start), 50*time.Second)
		expect(t, "the end", f.ends(), "aborted{hook,budget: time 50s}")
		expect(t, "requests", f.model.count(), 3)
		expect(t, "notices", []int{notices(f.model.request(1)), notices(f.model.request(2))}, "[0 1]")
		expect(t, "events", told(f), "[time 40000/50000 time 50000/50000 ended]")
		results := of[session.ToolResult](f)
		expect(t, "the call under way", results[2].Error.Code, session.CodeAborted)
	})
}

func TestBudgetOfTimeStandsStillWhileAPersonIsAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}"), say("done"), hang()}, budgets(Budgets{Time: time.Minute}),
			with(&probe{name: "probe", class: policy.Write}),
			func(o *Options) { o.Rules.Preset, o.Asks = policy.PresetAsk, true })
		f.send("go")
		synctest.Wait()
		time.Sleep(time.Hour)
		synctest.Wait()
		waiting := f.Waiting()
		expect(t, "waiting", len(waiting), 1)
		must(t, f.Decide(waiting[0].ID, session.Answer{Outcome: session.Once}))
		f.idle()
		expect(t, "the end", f.ends(), "completed")
		start := time.Now()
		f.prompt("hang")
		expect(t, "the next turn has its own clock", time.Since(start), time.Minute)
		expect(t, "the ends", f.ends(), "completed aborted{hook,budget: time 1m0s}")
	})
}

func TestBudgetOfTimeRunsOnAfterTheAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		slow := func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool) {
			time.Sleep(20 * time.Second)
			call("probe", "{}")(ctx, r, yield)
		}
		f := newFixture(t, []play{slow, hang()}, budgets(Budgets{Time: time.Minute}),
			with(&probe{name: "probe", class: policy.Write}),
			func(o *Options) { o.Rules.Preset, o.Asks = policy.PresetAsk, true })
		start := time.Now()
		f.send("go")
		time.Sleep(20*time.Second + time.Hour)
		synctest.Wait()
		must(t, f.Decide(f.Waiting()[0].ID, session.Answer{Outcome: session.Once}))
		f.idle()
		expect(t, "took", time.Since(start), time.Hour+time.Minute)
	})
}

// What ends a turn by a budget parks the queue, as any abort does.
func TestBudgetParksTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang()}, budgets(Budgets{Time: time.Second}))
		f.send("one")
		synctest.Wait()
		f.send("two")
		f.idle()
		expect(t, "turns", turns(f), "[1]")
		expect(t, "waiting", f.queued(), "[two]")
	})
}

const key = "sk-very-secret"

func redacting(o *Options) {
	o.RedactPrompt = func(text string) (string, bool) {
		clean := strings.ReplaceAll(text, key, "[key]")
		return clean, strings.Contains(clean, "[key]")
	}
}

// What the door took out must be known to the process that goes on with the inbox.
func TestPromptWithTheUsersKeyIsRejectedAfterAResume(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, redacting)
		_, ended := f.held()
		f.send("use " + key)
		g := f.reopen(nil, redacting)
		<-ended
		must(t, g.Release(g.Queue()[0].ID))
		g.idle()
		expect(t, "the ends", g.ends(), "blocked")
		expect(t, "requests", g.model.count(), 0)
	})
}

func TestPromptWithTheUsersKeyIsRejected(t *testing.T) {
	ways := map[string]func(f *fixture){
		"followup": func(f *fixture) { f.prompt("use " + key) },
		"steer":    func(f *fixture) { f.steer("use " + key); f.idle() },
		"replace": func(f *fixture) {
			release, ended := f.held()
			f.send("harmless")
			ok, err := f.Replace(f.Queue()[0].ID, "use "+key)
			must(f.t, err)
			expect(f.t, "replaced", ok, true)
			release()
			<-ended
			f.idle()
		},
	}
	for way, do := range ways {
		t.Run(way, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, nil, redacting)
				do(f)
				expect(t, "the end", f.ends(), "blocked")
				expect(t, "steps", len(of[session.StepStart](f)), 0)
				expect(t, "requests", f.model.count(), 0)
				texts := func() (list []string) {
					for _, p := range of[session.InboxSpliced](f) {
						for _, m := range p.Inserted {
							list = append(list, m.PlainText())
						}
					}
					return list
				}()
				if !slices.Contains(texts, "use [key]") {
					t.Errorf("the door did not redact: %q", texts)
				}
				expect(t, "the key is in the log", strings.Contains(f.raw(), key), false)
				f.prompt("without it")
				expect(t, "the next turn", f.ends(), "blocked completed")
			})
		})
	}
}
