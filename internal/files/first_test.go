package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSearchLeavesAFileAtItsFirstMatch: the NUL far behind would make it binary, if the
// scan went on.
func TestSearchLeavesAFileAtItsFirstMatch(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	text := strings.Repeat("needle\n", scanBuffer) + "\x00"
	if err := os.WriteFile(filepath.Join(root, "a"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := NewPattern("needle", false)
	if err != nil {
		t.Fatal(err)
	}
	hits, skipped, err := Search(t.Context(), root, Query{Pattern: p, First: true}, Options{})
	if err != nil || len(hits) != 1 || hits[0].Count != 1 || skipped.Binary != 0 {
		t.Errorf("got %v, %+v, %v", hits, skipped, err)
	}
}

func TestSearchCleansALineBeforeItIsCut(t *testing.T) {
	t.Parallel()
	const secret = "SECRET-0123456789"
	clean := func(s string) string { return strings.ReplaceAll(s, secret, "[gone]") }
	for name, tail := range map[string]string{
		"a line whose end is seen": "",
		"a line without end":       strings.Repeat(" z", beyond) + secret,
		"half a secret at the end": strings.Repeat("y", beyond-8-len(secret)+9) + secret + "yyyy",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			line := "needle " + strings.Repeat("x", maxLine-7-5) + secret + tail
			if err := os.WriteFile(filepath.Join(root, "a"), []byte(line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			p, err := NewPattern("needle", false)
			if err != nil {
				t.Fatal(err)
			}
			hits, _, err := Search(t.Context(), root, Query{Pattern: p, Clean: clean}, Options{})
			if err != nil || len(hits) != 1 {
				t.Fatalf("got %v, %v", hits, err)
			}
			l := hits[0].Lines[0]
			if strings.Contains(l.Text, "SECR") || !l.Cut || len(l.Text) > maxLine {
				t.Errorf("%d bytes, cut %v, end %q", len(l.Text), l.Cut, l.Text[len(l.Text)-20:])
			}
		})
	}
}
