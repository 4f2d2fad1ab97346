package export

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// present is a card that does not know any tool.
func present(name, args string, r *session.ToolResult) session.Display {
	d := session.Display{Kind: session.ShowCommand, Verb: name, Target: args}
	if r != nil {
		if m, ok := session.DecodeMeta(r.Meta); ok {
			d = *m.Display
		}
	}
	return d
}

func message(role llm.Role, kind, id string, blocks ...llm.Block) llm.Message {
	return llm.Message{Role: role, ID: id, Source: llm.Source{Kind: kind, Provider: "deepseek", Model: "deepseek-flash"}, Content: blocks}
}

func resultOf(call, text string, meta *session.Display) session.ToolResult {
	r := session.ToolResult{Turn: 1, Step: 1, Message: llm.Message{Role: llm.User, ID: "r-" + call, Source: llm.Source{Kind: llm.FromTool, CallID: call},
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: call, Content: []llm.Block{llm.TextBlock(text)}}}}}
	if meta != nil {
		r.Meta, _ = json.Marshal(session.ResultMeta{Display: meta})
	}
	return r
}

// hostile is a turn in which everything tries to break out of its place.
func hostile(t *testing.T) *session.Snapshot {
	t.Helper()
	l, err := session.Create(t.TempDir(), session.Header{Cwd: "/home/me/`pro`ject", CreatedAt: 1700000000000})
	if err != nil {
		t.Fatal(err)
	}
	input, output := 1000, 20
	out := "ok\n````\n# Not a heading\n\x1b]0;owned\a" + strings.Repeat("\nline", 100)
	diff := session.Display{Kind: session.ShowDiff, Verb: "Edit", Target: "a`b.go", Facts: []string{"+1 -1"}, Diffs: []session.FileDiff{
		{Path: "a.go", Hunks: []session.Hunk{{OldStart: 3, NewStart: 3, Lines: []string{" x", "-```", "+~~~\tz"}}}}}}
	answer := session.AssistantMessage{Turn: 1, Step: 1, Usage: &llm.Usage{InputTokens: input, OutputTokens: output},
		Message: message(llm.Assistant, llm.FromModel, "a1",
			llm.Block{Type: llm.Reasoning, Text: "thinking"}, llm.TextBlock("# A heading\n```go\nnever closed"),
			llm.Block{Type: llm.ToolCall, ID: "c1", Name: "run", Arguments: "ls"}, llm.Block{Type: llm.ToolCall, ID: "c2", Name: "edit", Arguments: "{}"})}
	drafts := []session.Draft{
		{Data: session.TurnStart{Turn: 1}}, {Data: session.StepStart{Turn: 1, Step: 1}},
		session.Visible(session.UserMessage{Message: message(llm.User, llm.FromUser, "u1", llm.TextBlock("do it\r\n\r\n```\n</details>\u202e"))}),
		session.Visible(session.UserMessage{Message: message(llm.User, llm.FromPlugin, "u2", llm.TextBlock("<environment>"))}),
		session.Visible(answer),
		{Data: session.ToolCall{Turn: 1, Step: 1, CallID: "c1", Name: "run", Arguments: "ls"}},
		{Data: session.ToolCall{Turn: 1, Step: 1, CallID: "c2", Name: "edit", Arguments: "{}"}},
	}
	var call int
	for _, d := range drafts {
		evs, err := l.Append(d)
		if err != nil {
			t.Fatal(err)
		}
		call = evs[0].Seq
	}
	for i, r := range []session.ToolResult{resultOf("c1", out, nil), resultOf("c2", "done", &diff)} {
		if _, err := l.Append(session.Visible(r, call-1+i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Append(session.Draft{Data: session.StepEnd{Turn: 1, Step: 1}},
		session.Draft{Data: session.TurnEnd{Turn: 1, Reason: session.EndReason{Kind: session.Completed}}}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := session.Read(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestMarkdownKeepsEverythingInItsPlace(t *testing.T) {
	t.Parallel()
	var sb strings.Builder
	if err := Markdown(&sb, hostile(t), "A *title* # of mine", present); err != nil {
		t.Fatal(err)
	}
	got := sb.String()
	for _, want := range []string{
		"# A \\*title\\* \\# of mine\n", "- folder: ``/home/me/`pro`ject``\n", "\n## Turn 1\n", "> do it\n>\n> ```\n> </details>",
		"> # A heading\n> ```go\n> never closed\n", "**run** `ls`\n\n`````text\nok\n````\n# Not a heading\n", "[44 lines left out here]",
		"**Edit** ``a`b.go`` · +1 -1\n\n````diff\n--- a/a.go\n+++ b/a.go\n@@ -3,2 +3,2 @@\n x\n-```\n+~~~\tz\n````\n",
		"*Turn 1 completed · 1000 tokens in, 20 out · $0.00",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	if strings.ContainsAny(got, "\x1b\a\r\u202e") || strings.Contains(got, "<environment>") || strings.Contains(got, "thinking") {
		t.Errorf("got\n%s", got)
	}
	// Outside quotes and fences stand only lines of ours.
	fence := ""
	for line := range strings.Lines(got) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case fence != "":
			if line == fence {
				fence = ""
			}
		case strings.HasPrefix(line, "```"):
			fence = strings.TrimRight(line, "abcdefghijklmnopqrstuvwxyz")
		case line == "", strings.HasPrefix(line, ">"), strings.HasPrefix(line, "- "), strings.HasPrefix(line, "*"),
			strings.HasPrefix(line, "# A "), strings.HasPrefix(line, "## Turn"):
		default:
			t.Errorf("%q broke out", line)
		}
	}
	if fence != "" {
		t.Errorf("%s is open at the end", fence)
	}
}

func TestJSONIsOneStableObject(t *testing.T) {
	t.Parallel()
	s := hostile(t)
	var a, b strings.Builder
	if err := JSON(&a, s, "title", present); err != nil {
		t.Fatal(err)
	}
	if err := JSON(&b, s, "title", present); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Error("two exports differ")
	}
	if strings.ContainsAny(a.String(), "\x1b\a\u202e") {
		t.Errorf("a terminal would obey %q", a.String())
	}
	var doc struct {
		Format  string
		Version int
		Session Info
		Items   []Item
	}
	if err := json.Unmarshal([]byte(a.String()), &doc); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for i, item := range doc.Items {
		kinds = append(kinds, string(item.Kind))
		if i > 0 && item.Seq <= doc.Items[i-1].Seq || item.Turn != 1 || item.Time.Before(time.UnixMilli(1700000000000)) {
			t.Errorf("item %+v", item)
		}
	}
	if got := fmt.Sprint(kinds); got != "[prompt note answer call call end]" {
		t.Errorf("items %s", got)
	}
	if doc.Format != Format || doc.Version != Version || doc.Session.Turns != 1 || doc.Session.Title != "title" || doc.Session.Cost == nil {
		t.Errorf("%+v", doc)
	}
	call, end := doc.Items[3].Call, doc.Items[5].End
	if call.Name != "run" || !strings.Contains(call.Result, "\x1b]0;owned\a") || end.Status != "completed" || end.Cost == nil || end.Usage.InputTokens != 1000 {
		t.Errorf("%+v, %+v", call, end)
	}
	if doc.Items[0].Text != "do it\r\n\r\n```\n</details>\u202e" || doc.Items[2].Reasoning != "thinking" {
		t.Errorf("%+v", doc.Items)
	}
}

func TestACallWithoutAResultIsShown(t *testing.T) {
	t.Parallel()
	l, err := session.Create(t.TempDir(), session.Header{Cwd: filepath.Join("/", "w")})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Append(session.Draft{Data: session.TurnStart{Turn: 1}}, session.Draft{Data: session.StepStart{Turn: 1, Step: 1}},
		session.Visible(session.AssistantMessage{Turn: 1, Step: 1, Message: message(llm.Assistant, llm.FromModel, "a", llm.Block{Type: llm.ToolCall, ID: "c", Name: "run", Arguments: "sleep"})})); err != nil {
		t.Fatal(err)
	}
	s, err := session.Read(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	var sb strings.Builder
	if err := Markdown(&sb, s, "", present); err != nil || !strings.Contains(sb.String(), "**run** `sleep` · no result\n") {
		t.Errorf("%v\n%s", err, sb.String())
	}
}
