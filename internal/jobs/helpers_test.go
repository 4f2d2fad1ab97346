package jobs

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"dsh/internal/sandbox"
)

// bound ends a test that hangs; nothing is judged by it.
const bound = 60 * time.Second

func newTable(t *testing.T, o Options) *Table {
	t.Helper()
	if o.Starter == nil {
		l := &sandbox.Launcher{}
		t.Cleanup(l.Close)
		o.Starter = l
	}
	if o.Artifacts == nil {
		o.Artifacts = NewArtifacts(filepath.Join(t.TempDir(), "out"), 0, 0)
	}
	tb := New(o)
	t.Cleanup(func() {
		if err := tb.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return tb
}

func environ(extra ...string) []string { return Environ(os.Environ(), extra...) }

func start(t *testing.T, tb *Table, c Command) *Process {
	t.Helper()
	if c.Env == nil {
		c.Env = environ()
	}
	p, err := tb.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func wait(t *testing.T, p *Process) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	r, err := p.Wait(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t *testing.T, command string, extra ...string) Result {
	t.Helper()
	return wait(t, start(t, newTable(t, Options{}), Command{Command: command, Env: environ(extra...)}))
}

// peekUntil polls the live output until it is what ok wants.
func peekUntil(t *testing.T, p *Process, ok func(string) bool) {
	t.Helper()
	for begun := time.Now(); ; {
		text, _ := p.Peek(0)
		if ok(text) {
			return
		}
		if time.Since(begun) > bound {
			t.Fatalf("the output stays %q", text)
		}
	}
}

// witness is a FIFO held by everything a command starts: its reader sees the end
// when the last of them has ended.
func witness(t *testing.T) (env string, dead func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return "W=" + path, func() {
		t.Helper()
		if err := f.SetReadDeadline(time.Now().Add(bound)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, f); err != nil {
			t.Errorf("a process lives on: %v", err)
		}
	}
}
