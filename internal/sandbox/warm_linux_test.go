package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func (l *Launcher) idlePID() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.idle == nil {
		return 0
	}
	return l.idle.proc.Pid
}

// TestAPreparedLauncherIsUsed and replaced when the command has ended.
func TestAPreparedLauncherIsUsed(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	if err := errors.Join(l.Prepare(), l.Prepare()); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		idle := l.idlePID()
		out, _ := finish(t, start(t, l, Spec{Argv: []string{"bash", "-c", "echo $PPID"}}))
		if pid, err := strconv.Atoi(strings.TrimSpace(out)); err != nil || pid != idle || idle == 0 {
			t.Errorf("ran under %q, prepared was %d", out, idle)
		}
		l.wg.Wait() // the watcher of the command has ended: it made the next
	}
	idle := l.idlePID()
	l.Close()
	if err := syscall.Kill(idle, 0); err == nil {
		t.Error("the idle launcher outlives Close")
	}
}

func TestADeadPreparedLauncherIsReplaced(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		idle := l.idlePID()
		if err := syscall.Kill(idle, sig); err != nil {
			t.Fatal(err)
		}
		if out, exit := finish(t, start(t, l, Spec{Argv: []string{"echo", "hi"}})); out != "hi\n" || exit.Code != 0 {
			t.Errorf("%q, %+v", out, exit)
		}
		l.wg.Wait()
	}
	// What is wrong with the command is not taken for a dead launcher.
	if _, err := l.Start(Spec{Argv: []string{"no-such-program"}, Env: []string{path}}); !errors.Is(err, syscall.ENOENT) {
		t.Error(err)
	}
}

func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	if err := l.Prepare(); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			p, err := l.Start(Spec{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("echo %d; exit %d", i, i)}})
			if err != nil {
				t.Error(err)
				return
			}
			out := p.Output()
			defer out.Close()
			text, _ := io.ReadAll(out)
			exit, err := p.Wait(context.Background())
			if string(text) != fmt.Sprintf("%d\n", i) || exit.Code != i || err != nil {
				t.Errorf("%q, %+v, %v", text, exit, err)
			}
		})
	}
	wg.Wait()
}

// TestD01NothingLeaks is not parallel: it counts what this process has open.
func TestD01NothingLeaks(t *testing.T) {
	round := func() {
		l := &Launcher{}
		if err := l.Prepare(); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			finish(t, start(t, l, Spec{Argv: []string{"bash", "-c", "sleep 1000 & echo x"}}))
			_, _ = l.Start(Spec{Argv: []string{"no-such-program"}, Env: []string{path}})
		}
		p := start(t, l, Spec{Argv: []string{"sleep", "1000"}})
		p.Stop()
		finish(t, p)
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
	if pids := descendants(); len(pids) > 0 {
		t.Errorf("processes live on: %v", pids)
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
