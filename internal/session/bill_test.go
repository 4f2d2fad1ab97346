package session

import (
	"testing"
	"time"

	"dsh/internal/llm"
)

// feed applies payloads to a state, each at its time.
func feed(s *State, at time.Time, payloads ...Payload) {
	for _, p := range payloads {
		s.apply(&Event{Seq: s.Events, Time: at.UnixMilli(), Data: p, Surface: &SurfaceOp{}})
	}
}

func answerOf(provider, model string, u *llm.Usage) AssistantMessage {
	return AssistantMessage{Turn: 1, Step: 1, Message: llm.Message{Role: llm.Assistant, Source: llm.Source{Kind: llm.FromModel, Provider: provider, Model: model}}, Usage: u}
}

// A request costs what its model cost when it was sent, not when its answer came; a
// summary is on the bill of the session and, between turns, on no turn's.
func TestStateBillsByModelAndTime(t *testing.T) {
	t.Parallel()
	offPeak := time.Date(2026, 11, 2, 0, 59, 50, 0, time.UTC)
	peak := offPeak.Add(time.Minute)
	u := &llm.Usage{OutputTokens: 1000}
	var s State
	feed(&s, offPeak, TurnStart{1}, RequestHeader{Header: llm.Header{Config: llm.Config{Provider: "deepseek", Model: "deepseek-flash"}}}, StepStart{1, 1}, RequestSent{})
	feed(&s, peak, answerOf("deepseek", "deepseek-flash", u))
	if s.Bill.Nano != 600_000 || s.ThisTurn.Bill.Nano != 600_000 {
		t.Errorf("the bill is %+v, the turn's %+v", s.Bill, s.ThisTurn.Bill)
	}
	feed(&s, peak, RequestSent{}, answerOf("", "", u)) // a foreign log may not name the model
	if s.Bill.Nano != 1_800_000 {
		t.Errorf("at peak the bill is %+v", s.Bill)
	}
	feed(&s, peak, TurnEnd{1, EndReason{Kind: Completed}}, RequestSent{Aside: &Aside{}}, CompactionSummary{LLMStreamCall: true, Provider: "deepseek", Model: "deepseek-flash", Usage: u})
	if s.Bill.Nano != 3_000_000 || s.Bill.Answers != 3 || s.ThisTurn.Bill.Nano != 1_800_000 {
		t.Errorf("with the summary the bill is %+v, the turn's %+v", s.Bill, s.ThisTurn.Bill)
	}
	feed(&s, peak, CompactionSummary{}) // that no model made
	feed(&s, peak, TurnStart{2}, answerOf("deepseek", "deepseek-flash", nil))
	if s.Bill.Answers != 4 || s.Bill.String() != "n/a" || s.ThisTurn.Bill != (llm.Bill{Answers: 1, Unknown: 1}) {
		t.Errorf("with an answer that nobody counted the bill is %+v, the turn's %+v", s.Bill, s.ThisTurn.Bill)
	}
}

func TestContextUse(t *testing.T) {
	t.Parallel()
	window, read, written := 1000, 700, 40
	var s State
	check := func(what string, used, percent int, known bool) {
		t.Helper()
		got, ok := s.InUse.Percent()
		if s.InUse.Used != used || got != percent || ok != known {
			t.Errorf("%s: %+v, %d%% (%v)", what, s.InUse, got, ok)
		}
	}
	now := time.Unix(0, 0)
	check("at first", 0, 0, false)
	feed(&s, now, RequestContext{ContextWindow: &window})
	check("before the first answer", 0, 0, false)
	feed(&s, now, answerOf("p", "m", &llm.Usage{InputTokens: 10, OutputTokens: 9, CacheReadTokens: &read, CacheWriteTokens: &written}))
	check("all parts of it", 759, 75, true)
	feed(&s, now, answerOf("p", "m", nil), answerOf("p", "m", &llm.Usage{}))
	check("what nobody counted changes nothing", 759, 75, true)
	feed(&s, now, CompactionSummary{ShadowedTokenCount: 600})
	check("what was compacted is gone", 159, 15, true)
	feed(&s, now, RequestContext{Model: "of unknown window"})
	check("another model", 159, 0, false)
}
