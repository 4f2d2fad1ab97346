package main

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// screens runs the screen on a terminal of its own until the person leaves.
func (b *bench) screens(p *person, args ...string) outcome {
	b.t.Helper()
	if err := unix.IoctlSetWinsize(int(p.screen.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		b.t.Fatal(err)
	}
	b.env["TERM"] = "xterm-256color"
	var errOut bytes.Buffer
	code := run(args, streams{in: p.tty, out: p.tty, err: &errOut, getenv: func(name string) string { return b.env[name] }})
	return outcome{t: b.t, args: args, code: code, out: p.saw(), err: errOut.String()}
}

// TestTHELDRealLoop: a steer and two queued messages outlive the interrupt and the
// screen; they are sent when the user says so, in order, and nothing before.
func TestTHELDRealLoop(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	script := b.write("model.txt", "== one\nwhen \"go\"\ntext begun\nhang\n== rest\nloop\ntext Answer {{n}}.\n")
	first := newPerson(t)
	go func() {
		first.types("Asks before", "go\r")
		first.types("begun", "steer me\r")
		first.types("steer me", "queue one\t")
		first.types("1 queue", "queue two\t")
		first.types("2 queue", "\x1b")
		first.types("3 held", "\x04")
	}()
	b.screens(first, "-C", b.work, "--permission", "ask", "-m", "script:"+script).want(exitOK, "", "Resume: dsh resume")
	if got := b.prompts(); got != "go" {
		t.Errorf("before the restart the model was sent %q", got)
	}
	second := newPerson(t)
	go func() {
		second.types("3 held", "\x13")
		second.types("Answer 3.", "\x04")
	}()
	b.screens(second, "resume", b.lastSession(), "-m", "script:"+script).want(exitOK, "", "")
	if got := b.prompts(); got != "go | steer me | queue one | queue two" {
		t.Errorf("the model was sent %q", got)
	}
}

// prompts are the user's messages of the last session, by turn.
func (b *bench) prompts() string {
	b.t.Helper()
	snapshot, err := session.Read(b.logPath())
	if err != nil {
		b.t.Fatal(err)
	}
	var turns []string
	for ev := range snapshot.Events() {
		switch p := ev.Data.(type) {
		case session.TurnStart:
			turns = append(turns, "")
		case session.UserMessage:
			if p.Source.Kind == llm.FromUser {
				turns[len(turns)-1] += p.PlainText()
			}
		}
	}
	return strings.Join(turns, " | ")
}
