package term

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// tty is a pseudo terminal with a program on it. It answers nothing.
type tty struct {
	t      testing.TB
	master *os.File
	cmd    *exec.Cmd
	before unix.Termios
	done   chan struct{} // nothing more comes from the terminal
	ended  chan struct{} // the program ended

	mu     sync.Mutex
	raw    strings.Builder
	change chan struct{} // closed when raw grows
}

// patience bounds the wait for anything; a test that waits so long has failed.
const patience = 20 * time.Second

func start(t testing.TB, role string, env ...string) *tty {
	t.Helper()
	master, slave := openPTY(t, 40, 12)
	y := &tty{t: t, master: master, done: make(chan struct{}), ended: make(chan struct{}), change: make(chan struct{})}
	y.before = y.termios()
	y.cmd = exec.Command(os.Args[0])
	y.cmd.Env = append([]string{"TERM=dumb", "LANG=C.UTF-8", "PATH=" + os.Getenv("PATH"), "DSH_TEST_ROLE=" + role}, env...)
	y.cmd.Stdin, y.cmd.Stdout, y.cmd.Stderr = slave, slave, slave
	y.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := y.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go y.read()
	go func() {
		defer close(y.ended)
		_ = y.cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = y.cmd.Process.Kill()
		<-y.ended
		_ = slave.Close()
		<-y.done
		_ = master.Close()
	})
	return y
}

func openPTY(t testing.TB, w, h int) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	onTTY(t, master, func(fd int) error {
		n, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		return errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	})
	slave, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	resizePTY(t, master, w, h)
	return master, slave
}

func resizePTY(t testing.TB, master *os.File, w, h int) {
	t.Helper()
	onTTY(t, master, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(w), Row: uint16(h)})
	})
}

// onTTY runs f on file's descriptor without Fd, which would make reads outlive Close.
func onTTY(t testing.TB, file *os.File, f func(fd int) error) {
	t.Helper()
	conn, err := file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = f(int(fd)) })
	if err := errors.Join(err, failed); err != nil {
		t.Fatal(err)
	}
}

func (y *tty) read() {
	defer close(y.done)
	b := make([]byte, 64<<10)
	for {
		n, err := y.master.Read(b)
		y.mu.Lock()
		y.raw.Write(b[:n])
		close(y.change)
		y.change = make(chan struct{})
		y.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (y *tty) send(s string) {
	y.t.Helper()
	if _, err := y.master.WriteString(s); err != nil {
		y.t.Fatal(err)
	}
}

// wait returns all output once its part after the last wait holds what.
func (y *tty) wait(what string) string {
	y.t.Helper()
	timeout := time.After(patience)
	for {
		y.mu.Lock()
		raw, change := y.raw.String(), y.change
		y.mu.Unlock()
		if strings.Contains(raw, what) {
			return raw
		}
		select {
		case <-change:
		case <-timeout:
			y.t.Fatalf("no %q in %q", what, raw)
		}
	}
}

// exited waits for the end of the program, and checks that the terminal is as it was.
func (y *tty) exited(code int) string {
	y.t.Helper()
	y.end()
	if got := y.cmd.ProcessState.ExitCode(); got != code {
		y.t.Errorf("exit code %d, want %d", got, code)
	}
	raw := y.wait("") // the reader may lag behind
	if code >= 0 && code < 128 {
		raw = y.wait(map[int]string{0: "the end", 2: "caught: "}[code])
	}
	y.restored(raw)
	return raw
}

// end waits for the end of the program.
func (y *tty) end() {
	y.t.Helper()
	select {
	case <-y.ended:
	case <-time.After(patience):
		y.t.Fatalf("the program does not end; it wrote %q", y.wait(""))
	}
}

func (y *tty) termios() unix.Termios {
	y.t.Helper()
	var now unix.Termios
	onTTY(y.t, y.master, func(fd int) error {
		state, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err == nil {
			now = *state
		}
		return err
	})
	return now
}

// restored checks the terminal's modes and the kernel's.
func (y *tty) restored(raw string) {
	y.t.Helper()
	if got := y.termios(); got != y.before {
		y.t.Errorf("termios %+v, want %+v", got, y.before)
	}
	if on := modesOf(raw); len(on) > 0 {
		y.t.Errorf("left set: %v in %q", on, raw)
	}
}

var modeRE = regexp.MustCompile(`\x1b\[\?(\d+)([hl])|\x1b\[([<>])\d*u|\x1b\[>4(;1)?m|\x1b\[(\d) q|\x1b\]9;4;(\d)|\x1b\[2([23]);0t`)

// modesOf lists what the bytes of raw leave set.
func modesOf(raw string) []string {
	set := map[string]int{}
	for _, m := range modeRE.FindAllStringSubmatch(raw, -1) {
		switch {
		case m[1] == "25" || m[1] == "7": // these are on normally
			set["?"+m[1]] = btoi(m[2] == "l")
		case m[1] != "":
			set["?"+m[1]] = btoi(m[2] == "h")
		case m[3] != "":
			set["kitty"] += map[string]int{">": 1, "<": -1}[m[3]]
		case strings.HasPrefix(m[0], "\x1b[>4"):
			set["otherKeys"] = btoi(m[4] != "")
		case m[5] != "":
			set["shape"] = int(m[5][0] - '0')
		case m[6] != "":
			set["progress"] = int(m[6][0] - '0')
		case m[7] != "":
			set["title"] += map[string]int{"2": 1, "3": -1}[m[7]]
		}
	}
	var on []string
	for name, n := range set {
		if n != 0 {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	return on
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// screenOf is what a terminal shows that got raw.
func screenOf(raw string) *vt {
	v := newVT(40, 12, true)
	_, _ = v.Write([]byte(raw))
	return v
}

func TestG09EveryWayOutRestores(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		out  func(y *tty)
		code int
		want string
	}{
		{"quit", func(y *tty) { y.send("q") }, 0, "the end: <nil>"},
		{"a panic in Update", func(y *tty) { y.send("U") }, 2, "caught: in Update"},
		{"a panic in Frame", func(y *tty) { y.send("F") }, 2, "caught: in Frame"},
		{"a panic in a command", func(y *tty) { y.send("C") }, 2, "caught: in a command"},
		{"a panic in a batch", func(y *tty) { y.send("B") }, 2, "caught: in a command"},
		{"a panic in a goroutine", func(y *tty) { y.send("G") }, 2, "caught: in a goroutine"},
		{"SIGTERM", func(y *tty) { y.signal(syscall.SIGTERM) }, 0, "ending for terminated"},
		{"SIGHUP", func(y *tty) { y.signal(syscall.SIGHUP) }, 0, "ending for hangup"},
		{"SIGQUIT", func(y *tty) { y.signal(syscall.SIGQUIT) }, 2, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			y := start(t, "program")
			y.wait("status 40")
			y.send("t")
			y.wait("<t>")
			if y.termios() == y.before {
				t.Error("the terminal is not raw while the program runs")
			}
			if on := modesOf(y.wait("<t>")); !slices.Equal(on, []string{"?1004", "?2004", "kitty", "otherKeys", "progress", "shape", "title"}) {
				t.Errorf("modes %v", on)
			}
			c.out(y)
			if c.name == "SIGQUIT" {
				y.quit()
				return
			}
			if raw := y.exited(c.code); !strings.Contains(raw, c.want) {
				t.Errorf("no %q in %q", c.want, raw)
			}
		})
	}
}

func (y *tty) signal(s syscall.Signal) {
	y.t.Helper()
	if err := y.cmd.Process.Signal(s); err != nil {
		y.t.Fatal(err)
	}
}

// quit checks that the goroutines are printed on a terminal that was restored before.
func (y *tty) quit() {
	y.t.Helper()
	y.end()
	raw := y.wait("goroutine ")
	y.restored(raw[:strings.Index(raw, "SIGQUIT")])
}

func TestG09ASecondSIGTERMEndsADeafProgram(t *testing.T) {
	t.Parallel()
	y := start(t, "program", "DSH_TEST_DEAF=1")
	y.wait("status 40")
	y.signal(syscall.SIGTERM)
	y.wait("<terminated>")
	y.signal(syscall.SIGTERM)
	y.exited(128 + int(syscall.SIGTERM))
}

func TestG09SIGINTFromOutsideIsTheModels(t *testing.T) {
	t.Parallel()
	y := start(t, "program")
	y.wait("status 40")
	y.signal(syscall.SIGINT)
	y.wait("<interrupt>")
	y.send("q")
	y.exited(0)
}

func TestG09AnExitKeepsPrintedRowsAndErasesAnEmptyRegion(t *testing.T) {
	t.Parallel()
	y := start(t, "program")
	y.wait("status 40")
	y.send("n")
	y.wait("<n>")
	y.send("q")
	raw := y.exited(0)
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint("row ", i))
	}
	if got := screenOf(raw).text(); !slices.Equal(got, append(want, "the end: <nil>")) {
		t.Errorf("the terminal holds %q", got)
	}
}

func TestTheTerminalIsGone(t *testing.T) {
	t.Parallel()
	y := start(t, "program")
	y.wait("status 40")
	_ = y.master.Close()
	y.end()
}

func TestG12SuspendAndResume(t *testing.T) {
	t.Parallel()
	y := start(t, "shell")
	y.wait("status 40")
	y.send("\x1a")
	raw := y.wait("shell: stopped")
	y.restored(raw)
	y.send("\n")
	y.wait("<resumed true>")
	y.send("\x1b[13;2u")
	raw = y.wait("<shift+enter>")
	if y.termios() == y.before {
		t.Error("the terminal is not raw after the resume")
	}
	if got := screenOf(raw).text(); strings.Count(strings.Join(got, "\n"), "status") != 1 {
		t.Errorf("not one live region: %q", got)
	}
	y.send("q")
	y.exited(0)
}

func TestG12AStopNobodyPreparedIsRepaired(t *testing.T) {
	t.Parallel()
	y := start(t, "shell", "DSH_TEST_DEAF=1")
	y.wait("status 40")
	pgrp := 0
	onTTY(t, y.master, func(fd int) (err error) {
		pgrp, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP)
		return err
	})
	_ = syscall.Kill(-pgrp, syscall.SIGSTOP)
	y.wait("shell: stopped")
	n := strings.Count(y.wait(""), "status")
	y.send("\n")
	y.waitCount("status", n+1)
	y.send("q")
	y.exited(0)
}

func (y *tty) waitCount(what string, n int) {
	y.t.Helper()
	timeout := time.After(patience)
	for {
		y.mu.Lock()
		raw, change := y.raw.String(), y.change
		y.mu.Unlock()
		if strings.Count(raw, what) >= n {
			return
		}
		select {
		case <-change:
		case <-timeout:
			y.t.Fatalf("not %d times %q in %q", n, what, raw)
		}
	}
}

func TestG12WithoutAShellNothingStops(t *testing.T) {
	t.Parallel()
	y := start(t, "program") // a session leader: nobody could continue it
	y.wait("status 40")
	y.send("\x1a")
	y.wait("<resumed false>")
	y.send("q")
	y.exited(0)
}

func TestExecLendsTheTerminal(t *testing.T) {
	t.Parallel()
	y := start(t, "program")
	y.wait("status 40")
	y.send("e")
	raw := y.wait("edited\r\nicanon") // cooked
	if on := modesOf(raw[:strings.Index(raw, "edited")]); len(on) > 0 {
		t.Errorf("lent with %v set", on)
	}
	y.wait("<*fmt.wrapError>")
	y.send("q")
	y.exited(0)
}

func TestResizeTellsTheModel(t *testing.T) {
	t.Parallel()
	y := start(t, "program")
	y.wait("status 40")
	resizePTY(t, y.master, 33, 9)
	y.wait("status 33")
	y.send("q")
	y.exited(0)
}

func TestG11RepliesAreNotTyped(t *testing.T) {
	t.Parallel()
	y := start(t, "program")
	y.wait("status 40")
	if raw := y.wait(""); regexp.MustCompile(`\x1b\[6n|\x1b\]1[01];\?|\x1b\[\??[0-9;]*[cn]|\$p|\x1b\[\?u`).MatchString(raw) {
		t.Errorf("the start asks the terminal something: %q", raw)
	}
	y.send("b")
	y.wait("\x1b]11;?\a")
	y.send("\x1b]11;rgb:ffff/ff")
	y.send("ff/ffff\x1b\\")
	y.wait("<background 2>")
	y.send("q")
	y.exited(0)
}

func TestG06APasteIsOneMessage(t *testing.T) {
	t.Parallel()
	y := start(t, "program")
	y.wait("status 40")
	y.send("\x1b[200~a\rq\x1b[201~")
	y.wait(`<paste "a\nq">`)
	y.send("q")
	y.exited(0)
}
