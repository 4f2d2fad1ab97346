package sandbox

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// fakeDSH makes this test binary play a dsh that is killed: its value is the
// command to run.
const fakeDSH = "SANDBOX_FAKE_DSH"

func TestMain(m *testing.M) {
	if command := os.Getenv(fakeDSH); command != "" {
		os.Exit(playDSH(command))
	}
	os.Exit(m.Run())
}

// playDSH runs a command under a hardened dsh and copies its output until killed.
func playDSH(command string) int {
	if err := Harden(); err != nil {
		println(err.Error())
		return 1
	}
	l := &Launcher{}
	if err := l.Prepare(); err != nil {
		println(err.Error())
		return 1
	}
	p, err := l.Start(Spec{Argv: []string{"bash", "-c", command}, Env: []string{path, "W=" + os.Getenv("W")}, Grace: shortGrace})
	if err != nil {
		println(err.Error())
		return 1
	}
	_, _ = io.Copy(os.Stdout, p.Output())
	return 0
}

// TestNothingOutlivesAKilledDSH: what a command started ends with dsh, also when dsh
// gets no chance to do anything about it, and also what ignores TERM or left its
// group and session.
func TestNothingOutlivesAKilledDSH(t *testing.T) {
	t.Parallel()
	for name, command := range map[string]string{
		"plain":    `echo ready; sleep 1000`,
		"stubborn": `trap '' TERM; echo ready; while :; do sleep 1000; done`,
		"daemons":  `(setsid bash -c 'trap "" TERM HUP; nohup sleep 1000 & sleep 1000 & echo ready; wait; sleep 1000' &); sleep 1000`,
		"writer":   `echo ready; yes`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWitness(t)
			dsh := exec.Command("/proc/self/exe")
			dsh.Env = []string{path, w.env(), fakeDSH + `=exec 9>"$W"; ` + command}
			dsh.Stderr = os.Stderr
			out, err := dsh.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := dsh.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			if line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := dsh.Process.Signal(syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_ = dsh.Wait()
			w.wait()
		})
	}
}

// TestD07NoCommandReadsDSHsEnvironment: it runs as the same user, and is refused. As
// root, which may read everything, it is tried as another user.
func TestD07NoCommandReadsDSHsEnvironment(t *testing.T) {
	t.Parallel()
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer self.Close()
	const command = `for f in environ mem maps; do head -c1 /proc/$(cut -d' ' -f4 /proc/$PPID/stat)/$f; head -c1 /proc/$PPID/$f; done; id -u`
	dsh := exec.Command("/proc/self/fd/3")
	dsh.ExtraFiles = []*os.File{self}
	dsh.Dir = "/"
	dsh.Env = []string{path, "SECRET_KEY=sk-test", fakeDSH + "=" + command}
	dsh.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		dsh.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	out, err := dsh.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if n := strings.Count(string(out), "ermission denied"); n != 6 || strings.HasSuffix(string(out), "\n0\n") {
		t.Errorf("%d of 6 reads were refused:\n%s", n, out)
	}
}
