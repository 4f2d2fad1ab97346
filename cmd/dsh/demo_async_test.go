package main

import (
	"encoding/json"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// told is a note or a prompt that entered the conversation.
func told(text string) session.UserMessage {
	return session.UserMessage{Message: llm.Message{Role: llm.User, Content: []llm.Block{llm.TextBlock(text)}}}
}

func said(text string) session.AssistantMessage {
	return session.AssistantMessage{Message: llm.Message{Role: llm.Assistant, Content: []llm.Block{llm.TextBlock(text)}}}
}

func resulted(call, text string) session.ToolResult {
	return session.ToolResult{Message: llm.Message{Role: llm.User, Source: llm.Source{Kind: llm.FromTool, CallID: call},
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: call, Content: []llm.Block{llm.TextBlock(text)}}}}}
}

func queued(text string) session.InboxSpliced {
	return session.InboxSpliced{Target: session.NextStep, Inserted: []llm.Message{told(text).Message}}
}

// folded gives the payloads the times 1000, 1100, 1200...
func folded(t *testing.T, payloads ...session.Payload) *timeline {
	t.Helper()
	line := &timeline{}
	for i, p := range payloads {
		line.add(&session.Event{Seq: i, Time: int64(1000 + 100*i), Data: p})
	}
	if !line.over() {
		t.Errorf("the conversation is not over: %+v", line)
	}
	return line
}

// blockingStory and asyncStory are the two conversations as their logs tell them.
var (
	command       = session.ToolCall{CallID: "c1", Name: "bash", Arguments: `{"command":"go test -count=1 ./..."}`}
	blockingStory = []session.Payload{
		session.TurnStart{Turn: 1}, said("I run all of its tests."), command, queued(asyncQuestion),
		resulted("c1", "FAIL\n[exit code: 1]"), told(asyncQuestion), session.RequestSent{},
		resulted("c2", "diff --git"), session.RequestSent{}, said("One line. The tests fail."),
	}
	asyncStory = []session.Payload{
		session.TurnStart{Turn: 1}, said("I run all of its tests."), command, queued(asyncQuestion),
		session.JobStarted{ID: "bash-1", CallID: "c1"}, resulted("c1", "bash-1 still runs"), told(asyncQuestion), session.RequestSent{},
		resulted("c2", "diff --git"), said("One line."),
		session.JobSettled{ID: "bash-1", Status: session.JobCompleted, Detail: "exit code: 1"},
		told("bash-1 ended [completed, exit code: 1]"), session.RequestSent{}, said("They fail."),
	}
)

func TestTimelineOfAConversationThatBlocks(t *testing.T) {
	t.Parallel()
	line := folded(t, blockingStory...)
	got, err := json.Marshal(line)
	want := `{"command_start":200,"question_sent":300,"question_in_request":600,"answer":900,"command_exit":400,"exit_code_in_session":400,"report":900}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if v := line.verdict(); !strings.Contains(v, "0.60s after the question, when the command had ended") {
		t.Error(v)
	}
}

func TestTimelineOfAConversationThatDoesNot(t *testing.T) {
	t.Parallel()
	line := folded(t, asyncStory...)
	got, err := json.Marshal(line)
	want := `{"command_start":200,"question_sent":300,"question_in_request":700,"answer":900,"command_exit":1000,"exit_code_in_session":1100,"report":1300}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if v := line.verdict(); !strings.Contains(v, "0.60s after the question, 0.10s before the command ended") {
		t.Error(v)
	}
}

// TestTimelineText also of a conversation that stopped somewhere.
func TestTimelineText(t *testing.T) {
	t.Parallel()
	half := &timeline{}
	for i, p := range asyncStory[:6] {
		half.add(&session.Event{Seq: i, Time: int64(1000 + 100*i), Data: p})
	}
	text := timelineText(folded(t, blockingStory...), half)
	for _, want := range []string{
		"answer                             0.90s           -\n",
		"blocking           [=========]                           the command runs\n",
		"async: the conversation is not complete.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("%d columns: %s", len(line)-1, line)
		}
	}
}
