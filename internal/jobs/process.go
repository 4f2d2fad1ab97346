package jobs

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dsh/internal/sandbox"
)

// Result is a process that has ended.
type Result struct {
	Output  string // head and tail of stdout and stderr as written, made safe (see Text); a line says what was left out between
	Omitted int64  // bytes left out of Output
	Saved
	Exit     sandbox.Exit
	TimedOut bool // the timeout ended it; TimedOut and Aborted exclude each other: the first cause wins
	Aborted  bool // a Stop, a Kill, a cancelled Wait or Close ended it
}

// Saved is where the output is that memory does not hold.
type Saved struct {
	Artifact string // file with the whole output, raw; "" if none was needed or none could be made
	Capped   bool   // the artifact ends at the cap
	Lost     error  // why the artifact is missing or incomplete (a full disk); nil if it is not
}

// Where says where the whole output is, and what of it is missing there.
func (s Saved) Where() string {
	switch {
	case s.Artifact == "" && s.Lost == nil:
		return "(unavailable)"
	case s.Artifact == "":
		return fmt.Sprintf("(unavailable: %v)", s.Lost)
	case s.Lost != nil:
		return fmt.Sprintf("%s (incomplete: %v)", s.Artifact, s.Lost)
	case s.Capped:
		return s.Artifact + " (its beginning only: it was too long to keep)"
	}
	return s.Artifact
}

// cause is what ended a process before it ended by itself.
type cause int

const (
	byItself cause = iota
	byTimeout
	byAbort
)

// Process is a started command. Its methods may be called from several goroutines.
type Process struct {
	Label   string
	Started time.Time

	id   string
	proc sandbox.Process
	out  *capture
	done chan struct{} // closed when result and err are set

	result Result
	err    error

	mu    sync.Mutex
	cause cause
	job   bool // nobody's turn waits for it
}

func newProcess(proc sandbox.Process, label string, out *capture) *Process {
	return &Process{Label: label, Started: time.Now(), proc: proc, out: out, done: make(chan struct{})}
}

// run owns the process until it ends: one goroutine, that reads the output to its
// end, waits for the exit, and settles the result.
func (p *Process) run(timeout time.Duration, ended func()) {
	var timer *time.Timer
	if timeout > 0 {
		timer = time.AfterFunc(timeout, func() { p.end(byTimeout) })
	}
	go func() {
		defer ended()
		defer close(p.done)
		p.out.readFrom(p.proc.Output())
		exit, err := p.proc.Wait(context.Background())
		if timer != nil {
			timer.Stop()
		}
		p.settle(exit, err)
	}()
}

func (p *Process) settle(exit sandbox.Exit, err error) {
	p.result, p.err = p.out.result(), err
	p.result.Exit = exit
	p.mu.Lock()
	defer p.mu.Unlock()
	if exit.Stopped { // otherwise it had ended when the cause came
		p.result.TimedOut = p.cause == byTimeout
		p.result.Aborted = p.cause == byAbort
	}
	if p.job { // its readers have cursors of their own
		p.result.Output = ""
	}
}

// end stops the process; the first cause wins.
func (p *Process) end(c cause) {
	p.mark(c)
	p.proc.Stop()
}

func (p *Process) mark(c cause) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cause == byItself {
		p.cause = c
	}
}

// Stop ends the process and its descendants: TERM, then KILL after the grace. It
// returns at once.
func (p *Process) Stop() { p.end(byAbort) }

// Expire ends them likewise, as the timeout does.
func (p *Process) Expire() { p.end(byTimeout) }

// Kill ends them without grace.
func (p *Process) Kill() {
	p.mark(byAbort)
	p.proc.Kill()
}

// Done is closed when the process has ended and Wait returns at once. Who wants to
// stop waiting without stopping the process selects on it.
func (p *Process) Done() <-chan struct{} { return p.done }

// Wait returns the result when the process has ended. If ctx is done before, the
// process is stopped and Wait still returns its result, Aborted, when it has ended:
// a little later than the grace. Its error is sandbox.ErrLost or nil; the result
// holds the output either way.
func (p *Process) Wait(ctx context.Context) (Result, error) {
	select {
	case <-p.done:
		return p.result, p.err
	default:
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		p.Stop()
		<-p.done // bounded by the starter: grace, KILL, and what cannot be killed is given up
	}
	return p.result, p.err
}

// leave counts the process as a job from here on.
func (p *Process) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.job = true
}

func (p *Process) isJob() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.job
}

// SoFar is the output of a process that still runs, as a Result that has nothing else,
// and the offset to go on from.
func (p *Process) SoFar() (r Result, next int64) {
	r.Output, r.Omitted, next = p.out.kept(0)
	_, r.Saved = p.out.size()
	return r, next
}

// Peek returns the output from byte from on, made safe like a Result's, and the
// offset to go on from. Only the head and the tail of a long output are in memory;
// a line stands for what is not. A rune whose rest has not come yet is left for the
// next call.
func (p *Process) Peek(from int64) (text string, next int64) { return p.out.peek(from) }
