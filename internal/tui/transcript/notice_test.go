package transcript

import (
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

func TestACompactionSaysWhatItCameTo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		used int
		want string
	}{"counted": {812_000, "Compacted · 812k to ~64k tok"}, "nobody counted": {0, "Compacted"}} {
		var p Projection
		for i, data := range []session.Payload{
			session.AssistantMessage{Usage: &llm.Usage{InputTokens: c.used}}, session.CompactionStart{CompactionID: "k"},
			session.CompactionSummary{CompactionID: "k", ShadowedTokenCount: 748_000}, session.CompactionEnd{CompactionID: "k"},
		} {
			p.Apply(session.Event{Seq: i, Type: data.Type(), Data: data})
		}
		blocks := p.Blocks()
		if got := blocks[len(blocks)-1].Text; got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
