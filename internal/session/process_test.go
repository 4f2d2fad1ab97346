package session

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The tests here need a second process: this test binary again, with a role.
const (
	roleVar  = "DSH_SESSION_TEST_ROLE"
	storeVar = "DSH_SESSION_TEST_STORE" // root and path of the log, by a newline
)

var roles = map[string]func(root, path string) error{
	"append": appendForever, "race": raceForTheLock, "limit": hitTheFileLimit, "crash": appendTen,
}

func TestMain(m *testing.M) {
	role, ok := roles[os.Getenv(roleVar)]
	if !ok {
		os.Exit(m.Run())
	}
	root, path, _ := strings.Cut(os.Getenv(storeVar), "\n")
	if err := role(root, path); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

func child(t testing.TB, role string, l *Log, env ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), append(env, roleVar+"="+role, storeVar+"="+l.root+"\n"+l.path)...)
	return cmd
}

// closedLog is a stored log with one event.
func closedLog(t testing.TB) *Log {
	t.Helper()
	l := newLog(t)
	mustAppend(t, l, title("first"))
	mustClose(t, l)
	return l
}

// appendForever prints the seq of each event once it is accepted.
func appendForever(root, path string) error {
	l, _, err := Open(root, path)
	for err == nil {
		var evs []Event
		if evs, err = l.Append(title("x")); err == nil {
			fmt.Println(evs[0].Seq)
		}
	}
	return err
}

func TestJL24AnotherProcessIsRefusedAndDeathFreesTheLock(t *testing.T) {
	t.Parallel()
	l := closedLog(t)
	cmd := child(t, "append", l)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	accepted := -1
	note := func() {
		if accepted, err = strconv.Atoi(lines.Text()); err != nil {
			t.Fatal(lines.Text())
		}
	}
	for range 50 {
		if !lines.Scan() {
			t.Fatal("the child ended")
		}
		note()
	}
	_, _, err = Open(l.root, l.path)
	var locked *LockedError
	if !errors.As(err, &locked) || locked.PID != cmd.Process.Pid || !strings.Contains(err.Error(), strconv.Itoa(locked.PID)) {
		t.Errorf("got %v, want the pid %d", err, cmd.Process.Pid)
	}
	if e, err := Find(l.root, l.Header().ID); err != nil || e.LockedBy != cmd.Process.Pid {
		t.Errorf("listed as locked by %d (%v)", e.LockedBy, err)
	}
	if s, err := Read(l.path); err != nil || s.State().Events < 50 {
		t.Error("a reader was kept out:", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() {
		note()
	}
	_ = cmd.Wait()
	again, opened := mustOpen(t, l)
	if again.NextSeq() <= accepted {
		t.Errorf("event %d was accepted, the log has %d", accepted, again.NextSeq())
	}
	if opened.Cut.Bytes != 0 {
		t.Log("the kill tore the last write:", opened.Cut.Bytes)
	}
	valid(t, l.path)
}

const raceRounds = 20

// raceForTheLock appends one event in each of many short lives.
func raceForTheLock(root, path string) error {
	for done := 0; done < raceRounds; {
		l, _, err := Open(root, path)
		var locked *LockedError
		if errors.As(err, &locked) {
			continue
		}
		if err != nil {
			return err
		}
		if _, err = l.Append(title("x")); err != nil {
			return err
		}
		if err := l.Close(); err != nil {
			return err
		}
		done++
	}
	return nil
}

func TestTwoProcessesNeverWriteAtOnce(t *testing.T) {
	t.Parallel()
	l := closedLog(t)
	var cmds []*exec.Cmd
	for range 2 {
		cmd := child(t, "race", l)
		var out strings.Builder
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		cmds = append(cmds, cmd)
	}
	for i, cmd := range cmds {
		if err := cmd.Wait(); err != nil {
			t.Errorf("process %d: %v: %v", i, err, cmd.Stdout)
		}
	}
	titles := 0
	for _, ev := range valid(t, l.path) {
		if ev.Type == TypeTitle {
			titles++
		}
	}
	if titles != 2*raceRounds+1 {
		t.Errorf("%d titles, want %d", titles, 2*raceRounds+1)
	}
}

// hitTheFileLimit makes the kernel take only a part of a write.
func hitTheFileLimit(root, path string) error {
	l, _, err := Open(root, path)
	if err != nil {
		return err
	}
	before, err := os.Stat(path)
	if err != nil {
		return err
	}
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	low := limit
	low.Cur = uint64(before.Size()) + 1000
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &low); err != nil {
		return err
	}
	_, err = l.Append(title(strings.Repeat("x", 5000)))
	if !errors.Is(err, syscall.EFBIG) || !strings.Contains(err.Error(), "ulimit") {
		return fmt.Errorf("the append returned %w", err)
	}
	if after, _ := os.Stat(path); after.Size() != before.Size() {
		return fmt.Errorf("%d bytes of the failed write stayed", after.Size()-before.Size())
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	if _, err := l.Append(title("fits")); err != nil {
		return err
	}
	return l.Close()
}

func TestJL10AWriteThatFailsHalfwayLeavesNothing(t *testing.T) {
	t.Parallel()
	l := closedLog(t)
	if out, err := child(t, "limit", l).Output(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	evs := valid(t, l.path)
	if evs[len(evs)-1].Data != (Title{"fits"}) {
		t.Errorf("got %v", types(evs))
	}
}

// appendTen is a life that crash_test.go ends: three batches, and chunks.
func appendTen(root, path string) error {
	l, _, err := Open(root, path)
	if err != nil {
		return err
	}
	for range 4 {
		evs, err := l.Append(title("a"), title("b"))
		if err != nil {
			return err
		}
		fmt.Println(evs[1].Seq)
	}
	return l.Close()
}
