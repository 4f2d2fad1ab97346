package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func TestTL01SafeCallsOverlap(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(3, "safe")...), say("done")}, with(s.safe()))
		f.send("go")
		expect(t, "bodies inside at once", s.now(), "1 2 3")
		expect(t, "results before any ended", f.codes(), "")
		s.let(1, 2, 3)
		f.idle()
		expect(t, "results", f.codes(), "ok ok ok")
	})
}

func TestTL01EightReadsAreInsideAtOnce(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(8, "safe")...), say("done")}, with(s.safe()))
		f.send("go")
		expect(t, "bodies inside at once", s.now(), "1 2 3 4 5 6 7 8")
		s.let(8, 7, 6, 5, 4, 3, 2, 1)
		f.idle()
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: "+
			"call:c1 call:c2 call:c3 call:c4 call:c5 call:c6 call:c7 call:c8 "+
			"result:c1 result:c2 result:c3 result:c4 result:c5 result:c6 result:c7 result:c8 "+
			"stepend step2 answer:done stepend end:completed")
	})
}

func TestTL02ExclusiveCallIsABarrier(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls("safe", "safe", "alone", "safe", "safe"), say("done")}, with(s.safe(), s.alone()))
		f.send("go")
		expect(t, "before the barrier", s.now(), "1 2")
		s.let(2)
		expect(t, "one is left before it", s.now(), "1")
		s.let(1)
		expect(t, "at it", s.now(), "3")
		s.let(3)
		expect(t, "behind it", s.now(), "4 5")
		s.let(5, 4)
		f.idle()
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: "+
			"call:c1 call:c2 result:c1 result:c2 call:c3 result:c3 call:c4 call:c5 result:c4 result:c5 "+
			"stepend step2 answer:done stepend end:completed")
	})
}

// The mode is what it is when the call is about to start: an earlier result may have
// changed it.
func TestTL03ModeIsReadAtTheStart(t *testing.T) {
	t.Run("TL03 an exclusive result makes later calls exclusive", func(t *testing.T) {
		inTime(t, func(t *testing.T) {
			s := newStage()
			safe, exclusive := s.safe(), false
			safe.safe = func(string) bool { return !exclusive }
			f := newFixture(t, []play{calls("alone", "safe", "safe"), say("done")}, with(safe, s.alone()),
				hooked(around{after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
					exclusive = true
					return r, nil
				}}))
			f.send("go")
			expect(t, "first", s.now(), "1")
			s.let(1)
			expect(t, "then alone", s.now(), "2")
			s.let(2)
			expect(t, "then alone", s.now(), "3")
			s.let(3)
			f.idle()
		})
	})
	t.Run("TL03 filling stops in the middle of a group", func(t *testing.T) {
		inTime(t, func(t *testing.T) {
			s := newStage()
			safe, exclusive := s.safe(), false
			safe.safe = func(string) bool { return !exclusive }
			f := newFixture(t, []play{calls(times(4, "safe")...), say("done")}, with(safe),
				func(o *Options) { o.MaxParallel = 2 },
				hooked(around{after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
					exclusive = true
					return r, nil
				}}))
			f.send("go")
			expect(t, "the pool", s.now(), "1 2")
			s.let(1)
			expect(t, "the pool drains", s.now(), "2")
			s.let(2)
			expect(t, "the next is alone", s.now(), "3")
			s.let(3)
			expect(t, "the next is alone", s.now(), "4")
			s.let(4)
			f.idle()
		})
	})
}

func TestTL05ResultsStandInTheModelsOrder(t *testing.T) {
	for _, order := range [][]int{{2, 1, 3}, {3, 2, 1}, {2, 3, 1}, {1, 3, 2}} {
		t.Run(fmt.Sprint("TL05 ", order), func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				s := newStage()
				f := newFixture(t, []play{calls(times(3, "safe")...), say("done")}, with(s.safe()))
				f.send("go")
				s.now()
				s.let(order...)
				f.idle()
				expect(t, "results", f.outcomes(), "c1: result 1\nc2: result 2\nc3: result 3")
			})
		})
	}
}

func TestTL06HistoryPairsInTheModelsOrder(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(3, "safe")...), say("done")}, with(s.safe()), func(o *Options) { o.MaxParallel = 2 })
		f.send("go")
		s.now()
		s.let(1, 3, 2)
		f.idle()
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 call:c2 result:c1 call:c3 result:c2 result:c3 stepend step2 answer:done stepend end:completed")
		paired(t, f.model.request(1).Messages)
		var ids []string
		for _, m := range f.model.request(1).Messages {
			if m.Source.Kind == llm.FromTool {
				ids = append(ids, m.Content[0].ToolCallID)
			}
		}
		expect(t, "results the model reads", ids, "[c1 c2 c3]")
	})
}

func TestTL07NegativeCapIsRefused(t *testing.T) {
	t.Parallel()
	log, err := session.Create(t.TempDir(), session.Header{Cwd: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.New()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Log: log, Tools: registry, MaxParallel: -1}); err == nil || !strings.Contains(err.Error(), "at least 1, not -1") {
		t.Errorf("a pool of -1: %v", err)
	}
}

// pool plays n calls to the end, one body after another as they come in.
func pool(t *testing.T, n, limit int) *stage {
	t.Helper()
	s := newStage()
	f := newFixture(t, []play{calls(times(n, "safe")...), say("done")}, with(s.safe()), func(o *Options) { o.MaxParallel = limit })
	f.send("go")
	for i := range n {
		synctest.Wait()
		s.let(i + 1)
	}
	f.idle()
	expect(t, "results", f.codes(), strings.TrimSpace(strings.Repeat("ok ", n)))
	return s
}

func TestTL08PoolIsRefilledAsItsCallsEnd(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(5, "safe")...), say("done")}, with(s.safe()), func(o *Options) { o.MaxParallel = 2 })
		f.send("go")
		expect(t, "the pool", s.now(), "1 2")
		s.let(2) // its place is free though its result waits for that of 1
		expect(t, "refilled", s.now(), "1 3")
		s.let(3)
		expect(t, "refilled", s.now(), "1 4")
		s.let(1)
		expect(t, "refilled", s.now(), "4 5")
		s.let(5, 4)
		f.idle()
		expect(t, "most at once", s.most, 2)
		expect(t, "results", f.outcomes(), "c1: result 1\nc2: result 2\nc3: result 3\nc4: result 4\nc5: result 5")
	})
}

func TestPIP11TheEleventhStartsWhenOneEnds(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(12, "safe")...), say("done")}, with(s.safe()))
		f.send("go")
		s.now()
		expect(t, "begun", s.begun(), "1 2 3 4 5 6 7 8 9 10")
		s.let(7)
		expect(t, "begun", s.begun(), "1 2 3 4 5 6 7 8 9 10 11")
		s.let(11)
		expect(t, "begun", s.begun(), "1 2 3 4 5 6 7 8 9 10 11 12")
		s.let(1, 2, 3, 4, 5, 6, 8, 9, 10, 12)
		f.idle()
		expect(t, "most at once", s.most, 10)
	})
}

func TestTL08SixtyCallsInOneMessage(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := pool(t, 60, 0)
		expect(t, "most at once", s.most, DefaultParallel)
		expect(t, "bodies", len(s.started), 60)
	})
}

func TestTL09PoolOfOneIsSerial(t *testing.T) {
	inTime(t, func(t *testing.T) {
		expect(t, "most at once", pool(t, 4, 1).most, 1)
	})
}

func TestTL11HooksSeeCallsInTheModelsOrder(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		var seen []string // by the driver alone
		f := newFixture(t, []play{calls(times(3, "safe")...), say("done")}, with(s.safe()), hooked(around{
			before: func(_ context.Context, c Call) (string, error) {
				seen = append(seen, "before "+c.ID)
				return "", nil
			},
			after: func(_ context.Context, c Call, r tools.Result) (tools.Result, error) {
				seen = append(seen, "after "+c.ID+" "+r.Text)
				return r, nil
			}}))
		f.send("go")
		s.now()
		s.let(3, 1, 2)
		f.idle()
		expect(t, "hooks", strings.Join(seen, ", "), "before c1, before c2, before c3, after c1 result 1, after c2 result 2, after c3 result 3")
	})
}

func TestTL12NotesAreQueuedInTheModelsOrder(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(3, "safe")...), say("done")}, with(s.safe()))
		f.send("go")
		s.now()
		for _, n := range []int{2, 3, 1} {
			s.door(arg(n)) <- tools.Result{Text: "ok", Contexts: []llm.Message{notice(fmt.Sprintf("note %d", n))}}
			synctest.Wait()
		}
		f.idle()
		expect(t, "what the model reads", tail(f.model.request(1), 3), "note 1 | note 2 | note 3")
	})
}

func TestTL13RefusedCallsDoNotRunAndKeepTheirPlace(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(4, "safe")...), say("done")}, with(s.safe()),
			hooked(around{before: func(_ context.Context, c Call) (string, error) {
				switch c.ID {
				case "c2":
					return "not this one", nil
				case "c3":
					return "", errors.New("the hook broke")
				}
				return "", nil
			}}))
		f.send("go")
		expect(t, "bodies", s.now(), "1 4")
		s.let(4, 1)
		f.idle()
		expect(t, "results", f.outcomes(), "c1: result 1\nc2: Error: not this one\nc3: Error: the hook broke\nc4: result 4")
		expect(t, "codes", f.codes(), "ok DENIED HOOK_FAILED ok")
	})
}

func TestTL14GroupThatIsAbortedBeforeItStarts(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		var f *fixture
		f = newFixture(t, []play{calls("alone", "safe", "safe")}, with(s.safe(), s.alone()),
			hooked(around{after: func(_ context.Context, c Call, r tools.Result) (tools.Result, error) {
				f.cancel(true)
				return r, nil
			}}))
		f.send("go")
		s.now()
		s.let(1)
		f.idle()
		expect(t, "bodies", s.begun(), "1")
		expect(t, "codes", f.codes(), "ok ABORTED_BEFORE_DISPATCH ABORTED_BEFORE_DISPATCH")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 result:c1 call:c2 result:c2 call:c3 result:c3 stepend end:aborted")
	})
}

func TestTL15AbortWhileAHookDecides(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(4, "safe")...)}, with(s.safe()),
			hooked(around{before: func(ctx context.Context, c Call) (string, error) {
				if c.ID == "c2" {
					<-ctx.Done()
				}
				return "", nil
			}}))
		f.send("go")
		expect(t, "bodies", s.now(), "1")
		f.cancel(true)
		s.let(1)
		f.idle()
		expect(t, "bodies", s.begun(), "1")
		expect(t, "codes", f.codes(), "ABORTED ABORTED_BEFORE_DISPATCH ABORTED_BEFORE_DISPATCH ABORTED_BEFORE_DISPATCH")
	})
}

func TestTL17ExclusiveCallBehindAnAbortedGroupNeverRuns(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls("safe", "safe", "alone", "safe"), say("next")}, with(s.safe(), s.alone()))
		f.send("go")
		s.now()
		s.let(2)
		f.cancel(true)
		s.let(1)
		f.idle()
		expect(t, "bodies", s.begun(), "1 2")
		expect(t, "codes", f.codes(), "ABORTED ok ABORTED_BEFORE_DISPATCH ABORTED_BEFORE_DISPATCH")
		f.prompt("and now")
		paired(t, f.model.request(1).Messages)
	})
}

// closingLog is an agent that loses its log while the third of four safe calls is
// judged: the one failure that is the machinery's own.
func closingLog(t *testing.T) (*fixture, *stage) {
	t.Helper()
	s := newStage()
	var f *fixture
	f = newFixture(t, []play{calls(times(4, "safe")...)}, with(s.safe()),
		hooked(around{before: func(_ context.Context, c Call) (string, error) {
			if c.ID == "c3" {
				return "", f.log.Close()
			}
			return "", nil
		}}))
	f.send("go")
	return f, s
}

func TestTL18FailureOfTheMachineryWaitsForBodies(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f, s := closingLog(t)
		expect(t, "the started bodies", s.now(), "1 2")
		expect(t, "the agent waits for them", f.Running(), true)
		s.let(2)
		expect(t, "the agent waits for them", f.Running(), true)
		s.let(1)
		f.idle()
		expect(t, "bodies", s.begun(), "1 2")
		if !errors.Is(f.Err(), session.ErrClosed) {
			t.Errorf("the failure that surfaces: %v", f.Err())
		}
	})
}

func TestTL25EveryCallHasAResultAfterAFailedStep(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f, s := closingLog(t)
		s.now()
		s.let(1, 2)
		f.idle()
		f = f.reopen([]play{say("hello")}, with(s.safe()))
		f.prompt("and now")
		expect(t, "codes", f.codes(), "TOOL_OUTCOME_UNKNOWN TOOL_OUTCOME_UNKNOWN TOOL_NOT_STARTED TOOL_NOT_STARTED")
		paired(t, f.model.request(0).Messages)
	})
}

// A mode that panics is not safe, and breaks nothing.
func TestTL03ModeThatPanicsIsExclusive(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		p := s.safe()
		p.safe = func(string) bool { panic("boom") }
		f := newFixture(t, []play{calls("safe", "safe"), say("done")}, with(p))
		f.send("go")
		expect(t, "alone", s.now(), "1")
		s.let(1, 2)
		f.idle()
		expect(t, "codes", f.codes(), "ok ok")
	})
}

func TestTM01ClassifierDecidesPerCall(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		p := s.safe()
		p.safe = func(args string) bool { return args != arg(2) }
		f := newFixture(t, []play{calls(times(4, "safe")...), say("done")}, with(p))
		f.send("go")
		expect(t, "first", s.now(), "1")
		s.let(1)
		expect(t, "the one that is not safe", s.now(), "2")
		s.let(2)
		expect(t, "the rest", s.now(), "3 4")
		s.let(3, 4)
		f.idle()
	})
}

func TestTM03ClassifierGetsValidatedArguments(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var asked []string
		p := &probe{name: "probe", safe: func(args string) bool {
			asked = append(asked, args)
			return true
		}}
		f := newFixture(t, []play{call("probe", "", "probe", `{"n":"wrong"}`, "probe", `not json`, "probe", `{"n":4}`), say("done")}, with(p))
		f.prompt("go")
		expect(t, "codes", f.codes(), "ok INVALID_ARGS INVALID_ARGS ok")
		slices.Sort(asked)
		expect(t, "what the classifier was asked", slices.Compact(asked), `[{"n":4} {}]`)
	})
}

func TestTM04ClassifierIsNotExported(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{say("hi")}, with(&probe{name: "probe", class: policy.Write, safe: always}))
		f.prompt("go")
		got := fmt.Sprintf("%+v", f.model.request(0).Header.Tools)
		want := fmt.Sprintf("%+v", []llm.ToolSchema{{Name: "probe", Description: "A probe.", Parameters: (&probe{}).Schema()}})
		expect(t, "the exported schemas", got, want)
	})
}

// The calls within the budget run to their end; the one too many and all behind it
// do not start.
func TestCallsBudgetLetsPermittedCallsEnd(t *testing.T) {
	for _, tool := range []string{"safe", "alone"} {
		t.Run(tool, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				s := newStage()
				f := newFixture(t, []play{calls(times(5, tool)...)}, with(s.safe(), s.alone()),
					func(o *Options) { o.Budgets.Calls = 3 })
				f.send("go")
				s.now()
				for n := 3; n >= 1; n-- {
					s.door(arg(n)) <- tools.Result{Text: "ok"}
					synctest.Wait()
				}
				f.idle()
				expect(t, "bodies", s.begun(), "1 2 3")
				expect(t, "codes", f.codes(), "ok ok ok ABORTED_BEFORE_DISPATCH ABORTED_BEFORE_DISPATCH")
				expect(t, "the end", f.lastEnd().Cause, "budget: calls 3")
				expect(t, "the budget event", of[session.TurnBudget](f), []session.TurnBudget{{Turn: 1, Kind: "calls", Limit: 3, Used: 3, Ended: true}})
			})
		})
	}
}

// F04: parallel calls while the user types. One record each, in order, and the
// answer is on disk before any body begins.
func TestF04ParallelCallsWhileTheUserSteers(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		var f *fixture
		p := s.safe()
		p.run = func(ctx context.Context, args string) (tools.Result, error) {
			snapshot, err := session.Read(f.log.Path())
			if err != nil {
				return tools.Result{}, err
			}
			answered := false
			for ev := range snapshot.Events() {
				answered = answered || ev.Type == session.TypeAssistantMessage
			}
			if !answered {
				return tools.Result{}, errors.New("the answer is not on disk")
			}
			return s.run(ctx, args)
		}
		f = newFixture(t, []play{calls(times(8, "safe")...), say("done")}, with(p))
		f.send("go")
		expect(t, "bodies", s.now(), "1 2 3 4 5 6 7 8")
		for n := 8; n >= 1; n-- {
			if _, err := f.Steer(fmt.Sprintf("s%d", n)); err != nil {
				t.Fatal(err)
			}
			s.door(arg(n)) <- tools.Result{Text: "ok"}
		}
		f.idle()
		expect(t, "codes", f.codes(), "ok ok ok ok ok ok ok ok")
		ids := map[string]int{}
		for _, r := range of[session.ToolResult](f) {
			ids[r.Message.Source.CallID]++
		}
		expect(t, "distinct results", len(ids), 8)
		expect(t, "answers", len(of[session.AssistantMessage](f)), 2)
		expect(t, "the model reads", tail(f.model.request(1), 8), "s8 | s7 | s6 | s5 | s4 | s3 | s2 | s1")
		paired(t, f.model.request(1).Messages)
	})
}

func TestEndsTurnNeedsNoFurtherRequest(t *testing.T) {
	for name, c := range map[string]struct {
		result   tools.Result
		requests int
	}{
		"a success ends it":    {tools.Result{Text: "ok", EndsTurn: true}, 1},
		"a failure does not":   {tools.Result{Text: "no", EndsTurn: true, IsError: true, Code: "X"}, 2},
		"others do not either": {tools.Result{Text: "ok"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				s := newStage()
				f := newFixture(t, []play{calls("safe", "safe"), say("done")}, with(s.safe()))
				f.send("go")
				s.now()
				s.door(arg(1)) <- c.result
				s.let(2)
				f.idle()
				expect(t, "requests", f.model.count(), c.requests)
				expect(t, "the end", f.lastEnd().Kind, session.Completed)
			})
		})
	}
}

// BenchmarkSchedule is the whole cost of a message with calls whose bodies do
// nothing: compare the sizes with none, which is the turn around them.
func BenchmarkSchedule(b *testing.B) {
	for _, n := range []int{0, 1, 8} {
		b.Run(fmt.Sprintf("calls=%d", n), func(b *testing.B) {
			log, err := session.Create(b.TempDir(), session.Header{Cwd: "/work"})
			if err != nil {
				b.Fatal(err)
			}
			defer log.Close()
			registry, err := tools.New(&probe{name: "safe", safe: always, run: func(context.Context, string) (tools.Result, error) {
				return tools.Result{Text: "ok", EndsTurn: true}, nil
			}})
			if err != nil {
				b.Fatal(err)
			}
			m := &model{}
			agent, err := New(Options{Log: log, Tools: registry, Cwd: "/work", Route: Route{Model: m, Config: llm.Config{Provider: "test", Model: "m"}},
				Rules: policy.Rules{Preset: policy.PresetFull, Workspace: "/work"}})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				m.plays = append(m.plays, calls(times(n, "safe")...))
				if _, err := agent.Followup("go"); err != nil {
					b.Fatal(err)
				}
				if err := agent.WhenIdle(context.Background()); err != nil {
					b.Fatal(err)
				}
			}
			if err := agent.Close(context.Background()); err != nil {
				b.Fatal(err)
			}
		})
	}
}
