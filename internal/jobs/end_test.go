package jobs

import (
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/sandbox/sandboxtest"
)

// fake starts one fake process in a bubble.
func fake(t *testing.T, dying, timeout time.Duration) (*Table, *Process, *sandboxtest.Process) {
	t.Helper()
	s := &sandboxtest.Starter{Dying: dying}
	tb := New(Options{Starter: s, Artifacts: NewArtifacts(t.TempDir(), 0, 0)})
	p, err := tb.Start(Command{Command: "x", Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	return tb, p, s.Started()[0]
}

func TestBSH07TheTimeoutStopsTheCommand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, f := fake(t, time.Second, time.Minute)
		begun := time.Now()
		if _, err := f.Write([]byte("so far")); err != nil {
			t.Fatal(err)
		}
		r, err := p.Wait(t.Context())
		if err != nil || !r.TimedOut || r.Aborted || r.Exit.Signal != syscall.SIGTERM || r.Output != "so far" {
			t.Errorf("%+v, %v", r, err)
		}
		if took := time.Since(begun); took != time.Minute+time.Second {
			t.Errorf("after %v", took)
		}
	})
}

// TestBSH08TheTimeoutIsToldWhateverTheExit of a command that traps TERM.
func TestBSH08TheTimeoutIsToldWhateverTheExit(t *testing.T) {
	t.Parallel()
	p := start(t, newTable(t, Options{}), Command{Command: `trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.01; done`, Timeout: 300 * time.Millisecond})
	r := wait(t, p)
	if !r.TimedOut || r.Aborted || r.Exit.Code != 0 || r.Exit.Signal != 0 {
		t.Errorf("%+v", r)
	}
}

// TestTheFirstCauseWins also against the command's own end.
func TestTheFirstCauseWins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, p, _ := fake(t, 10*time.Second, time.Minute) // timeout, then cancel while it dies
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Second)
		defer cancel()
		if r, _ := p.Wait(ctx); !r.TimedOut || r.Aborted {
			t.Errorf("timeout first: %+v", r)
		}
		_, p, _ = fake(t, 10*time.Second, time.Minute) // cancel, then timeout while it dies
		ctx, cancel = context.WithTimeout(t.Context(), time.Minute-time.Second)
		defer cancel()
		if r, _ := p.Wait(ctx); r.TimedOut || !r.Aborted {
			t.Errorf("cancel first: %+v", r)
		}
		_, p, f := fake(t, 0, time.Minute) // it ended by itself before either
		f.End(3, 0)
		time.Sleep(time.Second)
		p.Stop()
		if r, _ := p.Wait(t.Context()); r.TimedOut || r.Aborted || r.Exit.Code != 3 {
			t.Errorf("end first: %+v", r)
		}
		time.Sleep(2 * time.Minute)
		if r, _ := p.Wait(t.Context()); r.TimedOut {
			t.Errorf("a timeout after the end: %+v", r)
		}
	})
}

// TestALateCauseEndedNothing: the command had ended, only its output was still read.
func TestALateCauseEndedNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &sandboxtest.Starter{Linger: time.Hour}
		p, err := New(Options{Starter: s, Artifacts: NewArtifacts(t.TempDir(), 0, 0)}).Start(Command{Command: "x", Timeout: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		s.Started()[0].End(3, 0)
		if r, _ := p.Wait(t.Context()); r.TimedOut || r.Aborted || r.Exit.Code != 3 {
			t.Errorf("%+v", r)
		}
	})
}

func TestBSH27ACancelEndsEverything(t *testing.T) {
	t.Parallel()
	env, dead := witness(t)
	p := start(t, newTable(t, Options{}), Command{Command: `exec 9>"$W"; setsid sleep 1000 & sleep 1000 & echo up; wait`, Env: environ(env), Timeout: time.Hour})
	peekUntil(t, p, func(s string) bool { return s == "up\n" })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := p.Wait(ctx)
	if err != nil || !r.Aborted || r.TimedOut || r.Exit.Signal != syscall.SIGTERM || r.Output != "up\n" {
		t.Errorf("%+v, %v", r, err)
	}
	dead()
}

// TestLeavingAProcessRunning: who stops waiting on Done does not stop the process,
// and no byte is lost to the next who waits.
func TestLeavingAProcessRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, p, f := fake(t, 0, 0)
		for _, part := range []string{"one ", "two "} {
			if _, err := f.Write([]byte(part)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			select {
			case <-p.Done():
				t.Fatal("it has ended")
			case <-time.After(time.Minute):
			}
		}
		if text, next := p.Peek(4); text != "two " || next != 8 {
			t.Errorf("%q, %d", text, next)
		}
		f.End(0, 0)
		if r, _ := p.Wait(t.Context()); r.Output != "one two " || r.Aborted {
			t.Errorf("%+v", r)
		}
		if err := tb.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestCloseEndsEveryProcess(t *testing.T) {
	t.Parallel()
	tb := newTable(t, Options{})
	env, dead := witness(t)
	var all []*Process
	for range 5 {
		p := start(t, tb, Command{Command: `exec 9>"$W"; sleep 1000 & echo up; wait`, Env: environ(env)})
		peekUntil(t, p, func(s string) bool { return s == "up\n" })
		all = append(all, p)
	}
	if err := tb.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	dead()
	for _, p := range all {
		select {
		case <-p.Done():
		default:
			t.Error("Close returned before a process had ended")
		}
		if r := wait(t, p); !r.Aborted {
			t.Errorf("%+v", r)
		}
	}
	if _, err := tb.Start(Command{Command: "true"}); !errors.Is(err, ErrClosed) {
		t.Error(err)
	}
}

func TestCloseKillsWhenItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tb, p, _ := fake(t, time.Hour, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := tb.Close(ctx); err != nil {
			t.Error(err)
		}
		if r, _ := p.Wait(t.Context()); r.Exit.Signal != syscall.SIGKILL || r.Exit.Ended.Sub(r.Exit.Started) != time.Second {
			t.Errorf("%+v", r)
		}
	})
}

// TestStopDuringStart: Close while a command is starting waits for it, and stops it.
func TestStopDuringStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		starting, proceed := make(chan bool), make(chan bool)
		s := &sandboxtest.Starter{Begin: func() error { starting <- true; <-proceed; return nil }}
		tb := New(Options{Starter: s, Artifacts: NewArtifacts(t.TempDir(), 0, 0)})
		var wg sync.WaitGroup
		wg.Go(func() {
			<-starting
			wg.Go(func() {
				if err := tb.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait() // Close waits
			proceed <- true
		})
		p, err := tb.Start(Command{Command: "x"})
		if err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if r, _ := p.Wait(t.Context()); !r.Aborted {
			t.Errorf("%+v", r)
		}
	})
}

func TestTailIsTheEndOfWhatRuns(t *testing.T) {
	t.Parallel()
	tb := newTable(t, Options{})
	p := start(t, tb, Command{Command: `seq 1 9999; printf last; exec sleep 1000`, Env: environ(), ID: "call_1"})
	peekUntil(t, p, func(text string) bool { return strings.Contains(text, "last") })
	if tail := tb.Tail("call_1"); !strings.HasSuffix(tail, "9999\nlast") || len(tail) > tailBytes {
		t.Errorf("%d bytes, the end %q", len(tail), tail[max(0, len(tail)-20):])
	}
	if other := tb.Tail("call_2") + tb.Tail(""); other != "" {
		t.Errorf("of no process: %q", other)
	}
	p.Kill()
	wait(t, p)
	if tail := tb.Tail("call_1"); tail != "" {
		t.Errorf("after its end: %q", tail)
	}
}
