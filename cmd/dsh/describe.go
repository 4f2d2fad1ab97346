package main

import (
	"fmt"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// maxDescription bounds a printed event, in bytes: the log itself has the rest.
const maxDescription = 200

func describe(data session.Payload) string {
	switch p := data.(type) {
	case session.TurnStart:
		return fmt.Sprintf("turn %d", p.Turn)
	case session.TurnEnd:
		return fmt.Sprintf("turn %d %s", p.Turn, endText(p.Reason))
	case session.StepStart:
		return fmt.Sprintf("step %d.%d", p.Turn, p.Step)
	case session.StepEnd:
		return fmt.Sprintf("step %d.%d", p.Turn, p.Step)
	case session.UserMessage:
		return p.Source.Kind + ": " + clip(p.PlainText())
	case session.AssistantMessage:
		return describeAnswer(&p)
	case session.ToolCall:
		return p.CallID + " " + p.Name + " " + clip(p.Arguments)
	case session.ToolResult:
		return describeResult(&p)
	case session.RequestHeader:
		return fmt.Sprintf("%s/%s %s, %d tools", p.Header.Config.Provider, p.Header.Config.Model, p.Reason, len(p.Header.Tools))
	case session.RequestSent:
		what := fmt.Sprintf("attempt %d, %d messages, %d bytes, sha256 %.12s", p.Attempt, p.Messages, p.Bytes, p.SHA256)
		if p.Aside != nil {
			what += ", for " + p.Aside.Purpose
		}
		return what
	case session.RequestSpent:
		return fmt.Sprintf("%d bytes of an answer that is not kept", p.Streamed)
	case session.CompactionSummary:
		return fmt.Sprintf("%d events, about %d tokens: %s", len(p.ShadowedSeqs), p.ShadowedTokenCount, clip((&llm.Message{Content: p.Summary}).PlainText()))
	case session.CompactionPrune:
		return fmt.Sprintf("event %d, about %d tokens", p.ShadowedRange.Start, p.ShadowedTokenCount)
	case session.CompactionEnd:
		return p.Error
	case session.InboxSpliced:
		return describeSplice(&p)
	case session.Retry:
		return fmt.Sprintf("%d in %d ms: %s", p.Retry, p.DelayMs, p.Failure.Error())
	case session.PolicyDecision:
		return fmt.Sprintf("%s %s by %s", p.CallID, p.Decision, p.Rule)
	case session.VerifyRun:
		return fmt.Sprintf("turn %d, %d: %s", p.Turn, p.Attempt, p.Summary())
	case session.JobStarted:
		return strings.TrimSpace(p.ID+" "+p.Handover) + ": " + clip(p.Label)
	case session.JobSettled:
		return describeEnd(&p)
	case session.Title:
		return p.Title
	case session.TodoWrite:
		return describeTodos(p.Todos)
	case session.AssistantChunk:
		return describeChunk(&p.Chunk)
	case session.Lost:
		return fmt.Sprintf("could not be read (line %d of the damaged log)", p.Line)
	}
	return ""
}

func describeChunk(c *llm.Chunk) string {
	text := fmt.Sprintf("%s %d", c.Type, c.Index)
	switch {
	case c.Text != "":
		text += ": " + clip(c.Text)
	case c.ArgumentsDelta != "":
		text += ": " + clip(c.ArgumentsDelta)
	}
	return text
}

func describeTodos(todos []session.Todo) string {
	var parts []string
	for _, t := range todos {
		parts = append(parts, t.Status+": "+t.Content)
	}
	return clip(strings.Join(parts, ", "))
}

func describeEnd(p *session.JobSettled) string {
	text := (&session.JobInfo{Status: p.Status, Detail: p.Detail}).State()
	if p.By != "" {
		text += ", stopped by " + map[string]string{session.JobByUser: "the user", session.JobByModel: "the model", session.JobByDsh: "dsh"}[p.By]
	}
	if len(p.Stale) > 0 {
		text += ", changed meanwhile: " + clip(strings.Join(p.Stale, ", "))
	}
	return p.ID + " " + text
}

func describeAnswer(p *session.AssistantMessage) string {
	text := clip(p.Message.PlainText())
	for _, c := range p.Message.Calls() {
		text += " [" + c.Name + "]"
	}
	if p.Interrupted {
		text += " (interrupted)"
	}
	return strings.TrimSpace(text)
}

func describeResult(p *session.ToolResult) string {
	text := p.Message.Source.CallID
	if p.Error != nil {
		text += " " + p.Error.Code
	}
	for _, b := range p.Message.Content {
		if b.Type == llm.ToolResult && len(b.Content) > 0 {
			return text + ": " + clip(b.Content[0].Text)
		}
	}
	return text
}

func describeSplice(p *session.InboxSpliced) string {
	var parts []string
	if p.RemovedCount > 0 {
		what := "claimed"
		if p.Outcome != "" {
			what = p.Outcome
		}
		parts = append(parts, fmt.Sprintf("%d %s", p.RemovedCount, what))
	}
	for _, m := range p.Inserted {
		parts = append(parts, "queued: "+clip(m.PlainText()))
	}
	return string(p.Target) + " " + strings.Join(parts, ", ")
}

func clip(text string) string {
	if len(text) <= maxDescription {
		return text
	}
	return strings.ToValidUTF8(text[:maxDescription], "") + "…"
}
