package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/session"
)

// runOptions is what one run was asked for.
type runOptions struct {
	engineOptions
	output   string
	args     []string
	waitJobs bool
}

// Formats of -o.
const (
	formatText   = "text"
	formatJSON   = "json"
	formatStream = "stream-json"
)

func newRunCommand(s streams) *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT... | -",
		Short: "Send one prompt and print the answer",
		Long: `Send one prompt and print the answer.

The prompt is the arguments, standard input, or both. Standard output carries
only the result; everything else goes to standard error.

Exit codes: 0 completed, 1 failed, 2 usage or configuration (a missing or refused
key included), 3 a budget or the output limit ended it, 4 something was refused,
5 the verification command did not pass, 128+N signal N.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return runOnce(cmd.Context(), s, o)
		},
	}
	o.addFlags(cmd)
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return o.failed(s, usage(err)) })
	cmd.Flags().BoolVar(&o.waitJobs, "wait-jobs", false, "let background jobs end, and the model read of it, before the run does")
	cmd.Flags().StringVarP(&o.output, "output", "o", formatText, "text, json, or stream-json (the session's header, then its events, one a line)")
	return cmd
}

// runOnce is a run: open, send, wait, report.
func runOnce(ctx context.Context, s streams, o runOptions) error {
	switch o.output {
	case formatText, formatJSON, formatStream:
	default:
		return usage(fmt.Errorf("unknown output %q: use text, json or stream-json", o.output))
	}
	prompt, warn, err := readPrompt(o.args, s.in, func() { fmt.Fprintln(s.err, "dsh: reading standard input...") })
	if err != nil {
		return o.failed(s, err)
	}
	e, err := openEngine(s, o.engineOptions)
	if err != nil {
		return o.failed(s, err)
	}
	if len(e.waiting()) > 0 {
		e.notes = append(e.notes, "dsh resume "+shortID(e.log.Header().ID)+" sends or drops what is kept")
	}
	if warn != "" {
		e.notes = append(e.notes, warn)
	}
	for _, note := range e.notes {
		fmt.Fprintln(s.err, "dsh: "+oneLine(note))
	}
	return e.converse(ctx, s, o, prompt)
}

// failed reports what kept the run from starting: a script that asked for JSON gets
// JSON.
func (o *runOptions) failed(s streams, err error) error {
	if o.output != formatJSON {
		return err
	}
	code := "FAILED"
	if exitCode(err) == exitUsage {
		code = "USAGE"
	}
	r := newTally("").result
	r.Status, r.Error = session.Failed, &errorJSON{Code: code, Message: oneLine(err.Error())}
	return errors.Join(err, writeJSON(s.out, r))
}

// converse sends the prompt, shows the log until the agent is idle, and closes
// everything. What kept it from doing so is part of the result.
func (e *engine) converse(ctx context.Context, s streams, o runOptions, prompt string) error {
	signals := catchSignals()
	reader := e.log.Reader(e.log.NextSeq())
	defer reader.Close()
	view := newView(s, o.output, e.log.Header(), newCards(e.tools.Present))
	_, err := e.agent.Followup(prompt)
	go signals.obey(e)
	if err == nil {
		view.tally.overdue = e.follow(ctx, reader, view, o.waitJobs)
		err = e.agent.Err()
	}
	if closeErr := e.close(); err == nil {
		err = closeErr // otherwise it is most likely the same again
	}
	view.events(reader.Next())
	view.tally.verification(e.verify, e.log.State())
	finishErr := view.finish(err)
	if sig := signals.stop(); sig != 0 {
		return &exitError{code: exitSignal + int(sig)}
	}
	if finishErr != nil {
		return finishErr
	}
	if code := view.tally.code(err); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// follow shows events as they come, until the agent is idle, or, with jobs, until none
// runs either; overdue is the time that was too short for that, 0 if none was. When
// nobody reads the output any more, the turn ends: nobody would see what it costs.
func (e *engine) follow(ctx context.Context, reader *session.Reader, view *view, jobs bool) (overdue time.Duration) {
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		if jobs {
			overdue = e.awaitJobs()
		}
		_ = e.agent.WhenIdle(ctx)
	}()
	for over := false; !over; {
		select {
		case <-reader.Wake():
		case <-idle:
			over = true
		}
		view.events(reader.Next())
		if view.err != nil {
			e.cancel(session.Disposed)
		}
	}
	return overdue
}

// awaitJobs waits until no job runs, as long as one turn may take at most: what never
// ends would keep the run for ever. It returns that time if it was too short.
func (e *engine) awaitJobs() time.Duration {
	ctx, cancel := e.stay, context.CancelFunc(func() {})
	if e.maxTime > 0 {
		ctx, cancel = context.WithTimeout(e.stay, e.maxTime)
	}
	defer cancel()
	err := e.agent.WhenQuiet(ctx)
	if err == nil || e.stay.Err() != nil || !slices.ContainsFunc(e.agent.Jobs(), func(j session.JobInfo) bool { return j.Status.Active() }) {
		return 0
	}
	return e.maxTime
}

// cancel ends the turn, and the wait for jobs. What waits in the inbox stays there.
func (e *engine) cancel(who session.CauseKind) {
	e.leave()
	_ = e.agent.Cancel(session.Cause{Kind: who}, true) // with the inbox kept nothing is written
}

// closeWait bounds how long a closing agent may take: its bodies obey at once, but
// for a command that ignores TERM, which has a grace of 3 s.
const closeWait = 5 * time.Second

func (e *engine) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return errors.Join(e.agent.Close(ctx), e.release())
}

// waiting are the messages that wait for the user's word. Notes of dsh itself do not.
func (e *engine) waiting() []session.QueueItem {
	return slices.DeleteFunc(e.agent.Queue(), func(it session.QueueItem) bool { return it.Source.Form == session.FormJob })
}

// shortID is how people name a session.
func shortID(id string) string {
	if head, _, ok := strings.Cut(id, "-"); ok && len(head) == 8 {
		return head
	}
	return id
}
