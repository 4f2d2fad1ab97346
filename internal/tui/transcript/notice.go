package transcript

import (
	"fmt"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

func (p *Projection) userMessage(ev *session.Event, d *session.UserMessage) {
	fate := p.inbox.fate(&d.Message, p.turn)
	if d.Source.Kind == llm.FromUser {
		p.alone = 0
		p.add(ev, Block{Kind: User, State: Done, Fate: fate, Text: messageText(&d.Message)})
		return
	}
	text := messageText(&d.Message)
	if files := session.InstructionFiles(&d.Message); len(files) > 0 && !ev.Replaces() {
		p.add(ev, Block{Kind: Notice, State: Plain, Text: instructionLine(files), Detail: text})
		return
	}
	hidden := d.Source.Form != "notice" || ev.Surface != nil && ev.Surface.Replace
	if !hidden && p.warned > 0 { // the line of the budget says the same
		p.warned--
		hidden = true
	}
	b := Block{Kind: Notice, State: Plain, Hidden: hidden, Text: "Told the model: " + firstLine(text), Detail: text}
	if hidden {
		b.Text = "(context for the model)"
	}
	p.add(ev, b)
}

// instructionLine names the files whose instructions the model gets, or loses.
func instructionLine(files []session.Instruction) string {
	var names []string
	for _, f := range files {
		name := f.Path
		switch {
		case f.Gone:
			name += " (gone)"
		case f.Problem != "":
			name += " (not shown: " + f.Problem + ")"
		}
		names = append(names, name)
	}
	return "Instructions: " + strings.Join(names, ", ")
}

// messageText is what a person reads of a message.
func messageText(m *llm.Message) string {
	text := m.PlainText()
	for _, b := range m.Content {
		if b.Type != llm.Text && b.Type != llm.ToolCall && b.Type != llm.ToolResult && b.Type != llm.Reasoning {
			text = strings.TrimPrefix(text+"\n["+string(b.Type)+"]", "\n")
		}
	}
	return text
}

// firstLine is the first line of a text that says something: not a tag.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && (line[0] != '<' || line[len(line)-1] != '>') {
			return line
		}
	}
	return ""
}

// notice makes the lines of dsh itself.
func (p *Projection) notice(ev *session.Event) {
	switch d := ev.Data.(type) {
	case session.Retry:
		p.retries(ev, &d)
	case session.RetryStarted:
		if p.retry > 0 {
			b := p.touch(p.retry-1, ev)
			b.Until = 0
		}
	case session.RequestHeader:
		if model := d.Header.Config.Model; model != p.model {
			if p.model != "" {
				p.add(ev, Block{Kind: Notice, State: Plain, Text: "Model: " + model})
			}
			p.model = model
		}
	case session.PolicyPreset:
		if d.Preset != p.preset {
			if p.preset != "" && p.turn > 0 {
				p.add(ev, Block{Kind: Notice, State: Plain, Text: "Permissions: " + d.Preset})
			}
			p.preset = d.Preset
		}
	case session.TurnBudget:
		if !d.Ended { // otherwise the end of the turn says so
			p.warned++
			p.add(ev, Block{Kind: Notice, State: Warning, Text: "The budget of this turn is nearly used: " + budget(&d)})
		}
	case session.Raw:
		p.raw(ev, &d)
	}
}

func budget(d *session.TurnBudget) string {
	if d.Kind == "time" {
		return clock(d.Used) + " of " + clock(d.Limit)
	}
	return fmt.Sprintf("%d of %d %s", d.Used, d.Limit, d.Kind)
}

// retries shows a chain of attempts as one line, which counts.
func (p *Projection) retries(ev *session.Event, d *session.Retry) {
	p.dropStream()
	if d.Mode == session.ModeFallback {
		p.fallBack(ev, d)
		return
	}
	if p.retry == 0 {
		p.retry = 1 + p.add(ev, Block{Kind: Notice, State: Running})
	}
	p.stream.open(ev.Seq)
	b := p.touch(p.retry-1, ev)
	b.Text = failureLine(&d.Failure, d.Provider)
	b.Detail = fmt.Sprintf("try %d", d.Retry+1)
	if d.MaxRetries != nil {
		b.Detail += fmt.Sprintf(" of %d", *d.MaxRetries+1)
	}
	b.Until = ev.Time + d.DelayMs
	b.Tokens = d.Retry + 1
}

// fallBack says why another model takes over; its name follows with the next header.
func (p *Projection) fallBack(ev *session.Event, d *session.Retry) {
	text := "Going on with another model."
	switch {
	case p.retry > 0:
		p.endRetry(ev)
	case d.Failure.Code == llm.CodeQuota:
		text = fmt.Sprintf("The account of %s has no balance. ", d.Provider) + text
	default:
		text = failureLine(&d.Failure, d.Provider) + " " + text
	}
	p.add(ev, Block{Kind: Notice, State: Warning, Text: text})
	p.stream.open(ev.Seq)
}

// endRetry: the request got through, or nobody tries any more.
func (p *Projection) endRetry(ev *session.Event) {
	if p.retry == 0 {
		return
	}
	b := p.touch(p.retry-1, ev)
	b.State, b.Until = Warning, 0
	b.Text += fmt.Sprintf(" Tried %d times.", b.Tokens)
	b.Detail, b.Tokens = "", 0
	p.retry = 0
}

// raw shows the events that dsh does not act on. Those it does not know are seen by
// who looks at everything.
func (p *Projection) raw(ev *session.Event, d *session.Raw) {
	p.add(ev, Block{Kind: Notice, State: Plain, Hidden: true, Text: "(event " + string(d.T) + ")"})
}

// compaction follows one from its start to its end; before is the context that was in
// use when the event came, in tokens. What is left is an estimate until the next
// answer is counted.
func (p *Projection) compaction(ev *session.Event, before int) {
	switch d := ev.Data.(type) {
	case session.CompactionStart:
		if p.compact == 0 {
			p.compact, p.freed = 1+p.add(ev, Block{Kind: Notice, State: Running, Text: "Compacting"}), ""
		}
	case session.CompactionSummary:
		if p.compact > 0 {
			m := llm.Message{Content: d.Summary}
			p.touch(p.compact-1, ev).Detail = m.PlainText()
		}
		if before > 0 {
			p.freed = fmt.Sprintf(" · %s to ~%s tok", termtext.Amount(before), termtext.Amount(p.inUse.Used))
		}
	case session.CompactionEnd:
		if d.Error != "" && p.compact > 0 {
			p.touch(p.compact-1, ev).Detail = d.Error
			p.closeCompaction(ev, Warning)
			return
		}
		p.closeCompaction(ev, Done)
	}
}

func (p *Projection) closeCompaction(ev *session.Event, s State) {
	if p.compact == 0 {
		return
	}
	b := p.touch(p.compact-1, ev)
	b.State, b.Text = s, "Compacted"+p.freed
	if s != Done {
		b.Text = "Compaction stopped"
	}
	p.compact = 0
}

func (p *Projection) turnEnd(ev *session.Event, d *session.TurnEnd) {
	p.closeStep(ev)
	p.closeCompaction(ev, Stopped)
	p.loseVerification(ev)
	p.turnOpen, p.warned, p.stopped = false, 0, !d.Reason.GoesOn()
	if d.Reason.Kind == session.Completed {
		return
	}
	b := Block{Kind: End}
	if p.started > 0 {
		b.Time = ev.Time - p.started
	}
	b.State, b.Text = ending(&d.Reason, b.Time)
	p.add(ev, b)
}

// ending is the line that says why a turn ended: what happened, then what to do.
func ending(r *session.EndReason, took int64) (State, string) {
	reason := ""
	if r.Cause != nil {
		reason = r.Cause.Reason
	}
	switch r.Kind {
	case session.Aborted:
		switch {
		case r.Cause == nil || r.Cause.Kind == session.ByUser:
			return Stopped, "Interrupted after " + minutes(took) + "."
		case r.Cause.Kind == session.Disposed:
			return Stopped, "dsh was closed after " + minutes(took) + "."
		case r.Cause.Kind == session.ByHook:
			return Warning, "Stopped after " + minutes(took) + ": " + reason + "."
		}
		return Stopped, "Cancelled after " + minutes(took) + "."
	case session.Blocked:
		if reason == "" {
			reason = "an extension rejected the prompt"
		}
		return Refused, "Not sent: " + reason
	case session.MaxTokens:
		return Warning, `The answer reached the output limit. "go on" continues it.`
	case session.Interrupted:
		return Warning, "dsh ended while this turn ran. /continue goes on from here."
	}
	if r.Failure == nil {
		return Failed, "The turn failed. /continue tries again."
	}
	return Failed, failureEnd(r.Failure)
}

// failureLine says what went wrong with a request.
func failureLine(f *llm.Failure, provider string) string {
	if provider == "" {
		provider = "the provider"
	}
	status := ""
	if f.Status != 0 {
		status = fmt.Sprintf(" (%d)", f.Status)
	}
	switch f.Code {
	case llm.CodeRateLimit:
		return "Rate limited by " + provider + status + "."
	case llm.CodeServer:
		return "The provider is overloaded or broken" + status + "."
	case llm.CodeTransport:
		return "No connection to " + provider + "."
	case llm.CodeTimeout:
		return "The provider stopped answering."
	case llm.CodeStreamClosed:
		return "Connection lost while answering."
	case llm.CodeEmptyResponse:
		return "The model ended without text or calls."
	}
	return sentence(f.Message, "The request failed"+status)
}

// failureEnd says what to do about a failure that ended the turn.
func failureEnd(f *llm.Failure) string {
	status := ""
	if f.Status != 0 {
		status = fmt.Sprintf(" (%d)", f.Status)
	}
	switch f.Code {
	case llm.CodeAuth:
		return "API key refused" + status + ". dsh login sets another, then /continue goes on."
	case llm.CodeQuota:
		return "The account has no balance" + status + ". Top it up, then /continue goes on."
	case llm.CodeContextOverflow:
		return "Context is full. /compact makes room, /new starts over."
	case llm.CodeContentFilter:
		return "The provider stopped the answer (content filter)."
	case session.CodeUnverified:
		return "Unverified: " + sentence(f.Message, "the check did not pass")
	case llm.CodeInvalidRequest:
		return "The provider refused the request" + status + ": " + sentence(f.Message, "no reason given")
	}
	if f.Transient() {
		return failureLine(f, "") + " /continue tries again."
	}
	return sentence(f.Message, "The turn failed"+status)
}

// sentence is a text with a full stop.
func sentence(text, otherwise string) string {
	if text = strings.TrimSpace(text); text == "" {
		text = otherwise
	}
	if strings.ContainsAny(text[len(text)-1:], ".?!") {
		return text
	}
	return text + "."
}

// clock is a span as people read it: 3.1s, 0:41, 1:02:03.
func clock(ms int64) string {
	if ms < 10_000 {
		return fmt.Sprintf("%.1fs", float64(max(ms, 0))/1000)
	}
	return minutes(ms)
}

// minutes is a span that is seen to grow: 0:07.
func minutes(ms int64) string {
	s := ms / 1000
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}
