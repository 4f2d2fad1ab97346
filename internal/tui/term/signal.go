package term

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// SignalMsg says that the process got SIGINT, SIGTERM or SIGHUP; a terminal that is
// gone counts as SIGHUP. The model ends what it has to end and quits. A second SIGTERM
// or SIGHUP restores the terminal and ends the process at once.
type SignalMsg struct{ Signal syscall.Signal }

// resizeQuiet is how long the window must keep its size before the model is told: while
// a border is dragged there are dozens of sizes a second.
const resizeQuiet = 60 * time.Millisecond

// watchSignals takes the signals over and returns the function that handles them until
// the terminal is given back for good. Signals that were ignored stay so. SIGTSTP is not
// among them: once it was taken over, the runtime could not stop the process by it.
func (t *Terminal) watchSignals() func() {
	c := make(chan os.Signal, 16)
	for _, s := range []os.Signal{syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		if !signal.Ignored(s) {
			signal.Notify(c, s)
		}
	}
	return func() {
		defer signal.Stop(c)
		var quiet <-chan time.Time
		ending := false
		for {
			select {
			case <-t.done:
				return
			case <-quiet:
				quiet = nil
				t.owned.Go(func() { t.Send(resizedMsg{}) })
			case s := <-c:
				switch s {
				case syscall.SIGWINCH:
					quiet = time.After(resizeQuiet)
				case syscall.SIGTERM, syscall.SIGHUP:
					t.end(s.(syscall.Signal), ending)
					ending = true
				default:
					t.signal(s.(syscall.Signal))
				}
			}
		}
	}
}

// signal handles the signals that do not end the program.
func (t *Terminal) signal(s syscall.Signal) {
	switch s {
	case syscall.SIGCONT:
		if t.stopped.Load() {
			select {
			case t.resumed <- struct{}{}:
			default:
			}
			return
		}
		t.owned.Go(t.Guard(t.continued))
	case syscall.SIGQUIT: // prints the goroutines: on a sane screen
		if t.isAway() {
			return
		}
		t.Restore()
		signal.Reset(s)
		_ = syscall.Kill(syscall.Getpid(), s)
	case syscall.SIGINT:
		if !t.isAway() {
			t.tell(s)
		}
	}
}

// isAway reports whether another program has the terminal: its ctrl+c and ctrl+\ reach
// us too, and are not meant for us.
func (t *Terminal) isAway() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.away
}

// tell sends a signal to the model without waiting for it.
func (t *Terminal) tell(s syscall.Signal) {
	t.owned.Go(func() { t.Send(SignalMsg{s}) })
}

// end asks the model to end; again, or without a model, it does so itself.
func (t *Terminal) end(s syscall.Signal, again bool) {
	if !again && t.program.Load() != nil {
		t.tell(s)
		return
	}
	t.Restore()
	os.Exit(128 + int(s))
}

// gone says that the terminal takes or gives no bytes any more.
func (t *Terminal) gone(err error) {
	t.mu.Lock()
	first := t.failure == nil
	if first {
		t.failure = fmt.Errorf("the terminal is gone: %w", err)
	}
	t.mu.Unlock()
	if first {
		t.tell(syscall.SIGHUP)
	}
}
