package tui

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var day = time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)

// add stores messages, a minute apart.
func add(t *testing.T, h *History, from int, texts ...string) {
	t.Helper()
	for i, text := range texts {
		if err := h.Add(text, false, day.Add(time.Duration(from+i)*time.Minute)); err != nil {
			t.Fatal(err)
		}
	}
}

// climb goes to older messages as often as it can.
func climb(t *testing.T, c *Composer) []string {
	t.Helper()
	var texts []string
	for {
		ok, err := c.Older()
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return texts
		}
		texts = append(texts, c.Text())
	}
}

func TestTHISTOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "history.jsonl")
	add(t, NewHistory(path, "/a"), 0, "one", "two\nlines", " not stored", "one")
	add(t, NewHistory(path, "/b"), 10, "elsewhere", "two\nlines")
	h := NewHistory(path, "/a")
	c := NewComposer(h)
	if got := climb(t, c); !slices.Equal(got, []string{"one", "two\nlines", "elsewhere"}) {
		t.Errorf("got %q", got)
	}
	for want := range slices.Values([]string{"two\nlines", "one", ""}) {
		if !c.Newer() || c.Text() != want {
			t.Errorf("back: got %q, want %q", c.Text(), want)
		}
	}
	if c.Newer() || c.Browsing() {
		t.Error("there is nothing newer than the draft")
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestTHISTLine(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h := NewHistory(path, "/a")
	if err := h.Add("/x\n\u2028 é", true, day); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var e Entry
	if err := json.Unmarshal(data, &e); err != nil || strings.Count(string(data), "\n") != 1 {
		t.Fatalf("%q %v", data, err)
	}
	if want := (Entry{Text: "/x\n\u2028 é", Dir: "/a", Time: day, Literal: true}); e != want {
		t.Errorf("got %+v", e)
	}
	c := NewComposer(NewHistory(path, "/a"))
	climb(t, c)
	if !c.Literal() {
		t.Error("what was pasted acts when it comes back")
	}
}

func TestTHISTPrefix(t *testing.T) {
	t.Parallel()
	h := NewHistory("", "/a")
	add(t, h, 0, "git status", "make", "git log", "git")
	c := NewComposer(h)
	c.Type("git")
	if got := climb(t, c); !slices.Equal(got, []string{"git log", "git status"}) {
		t.Errorf("got %q", got)
	}
	c.Newer()
	c.Newer()
	if c.Text() != "git" || c.cur.col != 3 {
		t.Errorf("the draft: %q", c.Text())
	}
	c.Undo()
	if c.Text() != "" {
		t.Errorf("undo in the draft: %q", c.Text())
	}
}

func TestTHISTKeepsTheDraftAndWhatWasChanged(t *testing.T) {
	t.Parallel()
	h := NewHistory("", "/a")
	add(t, h, 0, "old", "new")
	c := NewComposer(h)
	c.Older()
	c.Type(" and more")
	c.Older()
	c.Newer()
	if c.Text() != "new and more" {
		t.Errorf("got %q", c.Text())
	}
	c.Newer()
	if !c.Empty() || c.Browsing() {
		t.Errorf("the draft: %q", c.Text())
	}
	c.Older()
	if c.Text() != "new" {
		t.Errorf("looking again begins anew: %q", c.Text())
	}
	c.Reset()
	if c.Browsing() || !c.Empty() {
		t.Error("reset does not end it")
	}
	add(t, h, 5, "newest")
	if c.Older(); c.Text() != "newest" {
		t.Errorf("what was just sent: %q", c.Text())
	}
}

func TestTHISTKeepsChipsInTheDraft(t *testing.T) {
	t.Parallel()
	h := NewHistory("", "/a")
	add(t, h, 0, lines(15)+"old")
	c := NewComposer(h)
	c.Paste(lines(15))
	if ok, err := c.Older(); !ok || err != nil || c.Text() != lines(15)+"old" {
		t.Fatalf("got %v %v %q", ok, err, c.Text())
	}
	c.Newer()
	if len(c.lines) != 1 || c.Text() != lines(15) {
		t.Errorf("the draft: %q", c.lines)
	}
}

func TestTHISTNotStored(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	h := NewHistory(path, "/a")
	add(t, h, 0, " secret", "", "  \n")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the file was made")
	}
	c := NewComposer(h)
	if got := climb(t, c); !slices.Equal(got, []string{" secret"}) {
		t.Errorf("a cleared draft cannot be recalled: %q", got)
	}
	huge := strings.Repeat("x", maxHistoryEntry)
	if err := h.Add(huge, false, day); !errors.Is(err, ErrNotStored) {
		t.Errorf("error %v", err)
	}
	c.Reset()
	if c.Older(); c.Text() != huge {
		t.Error("a huge message cannot be recalled")
	}
}

func TestTHISTBadFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	torn := `{"text":"good","dir":"/a","time":"2030-01-01T00:00:00Z"}` + "\nnoise\n{\"text\":\"to"
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	add(t, NewHistory(path, "/a"), 0, "after")
	c := NewComposer(NewHistory(path, "/a"))
	if got := climb(t, c); !slices.Equal(got, []string{"after", "good"}) {
		t.Errorf("got %q", got)
	}
	dir := t.TempDir()
	h := NewHistory(dir, "/a") // a directory
	if err := h.Add("x", false, day); err == nil {
		t.Error("no error")
	}
	c = NewComposer(h)
	if ok, err := c.Older(); !ok || err == nil || c.Text() != "x" {
		t.Errorf("got %v %v %q", ok, err, c.Text())
	}
}

func TestTHISTReadsTheEnd(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(f)
	pad := strings.Repeat("é", 2000)
	n := 3 * maxHistoryRead / len(pad)
	for i := range n {
		fmt.Fprintf(w, `{"text":"%d %s","dir":"/a","time":"2030-01-01T00:00:00Z"}`+"\n", i, pad)
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	h := NewHistory(path, "/a")
	if err := h.refresh(); err != nil {
		t.Fatal(err)
	}
	if len(h.stored) > n/2 || len(h.stored) < n/4 || !strings.HasPrefix(h.stored[len(h.stored)-1].Text, fmt.Sprint(n-1)) {
		t.Errorf("%d of %d read", len(h.stored), n)
	}
	was := len(h.stored)
	add(t, NewHistory(path, "/a"), 0, "more")
	if err := h.refresh(); err != nil || len(h.stored) != was+1 {
		t.Errorf("%d read after one more, before %d: %v", len(h.stored), was, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := h.refresh(); err != nil || len(h.stored) != 0 {
		t.Errorf("another file: %d read, %v", len(h.stored), err)
	}
}

// appendEnv makes the test binary add messages to a history, as another process does.
const appendEnv = "DSH_TEST_APPEND_HISTORY"

const perProcess = 200

func TestMain(m *testing.M) {
	if path := os.Getenv(appendEnv); path != "" {
		h := NewHistory(path, "/p")
		for i := range perProcess {
			if err := h.Add(fmt.Sprintf("%d %d %s", os.Getpid(), i, strings.Repeat("é", 10*i)), false, time.Now()); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestTHISTProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	const processes = 3
	var running []*exec.Cmd
	for range processes {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), appendEnv+"="+path)
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		running = append(running, cmd)
	}
	for _, cmd := range running {
		if err := cmd.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	h := NewHistory(path, "/p")
	if err := h.refresh(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range h.stored {
		pid, rest, _ := strings.Cut(e.Text, " ")
		var i int
		if _, err := fmt.Sscan(rest, &i); err != nil || len(rest) != len(fmt.Sprint(i))+1+20*i {
			t.Fatalf("a line is mixed up: %.40q", e.Text)
		}
		if seen[pid] != i {
			t.Fatalf("process %s: line %d where %d should be", pid, i, seen[pid])
		}
		seen[pid]++
	}
	for pid, n := range seen {
		if n != perProcess {
			t.Errorf("process %s: %d of %d", pid, n, perProcess)
		}
	}
	if len(seen) != processes {
		t.Errorf("%d processes", len(seen))
	}
}

func TestTHISTSearch(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "history.jsonl")
	add(t, NewHistory(path, "/b"), 0, "Deploy the shop")
	h := NewHistory(path, "/a")
	add(t, h, 10, "fix the shop", "the Shop again", "nothing", "fix the shop")
	s, err := h.Search()
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Match(); ok {
		t.Error("a match before anything was typed")
	}
	is := func(want string, n, of int) {
		t.Helper()
		e, _ := s.Match()
		if gotN, gotOf := s.Count(); e.Text != want || gotN != n || gotOf != of {
			t.Errorf("%q: got %q, %d of %d; want %q, %d of %d", s.Query, e.Text, gotN, gotOf, want, n, of)
		}
	}
	s.Type("sh")
	s.Type("op")
	is("fix the shop", 1, 3)
	s.Older()
	is("the Shop again", 2, 3)
	s.Older()
	is("Deploy the shop", 3, 3)
	if s.Older() {
		t.Error("there is nothing older")
	}
	s.Newer()
	is("the Shop again", 2, 3)
	s.SetHere(true)
	is("fix the shop", 1, 2)
	s.Type("字")
	is("", 0, 0)
	s.DeleteBack()
	is("fix the shop", 1, 2)
	s.Query = ""
	s.Type("Shop")
	is("the Shop again", 1, 1)
}
