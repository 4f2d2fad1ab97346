package session

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// threeTurns is a log's content, as lines with their newlines.
func threeTurns(t *testing.T) (l *Log, lines [][]byte) {
	t.Helper()
	l = newLog(t)
	for range 3 {
		wholeTurn(t, l, 4)
	}
	mustClose(t, l)
	lines = bytes.SplitAfter(contentOf(t, l.path), []byte("\n"))
	return l, lines[:len(lines)-1]
}

func lineWith(t *testing.T, lines [][]byte, parts ...string) int {
	t.Helper()
	i := slices.IndexFunc(lines, func(line []byte) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !bytes.Contains(line, []byte(p)) })
	})
	if i < 0 {
		t.Fatalf("no line has %v", parts)
	}
	return i
}

// mustSalvage writes lines as the log, salvages it, and wants a copy that opens.
func mustSalvage(t *testing.T, l *Log, lines ...[]byte) (Salvaged, *Snapshot) {
	t.Helper()
	damaged := bytes.Join(lines, nil)
	if err := os.WriteFile(l.path, damaged, fileMode); err != nil {
		t.Fatal(err)
	}
	r, err := Salvage(l.root, l.path, testCwd)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(damaged, contentOf(t, l.path)) {
		t.Error("the damaged log was written")
	}
	s, err := Read(r.Path)
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := Open(l.root, r.Path)
	if err != nil {
		t.Fatal(err)
	}
	wholeTurn(t, c, 2) // it can be gone on with
	mustClose(t, c)
	return r, s
}

func TestF02SalvageKeepsWhatStandsBehindTheDamage(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]string{
		"NUL bytes": strings.Repeat("\x00", 300) + "\n", "half a record": "{\"type\":\n", "an unknown type": "{\"type\":\"moon/phase\",\"seq\":99,\"time\":1,\"data\":{}}\n",
		"a long line": strings.Repeat("x", 12<<20) + "\n", "two lines": "x\n\ny\n", "nothing": "",
	} {
		t.Run("F02 "+name, func(t *testing.T) {
			t.Parallel()
			l, lines := threeTurns(t)
			at := lineWith(t, lines, `"user/message"`, "question 2")
			r, s := mustSalvage(t, l, slices.Concat(lines[:at], [][]byte{[]byte(bad)}, lines[at+1:])...)
			if len(r.Lost) == 0 || r.Lost[0].Line != at+1 || r.Turns != 3 || r.Events != l.NextSeq()-1 {
				t.Errorf("%+v, want line %d", r, at+1)
			}
			got := strings.Join(seenTexts(s), "|")
			if got != "question 1|answer 1|answer 2|question 3|answer 3" {
				t.Errorf("the model sees %s", got)
			}
			if h := s.Header(); h.ParentSession != l.header.ID || h.ID == l.header.ID {
				t.Errorf("header %+v", h)
			}
			lost := 0
			for ev := range s.Events() {
				if p, ok := ev.Data.(Lost); ok {
					lost++
					if p.Line != at+1 || !ev.Ignorable {
						t.Errorf("%+v", ev)
					}
				}
			}
			if lost != 1 {
				t.Errorf("%d events stand for the lost one", lost)
			}
		})
	}
}

func TestSalvageKeepsTheNumbersOfARowThatIsLost(t *testing.T) {
	t.Parallel()
	l, lines := threeTurns(t)
	at := lineWith(t, lines, `"text-chunks"`, `"turn":2`)
	r, s := mustSalvage(t, l, slices.Concat(lines[:at], [][]byte{[]byte("?\n")}, lines[at+1:])...)
	if len(r.Lost) != 1 || s.State().Events != l.NextSeq() {
		t.Errorf("%+v, %d events, want %d", r, s.State().Events, l.NextSeq())
	}
}

func TestSalvageDoesNotBelieveANumberAlone(t *testing.T) {
	t.Parallel()
	l, lines := threeTurns(t)
	at := lineWith(t, lines, `"step/start"`, `"turn":2`)
	wrong := bytes.Replace(lines[at], []byte(`"seq":`), []byte(`"seq":7`), 1)
	r, s := mustSalvage(t, l, slices.Concat(lines[:at], [][]byte{wrong}, lines[at+1:])...)
	if len(r.Lost) != 1 || r.Lost[0].Line != at+1 || len(seenTexts(s)) != 6 || s.State().Events != l.NextSeq() {
		t.Errorf("%+v, %q", r, seenTexts(s))
	}
}

func TestSalvageMakesUpAHeader(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"damaged": "{\"type\":\"ses\n", "missing": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, lines := threeTurns(t)
			r, s := mustSalvage(t, l, slices.Concat([][]byte{[]byte(first)}, lines[1:])...)
			if len(r.Lost) != 1 || r.Lost[0].Line != 1 || len(seenTexts(s)) != 6 || s.Header().Cwd != testCwd || s.Header().ParentSession != l.header.ID {
				t.Errorf("%+v, %+v, %q", r, s.Header(), seenTexts(s))
			}
		})
	}
}

func TestSalvageRefusesWhatItCannotHelp(t *testing.T) {
	t.Parallel()
	l, lines := threeTurns(t)
	sessions := func() int { list, _ := List(l.root); return len(list) }
	for name, c := range map[string]struct {
		content []byte
		is      func(error) bool
	}{
		"whole":      {bytes.Join(lines, nil), func(err error) bool { return errors.Is(err, ErrNotDamaged) }},
		"torn":       {bytes.Join(lines, nil)[:fileSize(t, l.path)-7], func(err error) bool { return errors.Is(err, ErrNotDamaged) }},
		"newer":      {[]byte(`{"type":"session","version":7}` + "\n"), func(err error) bool { return errors.As(err, new(*NewerError)) }},
		"no session": {[]byte("hello\nworld\n"), func(err error) bool { return errors.As(err, new(*DamagedError)) }},
	} {
		if err := os.WriteFile(l.path, c.content, fileMode); err != nil {
			t.Fatal(err)
		}
		if _, err := Salvage(l.root, l.path, testCwd); !c.is(err) {
			t.Errorf("%s: %v", name, err)
		}
		if n := sessions(); n != 1 {
			t.Errorf("%s: %d sessions", name, n)
		}
	}
}
