package main

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
)

// person sits at a pseudo-terminal that dsh has.
type person struct {
	t      *testing.T
	screen *os.File
	tty    *os.File

	mu   sync.Mutex
	more *sync.Cond
	seen bytes.Buffer
}

func newPerson(t *testing.T) *person {
	t.Helper()
	screen, tty, err := openTerminal()
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, screen: screen, tty: tty}
	p.more = sync.NewCond(&p.mu)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		_, _ = io.Copy(p, screen) // ends with EIO: nobody has the terminal open
	}()
	t.Cleanup(func() {
		tty.Close()
		<-watched
		screen.Close()
	})
	return p
}

// Write takes what dsh shows.
func (p *person) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.more.Broadcast()
	return p.seen.Write(b)
}

// types waits for a text on the screen and answers it.
func (p *person) types(after, text string) { p.typesAt(1, after, text) }

// typesAt waits until a text has come n times.
func (p *person) typesAt(n int, after, text string) {
	p.mu.Lock()
	for strings.Count(p.seen.String(), after) < n {
		p.more.Wait()
	}
	p.mu.Unlock()
	_, _ = p.screen.WriteString(text)
}

func (p *person) saw() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.String()
}

// TestCtrlDLeavesWhateverTheChatDoes: it hung for good when a question was on screen.
func TestCtrlDLeavesWhateverTheChatDoes(t *testing.T) {
	t.Parallel()
	const ctrlD = "\x04"
	for name, c := range map[string]struct{ model, after string }{
		"while it asks":    {`call write {"file_path":"made.txt","content":"x"}`, "allow? "},
		"while it works":   {"text begun\nhang", "begun"},
		"while it is idle": {"text Hello.", "Hello."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			script := b.write("model.txt", "== reply\n"+c.model+"\n\n== after\noptional\ntext No.\n")
			p := newPerson(t)
			go p.types(c.after, ctrlD)
			var errOut bytes.Buffer
			code := run([]string{"-C", b.work, "--ax", "--permission", "ask", "-m", "script:" + script, "go on"},
				streams{in: p.tty, out: p.tty, err: &errOut, getenv: func(name string) string { return b.env[name] }})
			if code != exitOK || !strings.Contains(errOut.String(), "dsh resume") {
				t.Errorf("exit code %d, said %q and showed %q", code, errOut.String(), p.saw())
			}
			if _, err := os.Stat(b.work + "/made.txt"); err == nil {
				t.Error("the end of the input allowed a call")
			}
			if name != "while it is idle" {
				b.dsh("log", b.lastSession()).want(0, "turn 1 aborted", "")
			}
		})
	}
}

// A question is numbered answers; nothing typed repeats it, and so does a number that
// no answer has. Nothing moves the cursor.
func TestTAXNumberedAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		number string
		asked  int // times, the repeats included
		made   bool
		says   string
	}{
		"T-AX once":    {"1", 4, true, "Done: Write made.txt"},
		"T-AX session": {"2", 3, true, "Done: Write made.txt"},
		"T-AX no":      {"3", 4, false, "Failed: Write made.txt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			script := b.write("model.txt", `== one
call write {"file_path":"made.txt","content":"x"}
== two
call write {"file_path":"made.txt","content":"y"}
== end
text All done.
`)
			p := newPerson(t)
			go func() {
				p.typesAt(1, "allow? ", "\n")
				p.typesAt(2, "allow? ", "7\n")
				p.typesAt(3, "allow? ", c.number+"\n")
				if c.asked > 3 {
					p.typesAt(4, "allow? ", c.number+"\n")
				}
				p.types("All done.", "\x04")
			}()
			var errOut bytes.Buffer
			code := run([]string{"-C", b.work, "--ax", "--permission", "ask", "-m", "script:" + script, "go on"},
				streams{in: p.tty, out: p.tty, err: &errOut, getenv: func(name string) string { return b.env[name] }})
			saw := p.saw()
			if code != exitOK || strings.Count(saw, "allow? ") != c.asked || !strings.Contains(saw, c.says) || !strings.Contains(saw, "  1 allow once") {
				t.Errorf("exit code %d, said %q and showed %s", code, errOut.String(), saw)
			}
			if plain := strings.ReplaceAll(saw, "\r\n", "\n"); strings.ContainsAny(plain, "\x1b\r\b") {
				t.Errorf("the cursor is moved: %q", plain)
			}
			if _, err := os.Stat(b.work + "/made.txt"); (err == nil) != c.made {
				t.Errorf("made.txt: %v", err)
			}
		})
	}
}
