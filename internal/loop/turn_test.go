package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func TestLO01PromptWithoutTools(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("hello")})
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer:hello stepend end:completed")
		expect(t, "headers", len(of[session.RequestHeader](f)), 1)
		expect(t, "running", f.Running(), false)
	})
}

func TestLO02OneToolThenAnAnswer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", `{"n":1}`), say("done")})
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 result:c1 stepend step2 answer:done stepend end:completed")
		last := f.model.request(1).Messages
		result := last[len(last)-1].Content[0]
		expect(t, "the second request ends with the result", result.ToolCallID, "c1")
	})
}

func TestLO04RequestCarriesTheOutputLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, func(o *Options) { o.Route.Config.MaxTokens = 4096 })
		f.prompt("hi")
		expect(t, "max tokens sent", f.model.request(0).Header.Config.MaxTokens, 4096)
		expect(t, "max tokens logged", of[session.RequestHeader](f)[0].Header.Config.MaxTokens, 4096)
	})
}

func TestLO05NoModelNamesRouteAndRemedy(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, provided(nil))
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi stepend end:error")
		expect(t, "code", f.failure().Code, llm.CodeConfig)
		for _, part := range []string{`"m"`, `"test"`, "-m"} {
			has(t, "the failure", f.failure().Message, part)
		}
		expect(t, "no header for a request never sent", len(of[session.RequestHeader](f)), 0)
	})
}

func TestLO06RouteGivenLaterRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("hello")}, provided(nil))
		f.SetRoute(Route{Model: f.model, Config: llm.Config{Provider: "other", Model: "n"}})
		f.prompt("hi")
		expect(t, "the end", f.ends(), "completed")
		expect(t, "the route sent", f.model.request(0).Header.Config.Provider, "other")
	})
}

func TestLO07RouteChangedBetweenSteps(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			f.SetRoute(Route{Model: f.model, Config: llm.Config{Provider: "test", Model: "second"}})
			return tools.Result{Text: "ok"}, nil
		}}
		f = newFixture(t, []play{call("probe", "{}"), say("done")}, with(p))
		f.prompt("go")
		expect(t, "first model", f.model.request(0).Header.Config.Model, "m")
		expect(t, "second model", f.model.request(1).Header.Config.Model, "second")
		headers := of[session.RequestHeader](f)
		expect(t, "headers", len(headers), 2)
		expect(t, "reason", headers[1].Reason, "change")
		answers := of[session.AssistantMessage](f)
		expect(t, "who answered last", answers[1].Message.Source.Model, "second")
	})
}

func TestLO10EveryChunkIsAnEvent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		list := []llm.Chunk{
			{Type: llm.BlockStart, Index: 0, BlockType: llm.Reasoning},
			{Type: llm.ReasoningDelta, Index: 0, Text: "hm"},
			{Type: llm.TextDelta, Index: 1, Text: "a"},
			{Type: llm.TextDelta, Index: 1, Text: ""},
			{Type: llm.TextDelta, Index: 1, Text: "b"},
			{Type: llm.UsageChunk, Usage: &llm.Usage{InputTokens: 3, OutputTokens: 2}},
			finish(llm.Stop),
		}
		f := newFixture(t, nil, provided(chunks(nil, list...)))
		f.prompt("hi")
		var got []llm.Chunk
		for _, c := range of[session.AssistantChunk](f) {
			got = append(got, c.Chunk)
		}
		want, _ := json.Marshal(list)
		have, _ := json.Marshal(got)
		expect(t, "the chunks", string(have), string(want))
	})
}

func TestLO11SteerEntersTheNextStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{then(func() { f.steer("wait") }, say("one")), say("two")})
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go queue:wait answer:one stepend claim step2 user:wait answer:two stepend end:completed")
	})
}

// A turn that the driver took from the queue can be steered like the first.
func TestLO11SteerIntoAQueuedTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{then(func() { f.send("two") }, say("a")), then(func() { f.steer("wait") }, say("b")), say("c")})
		f.prompt("one")
		expect(t, "turns", turns(f), "[1 2]")
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one queue:two answer:a stepend end:completed turn2 claim step1 user:two queue:wait answer:b stepend claim step2 user:wait answer:c stepend end:completed")
	})
}

func TestLO12SteerOpensATurnWhenIdle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{then(func() { f.steer("second") }, say("one")), say("two")})
		item, err := f.Steer("first")
		must(t, err)
		has(t, "the file when the send returns", f.raw(), item.ID)
		f.idle()
		expect(t, "the log", f.story(), "queue:first turn1 claim step1 user:first queue:second answer:one stepend claim step2 user:second answer:two stepend end:completed")
	})
}

func TestLO13ExtensionFailsInStepTwo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		broken := true
		f = newFixture(t, []play{then(func() { f.steer("one"); f.steer("two") }, say("a")), say("b")},
			entering(func(b Batch) ([]*llm.Message, string, error) {
				if b.Step == 2 && broken {
					f.steer("three")
					return nil, "", errTest
				}
				return b.Messages, "", nil
			}))
		f.prompt("go")
		expect(t, "the end", f.ends(), "error")
		has(t, "the failure", f.failure().Message, errTest.Error())
		expect(t, "all steering stays, in its order", f.queued(), "[one two three]")
		broken = false
		f.prompt("next")
		expect(t, "what the next wake delivers", texts(f.model.request(1))[2:], "[user:one user:two user:three user:next]")
	})
}

func TestLO14InjectWakesNobody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &statuses{}
		f := newFixture(t, nil, s.option)
		f.inject("by the way")
		synctest.Wait()
		expect(t, "the log", f.story(), "queue:by the way")
		expect(t, "running", f.Running(), false)
		expect(t, "statuses", s, "[]")
	})
}

func TestLO16InjectDuringATool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			f.inject("noted")
			return tools.Result{Text: "ok"}, nil
		}}
		f = newFixture(t, []play{call("probe", "{}"), say("done")}, with(p))
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 queue:noted result:c1 stepend claim step2 user:noted answer:done stepend end:completed")
		expect(t, "what the model reads", texts(f.model.request(1)), "[user:go assistant: user:ok user:noted]")
	})
}

func TestLO17MalformedInjectChangesNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		var refused []error
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			bad := note("x")
			bad.Content = []llm.Block{{Type: "strange", Raw: json.RawMessage(`{"type":`)}}
			_, err := f.Inject(bad)
			refused = append(refused, err)
			_, err = f.Inject(llm.Message{Role: llm.Assistant, ID: "m", Content: []llm.Block{llm.TextBlock("x")}})
			refused = append(refused, err)
			return tools.Result{Text: "ok"}, nil
		}}
		f = newFixture(t, []play{call("probe", "{}"), say("done")}, with(p))
		f.prompt("go")
		for i, err := range refused {
			if err == nil {
				t.Errorf("malformed message %d was accepted", i)
			}
		}
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 result:c1 stepend step2 answer:done stepend end:completed")
	})
}

func TestLO18StoppingExtensionContinuesOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := 0
		f := newFixture(t, []play{say("one"), say("two")}, ending(func(s Stopping) (Ending, error) {
			asked++
			if asked == 1 {
				return Ending{Continue: []llm.Message{note("not yet")}}, nil
			}
			return Ending{}, nil
		}))
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer:one stepend queue:not yet claim step2 user:not yet answer:two stepend end:completed")
		expect(t, "asked", asked, 2)
	})
}

// final is a tool whose result ends the turn; it does something before.
func final(do func()) *probe {
	return &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
		do()
		return tools.Result{Text: "over", EndsTurn: true}, nil
	}}
}

func TestLO19ResultEndsTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}")}, with(final(func() {})))
		f.prompt("go")
		expect(t, "requests", f.model.count(), 1)
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 result:c1 stepend end:completed")
	})
}

func TestLO20SteerDuringAnEndingStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{call("probe", "{}"), say("more")}, with(final(func() { f.steer("and this") })))
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 queue:and this result:c1 stepend claim step2 user:and this answer:more stepend end:completed")
	})
}

func TestLO22ExtensionFailsThenWorks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		broken := true
		f := newFixture(t, []play{say("a"), say("b")}, entering(func(b Batch) ([]*llm.Message, string, error) {
			if broken {
				return nil, "", errTest
			}
			return b.Messages, "", nil
		}))
		f.prompt("first")
		expect(t, "the log", f.story(), "queue:first turn1 claim queue:first end:error")
		broken = false
		f.prompt("second")
		expect(t, "the ends", f.ends(), "error completed completed")
		expect(t, "what the model read", texts(f.model.request(1)), "[user:first assistant:a user:second]")
	})
}

func TestLO23LLM06OutputLimit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{cut(text("half"))})
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer:half stepend end:max-tokens")
	})
}

func TestINB12OutputLimitIsNotCompleted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{cut(text("half"))})
		f.prompt("go")
		expect(t, "the end", f.ends(), session.MaxTokens)
	})
}

func TestLO24OutputLimitSticksToTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{then(func() { f.steer("go on") }, cut(text("half"))), say("whole")})
		f.prompt("go")
		expect(t, "steps", len(of[session.StepStart](f)), 2)
		expect(t, "the end", f.ends(), "max-tokens")
	})
}

func TestLO25OutputLimitDoesNotLeak(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{cut(text("half")), say("whole")})
		f.send("one")
		f.prompt("two")
		expect(t, "the ends", f.ends(), "max-tokens completed")
	})
}

func TestLO26CutCallIsNotRun(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := false
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			ran = true
			return tools.Result{}, nil
		}}
		f := newFixture(t, []play{cut(delta(0, "c1", "probe", `{"n":`))}, with(p))
		f.prompt("go")
		expect(t, "ran", ran, false)
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: stepend end:max-tokens")
	})
}

func TestLO28EmptyAnswerIsAnAnchor(t *testing.T) {
	bubble(t, func(t *testing.T) {
		usage := llm.Usage{InputTokens: 5}
		f := newFixture(t, []play{
			func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
				yield(llm.Chunk{Type: llm.UsageChunk, Usage: &usage})
			},
			say("b"),
		})
		f.prompt("go")
		answer := of[session.AssistantMessage](f)[0]
		expect(t, "content", len(answer.Message.Content), 0)
		expect(t, "usage", *answer.Usage, usage)
		expect(t, "the end", f.ends(), "completed")
		f.prompt("again")
		expect(t, "the model does not see it", texts(f.model.request(1)), "[user:go user:again]")
	})
}

func TestLO29TextOfACutAnswerIsKept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{cut(text("so far"), delta(1, "c1", "probe", `{"n":1}`))})
		f.prompt("go")
		expect(t, "content", of[session.AssistantMessage](f)[0].Message.Content, []llm.Block{llm.TextBlock("so far")})
		expect(t, "calls", len(of[session.ToolCall](f)), 0)
	})
}

func TestLO32SendsInARowKeepTheirTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a"), say("b")})
		f.send("one")
		synctest.Wait()
		f.send("two")
		f.idle()
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one answer:a stepend end:completed queue:two turn2 claim step1 user:two answer:b stepend end:completed")
	})
}

func TestLO34SendWhileStreaming(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{then(func() { f.send("two") }, say("a")), say("b")})
		f.prompt("one")
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one queue:two answer:a stepend end:completed turn2 claim step1 user:two answer:b stepend end:completed")
	})
}

func TestLO35ProviderFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{fail(llm.Failure{Code: llm.CodeAuth, Message: "bad key", Status: 401, RequestID: "r1"})})
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go stepend end:error")
		expect(t, "the failure", f.failure(), llm.Failure{Code: llm.CodeAuth, Message: "bad key", Status: 401, RequestID: "r1"})
	})
}

func TestLO36ReplayGivesTheSameMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}", "probe", `{"n":2}`), say("done"), cut(text("x"))})
		f.prompt("go")
		f.prompt("more")
		live, _ := f.log.Messages()
		want, _ := json.Marshal(live)
		g := f.reopen(nil)
		loaded, _ := g.log.Messages()
		got, _ := json.Marshal(loaded)
		expect(t, "the messages", string(got), string(want))
	})
}

func TestLO37BurstOfSends(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 5
		f := newFixture(t, nil)
		for i := range n {
			f.send(fmt.Sprint("p", i))
		}
		f.idle()
		expect(t, "turns", turns(f), "[1 2 3 4 5]")
		expect(t, "one message each, in order", userTexts(f), "[p0 p1 p2 p3 p4]")
	})
}

func TestLO38SendsWithIdleBetween(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		for i := range 3 {
			f.prompt(fmt.Sprint("p", i))
		}
		expect(t, "turns", turns(f), "[1 2 3]")
	})
}

func turns(f *fixture) []int {
	var list []int
	for _, s := range of[session.TurnStart](f) {
		list = append(list, s.Turn)
	}
	return list
}

func userTexts(f *fixture) []string {
	var list []string
	for _, m := range of[session.UserMessage](f) {
		list = append(list, m.PlainText())
	}
	return list
}

func TestLO40SeededSessionCountsOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.prompt("one")
		f.prompt("two")
		g := f.fork([]play{say("ok")})
		g.prompt("three")
		expect(t, "turns", turns(g), "[1 2 3]")
		expect(t, "what the model read", len(g.model.request(0).Messages), 5)
	})
}

// fork makes a session that begins with everything of this one.
func (f *fixture) fork(plays []play) *fixture {
	f.t.Helper()
	raw, err := os.ReadFile(f.log.Path())
	must(f.t, err)
	_, events, _ := strings.Cut(string(raw), "\n")
	h := f.log.Header()
	n := f.log.NextSeq()
	h.ParentSession, h.ID, h.SeedLength = h.ID, session.NewID(), &n
	line, err := json.Marshal(h)
	must(f.t, err)
	path := strings.Replace(f.log.Path(), f.log.Header().ID, h.ID, 1)
	must(f.t, os.MkdirAll(strings.TrimSuffix(path, "/session.jsonl"), 0o700))
	must(f.t, os.WriteFile(path, []byte(string(line)+"\n"+events), 0o600))
	log, _, err := session.Open(f.root, path)
	must(f.t, err)
	return attach(f.t, f.root, log, plays)
}

func TestLO41StreamWithoutFinishIsAStop(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, provided(chunks(nil, text("all of it"))))
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer:all of it stepend end:completed")
	})
}

func TestLO42FailureHasNoAbsentKeys(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{fail(llm.Failure{Code: llm.CodeUnknown, Message: "it broke"})})
		f.prompt("go")
		raw, err := json.Marshal(f.lastEnd())
		must(t, err)
		expect(t, "the reason", string(raw), `{"kind":"error","error":{"message":"it broke","code":"UNKNOWN"}}`)
	})
}

func TestLO43ProviderAbortsByItself(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, provided(chunks(nil, text("a"), finish(llm.Aborted))))
		f.prompt("go")
		expect(t, "the end", f.ends(), "error")
		expect(t, "the code", f.failure().Code, llm.CodeAborted)
	})
}

func TestLO44ErrorOfOurSide(t *testing.T) {
	t.Run("LO44 a failure keeps its code", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFixture(t, nil, provided(chunks(fmt.Errorf("build: %w", &llm.Failure{Code: llm.CodeConfig, Message: "no such URL"}))))
			f.prompt("go")
			expect(t, "the failure", f.failure(), llm.Failure{Code: llm.CodeConfig, Message: "no such URL"})
		})
	})
	t.Run("LO44 another error is its chain", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFixture(t, nil, provided(chunks(fmt.Errorf("build: %w", errTest))))
			f.prompt("go")
			expect(t, "the failure", f.failure(), llm.Failure{Code: llm.CodeUnknown, Message: "build: it broke"})
		})
	})
}

func TestLO47ErrorWhileStreamingIsNotRecovered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := false
		f := newFixture(t, nil, provided(chunks(errTest, text("a"), text("b"))),
			recovering(func(RequestFailure) (bool, error) { asked = true; return true, nil }))
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go stepend end:error")
		expect(t, "recovery asked", asked, false)
	})
}

func TestLO49AnswerCitesItsChunks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		once := true
		f := newFixture(t, []play{
			func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool) {
				yield(text("lost"))
				fail(llm.Failure{Code: llm.CodeServer, Message: "x"})(ctx, r, yield)
			},
			say("kept"),
		}, recovering(func(RequestFailure) (bool, error) { defer func() { once = false }(); return once, nil }))
		f.prompt("go")
		var attempt []int
		for _, ev := range f.events() {
			switch ev.Data.(type) {
			case session.RequestSent:
				attempt = nil
			case session.AssistantChunk:
				attempt = append(attempt, ev.Seq)
			case session.AssistantMessage:
				expect(t, "cited", ev.Sources, attempt)
			}
		}
		expect(t, "answers", len(of[session.AssistantMessage](f)), 1)
		expect(t, "chunks of the last attempt", len(attempt), 2)
	})
	t.Run("LO49 an empty stream cites nothing", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, nil, provided(chunks(nil)))
			f.prompt("go")
			for _, ev := range f.events() {
				if ev.Type == session.TypeAssistantMessage && (ev.Sources == nil || len(ev.Sources) != 0) {
					t.Errorf("sources are %#v, not an explicit empty list", ev.Sources)
				}
			}
		})
	})
}

func TestLO50RejectionAfterAGoodStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}"), say("never")}, entering(func(b Batch) ([]*llm.Message, string, error) {
			if b.Step == 2 {
				return nil, "no further", nil
			}
			return b.Messages, "", nil
		}))
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 result:c1 stepend end:blocked")
	})
}

// The sticky end must not swallow the request that the second step's tool owes.
func TestLO51OutputLimitThenSteerThenTool(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{then(func() { f.steer("go on") }, cut(text("half"))), call("probe", "{}"), say("done")})
		f.prompt("go")
		expect(t, "requests", f.model.count(), 3)
		if !slices.Contains(texts(f.model.request(2)), "user:ok") {
			t.Errorf("the third request has no result: %v", texts(f.model.request(2)))
		}
		expect(t, "the end", f.ends(), "max-tokens")
	})
}

func TestINB03NoticeAtTheLastStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{then(func() { f.inject("a job ended") }, say("done")), say("seen")})
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go queue:a job ended answer:done stepend claim step2 user:a job ended answer:seen stepend end:completed")
	})
}

// A turn without a step does not stop the queue.
func TestEmptiedPromptCostsNoRequestAndTheQueueGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{say("b")}, entering(func(b Batch) ([]*llm.Message, string, error) {
			if b.Turn == 1 {
				f.send("two")
				return nil, "", nil
			}
			return b.Messages, "", nil
		}))
		f.prompt("one")
		expect(t, "the log", f.story(), "queue:one turn1 claim queue:two end:completed turn2 claim step1 user:two answer:b stepend end:completed")
		expect(t, "requests", f.model.count(), 1)
	})
}

// A steer that comes while the batch turns out to be empty is not left lying.
func TestSteerIntoAnEmptiedTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{say("seen")}, entering(func(b Batch) ([]*llm.Message, string, error) {
			if b.Messages[0].PlainText() == "one" {
				f.steer("two")
				return nil, "", nil
			}
			return b.Messages, "", nil
		}))
		f.prompt("one")
		expect(t, "the log", f.story(), "queue:one turn1 claim queue:two claim step1 user:two answer:seen stepend end:completed")
	})
}

// A turn that did something ends only with the extensions' word, also when its last
// input came to nothing.
func TestEmptiedSteerDoesNotSkipTheStoppingExtensions(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		asked := 0
		f = newFixture(t, []play{then(func() { f.steer("never mind") }, say("done"))},
			entering(func(b Batch) ([]*llm.Message, string, error) {
				if b.Step == 2 {
					return nil, "", nil
				}
				return b.Messages, "", nil
			}),
			ending(func(Stopping) (Ending, error) { asked++; return Ending{}, nil }))
		f.prompt("go")
		expect(t, "asked", asked, 1)
		expect(t, "the end", f.ends(), "completed")
	})
}
