package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/config"
	"dsh/internal/jobs"
	"dsh/internal/llm"
	"dsh/internal/llm/llmtest"
	"dsh/internal/loop"
	"dsh/internal/policy"
	"dsh/internal/prompt"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// engineOptions are the flags that every way into a session shares.
type engineOptions struct {
	model, effort, permission string
	allow, deny               []string
	maxSteps                  int
	maxTime                   time.Duration
	verify                    string
	dir                       string
	trust                     bool
	resume                    string
	cont                      bool

	flags    map[string]bool // those that were given
	asks     bool            // a person can answer approvals
	lines    bool            // talk line by line
	onStatus func(running bool)
}

func (o *engineOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&o.model, "model", "m", "", "model: a name, provider/name, or script:FILE")
	f.StringVar(&o.effort, "effort", "", "reasoning effort: off, low, high, max (what the model knows)")
	f.StringVar(&o.permission, "permission", "", "read-only, ask, workspace or full")
	f.StringArrayVar(&o.allow, "allow", nil, "allow a tool, as edit or 'edit(src/*)'; may be repeated")
	f.StringArrayVar(&o.deny, "deny", nil, "deny a tool, likewise; beats allow; a path for edit or write holds for both")
	f.IntVar(&o.maxSteps, "max-steps", 0, "end the turn after so many steps (default 200)")
	f.DurationVar(&o.maxTime, "max-time", 0, "end the turn after this time, such as 10m")
	f.StringVar(&o.verify, "verify", "", "a command that must exit 0 before a turn that changed something is done")
	f.StringVarP(&o.dir, "dir", "C", "", "work in this directory")
	f.BoolVar(&o.trust, "trust", false, "trust this folder's settings for this run")
	f.StringVar(&o.resume, "resume", "", "continue a session: its id, a unique beginning of it, or a path")
	f.BoolVarP(&o.cont, "continue", "c", false, "continue the last session of this folder")
	cmd.PreRun = func(cmd *cobra.Command, _ []string) {
		o.flags = map[string]bool{}
		for _, name := range []string{"model", "effort", "permission", "max-steps", "max-time", "verify", "resume"} {
			o.flags[name] = cmd.Flags().Changed(name)
		}
	}
}

// engine is one session with everything that runs it.
type engine struct {
	agent    *loop.Agent
	log      *session.Log
	tools    *tools.Registry
	home     string              // where dsh keeps its state
	env      []string            // of commands, beside what they inherit
	keys     map[string][]string // of the screen
	children []string            // the whole environment of commands
	cwd      string
	model    llm.Config
	preset   policy.Preset
	notes    []string // for the user, before anything runs
	stop     []func() error

	maxTime time.Duration   // of a turn, and of a run's wait for jobs; 0 is no limit
	stay    context.Context // ends when nobody waits for jobs any more
	leave   context.CancelFunc

	instructions *prompt.Instructions // nil: none
	handover     bool                 // a running command can become a job

	hidden   *secrets
	commands *commands
	verify   string          // the command that checks a turn, "" none
	script   *llmtest.Server // plays the model; nil for a real one
}

// openEngine builds every part once, in the order in which they depend on each
// other. The caller closes it.
func openEngine(s streams, o engineOptions) (*engine, error) {
	e := newEngine()
	if err := e.open(s, o); err != nil {
		return nil, errors.Join(err, e.release())
	}
	return e, nil
}

func newEngine() *engine {
	e := &engine{}
	e.stay, e.leave = context.WithCancel(context.Background())
	return e
}

func (e *engine) open(s streams, o engineOptions) error {
	cwd, err := workingDir(o.dir)
	if err != nil {
		return err
	}
	paths, err := config.Resolve(s.getenv, cwd)
	if err != nil {
		return usage(err)
	}
	settings, err := config.Load(paths, s.getenv, o.settings(), o.trust)
	if err != nil {
		return err
	}
	e.notes, e.keys = settings.Warnings, settings.Keys
	resume, err := o.target(paths, cwd)
	if err != nil {
		return err
	}
	route, err := e.route(settings, o, resume)
	if err != nil {
		return err
	}
	if err := e.openLog(paths, cwd, resume); err != nil {
		return err
	}
	if cwd, err = e.sessionDir(cwd, o.dir != ""); err != nil {
		return err
	}
	if paths, err = config.Resolve(s.getenv, cwd); err != nil {
		return usage(err)
	}
	rules, err := e.rules(settings, paths, o)
	if err != nil {
		return err
	}
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil {
		return fmt.Errorf("the working directory is gone: change to another (%w)", err)
	}
	e.instructions = &prompt.Instructions{User: paths.Instructions, Root: paths.Project, Cwd: real}
	return e.start(s, settings, route, rules, cwd, o)
}

// start makes the agent of parts that are all there.
func (e *engine) start(s streams, settings *config.Loaded, route loop.Route, rules policy.Rules, cwd string, o engineOptions) error {
	e.hidden = newSecrets(providerKeys(settings), os.Environ())
	e.commands = openCommands(e.log.OutDir(), e.hidden)
	e.stop = append(e.stop, e.commands.close)
	var err error
	if e.tools, err = newTools(e.bashOptions(settings, rules.Workspace, o), settings.Disabled); err != nil {
		return err
	}
	e.handover = settings.Handover == "on"
	e.cwd, e.model, e.preset, e.maxTime = cwd, route.Config, rules.Preset, settings.MaxTime
	e.agent, err = loop.New(loop.Options{
		Log:      e.log,
		Route:    route,
		Fallback: e.fallbacks(settings),
		Tools:    e.tools,
		Rules:    rules,
		Cwd:      cwd,
		System:   prompt.System(prompt.Options{}),
		Environment: func() llm.Message {
			return prompt.EnvMessage(prompt.Gather(cwd, s.getenv, time.Now()))
		},
		Instructions: e.instructions,

		Budgets: loop.Budgets{Steps: settings.MaxSteps, Time: settings.MaxTime},
		Retry:   loop.RetryPolicy{Attempts: settings.RetryMaxAttempts, HeaderCap: settings.RetryMaxWait},

		RedactPrompt: e.hidden.prompt,
		RedactResult: e.hidden.result,
		RedactAnswer: e.hidden.answer,

		Save: e.commands.artifacts.Save,

		Extensions: loop.Extensions{TurnStopping: e.checks(settings, rules.Workspace)},

		Asks:     o.asks,
		Handover: e.handover,
		Look: func(ctx context.Context, r jobs.Revision) jobs.Revision {
			return jobs.LookGit(ctx, cwd, r)
		},
		OnStatus: o.onStatus,
	})
	return err
}

// settings are the flags that are settings, for config to judge.
func (o *engineOptions) settings() map[string]string {
	given := map[string]string{}
	for name, value := range map[string]string{"model": o.model, "effort": o.effort, "permission": o.permission,
		"max-steps": strconv.Itoa(o.maxSteps), "max-time": o.maxTime.String(), "verify": o.verify} {
		if o.flags[name] {
			given[name] = value
		}
	}
	return given
}

// target is the log to continue, nil for a new session.
func (o *engineOptions) target(paths config.Paths, cwd string) (*session.Snapshot, error) {
	var entry session.Entry
	var err error
	switch named := o.flags["resume"]; {
	case named && o.cont:
		err = usage(errors.New("--resume names a session and --continue takes the last one: give one of them"))
	case named:
		entry, err = findSession(paths, o.resume)
	case o.cont:
		entry, err = session.Latest(sessionsDir(paths), cwd)
	default:
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return session.Read(entry.Path)
}

// openLog creates the session or opens the one to continue.
func (e *engine) openLog(paths config.Paths, cwd string, resume *session.Snapshot) (err error) {
	e.home = paths.Home
	if resume == nil {
		if e.log, err = session.Create(sessionsDir(paths), session.Header{Cwd: cwd}); err == nil {
			e.stop = append(e.stop, e.log.Close)
		}
		return err
	}
	var opened session.Opened
	if e.log, opened, err = session.Open(sessionsDir(paths), resume.Path()); err != nil {
		return err
	}
	e.stop = append(e.stop, e.log.Close)
	e.notes = append(e.notes, openedNotes(opened, e.log.Header().ID)...)
	return nil
}

// openedNotes tells what opening a session found and did.
func openedNotes(o session.Opened, id string) (notes []string) {
	if o.CopiedFrom != "" {
		notes = append(notes, fmt.Sprintf("continuing a copy of %s as session %s", o.CopiedFrom, shortID(id)))
	}
	switch cut := o.Cut; {
	case o.Kept != "":
		notes = append(notes, fmt.Sprintf("line %d of the session's log is damaged (%v): %s cut off and kept in %s",
			cut.Line, cut.Cause, itAnd(cut.Follow), o.Kept))
	case cut.Damaged():
		notes = append(notes, fmt.Sprintf("line %d of %s is damaged (%v): %s left out of the copy", cut.Line, o.CopiedFrom, cut.Cause, itAnd(cut.Follow)))
	case cut.Bytes > 0:
		notes = append(notes, fmt.Sprintf("the session's last %d bytes were torn by a crash and were cut", cut.Bytes))
	}
	if o.Odd != nil {
		notes = append(notes, fmt.Sprintf("the session's log is not in order (%v) and is gone on with all the same; dsh verify %s tells more", o.Odd, shortID(id)))
	}
	if len(o.Closed) > 0 {
		notes = append(notes, "the session's last turn was interrupted and was closed")
	}
	if len(o.Lost) > 0 {
		notes = append(notes, "these jobs are lost, as dsh ended while they ran or the session was copied: "+strings.Join(o.Lost, ", "))
	}
	if n := len(o.Held); n == 1 {
		notes = append(notes, "1 message that waited is kept and not sent")
	} else if n > 1 {
		notes = append(notes, fmt.Sprintf("%d messages that waited are kept and not sent", n))
	}
	return notes
}

// itAnd speaks of a line and n that follow it.
func itAnd(n int) string {
	switch n {
	case 0:
		return "it was"
	case 1:
		return "it and the line behind it were"
	}
	return fmt.Sprintf("it and the %d lines behind it were", n)
}

// sessionDir is where the session works: where it began, unless that is gone or the
// user names another place.
func (e *engine) sessionDir(cwd string, chosen bool) (string, error) {
	recorded := e.log.Header().Cwd
	if chosen || recorded == "" || recorded == cwd {
		return cwd, nil
	}
	if info, err := os.Stat(recorded); err == nil && info.IsDir() {
		e.notes = append(e.notes, "working in "+recorded+", where the session began")
		return recorded, nil
	}
	e.notes = append(e.notes, fmt.Sprintf("the session's directory %s is gone: working in %s", recorded, cwd))
	return cwd, nil
}

// rules are the preset, then what the settings and the flags allow and deny. A
// session that is continued keeps its preset unless somebody names one.
func (e *engine) rules(settings *config.Loaded, paths config.Paths, o engineOptions) (policy.Rules, error) {
	name := settings.Permission
	if logged := e.log.State().Preset; logged != "" && settings.Origin("permission").Layer == config.Default {
		name = logged
	}
	preset, err := policy.ParsePreset(name)
	if err != nil {
		return policy.Rules{}, usage(err)
	}
	rules := policy.Rules{Preset: preset, Workspace: paths.Project}
	add := func(text string, v session.Verdict, origin string) error {
		rule, err := parseRule(text, v, origin)
		if err != nil {
			return usage(fmt.Errorf("%s: %w", origin, err))
		}
		rules.Rules = append(rules.Rules, rule)
		return nil
	}
	for _, r := range settings.Allow {
		err = errors.Join(err, add(r.Text, session.Allow, r.Origin.String()))
	}
	for _, r := range settings.Deny {
		err = errors.Join(err, add(r.Text, session.Deny, r.Origin.String()))
	}
	for _, text := range o.allow {
		err = errors.Join(err, add(text, session.Allow, "--allow"))
	}
	for _, text := range o.deny {
		err = errors.Join(err, add(text, session.Deny, "--deny"))
	}
	return rules, err
}

// parseRule reads a rule, which must be for a tool that there may be.
func parseRule(text string, v session.Verdict, origin string) (policy.Rule, error) {
	rule, err := policy.ParseRule(text, v, origin)
	if err == nil {
		err = rule.CheckTool()
	}
	return rule, err
}

// release ends what the engine started, the last first.
func (e *engine) release() error {
	var err error
	for i := len(e.stop) - 1; i >= 0; i-- {
		err = errors.Join(err, e.stop[i]())
	}
	e.stop = nil
	return err
}

// workingDir is the absolute directory that dsh works in.
func workingDir(dir string) (string, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("the working directory is gone: change to another (%w)", err)
	}
	if dir != "" {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(cwd, dir)
		}
		cwd = filepath.Clean(dir)
	}
	switch info, err := os.Stat(cwd); {
	case err != nil:
		return "", usage(fmt.Errorf("-C %s: no such directory", cwd))
	case !info.IsDir():
		return "", usage(fmt.Errorf("-C %s: not a directory", cwd))
	}
	return cwd, nil
}

func sessionsDir(paths config.Paths) string { return filepath.Join(paths.Home, "sessions") }

// findSession finds a session by what a person calls it. A name that is empty, an
// unset variable say, is none: it must not become a new session.
func findSession(paths config.Paths, what string) (session.Entry, error) {
	if what == "" {
		return session.Entry{}, usage(errors.New("the session's name is empty: give its id, a unique beginning of it, or a path"))
	}
	return session.Find(sessionsDir(paths), what)
}
