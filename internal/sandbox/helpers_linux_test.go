package sandbox

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// bound ends a test that hangs; nothing is judged by it.
const bound = 60 * time.Second

var path = "PATH=" + os.Getenv("PATH")

func start(t *testing.T, l *Launcher, s Spec) Process {
	t.Helper()
	if s.Env == nil {
		s.Env = []string{path}
	}
	p, err := l.Start(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// finish reads the output to its end and waits.
func finish(t *testing.T, p Process) (string, Exit) {
	t.Helper()
	out := p.Output()
	defer out.Close()
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	defer cancel()
	exit, err := p.Wait(ctx)
	if err != nil {
		t.Fatalf("%v, after output %q", err, text)
	}
	return string(text), exit
}

// run runs a shell command to its end.
func run(t *testing.T, command string, env ...string) (string, Exit) {
	t.Helper()
	l := newLauncher(t)
	return finish(t, start(t, l, Spec{Argv: []string{"bash", "-c", command}, Env: append(env, path)}))
}

func newLauncher(t *testing.T) *Launcher {
	t.Helper()
	l := &Launcher{}
	t.Cleanup(l.Close)
	return l
}

// witness is a FIFO that processes of a test keep open: as long as one of them
// lives, wherever it went, its reader sees no end.
type witness struct {
	t    *testing.T
	path string
	f    *os.File
}

func newWitness(t *testing.T) *witness {
	t.Helper()
	w := &witness{t: t, path: filepath.Join(t.TempDir(), "fifo")}
	if err := syscall.Mkfifo(w.path, 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.f, err = os.OpenFile(w.path, os.O_RDONLY|syscall.O_NONBLOCK, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.f.Close() })
	return w
}

// env names the FIFO: a command opens it with `exec 9>$W` and its descendants
// inherit it.
func (w *witness) env() string { return "W=" + w.path }

// dead fails unless every process that held the FIFO has ended.
func (w *witness) dead() {
	w.t.Helper()
	conn, err := w.f.SyscallConn()
	if err != nil {
		w.t.Fatal(err)
	}
	var n int
	buf := make([]byte, 4096)
	if cerr := conn.Control(func(fd uintptr) {
		for n = 1; n > 0; {
			n, err = syscall.Read(int(fd), buf)
		}
	}); cerr != nil {
		w.t.Fatal(cerr)
	}
	if err != nil {
		w.t.Errorf("a process lives on: %v", err)
	}
}

// wait returns what was written to the FIFO once every holder has ended.
func (w *witness) wait() string {
	w.t.Helper()
	if err := w.f.SetReadDeadline(time.Now().Add(bound)); err != nil {
		w.t.Fatal(err)
	}
	text, err := io.ReadAll(w.f)
	if err != nil {
		w.t.Fatalf("a process lives on: %v", err)
	}
	return string(text)
}

// readUntil reads output up to a marker that the command writes.
func readUntil(t *testing.T, r io.Reader, marker string) {
	t.Helper()
	var got strings.Builder
	buf := make([]byte, 256)
	for !strings.Contains(got.String(), marker) {
		n, err := r.Read(buf)
		got.Write(buf[:n])
		if err != nil {
			t.Fatalf("%v before %q: %q", err, marker, got.String())
		}
	}
}

// idleReady waits until the idle launcher has initialised: it then sleeps in a wait
// for its command.
func (l *Launcher) idleReady(tb testing.TB) {
	tb.Helper()
	l.mu.Lock()
	pid := l.idle.proc.Pid
	l.mu.Unlock()
	for {
		where, err := os.ReadFile("/proc/" + itoa(pid) + "/wchan")
		if err != nil {
			tb.Fatal(err)
		}
		if string(where) != "0" {
			return
		}
	}
}
