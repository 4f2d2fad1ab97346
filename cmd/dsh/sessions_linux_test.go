package main

import (
	"os"
	"strings"
	"testing"
)

// TestDeleteAsksAPerson: only a yes deletes, and what is meant is on the screen.
func TestDeleteAsksAPerson(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer string
		gone   bool
	}{{"y\n", true}, {"YES\n", true}, {"\n", false}, {"n\n", false}, {"yes please\n", false}, {"\x04", false}} {
		t.Run(strings.TrimSpace(c.answer), func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			script := b.write("model.txt", "== reply\ntext Hello.\n")
			b.dsh("run", "-m", "script:"+script, "mind \x1b]0;x\a this").want(0, "Hello.", "")
			id, log := b.lastSession(), b.logPath()
			p := newPerson(t)
			go p.types("for good? [y/N] ", c.answer)
			code := run([]string{"sessions", "delete", id},
				streams{in: p.tty, out: p.tty, err: p.tty, getenv: func(name string) string { return b.env[name] }})
			_, err := os.Stat(log)
			if code != exitOK || os.IsNotExist(err) != c.gone {
				t.Errorf("exit code %d, %v; shown %q", code, err, p.saw())
			}
			if seen := p.saw(); !strings.Contains(seen, id[:8]) || !strings.Contains(seen, "mind ") || strings.Contains(seen, "\x1b") {
				t.Errorf("shown %q", seen)
			}
		})
	}
}
