package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"dsh/internal/early"
)

// harmless are packages that import nothing, so that they may come before early,
// which waits for os; they read a CPU flag or two.
var harmless = map[string]bool{"github.com/klauspost/compress/internal/cpuinfo": true}

// TestVersionIsAnsweredFirst reads the runtime's own trace of package inits: the
// version must be printed before any third-party package, and any of ours but
// early, has run.
func TestVersionIsAnsweredFirst(t *testing.T) {
	t.Parallel()
	dsh := filepath.Join(t.TempDir(), "dsh")
	if out, err := exec.Command("go", "build", "-o", dsh, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(dsh, "--version")
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	var trace strings.Builder
	cmd.Stderr = &trace
	out, err := cmd.Output()
	if err != nil || string(out) != "dsh "+early.Version+"\n" {
		t.Fatalf("%q, %v", out, err)
	}
	seen := 0
	for line := range strings.Lines(trace.String()) {
		name, ok := strings.CutPrefix(line, "init ")
		if !ok {
			continue
		}
		seen++
		name, _, _ = strings.Cut(name, " ")
		first, _, _ := strings.Cut(name, "/")
		if (strings.Contains(first, ".") || first == "dsh") && !harmless[name] {
			t.Errorf("%s was initialised before the version was printed", name)
		}
	}
	if seen == 0 {
		t.Error("the trace names no package at all: the test sees nothing")
	}
}

// TestNoCommandAsksTheTerminal runs dsh, and a program that surely has Bubble Tea in it,
// on a terminal that answers nothing: what they write must be their text alone.
func TestNoCommandAsksTheTerminal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg, want string
		args      []string
	}{
		{".", "dsh " + early.Version, []string{"version"}},
		{"./testdata/asks", "TERM xterm-256color", nil},
	} {
		bin := filepath.Join(t.TempDir(), "bin")
		if out, err := exec.Command("go", "build", "-o", bin, c.pkg).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		cmd := exec.Command(bin, c.args...)
		cmd.Env = []string{"TERM=xterm-256color", "HOME=" + t.TempDir()}
		if got := onTerminal(t, cmd); got != c.want+"\r\n" {
			t.Errorf("%s wrote %q, want %q", c.pkg, got, c.want)
		}
	}
}

// onTerminal runs cmd on a pseudo terminal and returns all it wrote to it.
func onTerminal(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Run()
	_ = slave.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(master) // ends with EIO: nobody has the terminal open
	return string(out)
}
