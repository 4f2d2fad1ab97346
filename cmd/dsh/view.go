package main

import (
	"fmt"
	"io"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

// view shows a run: the result on standard output, what happens on standard error,
// and that only when a person watches.
type view struct {
	out, errOut io.Writer
	format      string
	tally       *tally
	cards       *cards
	watched     bool  // standard error is a terminal
	err         error // the first of standard output: nothing more is written to it
}

// newView begins a stream with the session's header: its events do not name it.
func newView(s streams, format string, h session.Header, c *cards) *view {
	v := &view{out: s.out, errOut: s.err, format: format, tally: newTally(h.ID), cards: c, watched: isTerminal(s.err)}
	if format == formatStream {
		v.err = writeJSON(v.out, h)
	}
	return v
}

func (v *view) events(events []session.Event) {
	for i := range events {
		ev := &events[i]
		v.tally.apply(ev)
		if v.format == formatStream && v.err == nil {
			v.err = writeJSON(v.out, ev)
		}
		for _, line := range append(instructionProblems(ev), retryLine(ev), compactLine(ev), verifyLine(ev)) {
			if line != "" {
				v.note(line) // a script's log is told as well
			}
		}
		if v.watched {
			v.progress(ev)
		}
	}
}

// progress is what a watching person sees of an event.
func (v *view) progress(ev *session.Event) {
	switch p := ev.Data.(type) {
	case session.VerifyRun:
		if p.Verdict == session.VerifyRunning {
			v.note("dsh: " + p.Summary())
		}
	case session.ToolCall:
		v.cards.begin(&p)
	case session.ToolResult:
		if ev.Replaces() {
			return
		}
		line, body := v.cards.result(&p)
		v.note(line)
		for _, line := range body {
			v.note("      " + line)
		}
	case session.JobSettled:
		v.note(jobLine(&p))
	}
}

func (v *view) note(line string) { fmt.Fprintln(v.errOut, termtext.Line(line)) }

// finish writes the result in the run's format, and the problem, if there is one,
// in one line of standard error. It returns what kept the output from being written.
func (v *view) finish(runErr error) error {
	r := v.tally.finish(runErr)
	switch {
	case v.err != nil:
	case v.format == formatJSON:
		v.err = writeJSON(v.out, r)
	case v.format == formatText && r.Text != "":
		text := r.Text
		if isTerminal(v.out) {
			text = termtext.Clean(text)
		}
		if _, err := fmt.Fprintln(v.out, text); err != nil {
			v.err = fmt.Errorf("write the result: %w", err)
		}
	}
	if v.err != nil {
		return v.err // it is why the turn ended, or nobody is there to read more
	}
	for _, refusal := range r.Refused {
		line := "refused: " + refusal.Tool + " " + refusal.Target + ": " + refusal.Reason
		if refusal.Flag != "" {
			line += " (" + refusal.Flag + " allows it)"
		}
		v.note("dsh: " + line)
	}
	if jobs := r.stopped(); jobs != "" {
		v.note("dsh: stopped at the end of the run: " + jobs + "; --wait-jobs waits for jobs")
	}
	if r.Error != nil {
		v.note("dsh: " + r.Error.Code + ": " + r.Error.Message)
	}
	if v.watched {
		v.note(fmt.Sprintf("session %s · %d steps · %s tokens in, %s out · %s", shortID(r.Session), r.Steps,
			v.tally.spent.Guess.In(r.Usage.Input+r.Usage.CacheRead), v.tally.spent.Guess.Out(r.Usage.Output), v.tally.spent.Bill))
	}
	return nil
}

// jobLine tells of the end of a job.
func jobLine(p *session.JobSettled) string { return "& " + describeEnd(p) }

// retryLine tells of a failed request, "" for every other event.
func retryLine(ev *session.Event) string {
	p, ok := ev.Data.(session.Retry)
	if !ok {
		return ""
	}
	if p.Mode == session.ModeFallback {
		return fmt.Sprintf("dsh: %s: %s: going on with another model", p.Failure.Code, p.Failure.Message)
	}
	return fmt.Sprintf("dsh: %s: %s: trying again in %.1fs (%d of %d)", p.Failure.Code, p.Failure.Message,
		float64(p.DelayMs)/1000, p.Retry, count(p.MaxRetries))
}

// instructionProblems tells of files of instructions whose text the model does not get.
func instructionProblems(ev *session.Event) (lines []string) {
	p, ok := ev.Data.(session.UserMessage)
	if !ok {
		return nil
	}
	for _, f := range session.InstructionFiles(&p.Message) {
		if f.Problem != "" {
			lines = append(lines, "dsh: instructions "+instructionLine(f))
		}
	}
	return lines
}

// compactLine tells of a compaction, "" for every other event.
func compactLine(ev *session.Event) string {
	switch p := ev.Data.(type) {
	case session.CompactionStart:
		return "dsh: the conversation is long: summarising it"
	case session.CompactionSummary:
		return fmt.Sprintf("dsh: about %d tokens became a summary", p.ShadowedTokenCount)
	case session.CompactionEnd:
		if p.Error != "" {
			return "dsh: not summarised: " + p.Error
		}
	}
	return ""
}
