package session

import (
	"testing"
	"time"

	"dsh/internal/llm"
)

// The model that the user chose is not the one that a turn fell back to, unless it was
// chosen since.
func TestStateKnowsTheChosenModel(t *testing.T) {
	t.Parallel()
	header := func(model string) RequestHeader {
		return RequestHeader{Header: llm.Header{Config: llm.Config{Provider: "p", Model: model}}}
	}
	fallback := Retry{Mode: ModeFallback}
	var s State
	check := func(want string, payloads ...Payload) {
		t.Helper()
		feed(&s, time.Unix(0, 0), payloads...)
		if s.Chosen == nil || s.Chosen.Config.Model != want {
			t.Errorf("chosen is %+v, want %s", s.Chosen, want)
		}
	}
	check("a", TurnStart{1}, header("a"), StepStart{1, 1}, RequestSent{})
	check("a", fallback, header("b"), RequestSent{}, AssistantMessage{}, StepStart{1, 2}, RequestSent{}, TurnEnd{})
	check("a", RequestSent{Aside: &Aside{}})
	check("a", TurnStart{2}, header("a"), RequestSent{}, fallback, header("b"), RequestSent{})
	check("c", header("c"), RequestSent{})
	check("c", fallback, header("b"), RequestSent{}, fallback, header("d"), RequestSent{}, TurnEnd{})
	check("d", TurnStart{3}, RequestSent{})
}
