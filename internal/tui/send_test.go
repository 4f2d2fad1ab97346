package tui

import (
	"testing"

	"dsh/internal/llm"
)

// In a turn ctrl+s is "now": the turn stops, then all that waits and the draft go, in
// order.
func TestCtrlSInATurnSendsAllNow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.typed("one")
	w.press("tab")
	w.shows("ctrl+s send all now")
	w.typed("draft")
	w.press("ctrl+s")
	if w.stops != 1 || !w.m.composer.Empty() {
		t.Errorf("%d stops, draft %q", w.stops, w.m.composer.Text())
	}
	wantTexts(t, w, "one (held)", "draft (held)")
	w.endTurn(aborted)
	wantTexts(t, w, "one", "draft")

	t.Run("a running call asks for a second press, in a row", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		c := llm.Block{Type: llm.ToolCall, ID: "c", Name: "Probe", Arguments: "{}"}
		w.answered(c)
		w.take(c)
		w.typed("one")
		w.press("tab", "ctrl+s")
		w.shows("ctrl+s again stops Probe")
		w.typed("x")
		w.press("ctrl+s")
		if w.stops != 0 {
			t.Error("one press stopped the call")
		}
		w.press("ctrl+s")
		if w.stops != 1 {
			t.Errorf("%d stops after two presses", w.stops)
		}
	})
	t.Run("nothing to send stops nothing", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.press("ctrl+s")
		w.shows("nothing waits")
		w.endTurn(aborted)
		if w.stops != 0 {
			t.Error("the turn was stopped")
		}
	})
}
