package session

import (
	"errors"
	"fmt"

	"dsh/internal/llm"
)

// checkShape judges an event by itself: what every reader relies on.
func checkShape(ev *Event) error {
	switch p := ev.Data.(type) {
	case UserMessage:
		return checkUserMessage(&p.Message)
	case AssistantMessage:
		return checkMessage(&p.Message, llm.Assistant)
	case ToolResult:
		return checkToolResult(&p)
	case RequestHeader:
		return checkRequestHeader(&p)
	case TurnEnd:
		return checkEndReason(&p.Reason)
	case VerifyRun:
		return checkVerifyShape(&p)
	}
	return nil
}

func checkMessage(m *llm.Message, role llm.Role) error {
	switch {
	case m.Role != role:
		return fmt.Errorf("the message's role is %q, not %q", m.Role, role)
	case m.ID == "":
		return errors.New("the message has no id")
	case m.Source.Kind == "":
		return errors.New("the message has no source")
	case m.Content == nil:
		return errors.New("the message has no content")
	}
	for i := range m.Content {
		if m.Content[i].Type == "" {
			return errors.New("a block of the message has no type")
		}
	}
	return nil
}

func checkUserMessage(m *llm.Message) error { return checkMessage(m, llm.User) }

func checkToolResult(r *ToolResult) error {
	if err := checkUserMessage(&r.Message); err != nil {
		return err
	}
	b, ok := resultBlock(&r.Message)
	if !ok {
		return errors.New("a tool result's message is one tool-result block")
	}
	if b.ToolCallID == "" || r.Message.Source.Kind != llm.FromTool || r.Message.Source.CallID != b.ToolCallID {
		return fmt.Errorf("the result's source does not name its call %q", b.ToolCallID)
	}
	return nil
}

func checkRequestHeader(h *RequestHeader) error {
	switch h.Reason {
	case "initial", "resume", "change":
	default:
		return fmt.Errorf("a request header for the reason %q is not supported", h.Reason)
	}
	if h.Header.Config.Provider == "" || h.Header.Config.Model == "" {
		return errors.New("a request header needs a provider and a model")
	}
	return nil
}

func checkEndReason(r *EndReason) error {
	switch r.Kind {
	case Completed, Blocked, MaxTokens, Interrupted:
		return nil
	case Aborted:
		if r.Cause == nil || r.Cause.Kind == "" {
			return errors.New("an aborted turn needs a cause")
		}
		return nil
	case Failed:
		if r.Failure == nil {
			return errors.New("a failed turn needs its failure")
		}
		return nil
	}
	return fmt.Errorf("turn end %q is unknown", r.Kind)
}
