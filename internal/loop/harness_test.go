package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// play answers one request: it yields chunks until yield says that nobody listens.
// The harness adds the finish unless the play yielded one.
type play func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool)

// model is a provider played by the test, one play a request.
type model struct {
	mu       sync.Mutex
	plays    []play
	requests []*llm.Request
}

func (m *model) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		m.mu.Lock()
		n := len(m.requests)
		m.requests = append(m.requests, r)
		p := say("(the script is over)")
		if n < len(m.plays) {
			p = m.plays[n]
		}
		m.mu.Unlock()
		if r.BeforeSend != nil {
			if err := r.BeforeSend(llm.Sent{Messages: len(r.Messages), Bytes: 1, SHA256: strings.Repeat("0", 64), Profile: "test", Wire: 1, Repairs: []string{}}); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
		}
		finished, calls := false, false
		on := true
		p(ctx, r, func(c llm.Chunk) bool {
			finished = finished || c.Type == llm.FinishChunk
			calls = calls || c.Type == llm.ToolCallDelta
			on = on && yield(c, nil)
			return on
		})
		if !finished && on {
			kind := llm.Stop
			if calls {
				kind = llm.ToolCalls
			}
			yield(finish(kind), nil)
		}
	}
}

func (m *model) request(i int) *llm.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.requests[i]
}

func (m *model) count() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.requests)
}

func finish(kind llm.FinishKind) llm.Chunk {
	return llm.Chunk{Type: llm.FinishChunk, Reason: &llm.Finish{Kind: kind}}
}

// say answers with text.
func say(text string) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		yield(llm.Chunk{Type: llm.TextDelta, Text: text})
	}
}

// call answers with tool calls: name and arguments in turn. Ids are c1, c2, ...
func call(pairs ...string) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		for i := 0; i < len(pairs); i += 2 {
			yield(llm.Chunk{Type: llm.ToolCallDelta, Index: i / 2, ID: fmt.Sprintf("c%d", i/2+1),
				Name: pairs[i], HasName: true, ArgumentsDelta: pairs[i+1]})
		}
	}
}

// fail answers with a failed finish.
func fail(f llm.Failure) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		yield(llm.Chunk{Type: llm.FinishChunk, Reason: &llm.Finish{Kind: llm.Failed, Failure: &f}})
	}
}

// hang yields the chunks, then waits for the cancel.
func hang(chunks ...llm.Chunk) play {
	return func(ctx context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		for _, c := range chunks {
			yield(c)
		}
		<-ctx.Done()
		yield(llm.Chunk{Type: llm.FinishChunk, Reason: &llm.Finish{Kind: llm.Aborted}})
	}
}

func text(s string) llm.Chunk { return llm.Chunk{Type: llm.TextDelta, Text: s} }

// probe is a tool whose behaviour the test decides.
type probe struct {
	name  string
	class policy.Class
	safe  func(args string) bool
	run   func(ctx context.Context, args string) (tools.Result, error)
}

func (p *probe) Name() string        { return p.name }
func (p *probe) Description() string { return "A probe." }
func (p *probe) Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
}
func (p *probe) Class() policy.Class {
	if p.class == "" {
		return policy.Read
	}
	return p.class
}
func (p *probe) Concurrent(args json.RawMessage) bool { return p.safe != nil && p.safe(string(args)) }
func (p *probe) Action(_ tools.Env, args json.RawMessage) (policy.Action, error) {
	return policy.Action{Tool: p.name, Class: p.Class(), Target: string(args)}, nil
}
func (p *probe) Run(ctx context.Context, _ tools.Env, args json.RawMessage) (tools.Result, error) {
	if p.run == nil {
		return tools.Result{Text: "ok"}, nil
	}
	return p.run(ctx, string(args))
}
func (p *probe) Display(json.RawMessage, *session.ToolResult) session.Display {
	return session.Display{Kind: session.ShowText, Verb: "Probe"}
}

func always(string) bool { return true }

// fixture is an agent over a log in a temporary folder and a played model.
type fixture struct {
	*Agent
	t     *testing.T
	log   *session.Log
	model *model
	root  string
}

// option changes the agent's options before it is made.
type option func(*Options)

func with(ts ...tools.Tool) option {
	return func(o *Options) {
		registry, err := tools.New(ts...)
		if err != nil {
			panic(err)
		}
		o.Tools = registry
	}
}

func newFixture(t *testing.T, plays []play, opts ...option) *fixture {
	t.Helper()
	root := filepath.Join(t.TempDir(), "sessions")
	log, err := session.Create(root, session.Header{ID: session.NewID(), Cwd: "/work"})
	if err != nil {
		t.Fatal(err)
	}
	return attach(t, root, log, plays, opts...)
}

func attach(t *testing.T, root string, log *session.Log, plays []play, opts ...option) *fixture {
	t.Helper()
	f := &fixture{t: t, log: log, model: &model{plays: plays}, root: root}
	o := Options{
		Log:    log,
		Route:  Route{Model: f.model, Config: llm.Config{Provider: "test", Model: "m"}},
		Rules:  policy.Rules{Preset: policy.PresetFull, Workspace: "/work"},
		Cwd:    "/work",
		System: "Be good.",
		Random: func() float64 { return 0.5 },
	}
	with(&probe{name: "probe"})(&o)
	for _, opt := range opts {
		opt(&o)
	}
	agent, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	f.Agent = agent
	t.Cleanup(func() {
		if err := agent.Close(context.Background()); err != nil {
			t.Error(err)
		}
		_ = log.Close()
		f.check()
	})
	return f
}

// reopen ends this life of the session and begins the next.
func (f *fixture) reopen(plays []play, opts ...option) *fixture {
	f.t.Helper()
	if err := f.Agent.Close(context.Background()); err != nil {
		f.t.Fatal(err)
	}
	if err := f.log.Close(); err != nil {
		f.t.Fatal(err)
	}
	log, _, err := session.Open(f.root, f.log.Path())
	if err != nil {
		f.t.Fatal(err)
	}
	return attach(f.t, f.root, log, plays, opts...)
}

// check holds the log, as it is on disk, to the structural invariants.
func (f *fixture) check() {
	f.t.Helper()
	if f.log.NextSeq() == 0 {
		return // nothing was ever written
	}
	snapshot, err := session.Read(f.log.Path())
	if err != nil {
		f.t.Error(err)
		return
	}
	if err := session.Check(snapshot.Header(), snapshot.Events()); err != nil {
		f.t.Error(err)
	}
}

func (f *fixture) send(text string) {
	f.t.Helper()
	if _, err := f.Followup(text); err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) idle() {
	f.t.Helper()
	if err := f.WhenIdle(context.Background()); err != nil {
		f.t.Fatal(err)
	}
}

// prompt sends and waits.
func (f *fixture) prompt(text string) {
	f.t.Helper()
	f.send(text)
	f.idle()
}

func (f *fixture) cancel(keep bool) {
	f.t.Helper()
	if err := f.Cancel(session.Cause{Kind: session.ByUser}, keep); err != nil {
		f.t.Fatal(err)
	}
}

// events are all events of the log, in order, as a reader of the file sees them.
func (f *fixture) events() []session.Event {
	f.t.Helper()
	if err := f.log.Sync(); err != nil {
		f.t.Fatal(err)
	}
	snapshot, err := session.Read(f.log.Path())
	if err != nil {
		f.t.Fatal(err)
	}
	var all []session.Event
	for ev := range snapshot.Events() {
		all = append(all, ev)
	}
	return all
}

// of returns the payloads of one type, in order.
func of[P session.Payload](f *fixture) []P {
	f.t.Helper()
	var list []P
	for _, ev := range f.events() {
		if p, ok := ev.Data.(P); ok {
			list = append(list, p)
		}
	}
	return list
}

// story is the log without chunks and bookkeeping, one word an event.
func (f *fixture) story() string {
	f.t.Helper()
	var words []string
	for _, ev := range f.events() {
		switch p := ev.Data.(type) {
		case session.InboxSpliced:
			switch {
			case len(p.Inserted) > 0 && p.RemovedCount > 0:
				words = append(words, "replace")
			case len(p.Inserted) > 0:
				words = append(words, "queue:"+p.Inserted[0].PlainText())
			case p.Outcome != "":
				words = append(words, "drop")
			default:
				words = append(words, "claim")
			}
		case session.TurnStart:
			words = append(words, fmt.Sprintf("turn%d", p.Turn))
		case session.TurnEnd:
			words = append(words, "end:"+string(p.Reason.Kind))
		case session.StepStart:
			words = append(words, fmt.Sprintf("step%d", p.Step))
		case session.StepEnd:
			words = append(words, "stepend")
		case session.UserMessage:
			words = append(words, "user:"+p.PlainText())
		case session.AssistantMessage:
			words = append(words, "answer:"+p.Message.PlainText())
		case session.ToolCall:
			words = append(words, "call:"+p.CallID)
		case session.ToolResult:
			words = append(words, "result:"+p.Message.Source.CallID)
		}
	}
	return strings.Join(words, " ")
}

func (f *fixture) lastEnd() session.EndReason {
	f.t.Helper()
	ends := of[session.TurnEnd](f)
	if len(ends) == 0 {
		f.t.Fatal("no turn has ended")
	}
	return ends[len(ends)-1].Reason
}

func expect(t *testing.T, what string, got, want any) {
	t.Helper()
	g, w := fmt.Sprint(got), fmt.Sprint(want)
	if g != w {
		t.Errorf("%s\n got: %s\nwant: %s", what, g, w)
	}
}
