package tui

import (
	"strings"
	"unicode/utf8"
)

// sanitise makes text fit for the composer: line breaks are \n, bytes that are no
// UTF-8 become U+FFFD, control characters but tabs are dropped and counted. A whole
// escape sequence counts as one: what is left of a colour would be noise.
func sanitise(s string) (text string, dropped int) {
	if fit(s) {
		return s, 0
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\r':
			b.WriteByte('\n')
			if i+1 < len(s) && s[i+1] == '\n' {
				n = 2
			}
		case r == 0x1b:
			n = sequenceLen(s[i:])
			dropped++
		case control(r):
			dropped++
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String(), dropped
}

func fit(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return r == '\r' || control(r) }) < 0
}

func control(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
}

// maxSequence is the longest escape sequence that is dropped whole, in bytes.
const maxSequence = 64

// sequenceLen is the length of the CSI sequence that s begins with, 1 if it begins
// with a lone Esc: then what follows is text.
func sequenceLen(s string) int {
	if len(s) < 2 || s[1] != '[' {
		return 1
	}
	for i := 2; i < min(len(s), maxSequence); i++ {
		switch c := s[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1
		case c < 0x20 || c > 0x3f:
			return 1
		}
	}
	return 1
}
