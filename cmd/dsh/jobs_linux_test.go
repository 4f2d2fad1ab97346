package main

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// counting is a model that starts a job which says how far it is, and one that fails.
const counting = `== start
when "begin"
when results 0
call bash {"command":"i=0; while :; do i=$((i+1)); echo count $i 计数; sleep 0.05; done","description":"Count","run_in_background":true}
call bash {"command":"sleep 0.2; echo gone; exit 3","description":"Fail","run_in_background":true}

== ended
when "has ended"
optional
loop
text I see that it ended.

== started
when results 2
when not "has ended"
optional
loop
text Both run.
`

// TestJobsInTheLineChat: they are listed and stopped, and each end is a line.
func TestJobsInTheLineChat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	script := b.write("model.txt", counting)
	p := newPerson(t)
	go func() {
		p.types("Both run.", "/todo\n/jobs\n/bg\n/stop\n/stop bash-9\n")
		p.types("& bash-2 completed, exit code: 3", "/stop bash-1\n")
		p.types("& bash-1 killed", "/jobs\n")
		p.types("bash-1  stopped by you", "\x04")
	}()
	var errOut bytes.Buffer
	code := run([]string{"-C", b.work, "--ax", "--permission", "full", "-m", "script:" + script, "begin now"},
		streams{in: p.tty, out: p.tty, err: &errOut, getenv: func(name string) string { return b.env[name] }})
	saw := p.saw()
	if code != exitOK {
		t.Errorf("exit code %d, said %q and showed %q", code, errOut.String(), saw)
	}
	for _, want := range []string{"started bash-1 in the background", "No todo list.", "bash-1  running", "no command runs that could go on",
		"/stop needs the id of a job", `dsh: not stopped: there is no such job: "bash-9"`, "stopped by the user", "bash-2  exit 3"} {
		if !strings.Contains(saw, want) {
			t.Errorf("no %q in\n%s", want, saw)
		}
	}
}

// TestJobsOnTheScreen: the panel shows what a job puts out while it does, a person
// stops it, and nobody leaves jobs without having been told.
func TestJobsOnTheScreen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	script := b.write("model.txt", strings.Replace(counting, "sleep 0.2", "sleep 1000", 1))
	p := newPerson(t)
	if err := unix.IoctlSetWinsize(int(p.tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	b.env["TERM"] = "xterm-256color"
	go func() {
		p.types("Both run.", "\x1b[B") // down: the panel
		p.types("-- bash-1 --", "x")
		p.types("x again stops bash-1", "x")
		p.types("I see that it ended.", "\x03/quit\r")
		p.types("1 job still runs: enter stops it and exits", "\r")
	}()
	var errOut bytes.Buffer
	code := run([]string{"-C", b.work, "--permission", "full", "-m", "script:" + script, "begin now"},
		streams{in: p.tty, out: p.tty, err: &errOut, getenv: func(name string) string { return b.env[name] }})
	if saw := p.saw(); code != exitOK || !strings.Contains(saw, "bash-1 stopped by you") || !strings.Contains(saw, "计数") {
		t.Errorf("exit code %d, said %q and showed %q", code, errOut.String(), saw)
	}
	b.dsh("log", b.lastSession()).want(0, "bash-1 killed, signal: SIGTERM, stopped by the user", "")
	b.dsh("log", b.lastSession()).want(0, "bash-2 killed, signal: SIGTERM, stopped by dsh", "")
}
