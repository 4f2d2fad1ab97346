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
	"golang.org/x/tools/txtar"

	"dsh/internal/audit"
	"dsh/internal/config"
	"dsh/internal/early"
	"dsh/internal/llm"
	"dsh/internal/llm/openai"
	"dsh/internal/loop"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

//go:embed demo.txtar
var demoArchive []byte

const demoPrompt = "go test ./... fails in this project. Find out why and mend the code, not the test."

// demoRule lets the model run the project's test, which the preset would ask about.
const demoRule = "bash(go test:*)"

// demoEnv keeps the go command to what is on this machine, whatever the user's own
// settings are.
var demoEnv = []string{"GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local"}

func newDemoCommand(s streams) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Repair a small program with a scripted model: no key, no network",
		Long: `Unpacks a small Go project with a failing test into a temporary folder and has it
repaired. A second process plays the model over HTTP; the loop, the client, the
tools, the policy and the log are the real ones. The model reads, runs the test,
edits and runs it again; dsh runs it itself before and after.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDemo(cmd.Context(), s, keep)
		},
	}
	cmd.Flags().BoolVar(&keep, "keep", false, "keep the project's folder")
	return cmd
}

// demo is one demonstration under way.
type demo struct {
	s    streams
	dir  string // the project
	goes string // the go command

	cards *cards
}

func runDemo(ctx context.Context, s streams, keep bool) (err error) {
	d := &demo{s: s}
	if d.goes, err = exec.LookPath("go"); err != nil {
		return errors.New("the demo repairs a Go program and runs its test, and there is no go on PATH: install Go from https://go.dev/dl and try again")
	}
	root, err := os.MkdirTemp("", "dsh-demo-")
	if err != nil {
		return fmt.Errorf("the demo needs a temporary folder: %w", err)
	}
	if !keep {
		defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	}
	d.dir = filepath.Join(root, "project")
	if err := unpackDemo(root); err != nil {
		return err
	}
	d.say("A small Go project with a failing test is in %s", d.dir)
	if ok, err := d.test(ctx, "before"); err != nil || ok {
		return errors.Join(err, unless(ok, "the project's test passes before anything was repaired"))
	}
	e, stop, err := d.engine(ctx, filepath.Join(root, "model.txt"))
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
	if err := d.report(e.log.Path()); err != nil {
		return err
	}
	if keep {
		d.say("The project is in %s", d.dir)
	}
	return nil
}

func unpackDemo(root string) error {
	for _, f := range txtar.Parse(demoArchive).Files {
		path := filepath.Join(root, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// test runs the project's test and shows what it says. ok is its verdict.
func (d *demo) test(ctx context.Context, when string) (ok bool, err error) {
	cmd := exec.CommandContext(ctx, d.goes, "test", "-count=1", "./...")
	cmd.Dir = d.dir
	cmd.Env = append(os.Environ(), demoEnv...)
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

// engine is a session over the project, whose model is the second process.
func (d *demo) engine(ctx context.Context, script string) (*engine, func(), error) {
	url, stopModel, err := startModel(ctx, script)
	if err != nil {
		return nil, nil, err
	}
	e := newEngine()
	if err := d.open(e, url); err != nil {
		stopModel()
		return nil, nil, errors.Join(err, e.release())
	}
	return e, func() {
		_ = e.close()
		stopModel()
	}, nil
}

// open builds the engine with the defaults: the demo is the same whatever the
// user's settings are. The log is kept with the user's other sessions.
func (d *demo) open(e *engine, url string) error {
	real, err := filepath.EvalSymlinks(d.dir)
	if err != nil {
		return err
	}
	paths, err := config.Resolve(d.s.getenv, real)
	if err != nil {
		return usage(err)
	}
	settings, err := config.Load(config.Paths{Home: paths.Home}, func(string) string { return "" }, nil, false)
	if err != nil {
		return err
	}
	client, err := openai.New(openai.Options{BaseURL: url, Key: "demo-key", KeyName: "the demo",
		Profile: openai.ProfileFor("deepseek", ""), UserAgent: "dsh/" + early.Version})
	if err != nil {
		return err
	}
	if err := e.openLog(paths, real, nil); err != nil {
		return err
	}
	route := loop.Route{Model: client, Config: llm.Config{Provider: "demo", Model: "scripted"}}
	allow, err := policy.ParseRule(demoRule, session.Allow, "the demo")
	if err != nil {
		return err
	}
	rules := policy.Rules{Preset: policy.PresetWorkspace, Workspace: real, Rules: []policy.Rule{allow}}
	e.env = demoEnv
	return e.start(d.s, settings, route, rules, real, engineOptions{})
}

// repair sends the prompt and shows what happens, event by event.
func (d *demo) repair(ctx context.Context, e *engine) error {
	d.say("\nPermission: workspace (edits inside the project run, commands are asked about), and the rule allow %s.", demoRule)
	d.say("\n> %s", demoPrompt)
	d.cards = newCards(e.tools.Present)
	reader := e.log.Reader(0)
	defer reader.Close()
	if _, err := e.agent.Followup(demoPrompt); err != nil {
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

func (d *demo) say(format string, args ...any) {
	fmt.Fprintln(d.s.out, termtext.Clean(fmt.Sprintf(format, args...)))
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
