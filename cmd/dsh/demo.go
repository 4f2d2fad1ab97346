package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/tools/txtar"

	"dsh/internal/config"
	"dsh/internal/early"
	"dsh/internal/llm"
	"dsh/internal/llm/openai"
	"dsh/internal/loop"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// demoRule lets the model run the project's test, which the preset would ask about.
const demoRule = "bash(go test:*)"

// demoEnv keeps go and git to what is on this machine, whatever the user's own settings
// are.
var demoEnv = []string{"GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1"}

func newDemoCommand(s streams) *cobra.Command {
	var keep bool
	cmd := &cobra.Command{
		Use:   "demo [fix|async]",
		Short: "Show dsh at work with a scripted model: no key, no network",
		Long: `Shows dsh at work. A second process plays the model over HTTP; the loop, the
client, the tools, the policy and the log are the real ones, and so are the
commands that run, in a temporary folder.

fix, which is also what demo alone does, has a small Go project with a failing test
repaired. async has a question answered while the tests of a project run.`,
		Args: noCommand,
		RunE: interruptible(func(ctx context.Context) error { return demoFix(ctx, s, keep) }),
	}
	cmd.PersistentFlags().BoolVar(&keep, "keep", false, "keep the project's folder")
	cmd.AddCommand(newDemoFixCommand(s, &keep), newDemoAsyncCommand(s, &keep))
	return cmd
}

// demo is one demonstration under way.
type demo struct {
	s    streams
	root string   // a temporary folder
	dir  string   // the project in it
	goes string   // the go command
	env  []string // of commands, beside what they inherit

	cards *cards
}

// newDemo unpacks an archive into a temporary folder. close removes it.
func newDemo(s streams, archive []byte, keep bool) (d *demo, close func() error, err error) {
	d = &demo{s: s}
	if d.goes, err = exec.LookPath("go"); err != nil {
		return nil, nil, errors.New("the demo runs the tests of a Go program, and there is no go on PATH: install Go from https://go.dev/dl and try again")
	}
	if d.root, err = os.MkdirTemp("", "dsh-demo-"); err != nil {
		return nil, nil, fmt.Errorf("the demo needs a temporary folder: %w", err)
	}
	d.dir = filepath.Join(d.root, "project")
	d.env = append(slices.Clone(demoEnv), "GOTMPDIR="+d.root) // what a killed go leaves goes with the folder
	forgetGit()
	close = func() error {
		if keep {
			d.say("The project is in %s", d.dir)
			return nil
		}
		return os.RemoveAll(d.root)
	}
	if err := unpackDemo(archive, d.root); err != nil {
		return nil, nil, errors.Join(err, close())
	}
	return d, close, nil
}

// forgetGit takes what git was told by the environment out of it: in a hook it names
// the user's own repository.
func forgetGit() {
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "GIT_") {
			_ = os.Unsetenv(name)
		}
	}
}

// interruptible runs a demonstration under a context that a signal ends, so that it
// leaves nothing behind; the second signal does what signals do. Nor does an output
// that nobody reads end it in the middle.
func interruptible(do func(context.Context) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		ctx, cancel := context.WithCancelCause(cmd.Context())
		defer cancel(nil)
		signals := make(chan os.Signal, 4)
		signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			for got := range signals {
				if got == syscall.SIGPIPE {
					continue
				}
				signal.Reset(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
				cancel(&exitError{code: exitSignal + int(got.(syscall.Signal))})
				return
			}
		}()
		err := do(ctx)
		signal.Stop(signals)
		close(signals)
		<-watched
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return err
	}
}

func unpackDemo(archive []byte, root string) error {
	for _, f := range txtar.Parse(archive).Files {
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

// engine is a session over the project, whose model is the second process.
func (d *demo) engine(ctx context.Context, script string, handover bool) (*engine, func(), error) {
	url, stopModel, err := startModel(ctx, script)
	if err != nil {
		return nil, nil, err
	}
	e := newEngine()
	if err := d.open(e, url, handover); err != nil {
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
func (d *demo) open(e *engine, url string, handover bool) error {
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
	if !handover {
		settings.Handover = "off"
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
	e.env = d.env
	return e.start(d.s, settings, route, rules, real, engineOptions{})
}

func (d *demo) say(format string, args ...any) {
	fmt.Fprintln(d.s.out, termtext.Clean(fmt.Sprintf(format, args...)))
}
