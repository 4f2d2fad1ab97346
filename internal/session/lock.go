package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gofrs/flock"
)

// writerLock is the right to write one session. The kernel takes it back when the
// process dies, however it dies.
type writerLock struct{ f *flock.Flock }

// Who gets no lock tries again: a list that asks whether a session is being written
// holds it for a moment. A process that a killed writer had just forked holds it until
// it has become another program, which takes longer on a busy machine.
const (
	lockTries = 3
	deadTries = 200 // when the writer is known to be dead: a second
	lockAgain = 5 * time.Millisecond
)

func triesFor(dir string) int {
	if pid := writtenPID(dir); pid > 0 && !alive(pid) {
		return deadTries
	}
	return lockTries
}

func alive(pid int) bool {
	if pid <= 0 {
		return false
	}
	err := syscall.Kill(pid, 0)
	return err == nil || errors.Is(err, syscall.EPERM)
}

// lockDir takes the lock of the session in dir, or says at once who has it.
func lockDir(dir string) (*writerLock, error) {
	path, log := filepath.Join(dir, lockName), filepath.Join(dir, logName)
	f := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR), flock.SetPermissions(fileMode))
	got, err := f.TryLock()
	for n := 1; err == nil && !got && n < triesFor(dir); n++ {
		time.Sleep(lockAgain)
		got, err = f.TryLock()
	}
	if err != nil {
		return nil, &WriteError{Path: log, Cause: fmt.Errorf("lock it: %w", err)}
	}
	if !got {
		pid := writtenPID(dir)
		if !alive(pid) {
			pid = 0
		}
		return nil, &LockedError{Path: log, PID: pid}
	}
	if err := os.WriteFile(path, []byte(strconv.Itoa(os.Getpid())+"\n"), fileMode); err != nil {
		// The pid is only for people; a full disk must not keep a session closed.
		_ = os.Truncate(path, 0)
	}
	return &writerLock{f}, nil
}

// release gives the lock back. The file stays: removing it would let two writers
// lock two different files of that name.
func (l *writerLock) release() error {
	_ = os.Truncate(l.f.Path(), 0)
	return l.f.Close()
}

// writtenPID is the pid in the lock file, 0 if there is none.
func writtenPID(dir string) int {
	b, err := os.ReadFile(filepath.Join(dir, lockName))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 1 {
		return 0
	}
	return pid
}

// holder is the process that writes the session in dir, 0 if none or if that cannot be
// told. Another process may have got the pid of a dead writer, so a living one counts
// only while somebody has the lock. It is for people, not for decisions.
func holder(dir string) int {
	pid := writtenPID(dir)
	if !alive(pid) {
		return 0
	}
	f := flock.New(filepath.Join(dir, lockName), flock.SetFlag(os.O_RDONLY))
	free, err := f.TryRLock()
	_ = f.Close()
	if free || err != nil {
		return 0
	}
	return pid
}
