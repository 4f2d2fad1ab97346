package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
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
	var filter logFilter
	cmd := &cobra.Command{
		Use:   "log ID|PATH",
		Short: "Print a session's events",
		Args:  exactly(1, "log needs a session: its id, a unique beginning of it, or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := filter.parse(cmd, asJSON); err != nil {
				return err
			}
			entry, err := namedSession(s, args[0])
			if err != nil {
				return err
			}
			snapshot, damage := session.Read(entry.Path)
			if snapshot == nil {
				return damage
			}
			p := logPrinter{s: s, filter: &filter, asJSON: asJSON}
			next, err := p.stored(snapshot)
			if err = cmp.Or(err, damage, damagedTail(snapshot)); err != nil || !follow || p.past {
				return err
			}
			return p.follow(cmd.Context(), snapshot.Path(), next)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the stored lines, packed chunks one a line")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what another process writes")
	filter.addFlags(cmd)
	return cmd
}

// logPrinter prints the events that a filter wants.
type logPrinter struct {
	s      streams
	filter *logFilter
	asJSON bool
	kept   [][]byte // with a last: the lines so far, the oldest first
	past   bool     // all that was asked for has come
}

// stored prints what is there and returns the seq to go on with.
func (p *logPrinter) stored(snapshot *session.Snapshot) (next int, err error) {
	if !p.asJSON {
		if err := p.header(snapshot.Header(), nil); err != nil {
			return 0, err
		}
	}
	for line, ev := range p.records(snapshot) {
		if ev.Data == nil {
			err = p.header(snapshot.Header(), line)
		} else {
			next = ev.Seq + 1
			err = p.event(line, &ev)
		}
		if err != nil {
			return 0, err
		}
	}
	for _, line := range p.kept {
		if err := p.print(line); err != nil {
			return 0, err
		}
	}
	return next, snapshot.Err()
}

// records are the events that may be printed, with their lines where those are wanted.
func (p *logPrinter) records(snapshot *session.Snapshot) iter.Seq2[[]byte, session.Event] {
	if p.asJSON {
		return snapshot.Records()
	}
	events := snapshot.Outcomes()
	if p.filter.chunks {
		events = snapshot.Events()
	}
	return func(yield func([]byte, session.Event) bool) {
		for ev := range events {
			if !yield(nil, ev) {
				return
			}
		}
	}
}

// event prints a stored event that is wanted, or keeps it until it is among the last.
func (p *logPrinter) event(stored []byte, ev *session.Event) error {
	p.past = p.filter.past(ev)
	if !p.filter.wants(ev) {
		return nil
	}
	line, err := p.line(stored, ev)
	if err != nil {
		return err
	}
	n := p.filter.last
	if n == 0 {
		return p.print(line)
	}
	if p.kept = append(p.kept, line); len(p.kept) > n {
		p.kept = p.kept[1:]
	}
	return nil
}

func (p *logPrinter) header(h session.Header, stored []byte) error {
	if p.asJSON {
		return p.print(append(slices.Clip(stored), '\n'))
	}
	return p.print([]byte(termtext.Line(fmt.Sprintf("session %s in %s, %s", h.ID, h.Cwd, when(h.CreatedAt))) + "\n"))
}

// follow goes on until a signal ends the process, or the last event that was asked
// for has come: there is nothing to put in order.
func (p *logPrinter) follow(ctx context.Context, path string, next int) error {
	for ev, err := range session.Follow(ctx, path, next) {
		if err != nil {
			return err
		}
		if p.filter.past(&ev) {
			return nil
		}
		if !p.filter.wants(&ev) {
			continue
		}
		line, err := p.line(nil, &ev)
		if err == nil {
			err = p.print(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line is an event as it is printed, newline included; stored is its line in the log,
// nil if that is not at hand.
func (p *logPrinter) line(stored []byte, ev *session.Event) ([]byte, error) {
	if !p.asJSON {
		clock := time.UnixMilli(ev.Time).Format(time.TimeOnly)
		line := fmt.Sprintf("%5d  %s  %-20s %s", ev.Seq, clock, ev.Type, describe(ev.Data))
		return []byte(termtext.Line(strings.TrimRight(line, " ")) + "\n"), nil
	}
	if stored == nil {
		var err error
		if stored, err = json.Marshal(ev); err != nil {
			return nil, err
		}
	}
	return append(slices.Clip(stored), '\n'), nil
}

func (p *logPrinter) print(line []byte) error {
	if p.asJSON {
		return writeJSONLine(p.s.out, line)
	}
	_, err := p.s.out.Write(line)
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
	case session.Title:
		return p.Title
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
