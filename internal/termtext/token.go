package termtext

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

type kind uint8

const (
	glyph  kind = iota // what takes columns, or joins what does
	space              // U+0020
	escape             // an escape sequence or a control: no columns
)

// tokens walks over one line in the pieces that cannot be divided.
type tokens struct {
	s          string
	start, end int // of the current token
	width      int // in columns
	kind       kind
}

func (t *tokens) text() string { return t.s[t.start:t.end] }

// next goes to the next token, and reports whether there is one.
func (t *tokens) next() bool {
	t.start = t.end
	if t.start >= len(t.s) {
		return false
	}
	switch b := t.s[t.start]; {
	case b == ' ':
		t.end, t.width, t.kind = t.start+1, 1, space
	case b > ' ' && b <= '~':
		t.end, t.width, t.kind = t.start+1, 1, glyph
	case b < ' ' || b == 0x7f:
		_, _, n, _ := ansi.DecodeSequence(t.s[t.start:], 0, nil)
		t.end, t.width, t.kind = t.start+max(n, 1), 0, escape
	case !utf8.FullRuneInString(t.s[t.start:]):
		t.end, t.width, t.kind = t.start+1, 0, glyph
	default:
		cluster, w := ansi.FirstGraphemeCluster(t.s[t.start:], ansi.GraphemeWidth)
		t.end, t.width, t.kind = t.start+max(len(cluster), 1), w, glyph
	}
	return true
}
