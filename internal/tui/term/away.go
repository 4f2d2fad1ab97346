package term

import (
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// ResumeMsg says that the program runs again after Suspend. Stopped is false if it
// could not be stopped: nobody would be there to continue it.
type ResumeMsg struct{ Stopped bool }

// stopWithin is how long a stop signal may take to work. It does nothing where no shell
// waits, and then the program goes on.
const stopWithin = 100 * time.Millisecond

// Suspend is the command for ctrl+z: it gives the terminal back, stops the program and
// all of its process group, and takes the terminal again when it is continued.
func (t *Terminal) Suspend() tea.Cmd {
	return func() tea.Msg {
		if signal.Ignored(syscall.SIGTSTP) {
			return ResumeMsg{}
		}
		stopped := false
		t.lend(func() { stopped = t.stop() })
		return ResumeMsg{Stopped: stopped}
	}
}

// lend gives the terminal away while f runs.
func (t *Terminal) lend(f func()) {
	t.lending.Lock()
	defer t.lending.Unlock()
	t.giveBack(false)
	f()
	if err := t.takeBack(); err != nil {
		t.gone(err)
	}
	t.Send(resizedMsg{})
}

// stop stops the process group and returns when it is continued.
func (t *Terminal) stop() bool {
	select {
	case <-t.resumed: // of an earlier stop
	default:
	}
	t.stopped.Store(true)
	defer t.stopped.Store(false)
	began := time.Now()
	_ = syscall.Kill(0, syscall.SIGTSTP)
	select {
	case <-t.resumed:
		return true
	case <-time.After(stopWithin):
	}
	if time.Since(began) < 2*stopWithin {
		return false
	}
	select { // it was stopped for longer than that; the signal is on its way
	case <-t.resumed:
	case <-time.After(stopWithin):
	}
	return true
}

// continued handles a SIGCONT after a stop from outside (SIGSTOP, SIGTSTP): the
// shell has changed the terminal and written to it.
func (t *Terminal) continued() {
	t.mu.Lock()
	if t.away || t.ctx.Err() != nil {
		t.mu.Unlock()
		return
	}
	t.raw = append(t.raw, t.exit()...) // else what is pushed would be pushed twice
	t.raw = t.painter.lost(t.raw)
	t.mu.Unlock()
	if err := t.takeBack(); err != nil {
		t.gone(err)
	}
	t.Send(resizedMsg{})
}

// Exec is the command that lends the terminal to another program, such as an editor,
// and waits for it. Printed rows and frames wait meanwhile. done makes the message of
// its end. cmd's streams, where nil, are the terminal.
func (t *Terminal) Exec(cmd *exec.Cmd, done func(error) tea.Msg) tea.Cmd {
	return func() tea.Msg {
		if cmd.Stdin == nil {
			cmd.Stdin = t.in
		}
		if cmd.Stdout == nil {
			cmd.Stdout = t.out
		}
		if cmd.Stderr == nil {
			cmd.Stderr = t.out
		}
		var err error
		t.lend(func() { err = cmd.Run() })
		return done(err)
	}
}
