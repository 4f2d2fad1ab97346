package jobs

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// repeatLimit is how often a control character is shown in a row; more are counted,
// so that a block of NULs does not fill the observation.
const repeatLimit = 8

// Text makes output safe to log, to send and to show: the result is valid UTF-8
// whose only control characters below 0x20 are newline and tab. Others become their
// visible picture (NUL is U+2400, ESC is U+241B), a run of one more than 8 times
// with its count; bytes that are not UTF-8 become U+FFFD, one for a run.
func Text(raw []byte) string {
	if plain(raw) {
		return string(raw)
	}
	var b strings.Builder
	b.Grow(len(raw) + len(raw)/8)
	for i := 0; i < len(raw); {
		r, size := utf8.DecodeRune(raw[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteRune(utf8.RuneError)
			for i < len(raw) && invalid(raw[i:]) {
				i++
			}
		case control(raw[i]):
			i += writeControl(&b, raw[i:])
		default:
			b.Write(raw[i : i+size])
			i += size
		}
	}
	return b.String()
}

func plain(raw []byte) bool {
	for _, c := range raw {
		if c >= utf8.RuneSelf || control(c) {
			return utf8.Valid(raw) && !hasControl(raw)
		}
	}
	return true
}

func hasControl(raw []byte) bool {
	for _, c := range raw {
		if control(c) {
			return true
		}
	}
	return false
}

func control(c byte) bool { return c < 0x20 && c != '\n' && c != '\t' || c == 0x7f }

func invalid(raw []byte) bool {
	r, size := utf8.DecodeRune(raw)
	return r == utf8.RuneError && size == 1
}

// writeControl writes the picture of a run of one control character and returns its
// length.
func writeControl(b *strings.Builder, raw []byte) int {
	picture := 0x2400 + rune(raw[0])
	if raw[0] == 0x7f {
		picture = 0x2421
	}
	n := 1
	for n < len(raw) && raw[n] == raw[0] {
		n++
	}
	if n > repeatLimit {
		b.WriteRune(picture)
		b.WriteString("(x" + strconv.Itoa(n) + ")")
		return n
	}
	for range n {
		b.WriteRune(picture)
	}
	return n
}

// cutEnd returns how many bytes of b to keep so that it does not end inside a rune.
func cutEnd(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(b)); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

// cutStart returns how many bytes of b to drop so that it does not begin inside a
// rune. Bytes that are no UTF-8 anyway are dropped at most up to a rune's length.
func cutStart(b []byte) int {
	for i := range min(utf8.UTFMax-1, len(b)) {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return min(utf8.UTFMax-1, len(b))
}
