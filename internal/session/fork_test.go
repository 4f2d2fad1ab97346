package session

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// mustFork forks and wants the result to be a valid log, and the parent unchanged.
func mustFork(t *testing.T, root, path string, turn int) (Forked, *Snapshot) {
	t.Helper()
	before := contentOf(t, path)
	f, err := Fork(root, path, turn)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, contentOf(t, path)) {
		t.Error("the parent was changed")
	}
	s, err := Read(f.Path)
	if err != nil {
		t.Fatal(err)
	}
	if err := Check(s.Header(), s.Events()); err != nil {
		t.Error(err)
	}
	h := s.Header()
	if h.ID == "" || h.ID == idOf(path) || h.SeedLength == nil || h.Cwd != testCwd {
		t.Errorf("header %+v", h)
	}
	return f, s
}

func contentOf(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func typesOf(s *Snapshot) (list []Type) {
	for ev := range s.Events() {
		list = append(list, ev.Type)
	}
	return list
}

func TestFK02AForkHasAllThatIsFinished(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 5)
	wholeTurn(t, l, 5)
	n := l.NextSeq()
	parent, err := Read(l.path) // the log is still open: reading takes no lock
	if err != nil {
		t.Fatal(err)
	}
	f, s := mustFork(t, l.root, l.path, 0)
	h := s.Header()
	if h.ParentSession != l.header.ID || *h.SeedLength != n || f.Turn != 2 {
		t.Errorf("header %+v, turn %d", h, f.Turn)
	}
	if got, want := s.State().Events, n+1; got != want {
		t.Errorf("%d events, want %d", got, want)
	}
	if got, want := fmt.Sprint(seenTexts(s)), fmt.Sprint(seenTexts(parent)); got != want {
		t.Errorf("the model sees %s, want %s", got, want)
	}
	// Detached: what happens next in one is not in the other.
	c, _, err := Open(l.root, f.Path)
	if err != nil {
		t.Fatal(err)
	}
	wholeTurn(t, c, 3)
	mustClose(t, c)
	if l.NextSeq() != n || c.LastTurn() != 3 {
		t.Errorf("%d events in the parent, want %d; the fork is in turn %d", l.NextSeq(), n, c.LastTurn())
	}
}

func seenTexts(s *Snapshot) (list []string) {
	for _, m := range s.Messages() {
		list = append(list, m.PlainText())
	}
	return list
}

func TestFK01PS14AnEmptySessionHasAFork(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	path := writeLog(t, root, Header{ID: "empty", Cwd: testCwd}, `{"type":"session","version":0,"id":"empty","createdAt":1000,"cwd":"`+testCwd+`"}`+"\n")
	f, s := mustFork(t, root, path, 0)
	if h := s.Header(); h.ParentSession != "empty" || *h.SeedLength != 0 {
		t.Errorf("header %+v", h)
	}
	if got := typesOf(s); !slices.Equal(got, []Type{TypeEndSeed}) {
		t.Errorf("events %v", got)
	}
	// The seed and its mark are written once, however often the fork is opened.
	before := contentOf(t, f.Path)
	for range 2 {
		l, _, err := Open(root, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(l.Sync(), l.Sync(), l.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if after := contentOf(t, f.Path); !bytes.Equal(before, after) {
		t.Errorf("the log grew:\n%s", after)
	}
}

func TestFK03WhatFollowsTheTurnComesAlong(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	mustAppend(t, l, title("named after the first turn"))
	n := l.NextSeq()
	wholeTurn(t, l, 4)
	mustAppend(t, l, queued("waits", "not sent yet"))
	_, s := mustFork(t, l.root, l.path, 1)
	if *s.Header().SeedLength != n || s.State().Title != "named after the first turn" {
		t.Errorf("%d events, title %q", *s.Header().SeedLength, s.State().Title)
	}
	if strings.Contains(fmt.Sprint(typesOf(s)[n:]), string(TypeInboxSpliced)) {
		t.Error("the next turn's prompt came along")
	}
	// What waits stays with the parent, also when everything is copied.
	f, s := mustFork(t, l.root, l.path, 0)
	c, opened, err := Open(l.root, f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if len(s.Pending()) > 0 || len(opened.Held) > 0 || f.Turn != 2 {
		t.Errorf("pending %v, held %v, turn %d", s.Pending(), opened.Held, f.Turn)
	}
}

func TestFK05ATurnMayEndInAnyWay(t *testing.T) {
	t.Parallel()
	for _, reason := range []EndReason{
		{Kind: Completed}, {Kind: Blocked}, {Kind: MaxTokens}, {Kind: Interrupted},
		{Kind: Aborted, Cause: &Cause{Kind: ByUser}}, {Kind: Failed, Failure: &llm.Failure{Code: "X", Message: "x"}},
	} {
		l := newLog(t)
		mustAppend(t, l, Draft{Data: TurnStart{1}}, Draft{Data: TurnEnd{1, reason}})
		if f, s := mustFork(t, l.root, l.path, 1); *s.Header().SeedLength != 2 || f.Turn != 1 {
			t.Errorf("%s: %+v", reason.Kind, s.Header())
		}
	}
}

func TestFK06AnOpenBracketIsOfADeadLife(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	mustAppend(t, l, Draft{Data: CompactionStart{CompactionID: "c1"}})
	if l.OpenCompaction() == "" {
		t.Fatal("the parent's bracket is not open")
	}
	f, s := mustFork(t, l.root, l.path, 0)
	if list := typesOf(s); list[len(list)-1] != TypeEndSeed || list[len(list)-2] != TypeCompactionStart {
		t.Errorf("events %v", list)
	}
	c, _, err := Open(l.root, f.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if c.OpenCompaction() != "" || l.OpenCompaction() != "c1" {
		t.Errorf("open: %q in the fork, %q in the parent", c.OpenCompaction(), l.OpenCompaction())
	}
}

func TestFK07FK11ATurnThatIsNotThereOrNotOver(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	turn := startTurn(t, l)
	for _, c := range []struct {
		name string
		at   int
		want ForkError
		text string
	}{
		{"FK11 it is open", 2, ForkError{Turn: 2, Last: 1, Open: true}, "turn 2 has not ended: fork at turn 1"},
		{"FK07 it is missing", 3, ForkError{Turn: 3, Last: 1}, "there is no turn 3: the session has turns 1 to 1"},
	} {
		_, err := Fork(l.root, l.path, c.at)
		var got *ForkError
		if !errors.As(err, &got) || *got != c.want || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Cut anywhere in the open turn, the default is the last finished one.
	mustAppend(t, l, answered(turn, stream(t, l, turn, 3)))
	if f, s := mustFork(t, l.root, l.path, 0); f.Turn != 1 || s.State().TurnOpen || s.State().Turn != 1 {
		t.Errorf("turn %d, state %+v", f.Turn, s.State())
	}
	if left, _ := filepath.Glob(filepath.Join(l.root, "*", "*")); len(left) != 2 {
		t.Errorf("a fork that was refused left something: %v", left)
	}
	first := newLog(t)
	startTurn(t, first)
	if _, err := Fork(first.root, first.path, 0); !errors.As(err, new(*ForkError)) {
		t.Errorf("got %v", err)
	}
}

func TestFK08DamageBeforeTheTurnIsRefused(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	for range 3 {
		wholeTurn(t, l, 0)
	}
	mustClose(t, l)
	whole := contentOf(t, l.path)
	lines := bytes.SplitAfter(whole, []byte("\n"))
	at := slices.IndexFunc(lines, func(line []byte) bool {
		return bytes.Contains(line, []byte(`"turn/start"`)) && bytes.Contains(line, []byte(`"turn":3`))
	})
	for name, line := range map[string][]byte{"garbage": []byte("{\"type\":\n"), "another number": bytes.Replace(lines[at], []byte(`"seq":`), []byte(`"seq":9`), 1)} {
		broken := slices.Concat(bytes.Join(lines[:at], nil), line, bytes.Join(lines[at+1:], nil))
		if err := os.WriteFile(l.path, broken, fileMode); err != nil {
			t.Fatal(err)
		}
		var damaged *DamagedError
		if _, err := Fork(l.root, l.path, 3); !errors.As(err, &damaged) || damaged.Line != at+1 {
			t.Errorf("%s: %v", name, err)
		}
		if f, _ := mustFork(t, l.root, l.path, 1); f.Turn != 1 { // it ends before the damage
			t.Errorf("%s: turn %d", name, f.Turn)
		}
	}
}

func TestFK09AnUnknownSourceIsNotFound(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if _, err := Fork(root, filepath.Join(root, "p", "x", logName), 0); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("got %v", err)
	}
}

func TestFK13AForkIsResumedAndForkedAgain(t *testing.T) {
	t.Parallel()
	depth := 1
	l, err := Create(t.TempDir(), Header{Cwd: testCwd, DelegationDepth: &depth})
	if err != nil {
		t.Fatal(err)
	}
	wholeTurn(t, l, 0)
	mustClose(t, l)
	f, _ := mustFork(t, l.root, l.path, 0)
	for range 2 {
		c, _, err := Open(l.root, f.Path)
		if err != nil {
			t.Fatal(err)
		}
		wholeTurn(t, c, 0)
		mustClose(t, c)
		h := c.Header()
		if h.ParentSession != l.header.ID || *h.SeedLength != l.NextSeq() || *h.DelegationDepth != 1 {
			t.Errorf("header %+v", h)
		}
	}
	again, s := mustFork(t, l.root, f.Path, 2)
	if h := s.Header(); h.ParentSession != f.Header.ID || again.Turn != 2 || *h.SeedLength <= l.NextSeq() {
		t.Errorf("header %+v", h)
	}
}

func TestAForkOfACompressedAndOfATornLog(t *testing.T) {
	t.Parallel()
	for _, compress := range []bool{false, true} {
		path, content := foreign(t, compress)
		if err := os.WriteFile(path, content, fileMode); err != nil {
			t.Fatal(err)
		}
		f, err := Fork(t.TempDir(), path, 1)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(f.Path)
		if err != nil || s.State().Turn != 1 {
			t.Errorf("%v, %+v", err, s.State())
		}
		if !bytes.Equal(content, contentOf(t, path)) {
			t.Error("the original was changed")
		}
	}
	l := newLog(t)
	wholeTurn(t, l, 3)
	mustClose(t, l)
	if err := os.Truncate(l.path, fileSize(t, l.path)-1); err != nil { // its newline is lost, no more
		t.Fatal(err)
	}
	if f, _ := mustFork(t, l.root, l.path, 1); f.Turn != 1 {
		t.Errorf("turn %d", f.Turn)
	}
}
