package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// words is text of about n tokens.
func words(n int) string { return strings.Repeat("abcd", n) }

// window gives the route a context window.
func window(tokens int) option { return func(o *Options) { o.Route.Window = tokens } }

// counted says text and reports what the provider counted for prompt and answer.
func counted(text string, prompt int) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		yield(llm.Chunk{Type: llm.TextDelta, Text: text})
		yield(llm.Chunk{Type: llm.UsageChunk, Usage: &llm.Usage{InputTokens: prompt}})
	}
}

// printing is the probe whose result has about n tokens.
func printing(n int) option {
	return with(&probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
		return tools.Result{Text: words(n)}, nil
	}})
}

var tooLong = llm.Failure{Code: llm.CodeContextOverflow, Message: "maximum context length exceeded", Status: 400}

// brackets is what the compactions of a log came to, one word an event.
func (f *fixture) brackets() string {
	f.t.Helper()
	var list []string
	for _, ev := range f.events() {
		switch p := ev.Data.(type) {
		case session.CompactionPrune:
			list = append(list, "prune")
		case session.CompactionStart:
			word := "start"
			if p.Turn == nil {
				word = "start(idle)"
			}
			list = append(list, word)
		case session.RequestSent:
			if p.Aside != nil {
				list = append(list, "ask")
			}
		case session.CompactionSummary:
			list = append(list, "summary")
		case session.CompactionEnd:
			if p.Error != "" {
				list = append(list, "end("+p.Error+")")
			} else {
				list = append(list, "end")
			}
		}
	}
	return strings.Join(list, " ")
}

// asides are the requests that were made for summaries.
func (f *fixture) asides() []*llm.Request {
	var list []*llm.Request
	for i := range f.model.count() {
		r := f.model.request(i)
		if last := r.Messages[len(r.Messages)-1]; strings.Contains(last.PlainText(), asksForSummary) {
			list = append(list, r)
		}
	}
	return list
}

func TestCO01CMP01BelowTheThresholdNothingHappens(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{counted("one", 700), say("two")}, window(1000))
		f.prompt("go")
		f.prompt(words(50)) // 700 and about 70 are less than 800
		expect(t, "compactions", f.brackets(), "")
		expect(t, "requests", f.model.count(), 2)
	})
}

// The provider's count decides, not the estimate; what has been claimed counts too.
func TestCO01TheProvidersCountAndTheBatchDecide(t *testing.T) {
	for _, c := range []struct {
		counted, next int
		want          string
	}{{100, 500, ""}, {7000, 20, ""}, {7000, 1500, "start ask summary end"}, {8100, 20, "start ask summary end"}} {
		t.Run(fmt.Sprint(c.counted, "+", c.next), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{say(words(2000)), counted("two", c.counted), say("short")}, window(10_000))
				f.prompt("one")
				f.prompt(words(900))
				f.prompt(words(c.next))
				expect(t, "compactions", f.brackets(), c.want)
			})
		})
	}
}

func TestCO03CMP05TheCutNeverSplitsACallFromItsResult(t *testing.T) {
	t.Parallel()
	user := session.Node{Message: &llm.Message{Role: llm.User, Content: []llm.Block{llm.TextBlock("u")}}}
	calls := func(ids ...string) session.Node {
		m := &llm.Message{Role: llm.Assistant}
		for _, id := range ids {
			m.Content = append(m.Content, llm.Block{Type: llm.ToolCall, ID: id})
		}
		return session.Node{Message: m}
	}
	result := func(id string) session.Node {
		return session.Node{Message: &llm.Message{Role: llm.User, Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: id}}}}
	}
	sum := session.Node{Message: &llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromPlugin, Plugin: session.CompactionPlugin}}}
	list := func(n ...session.Node) []session.Node { return n }
	for name, c := range map[string]struct {
		nodes      []session.Node
		keep, room int
		want       int
	}{
		"nothing":                             {nil, 0, 99, 0},
		"one message":                         {list(user), 0, 99, 0},
		"the last stays":                      {list(user, user, user), 0, 99, 2},
		"what is to be kept stays":            {list(user, user, user, user), 2, 99, 2},
		"all is to be kept":                   {list(user, user), 9, 99, 0},
		"a cut after the call moves headward": {list(user, calls("a"), result("a")), 0, 99, 1},
		"between two results likewise":        {list(user, calls("a", "b"), result("a"), result("b")), 0, 99, 1},
		"one pair cannot be cut":              {list(calls("a"), result("a")), 0, 99, 0},
		"a whole pair goes":                   {list(user, calls("a"), result("a"), user), 0, 99, 3},
		"no more than fits":                   {list(user, user, user, user), 0, 2, 2},
		"a pair that does not fit stays":      {list(user, calls("a"), result("a"), user), 0, 2, 1},
		"a call without a result, long ago":   {list(user, calls("lost"), calls("a"), result("a"), user), 0, 99, 4},
		"a summary alone is not summarised":   {list(sum, user), 0, 99, 0},
		"a summary and more is":               {list(sum, user, user), 0, 99, 2},
	} {
		sizes := make([]int, len(c.nodes))
		for i := range sizes {
			sizes[i] = 1
		}
		if got := splitAt(c.nodes, sizes, c.keep, c.room); got != c.want {
			t.Errorf("%s: %d, not %d", name, got, c.want)
		}
	}
}

func TestCO04APruneMayBeEnough(t *testing.T) {
	bubble(t, func(t *testing.T) {
		// Three results of 3,000 tokens each, a fifth of that after a prune.
		f := newFixture(t, []play{call("probe", `{"n":1}`), call("probe", `{"n":2}`), call("probe", `{"n":3}`), say("done")},
			window(11_000), printing(3000))
		f.prompt("go")
		expect(t, "compactions", f.brackets(), "prune prune")
		expect(t, "requests", f.model.count(), 4)
		f.sent(3)
	})
}

func TestCO04CMP02ASummaryOverThePrunedSurface(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var plays []play
		for i := range 5 {
			plays = append(plays, call("probe", fmt.Sprintf(`{"n":%d}`, i)))
		}
		plays = append(plays, say("what came of it"), say("done"))
		f := newFixture(t, plays, window(9000), printing(3000))
		f.prompt("go")
		if !strings.HasSuffix(f.brackets(), "prune start ask summary end") {
			t.Errorf("the compactions: %s", f.brackets())
		}
		for _, text := range texts(f.asides()[0])[:4] {
			if strings.Contains(text, words(2100)) {
				t.Error("the summary was asked over a result that was not pruned")
			}
		}
		expect(t, "the end", f.ends(), "completed")
	})
}

func TestCO05NoPruneWithoutPressure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", `{}`), say("done")}, window(1_000_000), printing(9000))
		f.prompt("go")
		expect(t, "compactions", f.brackets(), "")
	})
}

// longTalk is a fixture whose conversation is under pressure at its third prompt:
// the model answers it with plays.
func longTalk(t *testing.T, plays []play, opts ...option) *fixture {
	t.Helper()
	plays = append([]play{say(words(1000)), counted(words(1000), 8500)}, plays...)
	f := newFixture(t, plays, append([]option{window(10_000)}, opts...)...)
	f.prompt("first of all")
	f.prompt("then")
	return f
}

func TestCO06StillAboveTheTurnGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a"), counted(words(700), 9000), say("sum"), say("done"), say("more")}, window(10_000))
		f.prompt(words(600))
		f.prompt(words(8000)) // alone more than the threshold
		f.prompt("three")
		f.prompt("four") // no more than once until the context has grown
		expect(t, "the ends", f.ends(), "completed completed completed completed")
		expect(t, "asked", len(f.asides()), 1)
	})
}

func TestCO07WithoutAWindowOrAnythingSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{counted("one", 1_000_000), say("two")})
		f.prompt("go")
		f.prompt("on")
		expect(t, "no window", f.brackets(), "")
		g := newFixture(t, []play{say("one")}, window(1000))
		g.prompt(words(2000)) // no request was ever sent
		expect(t, "no header", g.brackets(), "")
		expect(t, "the ends", f.ends()+" "+g.ends(), "completed completed completed")
	})
}

func TestCO09AnUselessSummaryLeavesAllAsItWas(t *testing.T) {
	refused := fail(llm.Failure{Code: llm.CodeAuth, Message: "no"})
	for name, c := range map[string]struct {
		plays []play
		why   string
	}{
		"not smaller": {[]play{say(words(3000))}, "not shorter"},
		"blank":       {[]play{say(" \n")}, "gave no summary"},
		"reasoning only": {[]play{func(_ context.Context, _ *llm.Request, y func(llm.Chunk) bool) {
			y(llm.Chunk{Type: llm.ReasoningDelta, Text: "hm"})
		}}, "gave no summary"},
		"calls only":    {[]play{call("probe", "{}")}, "gave no summary"},
		"cut twice":     {[]play{cut(text("so far")), cut(text("so far"))}, "output limit"},
		"refused":       {[]play{refused}, "AUTH"},
		"broken stream": {[]play{func(_ context.Context, _ *llm.Request, y func(llm.Chunk) bool) { y(llm.Chunk{Type: "what"}) }}, "what"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ran := false
				body := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) { ran = true; return tools.Result{}, nil }}
				f := longTalk(t, append(c.plays, say("the answer")), with(body))
				before, generation := f.log.Messages()
				f.prompt("go on")
				after, now := f.log.Messages()
				expect(t, "the surface", generation == now && slices.Equal(before, after[:len(before)]), true)
				mustContain(t, "the log", f.brackets(), "start", "end(", c.why)
				expect(t, "the turn", f.lastEnd().Kind, session.Completed)
				expect(t, "a call of it ran", ran, false)
				if answers := f.answers(); !strings.HasSuffix(answers, "the answer") {
					t.Error("the turn did not go on")
				}
			})
		})
	}
}

func TestCO09ATransientFailureIsTriedOnceMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := longTalk(t, []play{fail(transient), say("the sum"), say("done")})
		f.prompt("go on")
		expect(t, "compactions", f.brackets(), "start ask ask summary end")
		expect(t, "retries of the step", f.retried(), "")
		first := f.asides()
		again := longTalk(t, []play{cut(text("half")), say("the sum"), say("done")})
		again.prompt("go on")
		expect(t, "a cut summary", again.brackets(), "start ask ask summary end")
		second := again.asides()
		expect(t, "limits", []int{first[0].Header.Config.MaxTokens, first[1].Header.Config.MaxTokens,
			second[0].Header.Config.MaxTokens, second[1].Header.Config.MaxTokens}, "[1250 1250 1250 2500]")
	})
}

func TestCO10ASurfaceThatChangesMeanwhile(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = longTalk(t, []play{then(func() {
			m := note("slipped in")
			m.ID = session.NewID()
			_, err := f.log.Append(session.Visible(session.UserMessage{Message: m}))
			must(t, err)
		}, say("the sum")), say("done")})
		f.prompt("go on")
		mustContain(t, "the log", f.brackets(), "changed meanwhile")
		_, generation := f.log.Messages()
		expect(t, "replaces", generation, 0)
	})
}

// Input that arrives meanwhile is only logged: it does not disturb, and is delivered
// once.
func TestH04ASteerMeanwhileIsDeliveredOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = longTalk(t, []play{then(func() { f.steer("also C") }, say("the sum")), say("on it"), say("both done")})
		f.prompt("stop A, do B")
		expect(t, "compactions", f.brackets(), "start ask summary end")
		read := texts(f.model.request(f.model.count() - 1))
		expect(t, "the last messages", read[len(read)-3:], "[user:stop A, do B assistant:on it user:also C]")
		checkFates(t, f)
	})
}

func TestCO12CMP03TheRequestIsThePrefixAndAnInstruction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := longTalk(t, []play{say("the sum"), say("done")})
		before, _ := f.log.Messages()
		f.prompt("go on")
		aside := f.asides()[0]
		normal := f.model.request(1)
		n := len(aside.Messages) - 1
		expect(t, "the beginning", slices.Equal(aside.Messages[:n], before[:n]), true)
		expect(t, "prompt and tools", aside.Header.System == normal.Header.System && len(aside.Header.Tools) == len(normal.Header.Tools), true)
		expect(t, "the limit", aside.Header.Config.MaxTokens, 10_000/summaryShare)
		s := of[session.CompactionSummary](f)[0]
		expect(t, "the model", s.Provider+" "+s.Model, "test m")
		checkConversation(t, aside.Messages)
		sent := of[session.RequestSent](f)
		expect(t, "its record", sent[2].Aside.Leading, n)
		expect(t, "the step's own", sent[3].Attempt, 1)
	})
}

func TestCO13LLM14AnOverflowMakesRoomOnce(t *testing.T) {
	for name, c := range map[string]struct {
		plays    []play
		brackets string
		end      session.EndKind
		requests int
	}{
		"and the request is sent again": {[]play{fail(tooLong), say("the sum"), say("done")}, "start ask summary end", session.Completed, 5},
		"once":                          {[]play{fail(tooLong), say("the sum"), fail(tooLong)}, "start ask summary end", session.Failed, 5},
		"not without a change":          {[]play{fail(tooLong), say(" ")}, "start ask end(the model gave no summary)", session.Failed, 4},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, append([]play{say(words(1000)), say(words(1000))}, c.plays...))
				f.prompt("one")
				f.prompt("two")
				f.prompt("three")
				expect(t, "compactions", f.brackets(), c.brackets)
				expect(t, "the end", f.lastEnd().Kind, c.end)
				expect(t, "requests", f.model.count(), c.requests)
				if c.end == session.Failed {
					expect(t, "the reason", f.failure().Message, tooLong.Message)
				}
				f.prompt("four") // the count begins anew
				expect(t, "the session lives", f.lastEnd().Kind, session.Completed)
			})
		})
	}
}

func TestCO13APruneIsEnoughForAnotherTry(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}"), fail(tooLong), say(" "), say("done")}, printing(9000))
		f.prompt("go")
		expect(t, "the end", f.lastEnd().Kind, session.Completed)
		mustContain(t, "compactions", f.brackets(), "prune")
	})
}

func TestCO15OnePairAloneKeepsTheFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{fail(tooLong)})
		f.prompt("one message")
		expect(t, "compactions", f.brackets(), "")
		expect(t, "the failure", f.failure().Message, tooLong.Message)
		expect(t, "requests", f.model.count(), 1)
	})
}

func TestCO16ARecoveryThatFailsKeepsTheFailure(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say(words(1000)), say(words(1000)), fail(tooLong), fail(llm.Failure{Code: llm.CodeAuth, Message: "bad key"})})
		f.prompt("zero")
		f.prompt("one")
		f.prompt("two")
		mustContain(t, "compactions", f.brackets(), "bad key")
		expect(t, "the failure", f.failure().Code, llm.CodeContextOverflow)
	})
}

func TestCO17OverflowAndTransientFailuresCountApart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say(words(1000)), say(words(1000)), fail(transient), fail(tooLong), say("the sum"), fail(transient), say("done")})
		f.prompt("zero")
		f.prompt("one")
		f.prompt("two")
		expect(t, "the end", f.lastEnd().Kind, session.Completed)
		expect(t, "retries", len(of[session.Retry](f)), 2)
		expect(t, "compactions", f.brackets(), "start ask summary end")
	})
}

func TestCO19ReplayOfACompactedLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := longTalk(t, []play{say("the sum"), say("done")}, func(o *Options) {
			o.Environment = func() llm.Message { return note("env of now") }
		})
		f.prompt("go on")
		live, _ := f.log.Messages()
		mustContain(t, "the checkpoint", live[0].PlainText(), "the sum", "env of now", "first of all")
		state := folds(t, &f.d)
		expect(t, "folds", folds(t, f.replayed()), state)
		g := f.reopen(nil, window(10_000))
		again, _ := g.log.Messages()
		expect(t, "messages", encodeAll(t, again), encodeAll(t, live))
		expect(t, "folds of the next life", folds(t, &g.d), state)
		g.prompt("more")
		g.sent(0)
	})
}

func encodeAll(t *testing.T, messages []*llm.Message) (list []string) {
	t.Helper()
	for _, m := range messages {
		list = append(list, encode(t, *m))
	}
	return list
}

// A cancel in the middle of a summary ends the turn at once, and the model sees what
// it saw.
func TestH08CancelDuringACompaction(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := longTalk(t, []play{hang(text("half a sum")), say("after")})
		f.send("go on")
		synctest.Wait()
		f.cancel(true)
		f.idle()
		expect(t, "the end", f.lastEnd().Kind, session.Aborted)
		expect(t, "compactions", f.brackets(), "start ask end(interrupted by the user)")
		f.prompt("next")
		expect(t, "the next turn", f.lastEnd().Kind, session.Completed)
	})
}

// A log that cannot be written ends the turn as any other append does, and the next
// turn closes what was left open.
func TestMC08AnOrphanedStartIsClosedBeforeTheNext(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := longTalk(t, []play{say("the sum"), say("done")})
		_, err := f.log.Append(session.Draft{Data: session.CompactionStart{CompactionID: "lost"}})
		must(t, err)
		if err := f.Compact(context.Background(), ""); err != nil {
			t.Fatal(err)
		}
		expect(t, "compactions", f.brackets(), "start(idle) end(the session log could not be written) start(idle) ask summary end")
		_, err = f.log.Append(session.Draft{Data: session.CompactionStart{CompactionID: "lost too"}})
		must(t, err)
		f.prompt("go on")
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
	})
}

// A bare 400 says nothing; where the window is nearly full it is an overflow. The
// history before the long prompt is too short for room to be made unasked.
func TestE25ABareRefusalOfAFullWindowIsAnOverflow(t *testing.T) {
	bare := llm.Failure{Code: llm.CodeInvalidRequest, Message: "Bad Request", Status: 400, Wordless: true}
	worded := bare
	worded.Wordless, worded.Message = false, "messages[3]: bad role"
	for name, c := range map[string]struct {
		plays    []play
		window   int
		prompt   int // tokens
		brackets string
		code     llm.Code // "" completed
	}{
		"E25 room is made, once":      {[]play{fail(bare), say("sum"), say("done")}, 20_000, 16_000, "start ask summary end", ""},
		"E25 and not twice":           {[]play{fail(bare), say("sum"), fail(bare)}, 20_000, 16_000, "start ask summary end", llm.CodeContextOverflow},
		"E25 a small context":         {[]play{fail(bare)}, 20_000, 1000, "", llm.CodeInvalidRequest},
		"E25 an unknown window":       {[]play{fail(bare)}, 0, 16_000, "", llm.CodeInvalidRequest},
		"E25 a refusal with a reason": {[]play{fail(worded)}, 20_000, 16_000, "", llm.CodeInvalidRequest},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, append([]play{say(words(350))}, c.plays...), window(c.window))
				f.prompt(words(350))
				f.prompt(words(c.prompt))
				expect(t, "compactions", f.brackets(), c.brackets)
				if c.code == "" {
					expect(t, "the end", f.lastEnd().Kind, session.Completed)
				} else {
					expect(t, "the failure", f.failure().Code, c.code)
				}
			})
		})
	}
}
