package loop

import (
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func resultOf(blocks ...llm.Block) *session.ToolResult {
	return &session.ToolResult{Turn: 1, Step: 1, Message: llm.Message{Role: llm.User, ID: "r",
		Source:  llm.Source{Kind: llm.FromTool, CallID: "c"},
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: "c", IsError: true, Content: blocks}}}}
}

func TestPR01ALongTextKeepsHeadAndTail(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 4000) + strings.Repeat("日", 5000) + strings.Repeat("😀", 1000) + "end"
	image := llm.Block{Type: "image", Raw: []byte(`{"type":"image"}`)}
	before := resultOf(llm.TextBlock("short"), llm.TextBlock(long), image, llm.TextBlock("last"))
	after, pruned := pruneResult(before)
	expect(t, "pruned", pruned, true)
	blocks := after.Message.Content[0].Content
	expect(t, "the others", []string{blocks[0].Text, string(blocks[2].Raw), blocks[3].Text}, []string{"short", `{"type":"image"}`, "last"})
	got := blocks[1].Text
	if !utf8.ValidString(got) || !strings.HasPrefix(got, long[:4000]+strings.Repeat("日", 96)+"\n[…") || !strings.HasSuffix(got, strings.Repeat("😀", 1000)+"end") {
		t.Errorf("cut to %q", got)
	}
	mustContain(t, "the marker", got, "4883 characters were left out")
	expect(t, "the original", before.Message.Content[0].Content[1].Text == long, true)
}

func TestPR02WithinTheLimitNothingChanges(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", strings.Repeat("日", pruneOver)} {
		if _, pruned := pruneResult(resultOf(llm.TextBlock(text))); pruned {
			t.Errorf("a text of %d characters was pruned", utf8.RuneCountInString(text))
		}
	}
	once, _ := pruneResult(resultOf(llm.TextBlock(strings.Repeat("x", 100_000))))
	if _, pruned := pruneResult(&once); pruned {
		t.Error("what was pruned was pruned again")
	}
}

func TestPR03APruneIsLoggedAndReplayed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		body := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: words(3000), IsError: true, Code: "EXIT"}, nil
		}}
		f := newFixture(t, []play{call("probe", "{}"), fail(tooLong), say("done")}, with(body))
		f.prompt("go")
		events := f.events()
		for i, ev := range events {
			if ev.Surface == nil || !ev.Surface.Replace {
				continue
			}
			record := events[i-1].Data.(session.CompactionPrune)
			old := events[record.ShadowedSeqs[0]].Data.(session.ToolResult)
			now := ev.Data.(session.ToolResult)
			expect(t, "cites", ev.Sources, []int{record.ShadowedSeqs[0], events[i-1].Seq})
			expect(t, "its call, error and place", []any{now.Message.ID, now.Message.Source, *now.Error, now.Turn, now.Step}, []any{old.Message.ID, old.Message.Source, *old.Error, old.Turn, old.Step})
		}
		expect(t, "compactions", f.brackets(), "prune")
		live, _ := f.log.Messages()
		g := f.reopen(nil)
		again, _ := g.log.Messages()
		expect(t, "messages", encodeAll(t, again), encodeAll(t, live))
	})
}
