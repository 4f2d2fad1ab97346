package sandbox

import (
	"os"
	"syscall"
	"time"
)

const (
	// killPass is the pause between two rounds of KILL: processes that were being
	// forked during one round are met by the next.
	killPass = 10 * time.Millisecond
	// killWait is how long killed descendants have to disappear; what is left then
	// cannot be ended (another user's, or stuck in the kernel) and is reported.
	killWait = 2 * time.Second
)

// leaderEnd is the end of the command itself.
type leaderEnd struct {
	status syscall.WaitStatus
	at     time.Time
	alone  bool // nothing descends from the launcher any more
}

// supervise waits for the command and for everything that descends from it, and
// ends them when dsh says so, when dsh is gone, or when the command left them
// behind.
func supervise(pid int, started time.Time, grace time.Duration, control *os.File, signals <-chan os.Signal) Exit {
	leader, gone := make(chan leaderEnd, 1), make(chan struct{})
	go reap(pid, leader, gone)
	orders := make(chan byte)
	go func() { // ends with the process
		for {
			orders <- readOrder(control)
		}
	}()

	exit := Exit{Code: -1, Started: started}
	var stopping bool
	var kill, giveUp <-chan time.Time
	term := func(grace time.Duration) {
		stopping = true
		signalAll(syscall.SIGTERM)
		signalAll(syscall.SIGCONT) // a stopped process handles TERM only when it runs
		kill = time.After(grace)
	}
	for {
		select {
		case <-gone:
			return exit
		case end := <-leader:
			exit.settle(end)
			if !end.alone && !stopping {
				exit.Left = len(descendants())
				term(LeftGrace)
			}
		case order := <-orders:
			if order == orderKill && giveUp == nil {
				stopping = true
				kill = time.After(0)
			} else if !stopping {
				term(grace)
			}
		case <-signals:
			if !stopping {
				term(grace)
			}
		case <-kill:
			signalAll(syscall.SIGKILL)
			kill = time.After(killPass)
			if giveUp == nil {
				giveUp = time.After(killWait)
			}
		case <-giveUp:
			exit.Orphans = len(descendants())
			return exit
		}
	}
}

func (e *Exit) settle(end leaderEnd) {
	e.Ended = e.Started.Add(end.at.Sub(e.Started)) // monotonic, whatever the clock did
	if end.status.Signaled() {
		e.Signal = end.status.Signal()
		return
	}
	e.Code = end.status.ExitStatus()
}

// reap collects every ended child. As this process is the subreaper, "no child" is
// "no descendant", and nothing can come after it.
func reap(pid int, leader chan<- leaderEnd, gone chan<- struct{}) {
	defer close(gone)
	var end *leaderEnd
	for {
		var status syscall.WaitStatus
		options := 0
		if end != nil {
			options = syscall.WNOHANG // only to know whether anything is left
		}
		got, err := syscall.Wait4(-1, &status, options, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil: // ECHILD
			if end != nil {
				end.alone = true
				leader <- *end
			}
			return
		case got == pid:
			end = &leaderEnd{status: status, at: time.Now()}
		case got == 0:
			leader <- *end
			end, pid = nil, 0 // the pid may come again
		}
	}
}

// readOrder returns the next order; once dsh is gone, that is to stop, and then
// nothing for ever.
func readOrder(control *os.File) byte {
	var b [1]byte
	if _, err := control.Read(b[:]); err == nil {
		return b[0]
	}
	if control.Close() != nil {
		select {}
	}
	return orderStop
}
