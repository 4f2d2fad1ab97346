package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"dsh/internal/config"
	"dsh/internal/early"
	"dsh/internal/llm"
	"dsh/internal/loop"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tui"
	"dsh/internal/tui/term"
)

// talk is a conversation. A person who has no key yet is asked for one first.
func talk(ctx context.Context, s streams, o engineOptions, prompt string) error {
	for {
		err := converse(ctx, s, o, prompt)
		var missing *config.MissingKeyError
		if !errors.As(err, &missing) || !isTerminal(s.in) || !isTerminal(s.err) {
			return err
		}
		if err := setUp(ctx, s, &o, missing); err != nil {
			return err
		}
	}
}

// converse talks on the screen where there is one, else line by line.
func converse(ctx context.Context, s streams, o engineOptions, prompt string) error {
	in, inOK := s.in.(*os.File)
	out, outOK := s.out.(*os.File)
	env := term.Detect(s.getenv)
	if !inOK || !outOK || !isTerminal(in) || !isTerminal(out) || env.Dumb || o.lines || s.getenv("ACCESSIBLE") == "1" {
		return runChat(ctx, s, o, prompt)
	}
	return runScreen(ctx, s, o, prompt, term.Options{In: in, Out: out, Env: env})
}

// screen builds what internal/tui needs out of engines.
type screen struct {
	s streams
	o engineOptions

	now atomic.Pointer[engine] // of the session on the screen
}

func runScreen(ctx context.Context, s streams, o engineOptions, prompt string, t term.Options) error {
	o.asks = true
	if !o.trust {
		trusted, err := askTrust(ctx, s, o, t)
		if err != nil {
			return err
		}
		o.trust = trusted
	}
	sc := &screen{s: s, o: o}
	first, e, err := sc.open(o)
	if err != nil {
		return err
	}
	terminal, err := term.Open(t)
	if err != nil {
		return errors.Join(err, first.Close())
	}
	paths, _, err := places(s)
	if err != nil {
		return errors.Join(err, first.Close())
	}
	header, err := tui.Run(ctx, tui.Options{
		Terminal: terminal,
		First:    first,
		Prompt:   prompt,
		Open:     sc.openNamed,
		Sessions: func() ([]session.Entry, error) { return session.List(sessionsDir(paths)) },
		Rename:   func(id, title string) error { return renameStored(paths, e.hidden, id, title) },
		Delete:   func(id string) error { return deleteStored(paths, id) },
		Models:   llm.Models,
		Commands: sc.commands(),
		Presets:  []string{string(policy.PresetReadOnly), string(policy.PresetAsk), string(policy.PresetWorkspace)},
		Present:  e.tools.Present,
		Keys:     e.keys,
		Editor:   editor(s.getenv),
		History:  filepath.Join(paths.Home, "history.jsonl"),
		Drafts:   filepath.Join(paths.Home, "drafts"),
		Redact:   func(text string) string { clean, _ := e.hidden.prompt(text); return clean },
		Version:  early.Version,
		Home:     s.getenv("HOME"),
	})
	if header.ID != "" {
		fmt.Fprintf(s.err, "Resume: dsh resume %s\n", shortID(header.ID))
	}
	var signal *tui.SignalError
	if errors.As(err, &signal) {
		return &exitError{code: exitSignal + int(signal.Signal)}
	}
	return err
}

// commands are those that the screen does not know itself.
func (sc *screen) commands() []tui.Command {
	return []tui.Command{
		{Name: "compact", Args: "[focus]", Help: "replace what was said so far by a summary", Run: sc.compact},
		{Name: "fork", Args: "[turn]", Help: "a new session with this one up to a turn", Run: func(_ context.Context, args string) (string, error) {
			return sc.now.Load().fork(sc.s, args)
		}},
		{Name: "export", Args: "[file]", Help: "write this session as Markdown (or .json)", Run: func(_ context.Context, args string) (string, error) {
			return sc.now.Load().export(args)
		}},
		{Name: "doctor", Args: "[--offline]", Help: "check this installation", Run: sc.doctor},
	}
}

// compact runs until the summary is on disk; the screen goes on meanwhile, and what is
// sent waits for it.
func (sc *screen) compact(ctx context.Context, focus string) (string, error) {
	err := sc.now.Load().agent.Compact(ctx, focus)
	if errors.Is(err, loop.ErrNothingToCompact) {
		return nothingToCompact, nil
	}
	return "", err
}

func (sc *screen) doctor(ctx context.Context, args string) (string, error) {
	return sc.now.Load().doctor(ctx, sc.s, sc.o, args)
}

// openNamed opens another session with the settings of now; "" is a new one.
func (sc *screen) openNamed(id string) (*tui.Opened, error) {
	o := sc.o
	o.cont, o.resume = false, id
	flags := map[string]bool{}
	for name, given := range sc.o.flags {
		flags[name] = given && (id == "" || name != "model")
	}
	flags["resume"] = id != ""
	o.flags = flags
	opened, _, err := sc.open(o)
	return opened, err
}

// statusRoom is more changes of status than a screen can be behind.
const statusRoom = 256

func (sc *screen) open(o engineOptions) (*tui.Opened, *engine, error) {
	status := make(chan bool, statusRoom)
	o.onStatus = func(running bool) { status <- running }
	e, err := openEngine(sc.s, o)
	if err != nil {
		return nil, nil, err
	}
	at := newMentions(e.cwd)
	e.stop = append(e.stop, at.close)
	sc.now.Store(e)
	return &tui.Opened{
		Files:     at.find,
		Agent:     e.agent,
		Events:    e.log.Reader(0),
		Status:    status,
		Header:    e.log.Header(),
		Cwd:       e.cwd,
		Model:     modelName(e.model),
		Effort:    e.model.ReasoningEffort,
		Preset:    string(e.preset),
		Handover:  e.handover,
		Notes:     e.notes,
		Shell:     e.shell,
		Output:    e.commands.table.Tail,
		Kill:      e.commands.table.Kill,
		SetModel:  func(name, effort string) (string, error) { return e.setModel(sc.s, o, name, effort) },
		SetPreset: e.setPreset,
		Rename:    e.rename,
		Close:     e.close,
	}, e, nil
}

// setModel changes the model from the next request on.
func (e *engine) setModel(s streams, o engineOptions, name, effort string) (string, error) {
	paths, err := config.Resolve(s.getenv, e.cwd)
	if err != nil {
		return "", err
	}
	o.model, o.effort = name, effort
	o.flags = map[string]bool{"model": true, "effort": effort != ""}
	settings, err := config.Load(paths, s.getenv, o.settings(), o.trust && startedIn(s, o, paths))
	if err != nil {
		return "", err
	}
	route, err := e.modelRoute(settings)
	if err != nil {
		return "", err
	}
	e.agent.SetRoute(route)
	e.model = route.Config
	return modelName(route.Config), nil
}

// startedIn reports whether dsh was started in a project: trust is for that one, and not
// for that of a session from elsewhere.
func startedIn(s streams, o engineOptions, paths config.Paths) bool {
	cwd, err := workingDir(o.dir)
	if err != nil {
		return false
	}
	start, err := config.Resolve(s.getenv, cwd)
	return err == nil && start.Project == paths.Project
}

func (e *engine) setPreset(name string) error {
	preset, err := policy.ParsePreset(name)
	if err != nil {
		return err
	}
	e.agent.SetPreset(preset)
	e.preset = preset
	return nil
}

// editor is the user's, as an argument vector; nil if none is named.
func editor(getenv func(string) string) []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(getenv(name)); len(words) > 0 {
			return words
		}
	}
	return nil
}
