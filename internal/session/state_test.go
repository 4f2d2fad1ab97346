package session

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"dsh/internal/llm"
)

func TestStateFoldsTheLog(t *testing.T) {
	t.Parallel()
	cached := 2
	s := newScript(t).log(PolicyPreset{"ask"}, Title{"old"}, Title{"new"}).begin(1, "hi").log(header("p", "m"))
	s.log(RequestSent{Turn: 1, Step: 1, Attempt: 1})
	m := answerMsg("", "c1", "c2")
	s.add(Visible(AssistantMessage{Turn: 1, Step: 1, Message: m, Usage: &llm.Usage{InputTokens: 10, OutputTokens: 4, CacheReadTokens: &cached}}))
	one := s.seq()
	s.log(call(1, 1, "c1"), allow("c1"), call(1, 1, "c2"), PolicyDecision{CallID: "c2", Decision: Deny})
	meta := func(v any) json.RawMessage {
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	seen := ResultMeta{Seen: []FileVersion{{Path: "/w/a", SHA256: "1"}, {Path: "/w/b", Absent: true}}}
	no := ResultMeta{Refused: &Refusal{Tool: "read", Reason: "no"}}
	s.add(Visible(ToolResult{Turn: 1, Step: 1, Message: resultMsg("c1", "x"), Meta: meta(seen)}, one))
	s.log(WorkspaceChanged{"/w/a", "c1"}, WorkspaceChanged{"/w/b", "c1"}, WorkspaceChanged{"/w/a", "c1"})
	s.add(Visible(ToolResult{Turn: 1, Step: 1, Message: resultMsg("c2", "y"), Meta: meta(no), Error: &ToolError{"E", "DENIED"}}, one+2))
	shorter := Visible(ToolResult{Turn: 1, Step: 1, Message: resultMsg("c2", "short"), Meta: meta(no), Error: &ToolError{"E", "DENIED"}}, s.seq()-1)
	*shorter.Surface = SurfaceOp{Replace: true, Start: s.seq() - 1, End: s.seq() - 1}
	s.add(shorter) // pruned, not refused again
	s.log(PolicyRule{"session", "bash(ls)", Allow}, TurnBudget{Turn: 1, Kind: "steps", Limit: 5, Used: 4}, StepEnd{1, 1}, StepStart{1, 2})

	got := s.f.state.clone()
	if got.Title != "new" || got.Preset != "ask" || got.LastTool != "read" || got.Header.Config.Model != "m" {
		t.Errorf("settings are %+v", got)
	}
	if !got.TurnOpen || !got.StepOpen || got.Turn != 1 || got.Step != 2 || got.LastEnd != nil {
		t.Errorf("place is %+v", got)
	}
	if got.Requests != 1 || got.Steps != 2 || got.Calls != 2 || got.ThisTurn.Steps != 2 || got.ThisTurn.Calls != 2 || got.Attempts != 0 {
		t.Errorf("counters are %+v", got)
	}
	want := llm.Usage{InputTokens: 10, OutputTokens: 4, CacheReadTokens: &cached}
	if !reflect.DeepEqual(got.Usage, want) || !reflect.DeepEqual(got.Models, map[string]llm.Usage{"m": want}) || !reflect.DeepEqual(got.ThisTurn.Usage, want) {
		t.Errorf("usage is %+v, by model %+v", got.Usage, got.Models)
	}
	if !slices.Equal(got.Changed, []string{"/w/a", "/w/b"}) || got.Seen["/w/a"].SHA256 != "1" || !got.Seen["/w/b"].Absent {
		t.Errorf("changed %v, seen %v", got.Changed, got.Seen)
	}
	if len(got.Refused) != 1 || got.Refused[0].Reason != "no" || len(got.Rules) != 1 || len(got.ThisTurn.Warned) != 1 {
		t.Errorf("refused %v, rules %v, warned %v", got.Refused, got.Rules, got.ThisTurn.Warned)
	}
	s.log(StepEnd{1, 2}, TurnEnd{1, EndReason{Kind: Completed}}, TurnStart{2}, WorkspaceChanged{"/w/c", "x"}, PolicyRule{"session", "x", Deny})
	if len(got.Changed) != 2 || len(got.Rules) != 1 || got.LastEnd != nil {
		t.Error("a copy changed with the state")
	}
	now := s.f.state
	if now.LastEnd.Kind != Completed || now.ThisTurn.Steps != 0 || now.Steps != 2 || now.Usage.OutputTokens != 4 {
		t.Errorf("the next turn begins with %+v", now)
	}
}

func TestStateRetriesAreOfTheOpenStep(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi").log(RequestSent{Turn: 1, Step: 1, Attempt: 1},
		Retry{RetryID: "r", Turn: 1, Step: 1, Retry: 1}, RetryStarted{"r", 1, 1, 1}, RequestSent{Turn: 1, Step: 1, Attempt: 2})
	if st := s.f.state; st.Retries != 1 || st.Attempts != 2 || st.Requests != 2 {
		t.Errorf("retries %d, attempts %d, requests %d", st.Retries, st.Attempts, st.Requests)
	}
	s.log(StepEnd{1, 1}, StepStart{1, 2})
	if st := s.f.state; st.Retries != 0 || st.Attempts != 0 || st.Requests != 2 {
		t.Errorf("in the next step: retries %d, attempts %d, requests %d", st.Retries, st.Attempts, st.Requests)
	}
}
