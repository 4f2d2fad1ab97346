package session

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// crash repairs the log as a loader does, and returns what repair added, in short.
func (s *script) crash() []string {
	s.t.Helper()
	f := s.replay()
	drafts := closers(f)
	if again := closers(s.replay()); !reflect.DeepEqual(drafts, again) {
		s.t.Errorf("two repairs differ:\n%+v\n%+v", drafts, again)
	}
	from := len(s.evs)
	s.add(drafts...)
	if more := closers(s.f); len(more) > 0 {
		s.t.Errorf("the repaired log needs %+v", more)
	}
	if err := Check(s.h, slices.Values(s.evs)); err != nil {
		s.t.Errorf("the repaired log is invalid: %v", err)
	}
	var short []string
	for _, ev := range s.evs[from:] {
		short = append(short, brief(&ev))
	}
	return short
}

func brief(ev *Event) string {
	switch p := ev.Data.(type) {
	case ToolResult:
		return strings.Join([]string{"result", p.Message.Source.CallID, p.Error.Name, p.Error.Code}, " ")
	case TurnEnd:
		return "turn/end " + string(p.Reason.Kind)
	case AssistantMessage:
		text := "assistant/message"
		for _, b := range p.Message.Content {
			text += " " + string(b.Type) + ":" + b.Text
		}
		return text
	case InboxSpliced:
		return "requeue " + string(p.Target) + " " + texts(p.Inserted)
	case InboxHeld:
		return "held " + strings.Join(p.IDs, " ")
	}
	return string(ev.Type)
}

func (s *script) wantRepair(want ...string) {
	s.t.Helper()
	if got := s.crash(); !slices.Equal(got, want) {
		s.t.Errorf("repair added\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

const (
	notStarted = "ToolNotStartedError TOOL_NOT_STARTED"
	outcome    = "ToolOutcomeUnknownError TOOL_OUTCOME_UNKNOWN"
)

func TestRP(t *testing.T) {
	t.Parallel()
	calls := func(t *testing.T, ids ...string) *script {
		return newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("", ids...)))
	}
	t.Run("RP01 a balanced log needs nothing", func(t *testing.T) {
		newScript(t).wantRepair()
		newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("x"))).finish(1, 1).wantRepair()
	})
	t.Run("RP02 an open turn is ended", func(t *testing.T) {
		newScript(t).log(TurnStart{1}).wantRepair("turn/end interrupted")
		newScript(t).begin(1, "hi").wantRepair("step/end", "turn/end interrupted")
	})
	t.Run("RP04 a call that was not taken up was not started", func(t *testing.T) {
		s := calls(t, "c1", "c2")
		s.wantRepair("result c1 "+notStarted, "result c2 "+notStarted, "step/end", "turn/end interrupted")
		if s.evs[4].Sources != nil {
			t.Errorf("the result cites %v", s.evs[4].Sources)
		}
	})
	t.Run("RP04 nor was a call that policy did not allow", func(t *testing.T) {
		s := calls(t, "c1", "c2", "c3", "c4").log(call(1, 1, "c1"), allow("c1"), call(1, 1, "c2"), PolicyDecision{CallID: "c2", Decision: Ask},
			ApprovalAsked{ID: "q", CallID: "c2"}, ApprovalDecided{"q", allowedOnce},
			call(1, 1, "c3"), PolicyDecision{CallID: "c3", Decision: Ask}, ApprovalAsked{ID: "q2", CallID: "c3"}, call(1, 1, "c4"))
		s.wantRepair("result c1 "+outcome, "result c2 "+outcome, "result c3 "+notStarted, "result c4 "+notStarted, "step/end", "turn/end interrupted")
		if got := s.evs[len(s.evs)-3].Sources; !slices.Equal(got, []int{13}) {
			t.Errorf("the result of c4 cites %v", got)
		}
	})
	t.Run("RP05 a call that ran has an unknown outcome", func(t *testing.T) {
		s := calls(t, "c1", "c2").log(call(1, 1, "c1")) // a log without decisions
		s.wantRepair("result c1 "+outcome, "result c2 "+notStarted, "step/end", "turn/end interrupted")
		if got := s.evs[5].Sources; !slices.Equal(got, []int{4}) {
			t.Errorf("the result cites %v, not its call", got)
		}
		text := s.texts()[2]
		for _, want := range []string{"c1=Error: ", "unknown", "read-only or idempotent", "ask the user"} {
			if !strings.Contains(text, want) {
				t.Errorf("the model is told %q, want %q in it", text, want)
			}
		}
	})
	t.Run("RP06 an answered call gets no second result", func(t *testing.T) {
		s := calls(t, "c1", "c2").log(call(1, 1, "c1"), call(1, 1, "c2")).add(result(1, 1, "c1", "x", 4))
		s.wantRepair("result c2 "+outcome, "step/end", "turn/end interrupted")
	})
	t.Run("RP07 calls of a closed step are left alone", func(t *testing.T) {
		calls(t, "c1").log(StepEnd{1, 1}).wantRepair("turn/end interrupted")
	})
	t.Run("RP08 so are those of an earlier turn", func(t *testing.T) {
		calls(t, "c1").finish(1, 1).log(TurnStart{2}, StepStart{2, 1}).wantRepair("step/end", "turn/end interrupted")
	})
	t.Run("RP10 a tool/call of no message is ignored", func(t *testing.T) {
		s := newScript(t).begin(1, "hi")
		ev := Draft{Data: call(1, 1, "stray")}.event(3, 5000)
		if err := s.f.load(&ev); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range closers(s.f) {
			ev := d.event(0, 0)
			got = append(got, brief(&ev))
		}
		if !slices.Equal(got, []string{"step/end", "turn/end interrupted"}) {
			t.Errorf("closers are %v", got)
		}
	})
	t.Run("RP11 repair is the same every time", func(t *testing.T) {
		s := calls(t, "c1")
		twin := *s
		twin.f, twin.evs = s.replay(), slices.Clone(s.evs)
		s.crash()
		twin.crash()
		if !reflect.DeepEqual(s.evs, twin.evs) {
			t.Error("two repairs of one log differ")
		}
		for i, ev := range s.evs {
			if ev.Seq != i {
				t.Errorf("event %d has seq %d", i, ev.Seq)
			}
		}
		if id := s.evs[4].Data.(ToolResult).Message.ID; id != "result-1.1-c1" {
			t.Errorf("the result's id is %q", id)
		}
	})
}

func TestRPStreamedTextIsKept(t *testing.T) {
	t.Parallel()
	chunk := func(c llm.Chunk) AssistantChunk { return AssistantChunk{1, 1, c} }
	start := func(i int, k llm.BlockType) AssistantChunk {
		return chunk(llm.Chunk{Type: llm.BlockStart, Index: i, BlockType: k})
	}
	text := func(i int, s string) AssistantChunk {
		return chunk(llm.Chunk{Type: llm.TextDelta, Index: i, Text: s})
	}
	usage := chunk(llm.Chunk{Type: llm.UsageChunk, Usage: &llm.Usage{InputTokens: 3}})
	finish := func(k llm.FinishKind) AssistantChunk {
		return chunk(llm.Chunk{Type: llm.FinishChunk, Reason: &llm.Finish{Kind: k, Failure: &llm.Failure{}}})
	}
	think := chunk(llm.Chunk{Type: llm.ReasoningDelta, Index: 0, Text: "hm"})
	end := []string{"step/end", "turn/end interrupted"}
	retry := Retry{RetryID: "r", Turn: 1, Step: 1, Provider: "p", Retry: 1}
	for name, c := range map[string]struct {
		log  []Payload
		want string
	}{
		"text and reasoning": {[]Payload{start(0, llm.Reasoning), think, start(1, llm.Text), text(1, "he"), text(1, "llo"), usage}, "assistant/message reasoning:hm text:hello"},
		"a closed block":     {[]Payload{start(0, llm.Text), text(0, "he"), chunk(llm.Chunk{Type: llm.BlockEnd, Block: &llm.Block{Type: llm.Text, Text: "hello"}})}, "assistant/message text:hello"},
		"calls are left out": {[]Payload{start(0, llm.ToolCall), chunk(llm.Chunk{Type: llm.ToolCallDelta, ID: "c", ArgumentsDelta: "{"}), text(1, "x")}, "assistant/message text:x"},
		"a whole answer":     {[]Payload{text(0, "all"), finish(llm.Stop)}, "assistant/message text:all"},
		"blank":              {[]Payload{start(0, llm.Text), text(0, " \n")}, ""},
		"a failed attempt":   {[]Payload{text(0, "old"), finish(llm.Failed)}, ""},
		"a wait for a retry": {[]Payload{text(0, "old"), retry}, ""},
		"the last attempt":   {[]Payload{text(0, "old"), retry, RetryStarted{"r", 1, 1, 1}, text(0, "new")}, "assistant/message text:new"},
		"a request sent again": {[]Payload{RequestSent{Turn: 1, Step: 1, Attempt: 1}, text(0, "old"), RequestSent{Turn: 1, Step: 1, Attempt: 1}, text(0, "new")},
			"assistant/message text:new"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t).begin(1, "hi").log(header("p", "m")).log(c.log...)
			want := end
			if c.want != "" {
				want = append([]string{c.want}, end...)
			}
			at := s.seq()
			s.wantRepair(want...)
			m, ok := s.evs[at].Data.(AssistantMessage)
			if ok != (c.want != "") {
				t.Fatalf("repair began with %+v", s.evs[at])
			}
			if ok && (!m.Interrupted || m.Message.Source.Model != "m" || (m.Usage != nil) != (name == "text and reasoning")) {
				t.Errorf("the message is %+v", m)
			}
		})
	}
	s := newScript(t).begin(1, "hi").log(text(0, "x")).add(reply(1, 1, answerMsg("x"), 3))
	s.wantRepair(end...)
}

func TestRPClaimedInputIsNotLost(t *testing.T) {
	t.Parallel()
	claimed := func() *script {
		s := newScript(t).log(queue(NextStep, "s1"), queue(NextTurn, "t1", "t2"), TurnStart{1})
		_, list := s.f.inbox.Claim(NextTurn)
		return s.splice(list...)
	}
	s := claimed()
	s.wantRepair("turn/end interrupted", "requeue next-step s1", "requeue next-turn t1", "held m-s1 m-t1 m-t2")
	s.wantWaits("(s1) | (t1) (t2)")

	s = claimed().log(StepStart{1, 1}).add(Visible(UserMessage{userMsg("s1")}))
	s.wantRepair("step/end", "turn/end interrupted", "requeue next-turn t1", "held m-t1 m-t2")
	s.wantWaits(" | (t1) (t2)")

	s = claimed().log(StepStart{1, 1}).add(Visible(UserMessage{userMsg("both")})).log(header("p", "m"), RequestSent{Turn: 1, Step: 1, Attempt: 1})
	s.wantRepair("step/end", "turn/end interrupted", "held m-t2") // an extension had rewritten the batch

	s = claimed().log(TurnEnd{1, EndReason{Kind: Blocked}})
	s.wantRepair("held m-t2") // rejected is not lost by a crash
	s.log(InboxHeld{[]string{"m-t2"}, false}, queue(NextStep, "new"))
	s.wantRepair("held m-new m-t2")
	s.wantRepair()
}

func TestPairOnLiveExits(t *testing.T) {
	t.Parallel()
	open := func() *script {
		s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("", "c1", "c2", "c3")))
		return s.log(call(1, 1, "c1"), allow("c1"), call(1, 1, "c2"))
	}
	for _, c := range []struct {
		why  Why
		want []string
	}{
		{Cancelled, []string{"result c1 AbortError ABORTED", "result c2 AbortError ABORTED_BEFORE_DISPATCH", "tool/call", "result c3 AbortError ABORTED_BEFORE_DISPATCH"}},
		{Broken, []string{"result c1 " + outcome, "result c2 " + notStarted, "tool/call", "result c3 " + notStarted}},
	} {
		s := open()
		o, ok := s.f.openStep()
		if !ok {
			t.Fatal("no step is open")
		}
		from := s.seq()
		s.add(Pair(o, c.why)...)
		var got []string
		for _, ev := range s.evs[from:] {
			got = append(got, brief(&ev))
			if r, ok := ev.Data.(ToolResult); ok && (!strings.HasPrefix(r.Message.Content[0].Content[0].Text, "Error: ") || !r.Message.Content[0].IsError) {
				t.Errorf("the result of %s does not read as an error", r.Message.Source.CallID)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("paired\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if last := s.evs[len(s.evs)-1]; !slices.Equal(last.Sources, []int{last.Seq - 1}) {
			t.Errorf("the last result cites %v, not the call before it", last.Sources)
		}
		s.finish(1, 1)
		if _, ok := s.f.openStep(); ok {
			t.Error("a closed step is open")
		}
	}
}

func TestB08CancelledCallsSayTheUserMeantIt(t *testing.T) {
	t.Parallel()
	o := OpenStep{Turn: 1, Step: 1, Decided: true, Calls: []OpenCall{{ID: "ran", CallSeq: 3, Allowed: true}, {ID: "not", CallSeq: 4}}}
	var text []string
	for _, d := range Pair(o, Cancelled) {
		if r, ok := d.Data.(ToolResult); ok {
			text = append(text, r.Message.Content[0].Content[0].Text)
		}
	}
	if len(text) != 2 || text[0] == text[1] {
		t.Fatalf("the texts are %q", text)
	}
	for i, want := range []string{"while this call was running", "before this call had started"} {
		for _, want := range []string{want, "user interrupted the turn on purpose", "Do not ask for it again unless the user wants it"} {
			if !strings.Contains(text[i], want) {
				t.Errorf("%q does not say %q", text[i], want)
			}
		}
		if strings.Contains(text[i], "denied") || strings.Contains(text[i], "permission") {
			t.Errorf("%q reads as a refusal", text[i])
		}
	}
}

// Whatever loads can be repaired and continued, however odd its writer was.
func TestRPWhateverLoadsCanBeContinued(t *testing.T) {
	t.Parallel()
	loaded, odd := 0, 0
	for seed := range uint64(400) {
		s := randomLog(t, seed%50, 100)
		r := rand.New(rand.NewPCG(seed, 3))
		f := newFold(s.h)
		f.holes = true
		next := 0
		for i := range s.evs {
			ev := s.evs[i]
			switch r.IntN(12) {
			case 0:
				continue // lost
			case 1:
				ev = s.evs[r.IntN(len(s.evs))] // another in its place
				odd++
			case 2:
				otherPlace(&ev)
			}
			ev.Seq = next
			if f.load(&ev) == nil {
				next++
				loaded++
			}
		}
		evs := make([]Event, 0, 20)
		for i, d := range append(closers(f), Draft{Data: EndSeed{}}) {
			evs = append(evs, d.event(next+i, 1<<40))
		}
		evs = append(evs, Draft{Data: TurnStart{f.state.Turn + 1}}.event(next+len(evs), 1<<40))
		if err := f.checkAll(evs); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
	if loaded < 1000 || odd < 1000 {
		t.Errorf("loaded %d events, %d of them odd: too few to mean anything", loaded, odd)
	}
}

func TestRPDuplicateCallIdsOfOtherWriters(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi")
	ev := reply(1, 1, answerMsg("", "c", "c")).event(3, 5000)
	if err := s.f.load(&ev); err != nil {
		t.Fatal(err)
	}
	s.evs = append(s.evs, ev)
	drafts := closers(s.f)
	if len(drafts) != 3 {
		t.Errorf("closers are %+v, want one result and the two ends", drafts)
	}
	s.add(drafts...)
}
