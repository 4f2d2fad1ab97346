package session

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gofrs/flock"
)

// heldFor is a session's directory whose lock somebody has for a time, with a pid in it.
func heldFor(t *testing.T, held time.Duration, pid int) (dir string) {
	t.Helper()
	dir = t.TempDir()
	path := filepath.Join(dir, lockName)
	if err := os.WriteFile(path, []byte(strconv.Itoa(pid)), fileMode); err != nil {
		t.Fatal(err)
	}
	f := flock.New(path)
	if got, err := f.TryLock(); !got {
		t.Fatal(err)
	}
	time.AfterFunc(held, func() { f.Close() })
	t.Cleanup(func() { f.Close() })
	return dir
}

func TestJL24ALockThatIsAboutToBeFreeIsWaitedFor(t *testing.T) {
	t.Parallel()
	const dead = 1<<31 - 2
	for name, c := range map[string]struct {
		held time.Duration
		pid  int
		free bool
	}{
		"for a look":                {lockAgain, os.Getpid(), true},
		"by a living writer":        {time.Hour, os.Getpid(), false},
		"by a dead writer's child":  {deadTries * lockAgain / 2, dead, true},
		"by it for good":            {time.Hour, dead, false},
		"by a writer without a pid": {time.Hour, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				lock, err := lockDir(heldFor(t, c.held, c.pid))
				if lock != nil {
					defer lock.release()
				}
				var locked *LockedError
				if c.free != (err == nil) || !c.free && !errors.As(err, &locked) {
					t.Fatalf("got %v", err)
				}
				if locked != nil && locked.PID != 0 && c.pid == dead {
					t.Error("a dead process is named")
				}
			})
		})
	}
}
