package tui

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/tui/term"
)

// aborted is how a turn ends after an interrupt.
var aborted = session.EndReason{Kind: session.Aborted, Cause: &session.Cause{Kind: session.ByUser}}

func texts(items []session.QueueItem) (list []string) {
	for _, it := range items {
		text := it.Text
		if it.Held {
			text += " (held)"
		}
		list = append(list, text)
	}
	return list
}

func wantTexts(t *testing.T, w *world, want ...string) {
	t.Helper()
	if got := texts(w.queue); !slices.Equal(got, want) {
		t.Errorf("waiting are %q, want %q", got, want)
	}
}

func TestESC(t *testing.T) {
	t.Parallel()
	t.Run("a running turn stops at one press, the draft stays, what waits is held", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.typed("steer this")
		w.press("enter")
		w.typed("draft")
		w.press("esc")
		if w.stops != 1 || w.m.composer.Text() != "draft" {
			t.Errorf("%d stops, draft %q", w.stops, w.m.composer.Text())
		}
		wantTexts(t, w, "steer this (held)")
		w.shows("Stopping")
		w.press("esc")
		w.wait(time.Second)
		w.press("esc")
		if w.stops != 1 {
			t.Errorf("%d stops: further presses only say what is waited for", w.stops)
		}
		w.endTurn(aborted)
		w.shows("held", "ctrl+s sends")
		wantTexts(t, w, "steer this (held)")
	})
	t.Run("the popup goes first, and its press does not reach the turn", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.typed("/he")
		if !w.m.popup.Open() {
			t.Fatal("no popup")
		}
		w.press("esc", "esc")
		if w.m.popup.Open() || w.stops != 0 || w.m.composer.Text() != "/he" {
			t.Errorf("popup %v, %d stops, draft %q", w.m.popup.Open(), w.stops, w.m.composer.Text())
		}
		w.wait(escDead)
		w.press("esc")
		if w.stops != 1 {
			t.Error("the turn goes on")
		}
	})
	t.Run("an idle draft takes two presses in a row, and is in the history", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.typed("keep me")
		w.press("esc")
		w.shows("esc again to clear")
		w.press("x", "backspace", "esc")
		if w.m.composer.Text() != "keep me" {
			t.Fatalf("draft %q: a key came between", w.m.composer.Text())
		}
		w.wait(time.Second)
		w.press("esc")
		if !w.m.composer.Empty() {
			t.Fatalf("draft %q", w.m.composer.Text())
		}
		w.press("up")
		if w.m.composer.Text() != "keep me" {
			t.Errorf("the history gives %q", w.m.composer.Text())
		}
	})
	t.Run("never leaves, never clears what waits", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.typed("one")
		w.press("tab")
		for range 20 {
			w.press("esc")
			w.wait(300 * time.Millisecond)
		}
		w.endTurn(aborted)
		for range 20 {
			w.press("esc")
			w.wait(300 * time.Millisecond)
		}
		if w.m.quitting {
			t.Error("esc left")
		}
		wantTexts(t, w, "one (held)")
	})
}

func TestCTRLC(t *testing.T) {
	t.Parallel()
	t.Run("leaves after two presses in a row at an idle empty prompt", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.press("ctrl+c")
		w.shows("ctrl+c again to leave")
		w.press("x", "backspace", "ctrl+c")
		if w.m.quitting {
			t.Fatal("left, though another key came between")
		}
		w.wait(leaveTwice + time.Second)
		w.press("ctrl+c")
		if w.m.quitting {
			t.Fatal("left, though the first press was long ago")
		}
		w.press("ctrl+c")
		if !w.m.quitting || len(w.m.Frame().Rows) != 0 {
			t.Errorf("quitting %v, frame %q", w.m.quitting, w.frame())
		}
	})
	t.Run("clears a draft into the history, and does not count for leaving", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.typed("words")
		w.press("ctrl+c", "ctrl+c", "ctrl+c")
		if w.m.quitting || !w.m.composer.Empty() {
			t.Fatalf("quitting %v, draft %q", w.m.quitting, w.m.composer.Text())
		}
		w.press("up")
		if w.m.composer.Text() != "words" {
			t.Errorf("the history gives %q", w.m.composer.Text())
		}
	})
	t.Run("stops a turn and keeps the draft; a reflex after the end does not leave", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		c := toolCall("c1", session.Display{Kind: session.ShowCommand, Verb: "Bash", Target: "sleep 9"})
		w.answered(c)
		w.take(c)
		w.typed("later")
		w.press("ctrl+c")
		if w.stops != 1 || w.m.composer.Text() != "later" {
			t.Fatalf("%d stops, draft %q", w.stops, w.m.composer.Text())
		}
		w.press("ctrl+c")
		if w.stops != 1 {
			t.Errorf("%d stops: the second press only tells", w.stops)
		}
		w.shows("waiting for tool to stop")
		kills := 0
		w.m.open.Kill = func() { kills++ }
		w.press("ctrl+c")
		if w.stops != 1 || kills != 1 {
			t.Errorf("%d stops, %d kills: the third press kills", w.stops, kills)
		}
		w.press("ctrl+u")
		w.result(c, "stopped")
		w.endTurn(aborted)
		w.press("ctrl+c", "ctrl+c")
		if w.m.quitting || strings.Contains(w.frame(), "again to leave") {
			t.Error("presses right after the stop count for leaving")
		}
	})
	t.Run("signals from outside", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.send(term.SignalMsg{Signal: 2})
		if w.stops != 1 || w.m.quitting {
			t.Errorf("SIGINT: %d stops, quitting %v", w.stops, w.m.quitting)
		}
		w.send(term.SignalMsg{Signal: 15})
		if !w.m.quitting || w.m.err == nil {
			t.Error("SIGTERM does not end")
		}
	})
}

func TestKEY2EveryBindingIsListedOnceAndNamedTruly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	if err := w.m.keys.check(); err != nil {
		t.Error(err)
	}
	editing := []string{"left", "right", "text-start", "text-end", "delete-back", "delete", "yank-older", "choice-up", "choice-down"}
	for _, b := range keymap {
		if b.help == "" && !slices.Contains(editing, b.action) {
			t.Errorf("%s is not on the key list", b.action)
		}
		for _, key := range b.keys {
			if _, chord := keyMsg(key).(term.Chord); chord && !strings.Contains("shift+enter ctrl+- alt+- ctrl+home", key) {
				t.Errorf("no terminal sends a key %q", key)
			}
		}
	}
	bound := map[string]bool{"tab": true}
	for _, b := range keymap {
		for _, key := range b.keys {
			bound[key] = true
		}
	}
	named := regexp.MustCompile(`\b(?:ctrl|alt|shift)\+\S+`)
	w.prompt("go")
	screens := []string{w.frame()}
	w.typed("x")
	screens = append(screens, w.frame())
	w.press("f1")
	listed := ""
	for i := range w.m.pager.items() {
		listed += w.m.pager.text(i) + "\n"
	}
	screens = append(screens, listed)
	for _, b := range keymap {
		if b.help != "" && !strings.Contains(listed, strings.Join(b.keys, ", ")) {
			t.Errorf("/keys does not list %s", b.action)
		}
	}
	for _, text := range screens {
		for _, key := range named.FindAllString(text, -1) {
			if key = strings.TrimRight(key, ",.:"); !bound[key] {
				t.Errorf("%q is named and not bound", key)
			}
		}
	}
}

func TestKEY1NewLines(t *testing.T) {
	t.Parallel()
	for _, running := range []bool{false, true} {
		for _, key := range []string{"shift+enter", "alt+enter", "ctrl+j"} {
			w := newWorld(t, setup{})
			if running {
				w.prompt("go")
			}
			w.typed("a")
			w.press(key)
			w.typed(`b\`)
			w.press("enter")
			w.typed("c")
			if got := w.m.composer.Text(); got != "a\nb\nc" || len(w.queue) != 0 {
				t.Errorf("%s, running %v: draft %q, %d sent", key, running, got, len(w.queue))
			}
		}
	}
}

func TestSeveralCharactersAtOnceAreText(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	for _, text := range []string{"up", "enter", "tab", "esc", "你好世界"} {
		w.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)})
	}
	if got := w.m.composer.Text(); got != "upentertabesc你好世界" {
		t.Errorf("typed %q", got)
	}
	w.check()
	if f := w.m.Frame(); f.Cursor.Col != 2+13+8 {
		t.Errorf("G08: the cursor is in column %d", f.Cursor.Col)
	}
}

// TestSTEER reads what the hint says and checks that the key does it.
func TestSTEER(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.typed("look at the tests")
	w.shows("enter steer · tab queue")
	w.press("enter")
	w.shows("↳ steer", "look at the tests", "next step")
	if w.queue[0].Target != session.NextStep {
		t.Errorf("enter made %+v", w.queue[0])
	}
	w.typed("then the docs")
	w.press("tab")
	w.shows("1 queue", "then the docs", "after this turn")
	if w.queue[1].Target != session.NextTurn {
		t.Errorf("tab made %+v", w.queue[1])
	}
	c := toolCall("c1", session.Display{Kind: session.ShowText, Verb: "Read", Target: "a.go"})
	w.answered(c)
	w.take(c)
	w.result(c, "ok")
	w.nextStep()
	w.hides("next step")
	if got := w.scroll(); !strings.Contains(got, "look at the tests") || strings.Index(got, "Read a.go") > strings.Index(got, "look at the tests") {
		t.Errorf("the steered message is not behind the card:\n%s", got)
	}
	w.endTurn(completed)
	w.startTurn()
	w.hides("1 queue")
	if !strings.Contains(w.scroll(), "❯ then the docs") {
		t.Errorf("the queued prompt is not shown:\n%s", w.scroll())
	}
	w.endTurn(completed)
	w.typed("idle words")
	w.shows("enter send")
	w.press("tab")
	wantTexts(t, w)
	w.press("enter")
	wantTexts(t, w, "idle words")
}

func TestHELD(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.typed("steer")
	w.press("enter")
	w.typed("one")
	w.press("tab")
	w.typed("two")
	w.press("tab", "esc")
	w.endTurn(aborted)
	wantTexts(t, w, "steer (held)", "one (held)", "two (held)")
	if got := strings.Count(w.frame(), "ctrl+s sends"); got < 3 {
		t.Errorf("%d rows say how they are sent:\n%s", got, w.frame())
	}
	w.shows("3 held")
	w.typed("draft")
	w.press("ctrl+s")
	wantTexts(t, w, "steer", "one", "two", "draft")

	t.Run("after an error", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.typed("one")
		w.press("tab")
		w.endTurn(session.EndReason{Kind: session.Failed})
		wantTexts(t, w, "one (held)")
	})
	t.Run("on resume nothing of an earlier failure holds the new prompt", func(t *testing.T) {
		old := newWorld(t, setup{})
		old.prompt("go")
		old.endTurn(session.EndReason{Kind: session.Failed})
		w := newWorld(t, setup{})
		w.typed("new")
		w.press("enter")
		w.m.fresh = true
		w.m.Update(eventsMsg{w.m.life, old.events})
		wantTexts(t, w, "new")
	})
	t.Run("what is sent while it stops is meant", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.press("esc")
		w.typed("rather this")
		w.press("enter")
		w.endTurn(aborted)
		wantTexts(t, w, "rather this")
	})
}

func TestQueueList(t *testing.T) {
	t.Parallel()
	queued := func(t *testing.T) *world {
		w := newWorld(t, setup{})
		w.prompt("go")
		for _, text := range []string{"one", "two", "three"} {
			w.typed(text)
			w.press("tab")
		}
		return w
	}
	open := func(w *world) {
		w.typed("/queue")
		w.press("enter")
	}
	t.Run("moves, removes, steers", func(t *testing.T) {
		w := queued(t)
		open(w)
		w.shows("one", "two", "three", "x remove")
		w.press("down", "alt+up")
		wantTexts(t, w, "two", "one", "three")
		w.press("alt+down", "alt+down", "alt+down")
		wantTexts(t, w, "one", "three", "two")
		w.press("x")
		wantTexts(t, w, "one", "three")
		w.press("s")
		wantTexts(t, w, "three", "one")
		if w.queue[0].Target != session.NextStep {
			t.Errorf("s made %+v", w.queue[0])
		}
		w.press("esc")
		if w.m.pick != nil || w.stops != 0 {
			t.Error("esc does not just close the list")
		}
	})
	t.Run("a held message keeps its mark when it moves", func(t *testing.T) {
		w := queued(t)
		w.press("esc")
		w.endTurn(aborted)
		open(w)
		w.press("down", "alt+up")
		wantTexts(t, w, "two (held)", "one (held)", "three (held)")
	})
	t.Run("edits in place, and cannot be sent meanwhile", func(t *testing.T) {
		w := queued(t)
		w.typed("/queue")
		w.press("enter", "down", "enter")
		wantTexts(t, w, "one", "two (held)", "three")
		w.shows("edit ❯ two")
		w.typed("!")
		w.press("enter")
		wantTexts(t, w, "one", "two!", "three")
		w.hides("edit ❯")
	})
	t.Run("an edit that is dropped changes nothing, and the draft comes back", func(t *testing.T) {
		w := queued(t)
		w.press("up")
		w.shows("edit ❯ three")
		w.typed(" and more")
		w.press("esc")
		wantTexts(t, w, "one", "two", "three")
		if !w.m.composer.Empty() || w.stops != 0 {
			t.Errorf("draft %q, %d stops", w.m.composer.Text(), w.stops)
		}
	})
	t.Run("an interrupt while it is edited keeps it held", func(t *testing.T) {
		w := queued(t)
		w.press("up", "!")
		w.press("ctrl+c")
		w.endTurn(aborted)
		w.press("enter")
		wantTexts(t, w, "one (held)", "two (held)", "three! (held)")
	})
	t.Run("all come back at once", func(t *testing.T) {
		w := queued(t)
		w.typed("draft")
		w.press("alt+up")
		if got := w.m.composer.Text(); got != "one\n\ntwo\n\nthree\n\ndraft" || len(w.queue) != 0 {
			t.Errorf("draft %q", got)
		}
	})
}

func TestPASTE(t *testing.T) {
	t.Parallel()
	lines := strings.Repeat("a line of the paste\n", 1000)
	w := newWorld(t, setup{})
	w.send(term.PasteMsg(lines))
	w.shows("1000 lines")
	if len(w.queue) != 0 {
		t.Fatal("a paste sent something")
	}
	w.press("enter")
	if len(w.queue) != 1 || w.queue[0].Text != lines {
		t.Fatalf("%d sent", len(w.queue))
	}
	for text, means := range map[string]string{"/quit": "a command", "@main.go": "a mention", "\x1b\x1b": "escapes", "\x03": "ctrl+c"} {
		w.send(term.PasteMsg(text))
		if w.m.popup.Open() || w.m.quitting {
			t.Errorf("%q in a paste is %s", text, means)
		}
		w.press("ctrl+u")
	}
	w.send(term.PasteMsg("/quit"))
	w.press("enter")
	if w.m.quitting || w.queue[1].Text != "/quit" {
		t.Errorf("a pasted command ran")
	}
}

func TestCommandsAreDoneAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.typed("/resmee")
	w.press("enter")
	if !strings.Contains(w.scroll(), "No command /resmee. /resume") || w.m.composer.Text() != "/resmee" || len(w.queue) != 0 {
		t.Errorf("%q, draft %q, %d sent", w.scroll(), w.m.composer.Text(), len(w.queue))
	}
	w.press("ctrl+u")
	w.typed("//etc is a folder")
	w.press("enter")
	wantTexts(t, w, "/etc is a folder")
	w.typed("/permis")
	w.press("enter")
	if w.m.composer.Text() != "/permissions " {
		t.Errorf("completed to %q", w.m.composer.Text())
	}
	w.press("enter")
	w.shows("What is allowed without asking", "read-only", "full")
	w.press("esc")
	w.typed("/quit")
	w.press("enter")
	if !w.m.quitting {
		t.Error("/quit and enter do not leave")
	}
}

func TestPermissionsFullIsConfirmedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	full := func() {
		w.typed("/permissions full")
		w.press("enter")
	}
	full()
	w.shows("without asking?", "❯ No, keep ask")
	w.press("enter")
	if len(w.presets) != 0 {
		t.Fatalf("set %q without a yes", w.presets)
	}
	full()
	w.press("down", "enter")
	w.shows("FULL")
	w.press("shift+tab")
	full()
	if fmt.Sprint(w.presets) != "[full read-only full]" {
		t.Errorf("set %q", w.presets)
	}
	for range 8 {
		w.press("shift+tab")
	}
	if slices.Contains(w.presets[3:], "full") {
		t.Errorf("the cycle reaches full: %q", w.presets)
	}
	w.typed("/permissions ful")
	w.press("enter")
	if !strings.Contains(w.scroll(), `unknown permission "ful"`) {
		t.Errorf("scroll %q", w.scroll())
	}
}
