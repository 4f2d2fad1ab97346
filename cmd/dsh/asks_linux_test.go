package main

import (
	"io"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"dsh/internal/early"
)

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
		if got := onScreen(t, cmd); got != c.want+"\r\n" {
			t.Errorf("%s wrote %q, want %q", c.pkg, got, c.want)
		}
	}
}

// onScreen runs cmd on a pseudo-terminal of its own and returns all it wrote to it.
func onScreen(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	screen, tty, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = cmd.Run()
	_ = tty.Close()
	if err != nil {
		t.Fatal(err)
	}
	out, _ := io.ReadAll(screen) // ends with EIO: nobody has the terminal open
	return string(out)
}
