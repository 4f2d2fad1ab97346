package verify

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/session"
)

const (
	// keptHead and keptTail bound what the log and the model get of an output, in
	// bytes: how it began, and how it ended, which is where the failures are named.
	keptHead = 3 << 10
	keptTail = 9 << 10
)

// run is one run of the command. It returns when the command and what descends from
// it have ended: by itself, on the timeout, with the turn, or for a steer.
func (c *Check) run(ctx context.Context, steered <-chan struct{}, run *session.VerifyRun) {
	began := time.Now()
	p, err := c.o.Jobs.Start(jobs.Command{Command: c.o.Command, Dir: c.o.Dir, Env: c.o.Env, Timeout: c.o.Timeout})
	if err != nil {
		run.Verdict, run.Problem = session.VerifyNotStarted, c.clean("could not be started: "+err.Error())
		return
	}
	stopped := false
	select {
	case <-p.Done():
	case <-ctx.Done():
	case <-steered:
		stopped = true
		p.Stop()
	}
	r, err := p.Wait(ctx)
	run.DurationMs = time.Since(began).Milliseconds()
	run.Output = c.output(&r)
	if r.Omitted > 0 {
		run.Artifact = c.clean(r.Artifact)
	}
	c.judge(ctx, run, &r, err, stopped)
}

// judge turns the end of a command into a verdict. What was stopped did not pass,
// whatever its exit code says.
func (c *Check) judge(ctx context.Context, run *session.VerifyRun, r *jobs.Result, lost error, stopped bool) {
	switch {
	case r.Aborted && ctx.Err() != nil:
		run.Verdict = session.VerifyCancelled
	case r.Aborted && stopped:
		run.Verdict = session.VerifySuperseded
	case lost != nil:
		run.Verdict, run.Problem = session.VerifyKilled, c.clean("has an unknown end: "+lost.Error())
	case r.TimedOut:
		run.Verdict, run.Problem = session.VerifyTimedOut, fmt.Sprintf("did not end within %s and was stopped", c.o.Timeout)
	case r.Aborted:
		run.Verdict, run.Problem = session.VerifyKilled, "was stopped before its end"
	case r.Exit.Signal != 0:
		run.Verdict, run.Problem = session.VerifyKilled, "was ended by a signal: "+r.Exit.Signal.String()
	case r.Exit.Code != 0:
		run.Verdict, run.ExitCode = session.VerifyFailed, r.Exit.Code
	default:
		run.Verdict, run.ExitCode = session.VerifyPassed, 0
	}
}

// output is what is kept of an output, without keys, and, when it is not all, where
// the rest is.
func (c *Check) output(r *jobs.Result) string {
	text := cut(c.clean(strings.TrimRight(r.Output, "\n")))
	if r.Omitted > 0 && r.Artifact != "" {
		text += "\n[all of it is in " + c.clean(r.Artifact) + "]"
	}
	return text
}

// cut keeps the head and the tail of a text.
func cut(text string) string {
	if len(text) <= keptHead+keptTail {
		return text
	}
	head := strings.ToValidUTF8(text[:keptHead], "")
	tail := strings.ToValidUTF8(text[len(text)-keptTail:], "")
	return fmt.Sprintf("%s\n[... %d bytes omitted ...]\n%s", head, len(text)-len(head)-len(tail), tail)
}

func (c *Check) clean(text string) string {
	clean, _ := c.o.Redact(text)
	return strings.ToValidUTF8(clean, "\ufffd")
}
