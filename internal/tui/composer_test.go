package tui

import (
	"strings"
	"testing"
)

// newAt is a composer with typed text, the caret at its end.
func newAt(text string) *Composer {
	c := NewComposer(nil)
	c.SetDraft(Draft{Parts: []Part{{Text: text}}})
	return c
}

func TestComposerSmoke(t *testing.T) {
	t.Parallel()
	c := NewComposer(nil)
	c.Type("hello")
	c.Key("shift+enter")
	c.Type("你好👩‍👩‍👧e\u0301")
	rows, r, col := c.View(40, 8)
	if strings.Join(rows, "|") != "hello|你好👩‍👩‍👧e\u0301" || r != 1 || col != 7 {
		t.Fatalf("%q %d %d", rows, r, col)
	}
}
