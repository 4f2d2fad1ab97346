package jobs

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"dsh/internal/sandbox"
)

// Options are what a Table needs.
type Options struct {
	Starter   sandbox.Starter // starts the processes; required
	Artifacts *Artifacts      // keeps their long outputs; required
}

// Command is one process to run.
type Command struct {
	Argv    []string      // the program and its arguments; or
	Command string        // a command line for a fresh shell without rc files
	Dir     string        // working directory; "" is dsh's own
	Env     []string      // the whole environment: see Environ
	Timeout time.Duration // after which the process is stopped; 0 is never
	Label   string        // what people see; "" is the command line
	ID      string        // what Tail knows it by while it runs; "" is nothing
	Ended   func()        // called once it has ended, by no one's lock; nil: nothing
}

// Table owns the processes it started. Its methods may be called from several
// goroutines.
type Table struct {
	opts Options

	mu     sync.Mutex
	closed bool
	live   map[*Process]bool
	wg     sync.WaitGroup // one for each process that is starting or live
}

// ErrClosed is returned by Start after Close.
var ErrClosed = errors.New("dsh is ending and starts no more commands")

// New makes a Table.
func New(o Options) *Table {
	return &Table{opts: o, live: map[*Process]bool{}}
}

// Start runs a command and returns while it runs. The process belongs to the Table
// until it ends; the caller may Wait for it, or leave it. What cannot be started is
// an error that wraps *sandbox.StartError and names the directory or program.
func (t *Table) Start(c Command) (*Process, error) {
	if err := t.admit(); err != nil {
		return nil, err
	}
	argv, label := c.Argv, c.Label
	if len(argv) == 0 {
		argv = shell(c.Command)
	}
	if label == "" {
		label = c.Command
	}
	started, err := t.opts.Starter.Start(sandbox.Spec{Argv: argv, Dir: c.Dir, Env: c.Env})
	if err != nil {
		t.wg.Done()
		return nil, fmt.Errorf("the command was not started: %w", err)
	}
	p := newProcess(started, label, newCapture(t.opts.Artifacts))
	p.id = c.ID
	t.register(p)
	p.run(c.Timeout, func() {
		t.forget(p)
		if c.Ended != nil {
			c.Ended()
		}
	})
	return p, nil
}

// tailBytes is what Tail returns at most.
const tailBytes = 4 << 10

// Tail is the end of what the running process of that id has put out so far, made
// safe like a Result's; "" if there is none.
func (t *Table) Tail(id string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.live {
		if id != "" && p.id == id {
			return p.out.end(tailBytes)
		}
	}
	return ""
}

func (t *Table) admit() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return ErrClosed
	}
	t.wg.Add(1)
	return nil
}

// register makes a process known to Close, and stops it if Close came between.
func (t *Table) register(p *Process) {
	t.mu.Lock()
	t.live[p] = true
	closed := t.closed
	t.mu.Unlock()
	if closed {
		p.Stop()
	}
}

func (t *Table) forget(p *Process) {
	t.mu.Lock()
	delete(t.live, p)
	t.mu.Unlock()
	t.wg.Done()
}

// Close stops every process and waits until all have ended, or until ctx is done:
// then they are killed, and it waits no longer than that takes. Its error says how
// many did not end.
func (t *Table) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.each((*Process).Stop)
	ended := make(chan struct{})
	go func() { t.wg.Wait(); close(ended) }() // ends with the last process
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	t.each((*Process).Kill)
	select {
	case <-ended:
		return nil
	case <-time.After(killBound):
		t.mu.Lock()
		defer t.mu.Unlock()
		return fmt.Errorf("%d commands did not end after they were killed", len(t.live))
	}
}

// Kill ends every process that runs now and is no job, without grace. It returns at
// once.
func (t *Table) Kill() {
	t.each(func(p *Process) {
		if !p.isJob() {
			p.Kill()
		}
	})
}

// killBound is how long Close waits for killed processes. The supervisor reports
// what cannot be killed sooner than that.
const killBound = 5 * time.Second

func (t *Table) each(do func(*Process)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.live {
		do(p)
	}
}

// shell makes the argv that runs a command line: no rc files, nothing interpolated,
// and bash where there is one. The command may begin with a dash.
func shell(command string) []string {
	if path, err := exec.LookPath("bash"); err == nil {
		return []string{path, "--noprofile", "--norc", "-c", "--", command}
	}
	return []string{"/bin/sh", "-c", "--", command}
}
