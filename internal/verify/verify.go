package verify

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/llm"
	"dsh/internal/loop"
	"dsh/internal/session"
)

// Options are what a Check needs. All but Redact are required.
type Options struct {
	Command  string        // a command line, as a shell reads it
	Attempts int           // how often a failure of one turn is given back to the model
	Timeout  time.Duration // of one run
	Jobs     *jobs.Table
	Dir      string   // where the command runs: the session's directory
	Root     string   // the workspace: what lies outside is nobody's test
	Env      []string // the command's whole environment: see jobs.Environ

	State  func() session.State             // of the session's log
	Redact func(text string) (string, bool) // takes keys out of what is logged; nil: none
}

// Check is the turn-stopping extension. It has no state of its own.
type Check struct {
	o         Options
	dir, root string // real paths
}

// New makes a Check.
func New(o Options) *Check {
	if o.Redact == nil {
		o.Redact = func(text string) (string, bool) { return text, false }
	}
	return &Check{o: o, dir: realPath(o.Dir), root: realPath(o.Root)}
}

// TurnStopping runs the command if the turn may have changed something since it last
// passed. Only a turn that would end as completed is checked: what a budget, the
// output limit or an error ends is no success anyway.
func (c *Check) TurnStopping(ctx context.Context, s loop.Stopping) (loop.Ending, error) {
	state := c.o.State()
	work := &state.ThisTurn.Work
	if s.Reason.Kind != session.Completed || !work.Open {
		return loop.Ending{}, nil
	}
	run := c.plan(ctx, s.Turn, &state)
	if err := s.Record(run); err != nil {
		return loop.Ending{}, err
	}
	c.run(ctx, s.Steered, &run)
	if run.Verdict.Fails() {
		run.Left = max(0, c.o.Attempts-work.Failed)
	}
	if err := s.Record(run); err != nil {
		return loop.Ending{}, err
	}
	switch {
	case !run.Verdict.Fails():
		return loop.Ending{}, ctx.Err()
	case run.Left > 0:
		return loop.Ending{Continue: []llm.Message{feedback(&run)}}, nil
	}
	return loop.Ending{Reason: c.unverified(&run)}, nil
}

// plan is the run before it begins.
func (c *Check) plan(ctx context.Context, turn int, state *session.State) session.VerifyRun {
	work := &state.ThisTurn.Work
	run := session.VerifyRun{Turn: turn, Attempt: work.Checks + 1, Command: c.clean(c.o.Command), Verdict: session.VerifyRunning,
		Changed: []string{}, Commands: work.Commands, ExitCode: -1}
	c.look(ctx, &run, state)
	return run
}

// unverified is how a turn ends whose last failure is nobody's to repair.
func (c *Check) unverified(run *session.VerifyRun) *session.EndReason {
	text := run.Command + " " + run.Cause()
	if c.o.Attempts > 0 {
		text = fmt.Sprintf("%s %s, after %s to repair it", run.Command, run.Cause(), attempts(c.o.Attempts))
	}
	if note := run.TouchedNote(); note != "" {
		text += "; " + note
	}
	return &session.EndReason{Kind: session.Failed, Failure: &llm.Failure{Code: session.CodeUnverified, Message: text}}
}

// feedback is what the model reads of a failure.
func feedback(run *session.VerifyRun) llm.Message {
	var sb strings.Builder
	fmt.Fprintf(&sb, "The user's check of your work, `%s`, %s. You are not done until it passes. %s left.\n", run.Command, run.Cause(), attempts(run.Left))
	sb.WriteString("Repair the cause; do not weaken the check or its tests. If it cannot be repaired, say why.\n")
	if note := run.TouchedNote(); note != "" {
		sb.WriteString("The user is told that " + note + ".\n")
	}
	if run.Output == "" {
		sb.WriteString("It printed nothing.")
	} else {
		sb.WriteString("It printed:\n" + run.Output)
	}
	return llm.Message{Role: llm.User, Content: []llm.Block{llm.TextBlock(sb.String())},
		Source: llm.Source{Kind: llm.FromPlugin, Plugin: "dsh", Form: "verification"}}
}

func attempts(n int) string {
	if n == 1 {
		return "1 attempt"
	}
	return fmt.Sprintf("%d attempts", n)
}

// realPath is a path without symbolic links, or the path itself when that is not to
// be had.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}
