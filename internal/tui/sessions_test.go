package tui

import (
	"slices"
	"testing"
)

func TestSessionsAreDeletedWhenAskedTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.typed("/resume")
	w.press("enter", "tab", "ctrl+d")
	w.shows("ctrl+d again deletes 99999999")
	w.press("down", "ctrl+d")
	if len(w.changed) > 0 {
		t.Errorf("%q though another key was between", w.changed)
	}
	w.press("ctrl+d")
	if want := []string{"delete 99999999"}; !slices.Equal(w.changed, want) {
		t.Errorf("%q, want %q", w.changed, want)
	}
}

func TestStoredSessionIsRenamedFromTheList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.typed("/resume")
	w.press("enter", "tab", "ctrl+r")
	w.shows("title ❯ Another")
	w.typed(" one")
	w.press("enter")
	if want := []string{"rename 99999999 Another one"}; !slices.Equal(w.changed, want) {
		t.Errorf("%q, want %q", w.changed, want)
	}
}

func TestOtherListsKnowNoSessionKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.typed("/model")
	w.press("enter", "ctrl+r", "ctrl+d", "ctrl+d")
	if len(w.changed) > 0 {
		t.Errorf("%q by the list of models", w.changed)
	}
}
