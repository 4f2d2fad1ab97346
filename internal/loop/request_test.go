package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// extends fails unless a request's messages begin with exactly those of the one
// before: not equal ones, the same.
func extends(t *testing.T, before, after *llm.Request) {
	t.Helper()
	if len(after.Messages) <= len(before.Messages) || !slices.Equal(before.Messages, after.Messages[:len(before.Messages)]) {
		t.Errorf("the request does not extend the one before: %v, then %v", texts(before), texts(after))
	}
}

func TestRQ01StepExtendsTheRequestBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}"), call("probe", `{"n":1}`), say("done")})
		f.prompt("go")
		extends(t, f.model.request(0), f.model.request(1))
		extends(t, f.model.request(1), f.model.request(2))
	})
}

func TestRQ02TurnExtendsTheRequestBefore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.prompt("one")
		f.prompt("two")
		extends(t, f.model.request(0), f.model.request(1))
		expect(t, "headers are equal", f.model.request(0).Header.Equal(f.model.request(1).Header), true)
	})
}

func TestRQ03DefaultsAreMarked(t *testing.T) {
	const field = "reasoningEffort"
	route := func(model, effort string, defaults ...string) option {
		return func(o *Options) {
			o.Route.Config.Model, o.Route.Config.ReasoningEffort, o.Route.Defaults = model, effort, defaults
		}
	}
	header := func(f *fixture) string {
		h := f.model.request(f.model.count() - 1).Header
		return fmt.Sprint(h.Config.Model, " ", h.Config.ReasoningEffort, " ", h.AdapterDefaults)
	}
	t.Run("RQ03 logged with the marks", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFixture(t, nil, route("m", "high", field))
			f.prompt("one")
			expect(t, "marks", of[session.RequestHeader](f)[0].Header.AdapterDefaults, "[reasoningEffort]")
		})
	})
	t.Run("RQ03 a chosen effort survives a resume of the same route", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFixture(t, nil, route("m", "max"))
			f.prompt("one")
			f = f.reopen(nil, route("m", "high", field))
			f.prompt("two")
			f.prompt("three")
			expect(t, "sent", header(f), "m max []")
			f = f.reopen(nil, route("m", "high", field), with(&probe{name: "other"}))
			f.prompt("four")
			expect(t, "also with other tools", header(f), "m max []")
		})
	})
	t.Run("RQ03 another route has its own", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFixture(t, nil, route("m", "max"))
			f.prompt("one")
			f = f.reopen(nil, route("n", "high", field))
			f.prompt("two")
			expect(t, "sent", header(f), "n high [reasoningEffort]")
		})
	})
	t.Run("RQ03 a default is not a choice", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFixture(t, nil, route("m", "high", field))
			f.prompt("one")
			f = f.reopen(nil, route("m", "low", field))
			f.prompt("two")
			expect(t, "sent", header(f), "m low [reasoningEffort]")
		})
	})
	t.Run("RQ03 the user can go back to the default", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			f := newFixture(t, nil, route("m", "max"))
			f.prompt("one")
			f.SetRoute(Route{Model: f.model, Config: llm.Config{Provider: "test", Model: "m"}, Defaults: []string{field}})
			f.prompt("two")
			expect(t, "sent", header(f), "m  [reasoningEffort]")
		})
	})
}

// A route that changes while a request is prepared is the next request's.
func TestRQ05RouteReplacedBeforeDispatch(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		later := &model{}
		first := stream(func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
			f.SetRoute(Route{Model: later, Config: llm.Config{Provider: "other", Model: "n"}})
			return chunks(nil, text("from the first"))(ctx, r)
		})
		f = newFixture(t, nil, provided(first))
		f.prompt("one")
		expect(t, "answered by", of[session.AssistantMessage](f)[0].Message.Source.Provider, "test")
		expect(t, "the other was asked", later.count(), 0)
		f.prompt("two")
		expect(t, "the other was asked", later.count(), 1)
		expect(t, "the ends", f.ends(), "completed completed")
	})
}

// compact replaces everything the model has seen by a summary, as a compaction does.
func (f *fixture) compact(text string) {
	f.t.Helper()
	var seqs []int
	for _, ev := range f.events() {
		if ev.Surface != nil {
			seqs = append(seqs, ev.Seq)
		}
	}
	m := note(text)
	m.ID = session.NewID()
	_, err := f.log.Append(session.Draft{Data: session.UserMessage{Message: m}, Sources: seqs,
		Surface: &session.SurfaceOp{Replace: true, Start: seqs[0], End: seqs[len(seqs)-1]}})
	must(f.t, err)
}

func TestRQ08ReplaceRewritesTheNextRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}"), say("done"), say("more")})
		f.prompt("go")
		f.compact("what happened so far")
		f.prompt("next")
		expect(t, "what the model reads", texts(f.model.request(2)), "[user:what happened so far user:next]")
		f.rederive()
	})
}

// rederive builds the messages of every request from the events before it, by its
// own reading of the format, and compares them with what was sent.
func (f *fixture) rederive() {
	f.t.Helper()
	type node struct {
		seq int
		raw string
	}
	var nodes []node
	sent := 0
	for _, ev := range f.events() {
		switch p := ev.Data.(type) {
		case session.UserMessage:
			nodes = place(nodes, ev, node{ev.Seq, encode(f.t, p.Message)}, func(n node) int { return n.seq })
		case session.AssistantMessage:
			raw := encode(f.t, p.Message)
			if len(p.Message.Content) == 0 {
				raw = ""
			}
			nodes = place(nodes, ev, node{ev.Seq, raw}, func(n node) int { return n.seq })
		case session.ToolResult:
			nodes = place(nodes, ev, node{ev.Seq, encode(f.t, p.Message)}, func(n node) int { return n.seq })
		case session.RequestSent:
			var derived, got []string
			for _, n := range nodes {
				if n.raw != "" {
					derived = append(derived, n.raw)
				}
			}
			for _, m := range f.model.request(sent).Messages {
				got = append(got, encode(f.t, *m))
			}
			if !slices.Equal(derived, got) {
				f.t.Errorf("request %d is not what the log says\nsent: %s\n log: %s", sent, got, derived)
			}
			expect(f.t, "messages logged", p.Messages, len(got))
			sent++
		}
	}
	expect(f.t, "requests in the log", sent, f.model.count())
}

func place[N any](nodes []N, ev session.Event, n N, seq func(N) int) []N {
	if !ev.Surface.Replace {
		return append(nodes, n)
	}
	from := slices.IndexFunc(nodes, func(n N) bool { return seq(n) == ev.Surface.Start })
	to := slices.IndexFunc(nodes, func(n N) bool { return seq(n) == ev.Surface.End })
	return slices.Replace(nodes, from, to+1, n)
}

func encode(t *testing.T, m llm.Message) string {
	t.Helper()
	raw, err := json.Marshal(m)
	must(t, err)
	return string(raw)
}

func TestRQ09HeaderIsLoggedWhenItChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}"), say("a"), say("b"), say("c"), say("d")})
		f.prompt("one")
		f.prompt("two")
		f.SetRoute(Route{Model: f.model, Config: llm.Config{Provider: "test", Model: "m", MaxTokens: 9}})
		f.prompt("three")
		f.prompt("four")
		expect(t, "reasons", headerReasons(f), "[initial change]")
	})
}

func headerReasons(f *fixture) []string {
	var list []string
	for _, h := range of[session.RequestHeader](f) {
		list = append(list, h.Reason)
	}
	return list
}

// prepared is a provider that does something to the request before it leaves.
func prepared(do func(r *llm.Request), sent *bool) stream {
	return func(_ context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			do(r)
			if err := r.BeforeSend(sentFor(r)); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			*sent = true
			yield(text("answered"), nil)
		}
	}
}

// A request that is not what the log says does not leave.
func TestIV06RequestThatIsNotTheLogs(t *testing.T) {
	cases := []struct {
		name string
		do   func(f *fixture, r *llm.Request)
		part string
	}{
		{"RQ11 a message is added", func(_ *fixture, r *llm.Request) {
			r.Messages = append(r.Messages, r.Messages[0])
		}, "conversation"},
		{"IV06 a message is dropped", func(_ *fixture, r *llm.Request) { r.Messages = r.Messages[1:] }, "conversation"},
		{"IV06 the log has one more", func(f *fixture, _ *llm.Request) {
			m := note("late")
			m.ID = session.NewID()
			_, err := f.log.Append(session.Visible(session.UserMessage{Message: m}))
			must(f.t, err)
		}, "conversation"},
		{"IV06 the surface was replaced", func(f *fixture, _ *llm.Request) { f.compact("short") }, "conversation"},
		{"RQ11 the prompt is another", func(_ *fixture, r *llm.Request) { r.Header.System += "!" }, "header"},
		{"IV06 the model is another", func(_ *fixture, r *llm.Request) { r.Header.Config.Model = "n" }, "header"},
		{"IV06 the log has another header", func(f *fixture, r *llm.Request) {
			h := r.Header
			h.System = "Be bad."
			_, err := f.log.Append(session.Draft{Data: session.RequestHeader{Header: h, Reason: "change"}})
			must(f.t, err)
		}, "header"},
		{"IV06 the step is closed", func(f *fixture, _ *llm.Request) {
			_, err := f.log.Append(session.Draft{Data: session.StepEnd{Turn: 2, Step: 1}})
			must(f.t, err)
		}, "step"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, nil)
				f.prompt("one")
				sent := false
				f.SetRoute(Route{Model: prepared(func(r *llm.Request) { c.do(f, r) }, &sent),
					Config: llm.Config{Provider: "test", Model: "m"}})
				f.prompt("two")
				expect(t, "sent", sent, false)
				expect(t, "recorded as sent", len(of[session.RequestSent](f)), 1)
				has(t, "the failure", f.failure().Message, "INVARIANT")
				has(t, "the failure", f.failure().Message, c.part)
			})
		})
	}
}

func TestRQ12ResumedSessionGoesOn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", "{}"), say("done")})
		f.prompt("one")
		before := texts(f.model.request(1))
		g := f.reopen(nil)
		g.prompt("two")
		expect(t, "reasons", headerReasons(g), "[initial resume]")
		expect(t, "header", g.model.request(0).Header.Equal(f.model.request(0).Header), true)
		expect(t, "messages", texts(g.model.request(0)), append(before, "assistant:done", "user:two"))
		g.prompt("three")
		expect(t, "reasons", headerReasons(g), "[initial resume]")
	})
}

func TestRQ14EveryRequestFollowsFromTheLog(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		once := true
		f = newFixture(t, []play{
			call("probe", "{}", "nothing", "{}"),
			then(func() { f.steer("and") }, say("a")),
			cut(text("b")),
			fail(llm.Failure{Code: llm.CodeServer, Message: "down"}),
			say(""),
			call("probe", `{"n":"no"}`),
			say("d"),
		}, recovering(func(RequestFailure) (bool, error) { defer func() { once = false }(); return once, nil }),
			func(o *Options) { o.Environment = func() llm.Message { return note("env") } })
		f.prompt("one")
		f.prompt("two")
		f.inject("by the way")
		f.prompt("three")
		f.compact("all of it")
		f.prompt("four")
		f.rederive()
		if f.model.count() < 8 {
			t.Errorf("only %d requests were made", f.model.count())
		}
	})
}

func TestRQ15CapacityIsLoggedWhenItChanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		window := func(n int) Route { return Route{Config: llm.Config{Provider: "test", Model: "m"}, Window: n} }
		f := newFixture(t, nil, func(o *Options) { o.Route.Window = 1000 })
		for _, n := range []int{1000, 1000, 2000, 2000, 0, 0} {
			r := window(n)
			r.Model = f.model
			f.SetRoute(r)
			f.prompt("hi")
		}
		var got []string
		for _, c := range of[session.RequestContext](f) {
			if c.ContextWindow == nil {
				got = append(got, "unknown")
				continue
			}
			got = append(got, fmt.Sprint(*c.ContextWindow))
		}
		expect(t, "capacities", got, "[1000 2000 unknown]")
	})
}

// environment counts how often the block is made.
func environment(made *int) option {
	return func(o *Options) {
		o.Environment = func() llm.Message {
			*made++
			return note(fmt.Sprint("env", *made))
		}
	}
}

func TestRQ17EnvironmentIsSentOnceAProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		made := 0
		f := newFixture(t, []play{call("probe", "{}"), say("a"), say("b")}, environment(&made))
		f.prompt("one")
		f.prompt("two")
		expect(t, "entered", userTexts(f), "[one env1 two]")
		g := f.reopen(nil, environment(&made))
		g.prompt("three")
		g.prompt("four")
		expect(t, "after a resume", userTexts(g), "[one env1 two three env2 four]")
		expect(t, "the prompt does not change with it", g.model.request(0).Header.Equal(f.model.request(0).Header), true)
	})
	t.Run("RQ17 not lost when its step does not come about", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			made := 0
			f := newFixture(t, nil, environment(&made), entering(func(b Batch) ([]*llm.Message, string, error) {
				if b.Turn == 1 {
					return nil, "", errTest
				}
				return b.Messages, "", nil
			}))
			f.prompt("one")
			f.prompt("two")
			expect(t, "entered", userTexts(f), "[one env2 two]")
		})
	})
}

// A crash between the header and the answer: the next process logs its own header,
// and the prompt stays that of the log.
func TestRQ18CrashAfterTheHeader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f, g *fixture
		f = newFixture(t, []play{then(func() {
			g = f.died([]play{say("again")}, func(o *Options) { o.System = "Be different." })
		}, say("a"))})
		f.prompt("one")
		g.prompt("two")
		expect(t, "reasons", headerReasons(g), "[initial resume]")
		expect(t, "the prompt", g.model.request(0).Header.System, "Be good.")
		expect(t, "messages", texts(g.model.request(0)), "[user:one user:two]")
		expect(t, "the ends", g.ends(), "interrupted completed")
	})
}

func TestResumedToolsDecideWhosePromptHolds(t *testing.T) {
	newer := func(o *Options) { o.System = "Be better." }
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.prompt("one")
		f = f.reopen(nil, newer)
		f.prompt("two")
		expect(t, "same tools: the log's prompt", f.model.request(0).Header.System, "Be good.")
		f = f.reopen(nil, newer, with(&probe{name: "other"}))
		f.prompt("three")
		expect(t, "other tools: ours", f.model.request(0).Header.System, "Be better.")
		expect(t, "the tools", f.model.request(0).Header.Tools[0].Name, "other")
		f.prompt("four")
		expect(t, "reasons", headerReasons(f), "[initial resume resume]")
	})
}

func TestSP05ToolsAreSortedByName(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, with(&probe{name: "write"}, &probe{name: "bash"}, &probe{name: "read"}))
		f.prompt("hi")
		var names []string
		for _, s := range f.model.request(0).Header.Tools {
			names = append(names, s.Name)
		}
		expect(t, "tools", names, "[bash read write]")
	})
}

func TestCP01LogIsOnDiskBeforeTheModelIsAsked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		var stored string
		f = newFixture(t, []play{then(func() {
			raw, err := os.ReadFile(f.log.Path())
			must(t, err)
			stored = string(raw)
		}, say("a"))})
		f.prompt("one")
		for _, kind := range []session.Type{session.TypeUserMessage, session.TypeRequestHeader, session.TypeRequestSent} {
			has(t, "the file", stored, `"type":"`+string(kind)+`"`)
		}
		expect(t, "chunks", strings.Count(stored, string(session.TypeAssistantChunk)), 0)
	})
}

func TestCP03ModelIsNotAskedWithoutTheBarrier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		putBack := func() {}
		f = newFixture(t, []play{say("answered")}, entering(func(b Batch) ([]*llm.Message, string, error) {
			if b.Turn == 1 {
				putBack = f.pluck()
			}
			return b.Messages, "", nil
		}))
		f.prompt("one")
		putBack()
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one stepend end:error")
		expect(t, "chunks", len(of[session.AssistantChunk](f)), 0)
		has(t, "the failure", f.failure().Message, "removed or replaced")
		f.prompt("two")
		expect(t, "the ends", f.ends(), "error completed")
	})
}

// reaching is a tool that counts its runs; the test says what happens in one.
func reaching(runs *int, do func()) *probe {
	return &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
		*runs++
		do()
		return tools.Result{Text: "ok"}, nil
	}}
}

func TestCP04LogIsOnDiskBeforeABodyRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		runs := 0
		f = newFixture(t, []play{call("probe", "{}")}, with(reaching(&runs, func() {
			raw, err := os.ReadFile(f.log.Path())
			must(t, err)
			for _, kind := range []session.Type{session.TypeAssistantMessage, session.TypeToolCall, session.TypePolicyDecision} {
				has(t, "the file", string(raw), `"type":"`+string(kind)+`"`)
			}
		})))
		f.prompt("go")
		expect(t, "runs", runs, 1)
	})
}

// stopper is a tool that lets the user cancel just before the barrier of its call.
type stopper struct {
	*probe
	cancel func()
}

func (s *stopper) Action(env tools.Env, args json.RawMessage) (policy.Action, error) {
	s.cancel()
	return s.probe.Action(env, args)
}

func TestCP05CancelAtTheBarrierOfACall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		runs := 0
		f = newFixture(t, []play{call("probe", "{}")},
			with(&stopper{reaching(&runs, func() {}), func() { f.cancel(true) }}))
		f.prompt("go")
		expect(t, "runs", runs, 0)
		expect(t, "code", of[session.ToolResult](f)[0].Error.Code, session.CodeNotRun)
		expect(t, "the end", f.ends(), "aborted{user,}")
	})
}

func TestCP06BodyDoesNotRunWithoutTheBarrier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		runs := 0
		putBack := func() {}
		f = newFixture(t, []play{then(func() { putBack = f.pluck() }, call("probe", "{}", "probe", `{"n":1}`))},
			with(reaching(&runs, func() {})))
		f.prompt("go")
		putBack()
		expect(t, "runs", runs, 0)
		results := of[session.ToolResult](f)
		expect(t, "results", len(results), 2)
		for _, r := range results {
			expect(t, "code", r.Error.Code, codeSync)
		}
		expect(t, "requests", f.model.count(), 1+1) // the second was refused before it was sent
		expect(t, "the end", f.ends(), "error")
	})
}
