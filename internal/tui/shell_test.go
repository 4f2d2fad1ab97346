package tui

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// shellWorld is a screen whose shell answers with what it was asked.
func shellWorld(t *testing.T) (w *world, lines *[]string) {
	t.Helper()
	w, lines = newWorld(t, setup{}), &[]string{}
	w.m.open.Shell = func(_ context.Context, line string, private bool) (string, error) {
		if private {
			line += " (private)"
		}
		*lines = append(*lines, line)
		if line == "broken" {
			return "", errors.New("no shell")
		}
		return strings.Repeat("row\n", 30) + "\x1b[31mlast\n", nil
	}
	return w, lines
}

func TestShellLineRunsAndIsNoPrompt(t *testing.T) {
	t.Parallel()
	w, lines := shellWorld(t)
	for _, text := range []string{"!ls -la", "!! secret", "!broken"} {
		w.typed(text)
		if _, run := w.m.Update(keyMsg("enter")); run != nil {
			w.send(run())
		}
	}
	if got := strings.Join(*lines, "; "); got != "ls -la; secret (private); broken" {
		t.Errorf("ran %q", got)
	}
	if w.calls["Followup"]+w.calls["Steer"] > 0 {
		t.Errorf("the model was asked: %v", w.calls)
	}
	shown := w.scroll()
	for _, want := range []string{"! ls -la", "… 11 rows above", "    last", "the shell line failed: no shell"} {
		if !strings.Contains(shown, want) {
			t.Errorf("the screen does not show %q:\n%s", want, shown)
		}
	}
}

func TestPastedShellLineIsAPrompt(t *testing.T) {
	t.Parallel()
	w, lines := shellWorld(t)
	w.m.composer.Paste("!rm -rf x")
	w.press("enter")
	if len(*lines) > 0 {
		t.Errorf("ran %q", *lines)
	}
}
