package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/session"
)

// runOptions is what one run was asked for.
type runOptions struct {
	engineOptions
	output string
	args   []string
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

Exit codes: 0 completed, 1 failed, 2 usage or configuration, 3 a budget or the
output limit ended it, 4 something was refused, 128+N signal N.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.args = args
			return runOnce(cmd.Context(), s, o)
		},
	}
	o.addFlags(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", formatText, "text, json, or stream-json (one event of the log a line)")
	return cmd
}

// runOnce is a run: open, send, wait, report.
func runOnce(ctx context.Context, s streams, o runOptions) error {
	switch o.output {
	case formatText, formatJSON, formatStream:
	default:
		return usage(fmt.Errorf("unknown output %q: use text, json or stream-json", o.output))
	}
	prompt, warn, err := readPrompt(o.args, s.in)
	if err != nil {
		return o.failed(s, err)
	}
	e, err := openEngine(s, o.engineOptions)
	if err != nil {
		return o.failed(s, err)
	}
	if warn != "" {
		e.notes = append(e.notes, warn)
	}
	for _, note := range e.notes {
		fmt.Fprintln(s.err, "dsh: "+oneLine(note))
	}
	return e.converse(ctx, s, o.output, prompt)
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

// converse sends the prompt, follows the log until the agent is idle, and closes
// everything. A signal ends the turn in good order; the second ends the process.
func (e *engine) converse(ctx context.Context, s streams, format, prompt string) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)

	reader := e.log.Reader(e.log.NextSeq())
	defer reader.Close()
	view := newView(s, format, e.log.Header().ID)
	if _, err := e.agent.Followup(prompt); err != nil {
		return errors.Join(err, e.close())
	}
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		_ = e.agent.WhenIdle(ctx)
	}()
	got := e.follow(reader, view, signals, idle)
	closeErr := e.close()
	view.events(reader.Next())
	runErr := errors.Join(e.agent.Err(), closeErr, view.err)
	if err := view.finish(runErr); err != nil {
		return err
	}
	if got != nil {
		return &exitError{code: exitSignal + int(got.(syscall.Signal))}
	}
	if code := view.tally.code(runErr); code != exitOK {
		return &exitError{code: code}
	}
	return nil
}

// follow shows events as they come, until the agent is idle. It returns the signal
// that ended the turn, if one did.
func (e *engine) follow(reader *session.Reader, view *view, signals <-chan os.Signal, idle <-chan struct{}) (got os.Signal) {
	for {
		select {
		case <-reader.Wake():
			view.events(reader.Next())
		case <-idle:
			view.events(reader.Next())
			return got
		case sig := <-signals:
			if got != nil {
				os.Exit(exitSignal + int(sig.(syscall.Signal))) // asked twice: the log is repaired on resume
			}
			got = sig
			cause := session.Cause{Kind: session.ByUser}
			if sig != os.Interrupt {
				cause = session.Cause{Kind: session.Disposed}
			}
			if err := e.agent.Cancel(cause, true); err != nil {
				view.note("cancel: " + err.Error())
			}
		}
	}
}

// closeWait bounds how long a closing agent may take: its bodies obey at once.
const closeWait = 5 * time.Second

func (e *engine) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	return errors.Join(e.agent.Close(ctx), e.release())
}

// shortID is how people name a session.
func shortID(id string) string {
	if head, _, ok := strings.Cut(id, "-"); ok && len(head) == 8 {
		return head
	}
	return id
}
