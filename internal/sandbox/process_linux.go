package sandbox

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
)

// lostAfter is how much longer than its own deadlines a launcher may take to report
// the end of a stopped command before it is given up as hanging.
const lostAfter = 5 * time.Second

// pipeSize is what a pipe holds (pipe(7)): when the command has ended, no more than
// that can be unread.
const pipeSize = 64 << 10

// process is a command under a launcher.
type process struct {
	*launched
	grace time.Duration
	done  chan struct{} // closed when exit and err are set

	exit Exit
	err  error

	mu      sync.Mutex
	stopped bool
	giveUp  *time.Timer // ends a launcher that does not answer
}

func newProcess(l *launched, grace time.Duration) *process {
	return &process{launched: l, grace: grace, done: make(chan struct{})}
}

// watch waits for the exit and settles everything that waits for it.
func (p *process) watch() {
	p.exit, p.err = p.report()
	p.output.SetReadDeadline(time.Now()) // see outputEnd
	close(p.done)
	p.mu.Lock()
	if p.giveUp != nil {
		p.giveUp.Stop()
	}
	p.mu.Unlock()
	_, _ = p.proc.Wait()
	p.control.Close()
	p.reports.Close()
}

func (p *process) report() (Exit, error) {
	f, err := readFrame(p.reports)
	if err == nil {
		if exit, err := decodeExit(f); err == nil {
			return exit, nil
		}
	}
	p.abandon()
	return Exit{Code: -1, Signal: syscall.SIGKILL, Stopped: true, Ended: time.Now()}, ErrLost
}

func (p *process) Stop() { p.order(orderStop, p.grace) }

func (p *process) Kill() { p.order(orderKill, 0) }

func (p *process) order(order byte, grace time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.done:
		return
	default:
	}
	if p.stopped && order == orderStop {
		return
	}
	p.stopped = true
	// A command can stop its parent; a stopped launcher hears nothing.
	_ = p.proc.Signal(syscall.SIGCONT)
	_, _ = p.control.Write([]byte{order}) // if the launcher is dead, watch knows
	if p.giveUp == nil {
		p.giveUp = time.AfterFunc(grace+killWait+lostAfter, func() { _ = p.proc.Kill() })
	}
}

func (p *process) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.done:
		return p.exit, p.err
	default:
	}
	select {
	case <-p.done:
		return p.exit, p.err
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

func (p *process) Output() io.ReadCloser { return &outputEnd{file: p.output, unread: pipeSize} }

// outputEnd ends the output when the command has ended, whoever still holds the
// pipe open: watch sets a deadline then, and what the pipe held is still read,
// however slow the reader. (The file is not embedded: io.Copy would find methods
// that know nothing of this.)
type outputEnd struct {
	file   *os.File
	unread int
}

func (o *outputEnd) Close() error { return o.file.Close() }

func (o *outputEnd) Read(b []byte) (int, error) {
	n, err := o.file.Read(b)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	conn, err := o.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	n = 0
	err = conn.Control(func(fd uintptr) { // the end does not block: it is empty, or has it
		n, _ = syscall.Read(int(fd), b[:min(len(b), o.unread)])
	})
	if n <= 0 || err != nil {
		return 0, io.EOF
	}
	o.unread -= n
	return n, nil
}
