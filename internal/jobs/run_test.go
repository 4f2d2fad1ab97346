package jobs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"dsh/internal/sandbox"
)

func TestD01ABackgroundProcessDoesNotHoldTheCommand(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"sleep":  `sleep 1000 & echo done`,
		"ticker": `(while :; do echo tick; sleep 0.01; done) & sleep 0.1; echo done`,
		"flood":  `yes & sleep 0.1; echo done`,
		"setsid": `setsid sleep 1000 & echo done`,
		"nohup":  `nohup sh -c 'sleep 1000; :' >/dev/null 2>&1 & disown; echo done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, dead := witness(t)
			p := start(t, newTable(t, Options{Artifacts: NewArtifacts(t.TempDir(), 1<<20, 0)}), Command{Command: `exec 9>"$W"; ` + command, Env: environ(env)})
			r := wait(t, p)
			if r.Exit.Code != 0 || r.Exit.Left == 0 || r.Aborted || r.TimedOut {
				t.Errorf("%+v", r.Exit)
			}
			if name != "flood" && !strings.Contains(r.Output, "done\n") {
				t.Errorf("%q", r.Output)
			}
			dead()
		})
	}
}

// TestD02NothingWaitsForAPerson: what asks or edits fails, and git does not take an
// editor that failed for consent.
func TestD02NothingWaitsForAPerson(t *testing.T) {
	t.Parallel()
	const repo = `cd "$D" && git init -q . && git config user.email a@b && git config user.name c && git commit -q --allow-empty -m one && git commit -q --allow-empty -m two; `
	for name, c := range map[string]struct {
		command string
		code    int // -1: any but 0
		has     string
	}{
		"cat":        {`cat; echo got`, 0, "got"},
		"read":       {`read x; echo "got $?"`, 0, "got 1"},
		"terminal":   {`read x </dev/tty`, -1, "/dev/tty"},
		"git commit": {repo + `git commit --allow-empty`, -1, "editor"},
		"git rebase": {repo + `git rebase -i HEAD~1`, -1, "editor"},
		"git clone":  {`cd "$D" && git clone -q http://user@127.0.0.1:1/x`, -1, "fatal"},
		"editor":     {`$EDITOR file && echo edited`, -1, ""},
		"git log":    {repo + `git log --format=%s`, 0, "two\none\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := run(t, c.command, "D="+t.TempDir())
			if (r.Exit.Code == 0) != (c.code == 0) || !strings.Contains(r.Output, c.has) {
				t.Errorf("%q, %+v", r.Output, r.Exit)
			}
		})
	}
}

func TestD08AMissingDirectoryIsNamed(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "gone")
	_, err := newTable(t, Options{}).Start(Command{Command: "echo hi", Dir: dir, Env: environ()})
	failed := (*sandbox.StartError)(nil)
	if !errors.As(err, &failed) || failed.Stage != sandbox.StageDir || !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
}

func TestACommandRunsInItsDirectoryAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tb := newTable(t, Options{})
	for command, want := range map[string]string{
		`pwd; echo "$PWD"`:                 dir + "\n" + dir + "\n",
		`-x 2>/dev/null || echo "it's $?"`: "it's 127\n",
		"cat <<'A'\n`x` $y\nA":             "`x` $y\n",
		`echo a # c`:                       "a\n",
		`shopt -q login_shell || echo $-`:  "hBc\n",
		`echo out; echo err >&2; echo out`: "out\nerr\nout\n",
	} {
		if r := wait(t, start(t, tb, Command{Command: command, Dir: dir})); r.Output != want {
			t.Errorf("%s: %q, want %q", command, r.Output, want)
		}
	}
	if r := wait(t, start(t, tb, Command{Argv: []string{"echo", "$HOME *"}})); r.Output != "$HOME *\n" {
		t.Errorf("%q", r.Output)
	}
}

func TestBSH05And06TheExitIsReported(t *testing.T) {
	t.Parallel()
	if r := run(t, `exit 3`); r.Exit.Code != 3 || r.Exit.Signal != 0 || r.Output != "" {
		t.Errorf("%+v", r)
	}
	if r := run(t, `echo x; kill -KILL $$`); r.Exit.Code != -1 || r.Exit.Signal != syscall.SIGKILL || r.Aborted {
		t.Errorf("%+v", r)
	}
}

// TestBSH09WhatIgnoresTermIsKilledAfterTheTimeout takes the real grace.
func TestBSH09WhatIgnoresTermIsKilledAfterTheTimeout(t *testing.T) {
	t.Parallel()
	p := start(t, newTable(t, Options{}), Command{Command: `trap '' TERM; while :; do sleep 1000; done`, Timeout: 200 * time.Millisecond})
	if r := wait(t, p); !r.TimedOut || r.Exit.Signal != syscall.SIGKILL {
		t.Errorf("%+v", r)
	}
}

// TestD01NothingLeaks is not parallel: it counts what this process has open.
func TestD01NothingLeaks(t *testing.T) {
	round := func() {
		l := &sandbox.Launcher{}
		tb := New(Options{Starter: l, Artifacts: NewArtifacts(t.TempDir(), 0, 0)})
		for range 20 {
			wait(t, start(t, tb, Command{Command: `sleep 1000 & seq 10000`, Timeout: time.Hour}))
		}
		start(t, tb, Command{Command: `sleep 1000`})
		if err := tb.Close(context.Background()); err != nil {
			t.Error(err)
		}
		l.Close()
	}
	round()
	files, routines := openFiles(t), runtime.NumGoroutine()
	for range 5 {
		round()
	}
	if n := openFiles(t); n > files {
		t.Errorf("%d files were open, now %d", files, n)
	}
	for begun := time.Now(); runtime.NumGoroutine() > routines; runtime.Gosched() { // the last may be at its last instruction
		if time.Since(begun) > bound {
			t.Fatalf("%d goroutines ran, now %d", routines, runtime.NumGoroutine())
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}
