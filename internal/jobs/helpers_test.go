package jobs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
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

// fakeStarter starts fakes, which live in a synctest bubble as real processes
// cannot.
type fakeStarter struct {
	begin   func() error  // called by Start, if set
	dying   time.Duration // from Stop to the end
	linger  time.Duration // from the end to the end of the output
	mu      sync.Mutex
	started []*fakeProcess
}

type fakeProcess struct {
	*io.PipeWriter
	out  *io.PipeReader
	by   *fakeStarter
	once sync.Once
	done chan struct{}
	exit sandbox.Exit
}

func (s *fakeStarter) Start(spec sandbox.Spec) (sandbox.Process, error) {
	if s.begin != nil {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	r, w := io.Pipe()
	p := &fakeProcess{PipeWriter: w, out: r, by: s, done: make(chan struct{})}
	p.exit.Started = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, p)
	return p, nil
}

// end ends the fake: its output first, as with a real one.
func (p *fakeProcess) end(code int, sig syscall.Signal) {
	p.once.Do(func() {
		p.exit.Code, p.exit.Signal, p.exit.Stopped, p.exit.Ended = code, sig, sig != 0, time.Now()
		time.AfterFunc(p.by.linger, func() {
			p.Close()
			close(p.done)
		})
	})
}

func (p *fakeProcess) Output() io.ReadCloser { return p.out }

func (p *fakeProcess) Stop() { time.AfterFunc(p.by.dying, func() { p.end(-1, syscall.SIGTERM) }) }

func (p *fakeProcess) Kill() { p.end(-1, syscall.SIGKILL) }

func (p *fakeProcess) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
		return sandbox.Exit{}, errors.New("the owner of a process waits for it without a deadline")
	}
}
