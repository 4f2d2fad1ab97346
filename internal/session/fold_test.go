package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// script builds a log in memory. Every append is checked first.
type script struct {
	t   testing.TB
	f   *fold
	h   Header
	evs []Event
	now int64
}

func newScript(t testing.TB) *script { return scriptFor(t, Header{ID: "s", Cwd: "/w"}) }

func scriptFor(t testing.TB, h Header) *script {
	return &script{t: t, f: newFold(h), h: h, now: 1000}
}

// try appends the drafts, or returns why they were refused.
func (s *script) try(drafts ...Draft) error {
	evs := make([]Event, len(drafts))
	for i, d := range drafts {
		s.now++
		evs[i] = d.event(len(s.evs)+i, s.now)
	}
	if err := s.f.checkAll(evs); err != nil {
		return err
	}
	for i := range evs {
		s.f.apply(&evs[i])
	}
	s.evs = append(s.evs, evs...)
	return nil
}

func (s *script) add(drafts ...Draft) *script {
	s.t.Helper()
	if err := s.try(drafts...); err != nil {
		s.t.Fatalf("append refused: %v", err)
	}
	return s
}

// log appends log-only events.
func (s *script) log(payloads ...Payload) *script {
	s.t.Helper()
	for _, p := range payloads {
		s.add(Draft{Data: p})
	}
	return s
}

// refuse expects that the drafts are refused and that nothing changed.
func (s *script) refuse(why string, drafts ...Draft) {
	s.t.Helper()
	before := s.sight()
	err := s.try(drafts...)
	if err == nil {
		s.t.Fatalf("%v was accepted, want a refusal about %q", drafts, why)
	}
	if !strings.Contains(err.Error(), why) {
		s.t.Errorf("refused with %q, want it to say %q", err, why)
	}
	if after := s.sight(); after != before {
		s.t.Errorf("a refused append changed the fold:\n%s\n%s", before, after)
	}
}

// sight is everything that can be seen of the fold.
func (s *script) sight() string {
	msgs, generation := s.f.messages()
	state := s.f.state.clone()
	b, err := json.Marshal([]any{len(s.evs), s.f.next, msgs, generation, s.f.inbox.Items(), s.f.inbox.Claimed(), state, s.f.order.open, fmt.Sprint(s.f.order)})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// texts are what the model sees, one string a message.
func (s *script) texts() []string {
	var list []string
	msgs, _ := s.f.messages()
	for _, m := range msgs {
		text := m.PlainText()
		if b, ok := resultBlock(m); ok {
			text = b.ToolCallID + "=" + (&llm.Message{Content: b.Content}).PlainText()
		}
		list = append(list, text)
	}
	return list
}

func (s *script) wantTexts(want ...string) {
	s.t.Helper()
	if got := s.texts(); !slices.Equal(got, want) {
		s.t.Errorf("the model sees %q, want %q", got, want)
	}
}

func userMsg(text string) llm.Message {
	return llm.Message{Role: llm.User, ID: "m-" + text, Source: llm.Source{Kind: llm.FromUser}, Content: []llm.Block{llm.TextBlock(text)}}
}

func answerMsg(text string, calls ...string) llm.Message {
	m := llm.Message{Role: llm.Assistant, ID: "a-" + text, Source: llm.Source{Kind: llm.FromModel, Provider: "p", Model: "m"}, Content: []llm.Block{}}
	if text != "" {
		m.Content = append(m.Content, llm.TextBlock(text))
	}
	for _, id := range calls {
		m.Content = append(m.Content, llm.Block{Type: llm.ToolCall, ID: id, Name: "read", Arguments: `{"path":"a"}`})
	}
	return m
}

func resultMsg(call, text string) llm.Message {
	return llm.Message{Role: llm.User, ID: "r-" + call, Source: llm.Source{Kind: llm.FromTool, CallID: call},
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: call, Content: []llm.Block{llm.TextBlock(text)}}}}
}

func user(text string) Draft { return Visible(UserMessage{userMsg(text)}) }

func reply(turn, step int, m llm.Message, sources ...int) Draft {
	return Visible(AssistantMessage{Turn: turn, Step: step, Message: m}, sources...)
}

func call(turn, step int, id string) ToolCall {
	return ToolCall{Turn: turn, Step: step, CallID: id, Name: "read", Arguments: `{"path":"a"}`}
}

func result(turn, step int, id, text string, callSeq int) Draft {
	return Visible(ToolResult{Turn: turn, Step: step, Message: resultMsg(id, text)}, callSeq)
}

func textDelta(turn, step int, text string) AssistantChunk {
	return AssistantChunk{Turn: turn, Step: step, Chunk: llm.Chunk{Type: llm.TextDelta, Text: text}}
}

func header(provider, model string) RequestHeader {
	return RequestHeader{Header: llm.Header{Config: llm.Config{Provider: provider, Model: model}}, Reason: "initial"}
}

func allow(id string) PolicyDecision {
	return PolicyDecision{CallID: id, Decision: Allow, Effect: EffectRead}
}

func queue(t Target, texts ...string) InboxSpliced {
	p := InboxSpliced{Target: t}
	for _, text := range texts {
		p.Inserted = append(p.Inserted, userMsg(text))
	}
	return p
}

// seq is the seq that the next event will have.
func (s *script) seq() int { return len(s.evs) }

// begin opens turn and step and lets a user message enter.
func (s *script) begin(turn int, text string) *script {
	s.t.Helper()
	return s.log(TurnStart{turn}, StepStart{turn, 1}).add(user(text))
}

// finish closes step and turn.
func (s *script) finish(turn, step int) *script {
	s.t.Helper()
	return s.log(StepEnd{turn, step}, TurnEnd{turn, EndReason{Kind: Completed}})
}

// replay folds the script's events again, as a loader does.
func (s *script) replay() *fold {
	s.t.Helper()
	f := newFold(s.h)
	for i := range s.evs {
		if err := f.load(&s.evs[i]); err != nil {
			s.t.Fatal(err)
		}
	}
	return f
}

// TestSE covers what a session's events promise.
func TestSE(t *testing.T) {
	t.Parallel()
	t.Run("SE02 messages derive in order", func(t *testing.T) {
		s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("look", "c1", "c2")))
		s.log(call(1, 1, "c1"), call(1, 1, "c2"))
		s.add(result(1, 1, "c1", "one", 4), result(1, 1, "c2", "two", 5))
		s.wantTexts("hi", "look", "c1=one", "c2=two")
	})
	t.Run("SE03 injected messages are plain user messages", func(t *testing.T) {
		note := userMsg("note")
		note.Source = llm.Source{Kind: llm.FromPlugin, Plugin: "context", Form: "snapshot"}
		s := newScript(t).begin(1, "hi").add(Visible(UserMessage{note}))
		msgs, _ := s.f.messages()
		for _, m := range msgs {
			if m.Role != llm.User {
				t.Errorf("%q has role %q", m.ID, m.Role)
			}
		}
		s.wantTexts("hi", "note")
	})
	t.Run("SE07 malformed shapes are refused", func(t *testing.T) {
		for what, p := range map[string]Payload{
			"role":     UserMessage{answerMsg("x")},
			"no id":    UserMessage{llm.Message{Role: llm.User, Source: llm.Source{Kind: "user"}, Content: []llm.Block{}}},
			"source":   UserMessage{llm.Message{Role: llm.User, ID: "x", Content: []llm.Block{}}},
			"content":  UserMessage{llm.Message{Role: llm.User, ID: "x", Source: llm.Source{Kind: "user"}}},
			"block":    UserMessage{llm.Message{Role: llm.User, ID: "x", Source: llm.Source{Kind: "user"}, Content: []llm.Block{{}}}},
			"provider": header("", "m"),
			"cause":    TurnEnd{1, EndReason{Kind: Aborted}},
			"failure":  TurnEnd{1, EndReason{Kind: Failed}},
			"unknown":  TurnEnd{1, EndReason{Kind: "odd"}},
		} {
			s := newScript(t).log(TurnStart{1})
			d := Draft{Data: p}
			if surfaceTypes[p.Type()] {
				d = Visible(p)
			}
			s.refuse(what, d)
			ev := d.event(s.seq(), 9000)
			if err := s.f.load(&ev); err == nil {
				t.Errorf("%s: a log that holds it was loaded", what)
			}
		}
		s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("", "c1"))).log(call(1, 1, "c1"))
		odd := resultMsg("c1", "x")
		odd.Source.CallID = "other"
		s.refuse("does not name its call", Visible(ToolResult{Turn: 1, Step: 1, Message: odd}, 4))
		s.refuse("one tool-result block", Visible(ToolResult{Turn: 1, Step: 1, Message: userMsg("x")}, 4))
	})
	t.Run("SE08 unknown block types are kept", func(t *testing.T) {
		line := `{"type":"user/message","seq":0,"time":1,"data":{"role":"user","content":[{"type":"image","id":7,"text":{"a":[1]}},{"id":3,"type":"x"}],"source":{"kind":"user"},"id":"m"},"surfaceOp":"append"}`
		evs, err := decodeLine([]byte(line), 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		out, err := appendEvent(nil, evs[0])
		if err != nil || string(out) != line+"\n" {
			t.Errorf("written back as %s, %v", out, err)
		}
		s := newScript(t)
		if err := s.f.check(&evs[0]); err != nil {
			t.Error(err)
		}
	})
	t.Run("SE11 the surface operation is for surface types", func(t *testing.T) {
		s := newScript(t)
		s.refuse("does not say how", Draft{Data: UserMessage{userMsg("x")}})
		s.refuse("not a surface event", Draft{Data: TurnStart{1}, Surface: &SurfaceOp{}})
		ev := Draft{Data: UserMessage{userMsg("x")}}.event(0, 1)
		if s.f.load(&ev) == nil {
			t.Error("a stored surface event without operation was loaded")
		}
	})
	t.Run("SE13 later changes by the caller are not seen", func(t *testing.T) {
		s := newScript(t).begin(1, "hi").log(textDelta(1, 1, "x"))
		d := reply(1, 1, answerMsg("x"), 3)
		s.add(d)
		d.Sources[0], d.Surface.Replace = 99, true
		got := s.evs[len(s.evs)-1]
		if !slices.Equal(got.Sources, []int{3}) || got.Surface.Replace {
			t.Errorf("the event changed with its draft: %+v", got)
		}
	})
	t.Run("SE24 a refused event commits nothing and the next one works", func(t *testing.T) {
		s := newScript(t).begin(1, "hi")
		s.refuse("cannot start", Draft{Data: StepStart{1, 2}})
		s.refuse("cannot start", user("one"), Draft{Data: TurnStart{2}}) // a batch stands or falls together
		s.add(user("two")).wantTexts("hi", "two")
	})
	t.Run("SE29 the last todo list wins and is no message", func(t *testing.T) {
		s := newScript(t).begin(1, "hi")
		s.log(TodoWrite{[]Todo{{"a", TodoPending}, {"b", TodoPending}}}, TodoWrite{[]Todo{{"a", TodoCompleted}}})
		if got := s.f.state.Todos; len(got) != 1 || got[0] != (Todo{"a", "completed"}) {
			t.Errorf("todos are %v", got)
		}
		s.wantTexts("hi")
		newScript(t).refuse("inside a turn", Draft{Data: TodoWrite{}})
	})
	t.Run("SE31 other events do not touch the messages", func(t *testing.T) {
		s := newScript(t).begin(1, "hi")
		before, _ := s.f.messages()
		s.log(Title{"t"}, header("p", "m"), RequestContext{Provider: "p", Model: "m"}, textDelta(1, 1, "x"), EndSeed{}, PolicyPreset{"ask"})
		after, generation := s.f.messages()
		if !slices.Equal(before, after) || generation != 0 {
			t.Error("the messages changed")
		}
	})
	t.Run("SE33 the last header wins", func(t *testing.T) {
		s := newScript(t).log(TurnStart{1}, header("p", "m"), Title{"x"})
		second := header("p", "m2")
		second.Reason = "change"
		s.log(second, Title{"y"})
		if st := s.f.state; st.Header.Config.Model != "m2" || st.HeaderSeq != 3 {
			t.Errorf("header %v of event %d is in force", st.Header, st.HeaderSeq)
		}
	})
}

func TestSE01EventsAreContiguous(t *testing.T) {
	t.Parallel()
	s := newScript(t).log(TurnStart{1}, Title{"a"})
	for _, seq := range []int{0, 1, 3} {
		ev := Draft{Data: Title{"b"}}.event(seq, 5000)
		if err := s.f.check(&ev); err == nil || !strings.Contains(err.Error(), "event 2 is next") {
			t.Errorf("seq %d after two events: %v", seq, err)
		}
	}
	s.f.holes = true // superseded chunks were skipped
	ev := Draft{Data: Title{"b"}}.event(3, 5000)
	if err := s.f.load(&ev); err != nil {
		t.Errorf("a hole that the loader made: %v", err)
	}
	ev = Draft{Data: Title{"b"}}.event(3, 5000)
	if s.f.load(&ev) == nil {
		t.Error("the same seq was taken twice")
	}
}

func TestRQ15ContextLastOneHolds(t *testing.T) {
	t.Parallel()
	window := 128000
	s := newScript(t).log(TurnStart{1}, RequestContext{Provider: "p", Model: "m", ContextWindow: &window})
	if c := s.f.state.Context; c == nil || *c.ContextWindow != window {
		t.Errorf("context is %+v", c)
	}
	s.log(RequestContext{Provider: "p", Model: "other"})
	if c := s.f.state.Context; c.Model != "other" || c.ContextWindow != nil {
		t.Errorf("an unknown capacity left %+v", c)
	}
	newScript(t).refuse("inside a turn", Draft{Data: RequestContext{Provider: "p"}})
}

// TestIV: the checks are one state machine, and it is as good after a replay.
func TestIV(t *testing.T) {
	t.Parallel()
	t.Run("IV02 a veto later in a batch advances nothing", func(t *testing.T) {
		s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("", "c1", "c2"))).log(call(1, 1, "c1"))
		s.refuse("no call in this step", result(1, 1, "c1", "x", 4), result(1, 1, "c9", "y", 4))
		s.refuse("is in the inbox already", Draft{Data: queue(NextTurn, "a")}, Draft{Data: queue(NextStep, "a")})
		s.add(result(1, 1, "c1", "x", 4))
	})
	t.Run("IV03 replay rebuilds the state, sessions are independent", func(t *testing.T) {
		a, b := newScript(t).begin(1, "hi"), newScript(t)
		a.log(queue(NextTurn, "later")).add(reply(1, 1, answerMsg("", "c1"))).log(allow("c1"), call(1, 1, "c1"))
		again := *a
		again.f = a.replay()
		if again.sight() != a.sight() {
			t.Errorf("live and replayed differ:\n%s\n%s", a.sight(), again.sight())
		}
		again.refuse("has no result", Draft{Data: StepEnd{1, 1}})
		b.begin(1, "other")
		b.wantTexts("other")
	})
}
