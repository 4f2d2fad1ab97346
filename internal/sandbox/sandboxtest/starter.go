package sandboxtest

import (
	"context"
	"errors"
	"io"
	"sync"
	"syscall"
	"time"

	"dsh/internal/sandbox"
)

// Starter starts Processes. Its fields are set before the first Start.
type Starter struct {
	Begin  func() error  // called by Start, if set
	Dying  time.Duration // from Stop to the end
	Linger time.Duration // from the end to the end of the output

	mu      sync.Mutex
	started []*Process
}

// Process is a played command. What is written to it is its output; a write returns
// when it has been read.
type Process struct {
	*io.PipeWriter
	Spec sandbox.Spec

	out  *io.PipeReader
	by   *Starter
	once sync.Once
	done chan struct{}
	exit sandbox.Exit
}

// Start is sandbox.Starter's.
func (s *Starter) Start(spec sandbox.Spec) (sandbox.Process, error) {
	if s.Begin != nil {
		if err := s.Begin(); err != nil {
			return nil, err
		}
	}
	r, w := io.Pipe()
	p := &Process{PipeWriter: w, Spec: spec, out: r, by: s, done: make(chan struct{})}
	p.exit.Started = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, p)
	return p, nil
}

// Started are the processes so far, in order.
func (s *Starter) Started() []*Process {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Process(nil), s.started...)
}

// End ends it: its output first, as with a real one. Only the first End counts.
func (p *Process) End(code int, sig syscall.Signal) {
	p.once.Do(func() {
		p.exit.Code, p.exit.Signal, p.exit.Stopped, p.exit.Ended = code, sig, sig != 0, time.Now()
		time.AfterFunc(p.by.Linger, func() {
			p.Close()
			close(p.done)
		})
	})
}

// Output is sandbox.Process's.
func (p *Process) Output() io.ReadCloser { return p.out }

// Stop is sandbox.Process's.
func (p *Process) Stop() { time.AfterFunc(p.by.Dying, func() { p.End(-1, syscall.SIGTERM) }) }

// Kill is sandbox.Process's.
func (p *Process) Kill() { p.End(-1, syscall.SIGKILL) }

// Wait is sandbox.Process's.
func (p *Process) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-p.done:
		return p.exit, nil
	case <-ctx.Done():
		return sandbox.Exit{}, errors.New("the owner of a process waits for it without a deadline")
	}
}
