package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What a person writes goes into files without the keys in it, sent or not.
func TestD07HistoryAndDraftsHoldNoKey(t *testing.T) {
	t.Parallel()
	redact := func(text string) string { return strings.ReplaceAll(text, "sk-secret", "[key]") }
	dir := t.TempDir()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

	h := NewHistory(filepath.Join(dir, "history.jsonl"), "/w")
	h.redact = redact
	if err := h.Add("use sk-secret", false, now); err != nil {
		t.Fatal(err)
	}
	c := NewComposer(h)
	c.SetDraft(Draft{Parts: []Part{{Text: "and sk-secret "}, {Text: "a\nb\nc sk-secret", Chip: true}}})
	d := NewDraftFile(filepath.Join(dir, "draft.json"))
	d.redact = redact
	if err := d.Flush(c, now); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"history.jsonl": 1, "draft.json": 2} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(raw), "sk-secret") || strings.Count(string(raw), "[key]") != want {
			t.Errorf("%s: %s", name, raw)
		}
	}
	if !strings.Contains(c.Text(), "and sk-secret ") {
		t.Errorf("the composer lost what was typed: %q", c.Text())
	}
}
