package tui

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestDraftComesBack(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "drafts", "draft")
	c := newAt("fix this:\n")
	c.Paste(lines(30))
	c.Type(" 你好")
	if err := NewDraftFile(path).Flush(c, day); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	d, err := NewDraftFile(path).Load()
	if err != nil {
		t.Fatal(err)
	}
	back := NewComposer(nil)
	back.SetDraft(d)
	if back.Text() != c.Text() || len(back.lines) != 2 || back.Undo() {
		t.Errorf("got %q", back.lines)
	}
	c.Reset()
	file := NewDraftFile(path)
	if _, err := file.Load(); err != nil {
		t.Fatal(err)
	}
	if err := file.Flush(c, day); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an empty draft leaves a file: %v", err)
	}
	if d, err := file.Load(); err != nil || len(d.Parts) != 0 {
		t.Errorf("no file: %+v %v", d, err)
	}
}

func TestDraftIsSavedOnceASecond(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "draft")
	d, c := NewDraftFile(path), newAt("a")
	saved := func() string {
		got, err := NewDraftFile(path).Load()
		if err != nil {
			t.Fatal(err)
		}
		r := NewComposer(nil)
		r.SetDraft(got)
		return r.Text()
	}
	if again, err := d.Tick(c, day); err != nil || !again.IsZero() || saved() != "a" {
		t.Fatalf("%v %v", again, err)
	}
	c.Type("b")
	again, err := d.Tick(c, day.Add(300*time.Millisecond))
	if err != nil || !again.Equal(day.Add(time.Second)) || saved() != "a" {
		t.Errorf("again at %v, %v, saved %q", again, err, saved())
	}
	if again, err := d.Tick(c, again); err != nil || !again.IsZero() || saved() != "ab" {
		t.Errorf("again at %v, %v, saved %q", again, err, saved())
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Tick(c, day.Add(time.Hour)); err != nil || saved() != "" {
		t.Errorf("what did not change is written again: %v", err)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

func TestDraftFileErrors(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "draft")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := NewDraftFile(path).Load(); err == nil {
		t.Error("a broken file is taken")
	}
	d := NewDraftFile(filepath.Join(path, "below a file"))
	if err := d.Flush(newAt("x"), day); err == nil {
		t.Error("no error")
	}
}
