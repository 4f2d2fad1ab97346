package sandbox

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// launchTimeout bounds the start of a command: a launcher that has not answered by
// then is given up. It is generous because a loaded machine is not an error.
const launchTimeout = 30 * time.Second

// nudgeAfter is when a launcher that has not answered is continued: its command can
// have begun, and stopped it, before it could say so.
const nudgeAfter = time.Second

// Launcher is the real Starter. The zero value is ready to use; it must not be
// copied. Its methods may be called from several goroutines.
type Launcher struct {
	Self string // the binary to execute as launcher; "" is the running one

	mu     sync.Mutex
	warm   bool // keep a launcher ready
	closed bool
	idle   *launched
	wg     sync.WaitGroup // commands that run
}

// launched is a launcher that waits for its Spec, and dsh's ends of its pipes.
type launched struct {
	self    string
	proc    *os.Process
	control *os.File // closing it ends the launcher and all it supervises
	reports *os.File
	output  *os.File
}

var errClosed = errors.New("dsh is ending and starts no more commands")

// deadError is a launcher that did not take its command, so that another may: an
// idle one may have been killed while it waited.
type deadError struct{ err error }

func (e *deadError) Error() string { return "it ended or did not answer: " + e.err.Error() }
func (e *deadError) Unwrap() error { return e.err }

// Prepare starts a launcher ahead, so that the next Start finds it waiting, and
// keeps one ready from now on: another is started when a command ends. A waiting
// launcher is an idle process of a few MB that ends with this one.
func (l *Launcher) Prepare() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warm = true
	return l.refill()
}

// refill is called with l.mu held.
func (l *Launcher) refill() (err error) {
	if l.warm && !l.closed && l.idle == nil {
		l.idle, err = spawn(l.self())
	}
	return err
}

// Start runs a command; see Starter.
func (l *Launcher) Start(s Spec) (Process, error) {
	if err := s.complete(); err != nil {
		return nil, err
	}
	idle, err := l.take()
	if err != nil {
		return nil, err
	}
	if idle != nil {
		p, err := idle.run(s)
		if dead := (*deadError)(nil); !errors.As(err, &dead) {
			return l.own(p, err)
		}
	}
	if idle, err = spawn(l.self()); err != nil {
		l.wg.Done()
		return nil, err
	}
	return l.own(idle.run(s))
}

// take admits one command and hands over the idle launcher, if any.
func (l *Launcher) take() (*launched, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, &StartError{StageLaunch, l.self(), errClosed}
	}
	l.wg.Add(1)
	idle := l.idle
	l.idle = nil
	return idle, nil
}

// own watches a started command, or takes its admission back.
func (l *Launcher) own(p *process, err error) (Process, error) {
	if err != nil {
		l.wg.Done()
		return nil, err
	}
	go func() {
		defer l.wg.Done()
		p.watch()
		l.mu.Lock()
		defer l.mu.Unlock()
		_ = l.refill() // the next Start tries again, and says what is wrong
	}()
	return p, nil
}

// Close ends the idle launcher and waits until every command has ended; who started
// them ends them. Start fails from now on.
func (l *Launcher) Close() {
	l.mu.Lock()
	l.closed = true
	idle := l.idle
	l.idle = nil
	l.mu.Unlock()
	if idle != nil {
		idle.discard()
	}
	l.wg.Wait()
}

func (l *Launcher) self() string {
	if l.Self == "" {
		return "/proc/self/exe"
	}
	return l.Self
}

// spawn starts a launcher. It gets an empty environment: its own could be read by
// the commands, and must not hold what dsh's holds.
func spawn(self string) (*launched, error) {
	var pipes pipes
	defer pipes.closeTheirs()
	l := &launched{self: self}
	theirControl := pipes.toChild(&l.control)
	theirReports := pipes.fromChild(&l.reports)
	theirOutput := pipes.fromChild(&l.output)
	null, err := os.Open(os.DevNull)
	if pipes.err == nil {
		pipes.err = err
	}
	if pipes.err == nil {
		defer null.Close()
		l.proc, pipes.err = os.StartProcess(self, []string{"dsh", launchArg}, &os.ProcAttr{
			Dir: "/", Env: []string{},
			Files: []*os.File{null, theirOutput, theirOutput, theirControl, theirReports},
			Sys:   &syscall.SysProcAttr{Setsid: true},
		})
	}
	if pipes.err != nil {
		l.close()
		return nil, &StartError{StageLaunch, self, pipes.err}
	}
	return l, nil
}

// run hands the launcher its command and waits for its answer.
func (l *launched) run(s Spec) (*process, error) {
	deadline := time.Now().Add(launchTimeout)
	l.control.SetWriteDeadline(deadline)
	l.reports.SetReadDeadline(deadline)
	nudge := time.AfterFunc(nudgeAfter, func() { _ = l.proc.Signal(syscall.SIGCONT) })
	defer nudge.Stop()
	err := writeFrame(l.control, s.encode())
	if err == nil {
		_, err = readFrame(l.reports) // it has the Spec
	}
	if err != nil {
		l.discard()
		return nil, &StartError{StageLaunch, l.self, &deadError{err}}
	}
	answer, err := readFrame(l.reports)
	if err != nil { // the command may have begun, and is not tried again
		l.abandon()
		l.discard()
		return nil, &StartError{StageLaunch, l.self, ErrLost}
	}
	if err := decodeStarted(answer); err != nil {
		l.discard()
		return nil, err
	}
	l.control.SetWriteDeadline(time.Time{})
	l.reports.SetReadDeadline(time.Time{})
	return newProcess(l, s.Grace), nil
}

// abandon ends a launcher that does not do its work, and what it may have started:
// without it, the session is all we know of the command.
func (l *launched) abandon() {
	_ = l.proc.Kill()
	killSession(l.proc.Pid) // before the launcher is waited for: the number stays taken
}

// discard ends a launcher that runs nothing.
func (l *launched) discard() {
	l.close()
	_ = l.proc.Kill() // closing control ended it, unless it hangs
	_, _ = l.proc.Wait()
}

func (l *launched) close() {
	for _, f := range []*os.File{l.control, l.reports, l.output} {
		if f != nil {
			f.Close()
		}
	}
}
