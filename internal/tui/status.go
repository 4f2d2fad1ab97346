package tui

import (
	"fmt"
	"path"
	"strings"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// phase is what a running turn is doing, in the word that the running line shows.
type phase string

const (
	phaseWaiting   phase = "Waiting"
	phaseThinking  phase = "Thinking"
	phaseAnswering phase = "Answering"
	phaseWorking   phase = "Working"
	phaseRetrying  phase = "Retrying"
	phaseStopping  phase = "Stopping"
	phaseCompact   phase = "Compacting"
	phaseVerifying phase = "Verifying"
)

// stallAfter is how long a provider may be silent before the running line says so.
const stallAfter = 30 * time.Second

// progress folds what the running line and the status line show.
type progress struct {
	model   string
	preset  string
	inUse   session.ContextUse
	told    session.Instructions
	started time.Time
	heard   time.Time // of the last chunk or request
	phase   phase
	tokens  int       // streamed in this turn, estimated until usage says better
	until   time.Time // of a retry's wait
	title   string
	first   string // the beginning of the first prompt
	checked string // what came of the last verification
	todos   []session.Todo
}

func (p *progress) apply(ev *session.Event) {
	at := time.UnixMilli(ev.Time)
	p.inUse.Apply(ev)
	p.told.Apply(ev)
	switch data := ev.Data.(type) {
	case session.TurnStart:
		p.started, p.heard, p.phase, p.tokens, p.todos = at, at, phaseWaiting, 0, nil
	case session.TodoWrite:
		p.todos = data.Todos
	case session.UserMessage:
		if p.first == "" && data.Source.Kind == llm.FromUser {
			p.first, _, _ = strings.Cut(strings.TrimSpace(data.PlainText()), "\n")
		}
	case session.RequestSent:
		if p.heard = at; data.Aside == nil {
			p.phase = phaseWaiting
		}
	case session.CompactionStart:
		p.phase, p.heard = phaseCompact, at
		if data.Turn == nil {
			p.started, p.tokens = at, 0
		}
	case session.CompactionEnd:
		p.phase, p.heard = phaseWaiting, at
	case session.RequestHeader:
		p.model = data.Header.Config.Model
	case session.AssistantChunk:
		p.heard = at
		p.chunk(&data.Chunk)
	case session.ToolCall:
		p.phase = phaseWorking
	case session.Retry:
		p.phase, p.until = phaseRetrying, at.Add(time.Duration(data.DelayMs)*time.Millisecond)
	case session.RetryStarted:
		p.phase, p.heard = phaseWaiting, at
	case session.VerifyRun:
		p.checked = data.Summary()
		if p.phase = phaseWaiting; data.Verdict == session.VerifyRunning {
			p.phase = phaseVerifying
		}
		p.heard = at
	case session.PolicyPreset:
		p.preset = data.Preset
	case session.Title:
		p.title = data.Title
	}
}

// bytesPerToken estimates tokens of streamed text until the provider's count comes.
const bytesPerToken = 4

func (p *progress) chunk(c *llm.Chunk) {
	switch c.Type {
	case llm.ReasoningDelta:
		p.phase = phaseThinking
	case llm.TextDelta:
		p.phase = phaseAnswering
	}
	p.tokens += (len(c.Text) + len(c.ArgumentsDelta) + bytesPerToken - 1) / bytesPerToken
}

// running is the line of a running turn, without its spinner. Where it is narrow the
// model and the tokens go first.
func (p *progress) running(now time.Time, interruptKey string, width int) string {
	text, model, tokens := string(p.phase), "", ""
	switch {
	case p.phase == phaseRetrying:
		text += " in " + clock(max(0, p.until.Sub(now)+time.Second-1))
	case p.phase == phaseWaiting && p.model != "":
		model = " for " + p.model
	}
	rest := " " + clock(max(0, now.Sub(p.started)))
	if silent := now.Sub(p.heard); silent >= stallAfter && (p.phase == phaseWaiting || p.phase == phaseThinking || p.phase == phaseAnswering) {
		rest += " · no data for " + clock(silent)
	}
	if p.tokens > 0 {
		tokens = " · " + termtext.Amount(p.tokens) + " tok"
	}
	end := " · " + interruptKey + " interrupt"
	if p.phase == phaseStopping {
		end = ""
	}
	for _, line := range []string{text + model + rest + tokens + end, text + rest + tokens + end} {
		if termtext.Width(line) <= width {
			return line
		}
	}
	return text + rest + end
}

// status is the status line's segments, the most important first.
func (p *progress) status(o *Opened, queue []session.QueueItem, asking bool, jobs, width int) []string {
	preset := p.preset
	if preset == "" {
		preset = o.Preset
	}
	if preset == "full" {
		preset = "FULL"
	}
	segments := []string{preset}
	if asking {
		segments = append(segments, "paused, waiting for you")
	}
	if share := p.inUse.Share(); share != "" {
		segments = append(segments, fmt.Sprintf("ctx %s of %s", share, termtext.Amount(p.inUse.Window)))
	}
	held, queued := 0, 0
	for _, it := range queue {
		if it.Held {
			held++
		} else if it.Source.Kind == llm.FromUser {
			queued++
		}
	}
	if queued > 0 {
		segments = append(segments, fmt.Sprintf("%d queued", queued))
	}
	if held > 0 {
		segments = append(segments, fmt.Sprintf("%d held", held))
	}
	if text := jobCount(jobs, width); text != "" {
		segments = append(segments, text)
	}
	if width >= 60 {
		segments = append(segments, strings.TrimSpace(path.Base(o.Model)+" "+o.Effort)) // without the provider
	}
	if text := todoCount(p.todos); text != "" {
		segments = append(segments, text)
	}
	return segments
}

// clock is a duration as m:ss.
func clock(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}
