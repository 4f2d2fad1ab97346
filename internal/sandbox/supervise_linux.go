package sandbox

import (
	"os"
	"os/signal"
	"sync"
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

// supervisor watches one command and everything that descends from it. Its life is
// a wait for children; orders, signals and timers end them from other goroutines,
// which end with the process.
type supervisor struct {
	pid    int // of the command, and of its process group
	grace  time.Duration
	finish func(Exit) // reports and ends this process; called once

	mu       sync.Mutex
	exit     Exit
	stopping bool // TERM or KILL was sent
	killing  bool
	finished bool
}

// wait collects every ended child. As this process is the subreaper, "no child"
// is "no descendant", and nothing can come after it.
func (s *supervisor) wait() {
	options, led := 0, false
	for {
		var status syscall.WaitStatus
		got, err := syscall.Wait4(-1, &status, options, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil: // ECHILD
			s.end(0)
			return
		case got == s.pid && !led: // (the pid may come again)
			s.ended(status)
			options, led = syscall.WNOHANG, true // does anything outlive it?
		case got == 0:
			options = 0
			s.left()
		}
	}
}

// ended records the end of the command itself; its time is monotonic, whatever the
// clock did.
func (s *supervisor) ended(status syscall.WaitStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exit.Ended = s.exit.Started.Add(time.Since(s.exit.Started))
	s.exit.Stopped = s.stopping
	if status.Signaled() {
		s.exit.Signal = status.Signal()
		return
	}
	s.exit.Code = status.ExitStatus()
}

// left ends what the command left behind when it ended by itself.
func (s *supervisor) left() {
	s.mu.Lock()
	if !s.stopping {
		s.exit.Left = len(descendants())
	}
	s.mu.Unlock()
	s.stop(LeftGrace)
}

// catchSignals makes a signal an order to stop: somebody may signal everything of
// ours by name, or a command its parent, and a launcher that just died would leave
// descendants behind. Call it before there are any.
func catchSignals() <-chan os.Signal {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	return signals
}

// obey takes orders from dsh; that it is gone is one to stop.
func (s *supervisor) obey(control *os.File, signals <-chan os.Signal) {
	go func() {
		for range signals {
			s.stop(s.grace)
		}
	}()
	for {
		var order [1]byte
		if _, err := control.Read(order[:]); err != nil {
			s.stop(s.grace)
			return
		}
		if order[0] == orderKill {
			go s.kill()
		} else {
			s.stop(s.grace)
		}
	}
}

// stop sends TERM once, and leaves the rest to kill.
func (s *supervisor) stop(grace time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return
	}
	s.stopping = true
	s.signal(syscall.SIGTERM)
	s.signal(syscall.SIGCONT) // a stopped process handles TERM only when it runs
	time.AfterFunc(grace, s.kill)
}

// kill sends KILL until nothing is left, or until it is clear that something stays.
func (s *supervisor) kill() {
	s.mu.Lock()
	again := s.killing
	s.stopping, s.killing = true, true
	s.mu.Unlock()
	if again {
		return
	}
	for deadline := time.Now().Add(killWait); time.Now().Before(deadline); time.Sleep(killPass) {
		s.mu.Lock()
		s.signal(syscall.SIGKILL)
		s.mu.Unlock()
	}
	s.end(len(descendants()))
}

// signal signals every descendant. One that ended meanwhile, or that belongs to
// somebody else, is no error here: kill looks again. A kernel without lists of
// children (CONFIG_PROC_CHILDREN) leaves the process group. s.mu is held.
func (s *supervisor) signal(sig syscall.Signal) {
	pids := descendants()
	if len(pids) == 0 && s.exit.Ended.IsZero() {
		pids = []int{-s.pid}
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig)
	}
}

func (s *supervisor) end(orphans int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.finished {
		return
	}
	s.finished = true
	s.exit.Orphans = orphans
	if s.exit.Ended.IsZero() { // the command itself cannot be ended
		s.exit.Ended = time.Now()
	}
	s.finish(s.exit)
}
