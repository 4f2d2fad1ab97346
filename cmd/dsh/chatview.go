package main

import (
	"fmt"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// chatView prints a conversation as it happens, and only ever appends: answers stream,
// a call is a line, and so is its result.
type chatView struct {
	out     *output
	text    *termtext.Writer
	cards   *cards
	person  bool            // somebody sits at a terminal
	streams strings.Builder // what was printed of the answer that streams
	thinks  bool
	midline bool
	call    bool // the open line is a call's
}

func newChatView(s streams, c *cards) *chatView {
	out := &output{to: s.out}
	return &chatView{out: out, text: termtext.NewWriter(out), cards: c, person: isTerminal(s.in) && isTerminal(s.out)}
}

func (v *chatView) events(events []session.Event) {
	for i := range events {
		v.event(&events[i])
	}
}

func (v *chatView) event(ev *session.Event) {
	switch p := ev.Data.(type) {
	case session.UserMessage:
		for _, line := range instructionProblems(ev) {
			v.note(line)
		}
	case session.StepStart:
		v.streams.Reset()
		v.thinks = false
	case session.AssistantChunk:
		v.chunk(&p.Chunk)
	case session.AssistantMessage:
		v.answer(&p)
	case session.ToolCall:
		v.begin(&p)
	case session.ToolResult:
		if !ev.Replaces() {
			v.result(&p)
		}
	case session.Retry:
		v.note(retryLine(ev))
	case session.JobSettled:
		v.note(jobLine(&p))
	case session.CompactionStart, session.CompactionSummary, session.CompactionEnd:
		if line := compactLine(ev); line != "" {
			v.note(line)
		}
	case session.VerifyRun:
		if p.Verdict == session.VerifyRunning {
			v.note("dsh: " + p.Summary())
		} else if line := verifyLine(ev); line != "" {
			v.note(line)
		}
	case session.TurnEnd:
		if p.Reason.Kind != session.Completed {
			v.note("(" + endText(p.Reason) + ")")
		}
	}
}

func (v *chatView) chunk(c *llm.Chunk) {
	switch c.Type {
	case llm.ReasoningDelta:
		if v.person && !v.thinks {
			v.note("(thinking)")
			v.thinks = true
		}
	case llm.TextDelta:
		v.say(c.Text)
		v.streams.WriteString(c.Text)
	case llm.FinishChunk:
		if c.Reason != nil && c.Reason.Failure != nil && v.streams.Len() > 0 {
			v.note("(this answer broke off and is discarded)")
			v.streams.Reset()
		}
	}
}

// answer prints what was not streamed of a message: a reader that fell behind gets
// it without its chunks.
func (v *chatView) answer(p *session.AssistantMessage) {
	text := p.Message.PlainText()
	rest, ok := strings.CutPrefix(text, v.streams.String())
	if !ok {
		v.newline()
		rest = text
	}
	v.say(rest)
	v.streams.Reset()
	_ = v.text.Flush()
	v.newline()
}

func (v *chatView) say(text string) {
	if text == "" {
		return
	}
	if v.call {
		v.newline()
	}
	_, _ = v.text.Write([]byte(text))
	v.midline = !strings.HasSuffix(text, "\n")
}

// begin opens the line of a call.
func (v *chatView) begin(p *session.ToolCall) {
	v.newline()
	fmt.Fprint(v.out, termtext.Line(v.cards.begin(p)))
	v.midline, v.call = true, true
}

// result tells a person in a word how a call ended: nothing is drawn over, so that a
// screen reader reads each line once.
func (v *chatView) result(p *session.ToolResult) {
	line, body := v.cards.result(p)
	if v.person {
		line = ended(p) + ": " + strings.TrimSpace(line)
	}
	v.note(line)
	for _, line := range body {
		v.note("      " + line)
	}
}

func ended(p *session.ToolResult) string {
	for _, b := range p.Message.Content {
		if b.IsError {
			return "Failed"
		}
	}
	return "Done"
}

func (v *chatView) note(text string) {
	v.newline()
	for line := range strings.Lines(text) {
		fmt.Fprintln(v.out, termtext.Line(strings.TrimSuffix(line, "\n")))
	}
}

// prompt invites the next line.
func (v *chatView) prompt() {
	if v.person {
		v.newline()
		fmt.Fprint(v.out, "> ")
	}
}

func (v *chatView) end() { v.newline() }

func (v *chatView) newline() {
	if v.midline {
		fmt.Fprintln(v.out)
	}
	v.midline, v.call = false, false
}
