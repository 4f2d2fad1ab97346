package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/session"
)

//go:embed demo_async.txtar
var asyncArchive []byte

const (
	asyncPrompt = "Run all tests of this project and tell me whether I can release it."
	// asyncPart of the command's time passes before the question.
	asyncPart = 6
	// asyncLimit bounds a conversation beside the command's own time: a machine that
	// needs longer shows nothing.
	asyncLimit = time.Minute
	maxSeconds = 600
)

func newDemoAsyncCommand(s streams, keep *bool) *cobra.Command {
	var seconds int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "async",
		Short: "Have a question answered while a command runs",
		Long: `Has the same conversation twice over a small Go project: once with commands that
block (bash.handover = "off"), once as dsh does by itself. The model runs tests that
take --seconds; after a sixth of that the user asks something about the project, and
the model looks at it with git. What is printed is read off the two session logs.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(ctx context.Context) error {
			if seconds < 1 || seconds > maxSeconds {
				return usage(fmt.Errorf("--seconds %d: from 1 to %d", seconds, maxSeconds))
			}
			return demoAsync(ctx, s, seconds, asJSON, *keep)
		}),
	}
	cmd.Flags().IntVar(&seconds, "seconds", 10, "how long the tests take")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the figures as JSON, in milliseconds since the run's start")
	return cmd
}

func demoAsync(ctx context.Context, s streams, seconds int, asJSON, keep bool) (err error) {
	out := s.out
	if asJSON {
		s.out = s.err // the figures alone are the output
	}
	d, closeDemo, err := newDemo(s, asyncArchive, keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDemo()) }()
	if err := d.prepareAsync(ctx, seconds); err != nil {
		return err
	}
	took := time.Duration(seconds) * time.Second
	d.say("A small Go project is in %s: its tests take %s, and one change is not committed.", d.dir, took)
	d.say("\n> %s\n  (the model runs go test; %s later:)\n> %s", asyncPrompt, (took / asyncPart).Round(100*time.Millisecond), asyncQuestion)
	blocking, err := d.converse(ctx, took, false)
	if err != nil {
		return fmt.Errorf("the conversation that blocks: %w", err)
	}
	async, err := d.converse(ctx, took, true)
	if err != nil {
		return fmt.Errorf("the conversation that does not: %w", err)
	}
	return showTimelines(out, blocking, async, asJSON)
}

// prepareAsync makes a repository with one change, and builds its tests, so that what
// is measured is their running.
func (d *demo) prepareAsync(ctx context.Context, seconds int) error {
	if _, err := exec.LookPath("git"); err != nil {
		return errors.New("the demo asks about a repository, and there is no git on PATH: install git and try again")
	}
	changed := filepath.Join(d.dir, "invoice.go")
	change, err := os.ReadFile(changed)
	if err != nil {
		return err
	}
	committed, err := os.ReadFile(filepath.Join(d.root, "committed.go"))
	if err != nil {
		return err
	}
	err = errors.Join(
		os.MkdirAll(filepath.Join(d.dir, "testdata"), 0o755),
		os.WriteFile(filepath.Join(d.dir, "testdata", "seconds"), []byte(strconv.Itoa(seconds)+"\n"), 0o644),
		os.WriteFile(changed, committed, 0o644),
	)
	for _, argv := range [][]string{
		{"git", "init", "-q"},
		{"git", "add", "."},
		{"git", "-c", "user.name=dsh", "-c", "user.email=dsh@localhost", "commit", "-q", "-m", "Invoices"},
	} {
		err = errors.Join(err, d.command(ctx, argv...))
	}
	return errors.Join(err,
		os.WriteFile(changed, change, 0o644),
		d.command(ctx, d.goes, "test", "-count=1", "-run", "^$", "./..."))
}

// command runs a command of the preparation.
func (d *demo) command(ctx context.Context, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), d.env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w: %s", argv, err, out)
	}
	return nil
}

// converse has the conversation once and returns its log.
func (d *demo) converse(ctx context.Context, took time.Duration, handover bool) (log string, err error) {
	ctx, cancel := context.WithTimeout(ctx, took+asyncLimit)
	defer cancel()
	e, stop, err := d.engine(ctx, filepath.Join(d.root, "model.txt"), handover)
	if err != nil {
		return "", err
	}
	defer stop()
	reader := e.log.Reader(0)
	defer reader.Close()
	if _, err := e.agent.Followup(asyncPrompt); err != nil {
		return "", err
	}
	var t timeline
	if err := t.until(ctx, reader, func() bool { return t.CommandStart != nil }); err != nil {
		return "", err
	}
	question := time.NewTimer(took / asyncPart)
	defer question.Stop()
	select {
	case <-question.C:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	if _, err := e.agent.Steer(asyncQuestion); err != nil {
		return "", err
	}
	if err := t.until(ctx, reader, t.over); err != nil {
		return "", errors.Join(err, e.agent.Err())
	}
	if err := e.agent.WhenIdle(ctx); err != nil {
		return "", err
	}
	return e.log.Path(), e.log.Sync()
}

// until folds events as they come until that is so.
func (t *timeline) until(ctx context.Context, reader *session.Reader, so func() bool) error {
	for !so() {
		events := reader.Next()
		for i := range events {
			t.add(&events[i])
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-reader.Wake():
		case <-ctx.Done():
			return fmt.Errorf("it did not come to its end: %w", ctx.Err())
		}
	}
	return nil
}
