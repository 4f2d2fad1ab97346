package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/audit"
	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

//go:embed demo_fix.txtar
var fixArchive []byte

const fixPrompt = "go test ./... fails in this project. Find out why and mend the code, not the test."

func newDemoFixCommand(s streams, keep *bool) *cobra.Command {
	return &cobra.Command{
		Use:   "fix",
		Short: "Have a small program repaired",
		Long: `Unpacks a small Go project with a failing test into a temporary folder and has it
repaired. The model reads, runs the test, edits and runs it again; dsh runs it itself
before and after.`,
		Args: cobra.NoArgs,
		RunE: interruptible(func(ctx context.Context) error { return demoFix(ctx, s, *keep) }),
	}
}

func demoFix(ctx context.Context, s streams, keep bool) (err error) {
	d, closeDemo, err := newDemo(s, fixArchive, keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeDemo()) }()
	d.say("A small Go project with a failing test is in %s", d.dir)
	if ok, err := d.test(ctx, "before"); err != nil || ok {
		return errors.Join(err, unless(ok, "the project's test passes before anything was repaired"))
	}
	e, stop, err := d.engine(ctx, filepath.Join(d.root, "model.txt"), true)
	if err != nil {
		return err
	}
	defer stop()
	if err := d.repair(ctx, e); err != nil {
		return err
	}
	if ok, err := d.test(ctx, "after"); err != nil || !ok {
		return errors.Join(err, unless(!ok, "the project's test still fails"))
	}
	return d.report(e.log.Path())
}

// test runs the project's test and shows what it says. ok is its verdict.
func (d *demo) test(ctx context.Context, when string) (ok bool, err error) {
	cmd := exec.CommandContext(ctx, d.goes, "test", "-count=1", "./...")
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), d.env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return false, fmt.Errorf("run go test: %w", err)
	}
	d.say("\n$ go test -count=1 ./...        (%s)", when)
	for line := range strings.Lines(string(out)) {
		fmt.Fprintln(d.s.out, "    "+termtext.Line(strings.TrimRight(line, "\n")))
	}
	return err == nil, nil
}

// repair sends the prompt and shows what happens, event by event.
func (d *demo) repair(ctx context.Context, e *engine) error {
	d.say("\nPermission: workspace (edits inside the project run, commands are asked about), and the rule allow %s.", demoRule)
	d.say("\n> %s", fixPrompt)
	d.cards = newCards(e.tools.Present)
	reader := e.log.Reader(0)
	defer reader.Close()
	if _, err := e.agent.Followup(fixPrompt); err != nil {
		return err
	}
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		_ = e.agent.WhenIdle(ctx)
	}()
	for running := true; running; {
		select {
		case <-reader.Wake():
		case <-idle:
			running = false
		}
		for _, ev := range reader.Next() {
			d.show(&ev)
		}
	}
	st := e.log.State()
	if st.LastEnd == nil || st.LastEnd.Kind != session.Completed {
		return errors.Join(e.agent.Err(), fmt.Errorf("the turn did not complete; dsh log %s tells why", shortID(e.log.Header().ID)))
	}
	return e.log.Sync()
}

func (d *demo) show(ev *session.Event) {
	switch p := ev.Data.(type) {
	case session.AssistantMessage:
		for _, b := range p.Message.Content {
			switch b.Type {
			case llm.Reasoning:
				d.say("  (thinks) %s", b.Text)
			case llm.Text:
				d.say("  %s", b.Text)
			}
		}
	case session.ToolCall:
		d.cards.begin(&p)
	case session.ToolResult:
		line, body := d.cards.result(&p)
		d.say("%s", line)
		for _, line := range body {
			d.say("      %s", line)
		}
		if meta, ok := session.DecodeMeta(p.Meta); ok && meta.Display != nil {
			for _, diff := range meta.Display.Diffs {
				for _, hunk := range diff.Hunks {
					d.say("      %s", strings.Join(hunk.Lines, "\n      "))
				}
			}
		}
	}
}

// report prints figures, each folded from the log as a new reader finds it, and
// lets the audit judge it.
func (d *demo) report(path string) error {
	snapshot, err := session.Read(path)
	if err != nil {
		return err
	}
	verdict, err := audit.Verify(snapshot)
	if err = errors.Join(err, verdict.Structure); err != nil {
		return err
	}
	if verdict.Wrong != nil {
		return verdict.Wrong
	}
	st, id := snapshot.State(), shortID(snapshot.Header().ID)
	took := time.Duration(st.LastTime-snapshot.Header().CreatedAt) * time.Millisecond
	d.say("\n%d turn, %d steps, %d requests, %d calls in %s; %s tokens in, %d of them cached, %s out; changed: %s",
		st.Turn, st.Steps, st.Requests, st.Calls, took, st.Guess.In(st.Usage.InputTokens+count(st.Usage.CacheReadTokens)),
		count(st.Usage.CacheReadTokens), st.Guess.Out(st.Usage.OutputTokens), strings.Join(base(st.Changed), ", "))
	d.say("The log has %d events; %d of %d requests were derived from it again and are equal.", verdict.Events, verdict.Derived, verdict.Requests)
	d.say("It is %s (dsh log %s, dsh verify %s).", path, id, id)
	return nil
}

func base(paths []string) []string {
	var names []string
	for _, p := range paths {
		names = append(names, filepath.Base(p))
	}
	return names
}

func unless(bad bool, text string) error {
	if !bad {
		return nil
	}
	return errors.New("the demo failed: " + text)
}
