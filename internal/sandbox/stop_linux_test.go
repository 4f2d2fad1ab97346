package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shortGrace is for commands that ignore TERM anyway.
const shortGrace = 50 * time.Millisecond

// startReady starts a shell command that writes "ready" when it is.
func startReady(t *testing.T, l *Launcher, command string, w *witness, grace time.Duration) Process {
	t.Helper()
	p := start(t, l, Spec{Argv: []string{"bash", "-c", `exec 9>"$W"; ` + command}, Env: []string{path, w.env()}, Grace: grace})
	readUntil(t, p.Output(), "ready")
	return p
}

// TestBSH09WhatIgnoresTermIsKilled, after the grace, in the command as in its
// descendants, also in a session of their own.
func TestBSH09WhatIgnoresTermIsKilled(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"leader":     `trap '' TERM; echo ready; while :; do sleep 1000; done`,
		"descendant": `(trap '' TERM; setsid bash -c 'trap "" TERM; echo ready; while :; do sleep 1000; done') & wait`,
		"all":        `trap '' TERM; for i in 1 2 3; do sleep 1000 & done; echo ready; while :; do wait; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWitness(t)
			p := startReady(t, newLauncher(t), command, w, shortGrace)
			p.Stop()
			_, exit := finish(t, p)
			if name != "descendant" && exit.Signal != syscall.SIGKILL {
				t.Errorf("%+v", exit)
			}
			if took := exit.Ended.Sub(exit.Started); name == "leader" && took < shortGrace {
				t.Errorf("killed after %v, before the grace of %v was over", took, shortGrace)
			}
			w.dead()
		})
	}
}

func TestBSH08ATrapOfTermDecidesTheExit(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	p := startReady(t, newLauncher(t), `trap 'echo cleaned; exit 5' TERM; echo ready; while :; do sleep 0.01; done`, w, 0)
	p.Stop()
	p.Stop()
	out, exit := finish(t, p)
	if !strings.HasSuffix(out, "cleaned\n") || exit.Code != 5 || exit.Signal != 0 || !exit.Stopped {
		t.Errorf("%q, %+v", out, exit)
	}
	w.dead()
	p.Stop() // of what has ended: nothing happens
	p.Kill()
}

func TestStopWakesAStoppedCommand(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	p := startReady(t, newLauncher(t), `trap 'exit 6' TERM; echo ready; kill -STOP $$; sleep 1000`, w, 0)
	p.Stop()
	if _, exit := finish(t, p); exit.Code != 6 {
		t.Errorf("%+v", exit)
	}
	w.dead()
}

func TestKillTakesNoGrace(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	p := startReady(t, newLauncher(t), `trap '' TERM; (trap '' TERM; sleep 1000; :) & echo ready; while :; do sleep 1000; done`, w, time.Hour)
	p.Kill()
	if _, exit := finish(t, p); exit.Signal != syscall.SIGKILL {
		t.Errorf("%+v", exit)
	}
	w.dead()

	p = startReady(t, newLauncher(t), `trap '' TERM; echo ready; while :; do sleep 1000; done`, w, time.Hour)
	p.Stop()
	p.Kill() // cuts the grace short
	finish(t, p)
	w.dead()
}

// TestStopDuringStart: a stop may come before the program has begun.
func TestStopDuringStart(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	for i := range 50 {
		p := start(t, l, Spec{Argv: []string{"bash", "-c", "sleep 1000 & sleep 1000"}})
		if i%2 == 0 {
			p.Stop()
		} else {
			p.Kill()
		}
		if _, exit := finish(t, p); exit.Code == 0 {
			t.Errorf("%+v", exit)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	w := newWitness(t)
	p := startReady(t, newLauncher(t), `echo ready; sleep 1000`, w, 0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	p.Kill() // Wait did not end it
	if _, exit := finish(t, p); exit.Signal != syscall.SIGKILL {
		t.Errorf("%+v", exit)
	}
}

// TestACommandThatAttacksItsLauncher does not escape, and never hangs dsh.
func TestACommandThatAttacksItsLauncher(t *testing.T) {
	t.Parallel()
	t.Run("TERM is a stop", func(t *testing.T) {
		t.Parallel()
		w := newWitness(t)
		_, exit := run(t, `exec 9>"$W"; trap 'exit 4' TERM; sleep 1000 & kill $PPID; while :; do sleep 0.01; done`, w.env())
		if exit.Code != 4 {
			t.Errorf("%+v", exit)
		}
		w.dead()
	})
	t.Run("STOP does not outlast a stop", func(t *testing.T) {
		t.Parallel()
		w := newWitness(t)
		p := startReady(t, newLauncher(t), `kill -STOP $PPID; echo ready; sleep 1000`, w, 0)
		p.Stop()
		if _, exit := finish(t, p); exit.Signal != syscall.SIGTERM {
			t.Errorf("%+v", exit)
		}
		w.dead()
	})
	t.Run("KILL takes the command along", func(t *testing.T) {
		t.Parallel()
		w := newWitness(t)
		l := newLauncher(t)
		p := startReady(t, l, `set -m; sleep 1000 & echo ready; while :; do sleep 0.01; done`, w, 0)
		if err := p.(*process).proc.Kill(); err != nil {
			t.Fatal(err)
		}
		out := p.Output()
		if _, err := io.ReadAll(out); err != nil {
			t.Error(err)
		}
		out.Close()
		if exit, err := p.Wait(context.Background()); !errors.Is(err, ErrLost) || exit.Signal != syscall.SIGKILL {
			t.Errorf("%+v, %v", exit, err)
		}
		w.wait()
	})
	t.Run("KILL runs nothing twice", func(t *testing.T) {
		t.Parallel()
		l := newLauncher(t)
		for range 20 {
			if err := l.Prepare(); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "runs")
			p, err := l.Start(Spec{Argv: []string{"/bin/sh", "-c", `echo x >> "$F"; kill -KILL $PPID; sleep 1000`}, Env: []string{path, "F=" + file}})
			if err == nil {
				p.Output().Close()
				_, err = p.Wait(context.Background())
			}
			if !errors.Is(err, ErrLost) {
				t.Error(err)
			}
			if runs, err := os.ReadFile(file); err != nil || string(runs) != "x\n" {
				t.Errorf("%q, %v", runs, err)
			}
		}
	})
}
