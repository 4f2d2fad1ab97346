package session

import (
	"testing"

	"dsh/internal/llm"
)

func TestContextUseIsWhatTheProviderCountedLast(t *testing.T) {
	t.Parallel()
	var use ContextUse
	if _, ok := use.Percent(); ok {
		t.Error("nothing was counted")
	}
	window, cached := 1000, 300
	for _, data := range []Payload{
		RequestContext{ContextWindow: &window},
		AssistantMessage{Usage: &llm.Usage{InputTokens: 400, CacheReadTokens: &cached, OutputTokens: 100}},
		AssistantMessage{}, // a provider that did not count says nothing
	} {
		use.Apply(&Event{Data: data})
	}
	if percent, ok := use.Percent(); !ok || percent != 80 {
		t.Errorf("%d%%, %v", percent, ok)
	}
	use.Apply(&Event{Data: CompactionSummary{ShadowedTokenCount: 500}})
	if percent, ok := use.Percent(); !ok || percent != 30 {
		t.Errorf("after a compaction: %d%%, %v", percent, ok)
	}
	use.Apply(&Event{Data: RequestContext{}})
	if _, ok := use.Percent(); ok {
		t.Error("the window of this model is not known")
	}
}
