package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/config"
	"dsh/internal/early"
	"dsh/internal/termtext"
)

const (
	checkWait    = 10 * time.Second // for one check: a disk or a program that does not answer by then is a finding
	endpointWait = 20 * time.Second // names, connection and request one after the other
)

// health is the verdict of a check.
type health string

const (
	healthy health = "ok"
	worry   health = "warn" // dsh works, but perhaps not as one would want
	broken  health = "fail" // dsh, or a part of it, does not work
)

// finding is what a check found, and what to do about it: one line each, nothing
// secret in them. They are made to be pasted into a bug report.
type finding struct {
	Name   string `json:"name"`
	Status health `json:"status"`
	What   string `json:"what"`
	Do     string `json:"do,omitempty"`
}

// check looks at one thing. It may hang: it is given up then.
type check struct {
	name string
	run  func(context.Context, *patient) finding
	wait time.Duration // 0 is checkWait
}

// checks are made all at once and reported in this order.
var checks = []check{
	{name: "dsh", run: checkVersions},
	{name: "terminal", run: checkTerminal},
	{name: "settings", run: checkSettings},
	{name: "project", run: checkProject},
	{name: "trust", run: checkTrust},
	{name: "key", run: checkKey},
	{name: "proxy", run: checkProxy},
	{name: "endpoint", run: checkEndpoint, wait: endpointWait},
	{name: "git", run: checkGit},
	{name: "go", run: checkGo},
	{name: "sandbox", run: checkSandbox},
	{name: "disk", run: checkDisk},
	{name: "files", run: checkFiles},
	{name: "sessions", run: checkSessions},
}

// patient is what the checks look at. They share it and do not change it.
type patient struct {
	s       streams
	cwd     string // "" if the working directory is gone
	offline bool

	paths    config.Paths // as far as they are known
	homeErr  error        // there is no place for state
	settings *config.Loaded
	loadErr  error // why settings is nil
	keysErr  error // why the stored keys are not in settings
}

// newPatient reads what there is to read. Nothing that is broken ends it.
func newPatient(s streams, o engineOptions, offline bool) *patient {
	p := &patient{s: s, offline: offline}
	var err error
	if p.cwd, err = workingDir(o.dir); err != nil {
		p.cwd = ""
	}
	p.paths, p.homeErr = config.Resolve(s.getenv, cmp.Or(p.cwd, "/"))
	if p.cwd == "" {
		p.paths.Project, p.paths.ProjectConfig = "", ""
	}
	trusted := o.trust
	if text, err := p.paths.ProjectSettings(); err == nil && text != "" && p.homeErr == nil && !trusted {
		trusted, _, _ = p.paths.Trusted(text) // the check of trust reports its error
	}
	_, p.keysErr = config.Load(config.Paths{Credentials: p.paths.Credentials}, noEnv, nil, false)
	paths := p.paths
	if p.keysErr != nil {
		paths.Credentials = ""
	}
	p.settings, p.loadErr = config.Load(paths, s.getenv, o.settings(), trusted)
	return p
}

func noEnv(string) string { return "" }

func newDoctorCommand(s streams) *cobra.Command {
	var asJSON, offline bool
	var o engineOptions
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check this installation; the report holds no secrets",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.flags = map[string]bool{"model": cmd.Flags().Changed("model")}
			found := newPatient(s, o, offline).examine(cmd.Context(), checks)
			if asJSON {
				if err := writeJSON(s.out, map[string]any{"version": early.Version, "ok": having(found, broken) == 0, "checks": found}); err != nil {
					return err
				}
			} else {
				fmt.Fprint(s.out, report(found))
			}
			if having(found, broken) > 0 {
				return &exitError{code: exitFailed}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	cmd.Flags().BoolVar(&offline, "offline", false, "do not use the network")
	cmd.Flags().StringVarP(&o.model, "model", "m", "", "check with this model")
	cmd.Flags().StringVarP(&o.dir, "dir", "C", "", "check in this directory")
	return cmd
}

// doctor is /doctor of a conversation, for the folder and the model that it uses now.
// args may be --offline.
func (e *engine) doctor(ctx context.Context, s streams, o engineOptions, args string) (string, error) {
	if args != "" && args != "--offline" {
		return "", fmt.Errorf("/doctor takes --offline or nothing, not %q", args)
	}
	o.dir, o.model, o.flags = e.cwd, modelName(e.model), map[string]bool{"model": true}
	return report(newPatient(s, o, args != "").examine(ctx, checks)), nil
}

// examine makes the checks and returns their findings in order. A check that hangs in
// a system call is left behind: nothing can end it before the process does.
func (p *patient) examine(ctx context.Context, checks []check) []finding {
	found := make([]finding, len(checks))
	hide := p.hider()
	var wg sync.WaitGroup
	for i, c := range checks {
		wg.Go(func() {
			f := c.within(ctx, p)
			found[i] = finding{c.name, f.Status, hide(f.What), hide(f.Do)}
		})
	}
	wg.Wait()
	return found
}

func (c check) within(ctx context.Context, p *patient) finding {
	wait := cmp.Or(c.wait, checkWait)
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	done := make(chan finding, 1)
	go func() { done <- c.run(ctx, p) }()
	select {
	case f := <-done:
		return f
	case <-ctx.Done():
	}
	select {
	case f := <-done: // it was about to say what it waited for
		return f
	case <-time.After(graceWait):
		return finding{Status: broken, What: fmt.Sprintf("no answer within %s", wait), Do: "look at what it waits for: a network disk, a program, a server"}
	}
}

// graceWait is what a check that heeds its context needs to say so.
const graceWait = 500 * time.Millisecond

// report is the findings as text.
func report(found []finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%-4s  %-8s  %s\n", f.Status, f.Name, termtext.Line(f.What))
		if f.Do != "" {
			fmt.Fprintf(&b, "%-4s  %-8s  -> %s\n", "", "", termtext.Line(f.Do))
		}
	}
	switch fails, warns := having(found, broken), having(found, worry); {
	case fails+warns == 0:
		b.WriteString("Everything is well.\n")
	default:
		fmt.Fprintf(&b, "%d failed, %d to look at.\n", fails, warns)
	}
	return b.String()
}

func having(found []finding, h health) (n int) {
	for _, f := range found {
		if f.Status == h {
			n++
		}
	}
	return n
}

// secretNames mark variables whose values no report shows.
var secretNames = []string{"KEY", "PASSWORD", "PASSWD", "SECRET", "TOKEN", "CREDENTIAL"}

// hider makes text fit to be shown to others: no secret of the environment or the
// settings is in it, and the home directory is ~.
func (p *patient) hider() func(string) string {
	var secrets []string
	if p.settings != nil {
		secrets = providerKeys(p.settings)
	}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if len(value) >= minKey && containsAny(strings.ToUpper(name), secretNames) {
			secrets = append(secrets, value)
		}
	}
	home := p.s.getenv("HOME")
	return func(text string) string {
		for _, secret := range secrets {
			text = strings.ReplaceAll(text, secret, "[hidden]")
		}
		if len(home) > 1 {
			text = strings.ReplaceAll(text, home+"/", "~/")
		}
		return text
	}
}
