package session

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDeleteRemovesAllOfASession(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	outside := filepath.Join(t.TempDir(), "precious")
	if err := errors.Join(os.MkdirAll(l.OutDir(), dirMode), os.MkdirAll(outside, dirMode),
		os.WriteFile(filepath.Join(outside, "file"), []byte("x"), fileMode),
		os.WriteFile(filepath.Join(l.OutDir(), "out-1.log"), []byte("x"), fileMode),
		os.Symlink(outside, filepath.Join(l.OutDir(), "link"))); err != nil {
		t.Fatal(err)
	}
	var locked *LockedError
	if err := Delete(l.root, l.path); !errors.As(err, &locked) || locked.PID != os.Getpid() {
		t.Fatalf("an open session: %v", err)
	}
	mustClose(t, l)
	other, err := Create(l.root, Header{Cwd: testCwd})
	if err != nil {
		t.Fatal(err)
	}
	mustAppend(t, other, title("stays"))
	mustClose(t, other)
	if err := Delete(l.root, l.path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(l.path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(outside, "file")); err != nil {
		t.Errorf("a link was followed: %v", err)
	}
	if list, _ := List(l.root); len(list) != 1 || list[0].ID != other.header.ID {
		t.Errorf("listed %v", list)
	}
	if err := Delete(l.root, l.path); !errors.As(err, new(*NotFoundError)) {
		t.Errorf("again: %v", err)
	}
	if err := Delete(l.root, other.path); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(l.root); len(left) != 0 {
		t.Errorf("the project's folder stayed: %v", left)
	}
}

func TestDeleteStaysInTheStore(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	real := put(t, elsewhere, "one", "/p", titleLine("0", "1000", "x"))
	project := filepath.Dir(filepath.Dir(real))
	if err := errors.Join(os.Symlink(project, filepath.Join(root, "linked")), os.Mkdir(filepath.Join(root, "p"), dirMode),
		os.Symlink(filepath.Dir(real), filepath.Join(root, "p", "one"))); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{real, filepath.Join(root, "linked", "one", logName), filepath.Join(root, "p", "one", logName),
		filepath.Join(root, "..", filepath.Base(elsewhere), "p", "one", logName), filepath.Join(root, logName), root} {
		if err := Delete(root, path); !errors.As(err, new(*OutsideError)) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := os.Stat(real); err != nil {
		t.Error(err)
	}
}

func TestRenameIsOneEventUnderTheLock(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	wholeTurn(t, l, 0)
	if _, err := Rename(l.root, l.path, "x"); !errors.As(err, new(*LockedError)) {
		t.Errorf("an open session: %v", err)
	}
	mustClose(t, l)
	got, err := Rename(l.root, l.path, "  Fix \x1b[31mthe\n basket\u202e ")
	if err != nil || got != "Fix [31mthe basket" {
		t.Errorf("%q, %v", got, err)
	}
	if e, err := Find(l.root, l.header.ID); err != nil || e.Title != got {
		t.Errorf("listed as %q, %v", e.Title, err)
	}
	for _, bad := range []string{"", " \t", "\x1b", strings.Repeat("x", maxNewTitle+1)} {
		if _, err := Rename(l.root, l.path, bad); err == nil {
			t.Errorf("%q is a title", bad)
		}
	}
	path, _ := foreign(t, false)
	if _, err := Rename(l.root, path, "x"); !errors.As(err, new(*OutsideError)) {
		t.Errorf("a log outside the store: %v", err)
	}
}
