package session

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func rows(t testing.TB, path string) (n int) {
	t.Helper()
	for _, line := range linesOf(t, path)[1:] {
		if chunkRow([]byte(line)) {
			n++
		}
	}
	return n
}

func TestWB01ChunksAreWrittenAfterOneWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		r := l.Reader(0)
		defer r.Close()
		turn := startTurn(t, l)
		r.Next()
		for range 19 { // one every 10 ms: later ones do not restart the window
			stream(t, l, turn, 1)
			time.Sleep(10 * time.Millisecond)
		}
		if rows(t, l.path) != 0 {
			t.Error("written before the window ended")
		}
		if got := len(r.Next()); got != 19 {
			t.Errorf("a reader saw %d chunks, want 19 at once", got)
		}
		time.Sleep(10 * time.Millisecond)
		synctest.Wait()
		if rows(t, l.path) == 0 {
			t.Error("not written when it ended")
		}
		mustClose(t, l)
	})
}

func TestWB02ChunksOfOneWindowAreOneBatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		turn := startTurn(t, l)
		for range 20 {
			stream(t, l, turn, 1)
			time.Sleep(9 * time.Millisecond)
		}
		time.Sleep(flushAfter)
		synctest.Wait()
		if got := rows(t, l.path); got != 1 {
			t.Errorf("%d rows, want one", got)
		}
		if evs := valid(t, l.path); len(evs) != l.NextSeq() {
			t.Errorf("%d events, want %d", len(evs), l.NextSeq())
		}
		mustClose(t, l)
	})
}

func TestWB03FlushesSideBySideCoverWhatCameBefore(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for range 20 {
				evs, err := l.Append(delta2(turn, "x"))
				if err == nil {
					err = l.Sync()
				}
				if err != nil {
					t.Error(i, err)
					return
				}
				l.mu.Lock()
				written := l.written
				l.mu.Unlock()
				if written <= evs[0].Seq {
					t.Errorf("chunk %d still waits after a flush", evs[0].Seq)
				}
			}
		})
	}
	wg.Wait()
	if l.file.synced != fileSize(t, l.path) {
		t.Errorf("synced %d bytes of %d", l.file.synced, fileSize(t, l.path))
	}
	valid(t, l.path)
}

func TestJL23SessionsDoNotShareTheirFailures(t *testing.T) {
	t.Parallel()
	one, two := newLog(t), newLog(t)
	turn1, turn2 := startTurn(t, one), startTurn(t, two)
	free := full(t, one)
	seqs1, seqs2 := stream(t, one, turn1, 3), stream(t, two, turn2, 3)
	if err := one.Sync(); err == nil {
		t.Error("no error")
	}
	mustAppend(t, two, answered(turn2, seqs2))
	free()
	mustAppend(t, one, answered(turn1, seqs1))
	valid(t, one.path)
	valid(t, two.path)
}

func TestWB04AChunkAfterABarrierOpensANewWindow(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		turn := startTurn(t, l)
		stream(t, l, turn, 3)
		time.Sleep(150 * time.Millisecond)
		if err := l.Sync(); err != nil {
			t.Fatal(err)
		}
		if rows(t, l.path) != 1 {
			t.Error("the barrier did not write what waited")
		}
		stream(t, l, turn, 3)
		time.Sleep(199 * time.Millisecond)
		synctest.Wait()
		if rows(t, l.path) != 1 {
			t.Error("the old window still ran")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if rows(t, l.path) != 2 {
			t.Error("the new window did not end")
		}
		mustClose(t, l)
	})
}

func TestAnyOtherEventWritesTheChunksFirst(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	stream(t, l, turn, 3)
	mustAppend(t, l, title("x"))
	lines := linesOf(t, l.path)
	if !chunkRow([]byte(lines[len(lines)-2])) || !strings.Contains(lines[len(lines)-1], "session/title") {
		t.Errorf("got %v", lines[len(lines)-2:])
	}
}

// full makes writes to a log fail as on a full disk, until the returned function is
// called.
func full(t testing.TB, l *Log) (free func()) {
	t.Helper()
	fd := int(l.file.f.Fd())
	saved, err := syscall.Dup(fd)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here:", err)
	}
	if err := syscall.Dup3(int(dev.Fd()), fd, syscall.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	dev.Close()
	return func() {
		if err := syscall.Dup3(saved, fd, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		syscall.Close(saved)
	}
}

func TestF07AFullDiskIsSaidAndSurvived(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 3)
	before, state := linesOf(t, l.path), l.State()
	free := full(t, l)
	_, err := l.Append(title("lost"))
	var failed *WriteError
	if !errors.As(err, &failed) || !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"disk full", "free space", filepath.Dir(l.path), "cut the half-written end"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
	if l.Err() == nil || l.State().Title != "" || l.State().Events != state.Events {
		t.Error("the failed event is in memory, or the failure is not")
	}
	r := l.Reader(0)
	defer r.Close()
	if evs := r.Next(); evs[len(evs)-1].Type == TypeTitle {
		t.Error("the failed event was published")
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %q", err)
	}
	free()
	if got := linesOf(t, l.path); !slices.Equal(got, before) {
		t.Error("something of the failed write is in the file")
	}
	t.Run("PS33 the next append works", func(t *testing.T) {
		evs := mustAppend(t, l, title("kept"))
		if evs[0].Seq != state.Events || l.Err() != nil {
			t.Errorf("seq %d, want %d; err %v", evs[0].Seq, state.Events, l.Err())
		}
		valid(t, l.path)
	})
}

func TestWB06ChunksThatCouldNotBeWrittenAreTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := newLog(t)
		turn := startTurn(t, l)
		free := full(t, l)
		seqs := stream(t, l, turn, 4)
		time.Sleep(flushAfter)
		synctest.Wait()
		if l.Err() == nil {
			t.Fatal("the failure is silent")
		}
		seqs = append(seqs, stream(t, l, turn, 2)...)
		free()
		mustAppend(t, l, answered(turn, seqs))
		if l.Err() != nil {
			t.Errorf("still %v", l.Err())
		}
		mustClose(t, l)
		if evs := valid(t, l.path); len(evs) != l.NextSeq() {
			t.Errorf("%d events, want %d in order", len(evs), l.NextSeq())
		}
	})
}

func TestWB07AFlushFailsToItsCallerAndKeepsWhatWaits(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	free := full(t, l)
	seqs := stream(t, l, turn, 4)
	var failed *WriteError
	if err := l.Sync(); !errors.As(err, &failed) {
		t.Errorf("sync: %v", err)
	}
	if _, err := l.Append(title("x")); !errors.As(err, &failed) {
		t.Errorf("append: %v", err)
	}
	free()
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, answered(turn, seqs))
	valid(t, l.path)
}

func TestWB08AHugeFailedBatchIsKeptWhole(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	turn := startTurn(t, l)
	free := full(t, l)
	seqs := stream(t, l, turn, 5000)
	if err := l.Sync(); err == nil {
		t.Fatal("no error")
	}
	free()
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, answered(turn, seqs))
	if got := len(valid(t, l.path)); got != l.NextSeq() {
		t.Errorf("%d events, want %d", got, l.NextSeq())
	}
}

func TestWB09AStoreThatCannotBeMade(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, fileMode); err != nil {
		t.Fatal(err)
	}
	l, err := Create(file, Header{Cwd: testCwd}) // the root is not a directory
	if err != nil {
		t.Fatal(err)
	}
	var failed *WriteError
	if _, err := l.Append(title("x")); !errors.As(err, &failed) {
		t.Errorf("got %v", err)
	}
	if l.NextSeq() != 0 {
		t.Error("the event counts all the same")
	}
	if err := l.Close(); err != nil { // nothing waits, nothing is lost
		t.Error(err)
	}
}

func TestF08AReadOnlyStoreIsSaidInOneLine(t *testing.T) {
	t.Parallel()
	err := &WriteError{Path: "/ro/p/id/session.jsonl", Cause: &os.PathError{Op: "mkdir", Path: "/ro", Err: syscall.EROFS}}
	if !strings.Contains(err.Error(), "DSH_HOME") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %q", err)
	}
	if os.Getuid() == 0 {
		return // root may write anywhere; the message above is what there is to see
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	l, createErr := Create(filepath.Join(dir, "sessions"), Header{})
	if createErr != nil {
		t.Fatal(createErr)
	}
	defer l.Close()
	if _, err := l.Append(title("x")); err == nil || !strings.Contains(err.Error(), "not writable") {
		t.Errorf("got %v", err)
	}
}

func TestF07ARemovedLogIsNoticedByTheBarrier(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	mustAppend(t, l, title("x"))
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Dir(l.path)); err != nil {
		t.Fatal(err)
	}
	mustAppend(t, l, title("into nowhere"))
	var failed *WriteError
	if err := l.Sync(); !errors.As(err, &failed) || !strings.Contains(err.Error(), "removed") {
		t.Errorf("got %v", err)
	}
}

func TestF11TimeNeverGoesBackwards(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	mustAppend(t, l, title("x"))
	mustClose(t, l)
	lines := linesOf(t, l.path)
	future := strings.Replace(lines[1], `"time":`, `"time":9`, 1) // the clock was wrong by centuries
	if err := os.WriteFile(l.path, []byte(lines[0]+future), fileMode); err != nil {
		t.Fatal(err)
	}
	again, _ := mustOpen(t, l)
	mustAppend(t, again, title("y"))
	valid(t, l.path) // Check looks at the times

	synctest.Test(t, func(t *testing.T) {
		c := newClock(0)
		a := c.now()
		time.Sleep(1500 * time.Millisecond)
		if b := c.now(); b-a != 1500 {
			t.Errorf("1.5 s lasted %d ms", b-a)
		}
	})
}
