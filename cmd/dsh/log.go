package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

func newLogCommand(s streams) *cobra.Command {
	var asJSON, follow bool
	cmd := &cobra.Command{
		Use:   "log ID|PATH",
		Short: "Print a session's events",
		Args:  exactly(1, "log needs a session: its id, a unique beginning of it, or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			entry, err := namedSession(s, args[0])
			if err != nil {
				return err
			}
			snapshot, damage := session.Read(entry.Path)
			if snapshot == nil {
				return damage
			}
			next, err := printLog(s, snapshot, asJSON)
			if err = cmp.Or(err, damage, damagedTail(snapshot)); err != nil || !follow {
				return err
			}
			return followLog(cmd.Context(), s, snapshot.Path(), next, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the stored lines, packed chunks one a line")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what another process writes")
	return cmd
}

// printLog prints what is there and returns the seq to go on with.
func printLog(s streams, snapshot *session.Snapshot, asJSON bool) (next int, err error) {
	if asJSON {
		for line := range snapshot.Lines() {
			if err := writeJSONLine(s.out, append(slices.Clip(line), '\n')); err != nil {
				return 0, err
			}
		}
		return snapshot.State().Events - len(snapshot.Closers()), snapshot.Err()
	}
	h := snapshot.Header()
	fmt.Fprintln(s.out, termtext.Line(fmt.Sprintf("session %s in %s, %s", h.ID, h.Cwd, when(h.CreatedAt))))
	for ev := range snapshot.Events() {
		next = ev.Seq + 1
		if err := printEvent(s, &ev); err != nil {
			return 0, err
		}
	}
	return next, snapshot.Err()
}

// followLog goes on until a signal ends the process: there is nothing to put in order.
func followLog(ctx context.Context, s streams, path string, next int, asJSON bool) error {
	for ev, err := range session.Follow(ctx, path, next) {
		if err != nil {
			return err
		}
		if asJSON {
			err = writeJSON(s.out, ev)
		} else {
			err = printEvent(s, &ev)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printEvent prints one line; chunks are left out, their message follows.
func printEvent(s streams, ev *session.Event) error {
	if ev.Type == session.TypeAssistantChunk {
		return nil
	}
	clock := time.UnixMilli(ev.Time).Format(time.TimeOnly)
	line := fmt.Sprintf("%5d  %s  %-20s %s", ev.Seq, clock, ev.Type, describe(ev.Data))
	_, err := fmt.Fprintln(s.out, termtext.Line(strings.TrimRight(line, " ")))
	return err
}

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
	case session.JobStarted:
		return strings.TrimSpace(p.ID+" "+p.Handover) + ": " + clip(p.Label)
	case session.JobSettled:
		return describeEnd(&p)
	case session.VerifyRun:
		return fmt.Sprintf("turn %d, %d: %s", p.Turn, p.Attempt, p.Summary())
	case session.Title:
		return p.Title
	case session.TodoWrite:
		return describeTodos(p.Todos)
	}
	return ""
}

func describeEnd(p *session.JobSettled) string {
	text := (&session.JobInfo{Status: p.Status, Detail: p.Detail}).State()
	if p.By != "" {
		text += ", stopped by the " + p.By
	}
	if len(p.Stale) > 0 {
		text += ", changed meanwhile: " + clip(strings.Join(p.Stale, ", "))
	}
	return p.ID + " " + text
}

func describeTodos(todos []session.Todo) string {
	var parts []string
	for _, t := range todos {
		parts = append(parts, t.Status+": "+t.Content)
	}
	return clip(strings.Join(parts, ", "))
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
