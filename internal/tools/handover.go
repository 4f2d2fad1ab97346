package tools

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/session"
)

// kindBash begins the ids of commands that are jobs.
const kindBash = "bash"

// What results of commands that are jobs begin with, or end.
const (
	startedJob  = "started background job "
	stillRuns   = "[still running as job "
	noOutputYet = "(no output yet)"
)

// background starts the command as a job.
func (b *bashTool) background(env Env, a *bashArgs, where place) (Result, error) {
	if env.Jobs == nil {
		return Result{}, fail(JobsClosed, "there are no background jobs here: the command was not run. Run it without run_in_background, with a timeoutMs that is long enough.")
	}
	spec := jobs.Spec{Kind: kindBash, Label: a.Command, CallID: env.CallID}
	job, err := env.Jobs.Start(spec, func() (*jobs.Process, error) { return b.start(env, a, where) })
	if err != nil {
		return Result{}, jobError(err)
	}
	text := startedJob + job.ID()
	if note := b.once(where.note); note != "" {
		text += "\n" + note
	}
	d := a.card()
	return Result{Text: text, Stands: true, Meta: session.ResultMeta{Display: jobCard("Run", headBytes(d.Target, maxTarget), "started "+job.ID()+" in the background")}}, nil
}

// attend waits for a command that was started: until it ends, the turn does, or it
// goes on as a job.
func (b *bashTool) attend(ctx context.Context, env Env, a *bashArgs, p *jobs.Process, note string) Result {
	timeout := time.NewTimer(a.timeout())
	defer timeout.Stop()
	var auto <-chan time.Time
	if b.o.Auto > 0 && b.o.Auto < a.timeout() {
		timer := time.NewTimer(b.o.Auto)
		defer timer.Stop()
		auto = timer.C
	}
	for ended := false; !ended; {
		var why string
		select {
		case <-p.Done():
			ended = true
		case <-ctx.Done():
			ended = true
		case why = <-env.Yield:
		case <-auto:
			why = session.HandoverAuto
		case <-timeout.C:
			if b.o.KeepLate {
				why = session.HandoverTimeout
			}
			if moved, ok := b.move(ctx, env, a, p, note, why); ok {
				return moved
			}
			p.Expire()
			ended = true
			continue
		}
		if moved, ok := b.move(ctx, env, a, p, note, why); ok {
			return moved
		}
	}
	r, err := p.Wait(ctx)
	o := ending{Result: r, args: *a, lost: err, note: note}
	return o.result()
}

// move makes a job of a command that runs. It is not one if the command has ended, the
// turn has, or there are too many: then all stays as it was.
func (b *bashTool) move(ctx context.Context, env Env, a *bashArgs, p *jobs.Process, note, why string) (Result, bool) {
	if why == "" || env.Jobs == nil || ctx.Err() != nil {
		return Result{}, false
	}
	select {
	case <-p.Done():
		return Result{}, false
	default:
	}
	sofar, next := p.SoFar()
	job, err := env.Jobs.Adopt(jobs.Spec{Kind: kindBash, Label: a.Command, CallID: env.CallID, Handover: why, Read: next}, p)
	if err != nil {
		return Result{}, false
	}
	text := sofar.Output
	if text == "" {
		text = noOutputYet
	}
	text = withNewline(text)
	if sofar.Omitted > 0 {
		text += fmt.Sprintf("[output truncated; full output: %s]\n", sofar.Where())
	}
	if note != "" {
		text += note + "\n"
	}
	text += fmt.Sprintf(stillRuns+"%s: %s. What it puts out from here on is read with job_output, and you are told when it ends]", job.ID(), b.moved(a, why))
	return Result{Text: text, Handed: job.ID(), Stands: true,
		Meta: session.ResultMeta{Display: jobCard("Run", headBytes(a.Command, maxTarget), "runs on as "+job.ID())}}, true
}

// moved says why a command became a job.
func (b *bashTool) moved(a *bashArgs, why string) string {
	switch why {
	case session.HandoverSteer:
		return "it was moved to the background because the user wrote"
	case session.HandoverKey:
		return "the user moved it to the background"
	case session.HandoverTimeout:
		return fmt.Sprintf("it did not end within %dms and was moved to the background", a.timeout().Milliseconds())
	}
	return fmt.Sprintf("it did not end within %s and was moved to the background", b.o.Auto)
}

// jobError gives what a registry says its code.
func jobError(err error) error {
	switch {
	case errors.Is(err, jobs.ErrTooMany):
		return fail(JobLimit, "the command was not run: %v", err)
	case errors.Is(err, jobs.ErrUnknown):
		return fail(JobUnknown, "%v: job_list names the jobs of this session", err)
	case errors.Is(err, jobs.ErrClosed):
		return fail(JobsClosed, "%v", err)
	}
	return err
}

func jobCard(verb, target string, facts ...string) *session.Display {
	return &session.Display{Kind: session.ShowJob, Verb: verb, Target: target, Facts: facts}
}
