//go:build crashtest

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// processLimit ends a process of the matrix that hangs: each takes a second or two,
// on a busy machine some more.
const processLimit = time.Minute

// crash is where a process kills itself; the zero value is nowhere.
type crash struct {
	when string // before, after
	seq  int
}

func (c crash) String() string { return fmt.Sprintf("killed %s event %d", c.when, c.seq) }

// scene is what all lives of a matrix share.
type scene struct {
	t        *testing.T
	dir      string // for the lives
	dsh      string // the binary with the tag
	testdata string
	handover bool // the play is the short one, in which a running command becomes a job
	lives    atomic.Int64
}

func newStage(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, dir: t.TempDir()}
	s.dsh = filepath.Join(s.dir, "dsh")
	var err error
	if s.testdata, err = filepath.Abs("testdata/crash"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-tags", "crashtest", "-o", s.dsh, ".").CombinedOutput(); err != nil {
		t.Fatalf("build dsh: %v\n%s", err, out)
	}
	return s
}

// whole is the log of the play without a crash.
func (s *scene) whole(t *testing.T) []session.Event {
	t.Helper()
	l := s.newLife()
	defer l.remove()
	died, err := l.play(crash{})
	if err != nil || died {
		t.Fatal("the play without a crash:", died, err)
	}
	a, err := readAct(l.log())
	if err != nil {
		t.Fatal(err)
	}
	return a.events
}

// life is one session in directories of its own.
type life struct {
	stage                    *scene
	dir, home, work, journal string
}

// seeds are in the workspace before the play.
var seeds = map[string]string{"a.txt": "alpha\n", "b.txt": "beta\n", "notes.txt": "begin\nend\n"}

func (s *scene) newLife() *life {
	dir := filepath.Join(s.dir, fmt.Sprint(s.lives.Add(1)))
	l := &life{s, dir, filepath.Join(dir, "home"), filepath.Join(dir, "work"), filepath.Join(dir, "journal")}
	err := os.MkdirAll(l.work, 0o700)
	if !s.handover { // on a busy machine the play's steer would make a job of the command it meets
		err = errors.Join(err, os.MkdirAll(filepath.Join(dir, ".config", "dsh"), 0o700),
			os.WriteFile(filepath.Join(dir, ".config", "dsh", "config.toml"), []byte("[bash]\nhandover = \"off\"\n"), 0o600))
	}
	for name, content := range seeds {
		err = errors.Join(err, os.WriteFile(filepath.Join(l.work, name), []byte(content), 0o600))
	}
	if err != nil {
		s.t.Error(err)
	}
	return l
}

// remove keeps the disk small; what is left goes with the test's directory.
func (l *life) remove() { _ = os.RemoveAll(l.dir) }

func (l *life) sessions() string { return filepath.Join(l.home, "sessions") }

// log is the session's file, "" while nothing is on disk.
func (l *life) log() string {
	paths, _ := filepath.Glob(filepath.Join(l.sessions(), "*", "*", "session.jsonl"))
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}

func (l *life) id() string { return filepath.Base(filepath.Dir(l.log())) }

// events is the number of events in the log.
func (l *life) events() int {
	a, err := readAct(l.log())
	if err != nil {
		return 0
	}
	return len(a.events)
}

// play runs the whole play, up to the crash if there is one.
func (l *life) play(at crash) (died bool, err error) {
	user, model := "user.play", "model.script"
	if l.stage.handover {
		user, model = "handover.play", "handover.script"
	}
	_, died, err = l.dshAt(at, "__play", filepath.Join(l.stage.testdata, user),
		"-m", "script:"+filepath.Join(l.stage.testdata, model), "--permission", "workspace", "--allow", "bash", "--verify", "true", "--journal", l.journal)
	return died, err
}

// resumeUntil continues the session with the nth prompt, up to the crash.
func (l *life) resumeUntil(n int, at crash) (died bool, err error) {
	if l.log() == "" {
		return false, nil
	}
	script := filepath.Join(l.dir, fmt.Sprintf("resume%d.script", n))
	if err := l.writeResume(script); err != nil {
		return false, err
	}
	out, died, err := l.dshAt(at, "run", "--resume", l.id(), "--allow", "bash", "-m", "script:"+script, goOn(n))
	if err == nil && !died && !strings.Contains(out, resumedAnswer) {
		err = fmt.Errorf("the resumed run printed %q", out)
	}
	return died, err
}

// goOn is the nth prompt of a resumed session.
func goOn(n int) string { return fmt.Sprintf("go on, %d", n) }

const resumedAnswer = "All is looked after."

// writeResume makes the model of a resumed session: it does what a model should do
// with the results that the crash left. It asks again for what was not started, and
// only reads where the outcome is unknown. It keeps no state, so any process may
// play it.
func (l *life) writeResume(path string) error {
	a, err := readAct(l.log())
	if err != nil {
		return err
	}
	var script strings.Builder
	script.WriteString("usage in=100 out=20\n\n== look\nwhen \"go on\"\nloop\nchunks 1\n")
	called := false
	for _, c := range a.latest() {
		switch c.code {
		case session.CodeUnknown:
			script.WriteString("call read {\"file_path\":\"notes.txt\"}\n")
		case session.CodeNotStarted:
			fmt.Fprintf(&script, "call %s %s\n", c.name, c.args)
		default:
			continue
		}
		called = true
	}
	if !called {
		script.WriteString("text " + resumedAnswer + "\n")
	}
	script.WriteString("\n== answer\nwhen not \"go on\"\nloop\nchunks 1\ntext " + resumedAnswer + "\n")
	return os.WriteFile(path, []byte(script.String()), 0o600)
}

// dshAt runs dsh in the life's directories. An exit that is neither 0 nor the
// crash is an error.
func (l *life) dshAt(at crash, args ...string) (stdout string, died bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), processLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, l.stage.dsh, args...)
	cmd.Dir = l.work
	cmd.Env = []string{"HOME=" + l.dir, "DSH_HOME=" + l.home, "PATH=" + os.Getenv("PATH")}
	if at.when != "" {
		cmd.Env = append(cmd.Env, fmt.Sprintf("DSH_CRASH=%s:%d", at.when, at.seq))
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() &&
		status.Signal() == syscall.SIGKILL && at.when != "" && ctx.Err() == nil {
		return out.String(), true, nil
	}
	if err != nil {
		err = fmt.Errorf("dsh %s: %w: %s", args[0], errors.Join(err, ctx.Err()), strings.TrimSpace(errs.String()))
	}
	return out.String(), false, err
}

// act is what a log says, with what opening it would add.
type act struct {
	events  []session.Event // of the file
	closers []session.Event
	pending []session.QueueItem
	calls   []*call
}

// call is a tool call of the model, and its result's code: "" while it has none,
// ok if it succeeded.
type call struct{ id, name, args, code string }

const ok = "ok"

func readAct(path string) (*act, error) {
	s, err := session.Read(path)
	if err != nil {
		return nil, err
	}
	a := &act{closers: s.Closers(), pending: s.Pending()}
	for ev := range s.Events() {
		a.events = append(a.events, ev)
		a.note(&ev)
	}
	for i := range a.closers {
		a.note(&a.closers[i])
	}
	return a, s.Err()
}

func (a *act) note(ev *session.Event) {
	switch p := ev.Data.(type) {
	case session.AssistantMessage:
		for _, c := range p.Message.Calls() {
			a.calls = append(a.calls, &call{c.ID, c.Name, c.Arguments, ""})
		}
	case session.ToolResult:
		for _, c := range a.calls {
			if c.id != p.Message.Source.CallID {
				continue
			}
			c.code = ok
			if p.Error != nil {
				c.code = p.Error.Code
			}
		}
	}
}

// latest are the calls without those that were asked for again later.
func (a *act) latest() (calls []*call) {
	for i, c := range a.calls {
		same := func(later *call) bool { return later.name == c.name && later.args == c.args }
		if !slices.ContainsFunc(a.calls[i+1:], same) {
			calls = append(calls, c)
		}
	}
	return calls
}

// entered counts the user messages of a text.
func (a *act) entered(text string) (n int) {
	for i := range a.events {
		if p, is := a.events[i].Data.(session.UserMessage); is && p.Source.Kind == llm.FromUser && p.PlainText() == text {
			n++
		}
	}
	return n
}

// waiting counts the pending messages of a text.
func (a *act) waiting(text string) (n int) {
	for _, item := range a.pending {
		if item.Text == text {
			n++
		}
	}
	return n
}
