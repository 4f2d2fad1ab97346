package term

import (
	"strings"
	"unicode/utf8"
)

// cleanRow is the second line of defence: of a row it lets through text and SGR
// sequences only, whatever the caller let slip. A tab becomes a space. The result ends
// with colours reset if it has any sequence.
func cleanRow(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + len(resetSGR))
	styled := false
	for i := 0; i < len(s); {
		if s[i] == esc {
			n, sgr := sequence(s[i:])
			if sgr {
				b.WriteString(s[i : i+n])
				styled = true
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == '\t':
			b.WriteByte(' ')
		case r < ' ' || r >= 0x7f && r < 0xa0:
		default:
			b.WriteRune(r) // U+FFFD for a byte that is no UTF-8
		}
		i += n
	}
	if styled {
		b.WriteString(resetSGR)
	}
	return b.String()
}

const (
	esc      = 0x1b
	resetSGR = "\x1b[m"
)

// plain reports whether s has nothing a terminal would obey.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if b := s[i]; b < ' ' || b == 0x7f || b == 0xc2 && i+1 < len(s) && s[i+1] < 0xa0 {
			return false
		}
	}
	return utf8.ValidString(s)
}

// sequence is the length of the escape sequence that s begins with, and whether it is
// an SGR one. An unfinished sequence goes on to the end of s.
func sequence(s string) (n int, sgr bool) {
	if len(s) < 2 {
		return len(s), false
	}
	switch s[1] {
	case '[':
		i := 2
		for i < len(s) && s[i] >= 0x20 && s[i] < 0x40 {
			i++
		}
		if i >= len(s) {
			return len(s), false
		}
		if s[i] < 0x40 || s[i] > 0x7e {
			return i, false // broken off: what follows counts for itself
		}
		return i + 1, s[i] == 'm' && strings.Trim(s[2:i], "0123456789;:") == ""
	case ']', 'P', '_', '^', 'X':
		return stringEnd(s), false
	}
	return 2, false
}

// stringEnd is the length of the control string (OSC, DCS, ...) that s begins with.
func stringEnd(s string) int {
	for i := 2; i < len(s); i++ {
		switch {
		case s[i] == '\a':
			return i + 1
		case s[i] == esc && i+1 < len(s) && s[i+1] == '\\':
			return i + 2
		}
	}
	return len(s)
}
