package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

func init() {
	mountable = sync.OnceValues(mayMount)
	scriptCommands["disk"] = smallDisk
	scriptCommands["fill"] = fill
	scriptCommands["terminal"] = onTerminal
}

// disk DIR SIZE mounts a file system of that size, such as 64k, until the script
// ends. Where that is not allowed the script ends here: its twin with a limited file
// size holds the same.
func smallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: disk DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	ts.Check(unix.Mount("none", dir, "tmpfs", 0, "mode=0755,size="+args[1]))
	ts.Defer(func() { ts.Check(unix.Unmount(dir, unix.MNT_DETACH)) })
}

// mayMount reports whether disk works here.
func mayMount() (bool, error) {
	dir, err := os.MkdirTemp("", "mount-")
	if err != nil {
		return false, err
	}
	defer os.Remove(dir)
	if unix.Mount("none", dir, "tmpfs", 0, "size=4k") != nil {
		return false, nil
	}
	return true, unix.Unmount(dir, unix.MNT_DETACH)
}

// fill FILE writes to a file until its disk is full.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fill FILE")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	for size := 4096; size > 0; {
		if _, err = f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		ts.Fatalf("the disk does not fill up: %v", err)
	}
}

// terminal CODE PROGRAM ARGS... runs a program whose standard output and error are a
// terminal, and writes what arrives there to the file screen.
func onTerminal(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: terminal CODE PROGRAM ARGS...")
	}
	screen, tty, err := openTerminal()
	ts.Check(err)
	defer screen.Close()
	cmd := exec.Command(args[1], args[2:]...)
	cmd.Env = environment(ts)
	cmd.Dir = ts.MkAbs(".")
	cmd.Stdout, cmd.Stderr = tty, tty
	err = cmd.Start()
	tty.Close()
	ts.Check(err)
	var text bytes.Buffer
	_, _ = io.Copy(&text, screen) // ends with EIO when nobody has the terminal open
	_ = cmd.Wait()
	ts.Check(os.WriteFile(filepath.Join(cmd.Dir, "screen"), bytes.ReplaceAll(text.Bytes(), []byte("\r\n"), []byte("\n")), 0o600))
	if got := fmt.Sprint(cmd.ProcessState.ExitCode()); got != args[0] {
		ts.Fatalf("exit code %s, want %s\n%s", got, args[0], text.Bytes())
	}
}

// openTerminal makes a pseudo-terminal.
func openTerminal() (screen, tty *os.File, err error) {
	screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		screen.Close()
	}
	return screen, tty, err
}
