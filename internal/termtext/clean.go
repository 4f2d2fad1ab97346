package termtext

import (
	"fmt"
	"unicode/utf8"
)

// Clean makes foreign text of many lines safe to write to a terminal. Line feeds and
// tabs stay. Complete CSI sequences (colours, cursor moves) are dropped: they carry
// no text. Whatever else a terminal would obey or not show is replaced by something
// visible, so that nothing can hide: controls by their pictures, a lone carriage
// return too, invisible and direction-changing characters and invalid UTF-8 by
// U+FFFD. Joiners and variation selectors stay where scripts and emoji need them.
//
// The result is valid UTF-8 without ESC; cleaning it again changes nothing. Text that
// is clean already is returned as it is, without an allocation.
func Clean(s string) string { return clean(s, cleaner{}) }

// Line makes foreign text safe as part of one line: a name, a path, a command that a
// person is asked about. It drops nothing. A line break shows as its picture, a tab
// is a space, an escape sequence shows in full, and a hidden character as its code,
// such as <U+202E>.
func Line(s string) string { return clean(s, cleaner{line: true}) }

func clean(s string, c cleaner) string {
	n := c.plain(s)
	if n == len(s) {
		return s
	}
	out, _ := c.append(append(make([]byte, 0, len(s)+16), s[:n]...), s[n:], true)
	return string(out)
}

// maxCSI is the length of the longest sequence that is dropped, in bytes. Real ones
// are shorter; a longer one is text behind an ESC.
const maxCSI = 64

// cleaner is the state between two pieces of one text.
type cleaner struct {
	line bool
	prev rune // the last rune of the output
}

// plain is the length of the prefix of s that stays as it is.
func (c *cleaner) plain(s string) int {
	for i := 0; i < len(s); {
		b := s[i]
		if b < utf8.RuneSelf {
			if b < ' ' && (c.line || b != '\n' && b != '\t') || b == 0x7f {
				return i
			}
			c.prev = rune(b)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || hidden(r) && !joins(c.prev, r) {
			return i
		}
		c.prev = r
		i += n
	}
	return len(s)
}

// append adds what s becomes to out. It says how much of s it used: all of it if s is
// the last piece, else all but an end whose meaning depends on what follows, which is
// shorter than maxCSI.
func (c *cleaner) append(out []byte, s string, last bool) ([]byte, int) {
	i := 0
	for i < len(s) {
		if n := c.plain(s[i:]); n > 0 {
			out = append(out, s[i:i+n]...)
			i += n
			continue
		}
		if !last && unfinished(s[i:], c.line) {
			return out, i
		}
		n, text := c.replace(s[i:])
		if text != "" {
			out = append(out, text...)
			c.prev, _ = utf8.DecodeLastRuneInString(text)
		}
		i += n
	}
	return out, i
}

// replace takes the first n bytes of s, which may not stay, and says what stands for
// them.
func (c *cleaner) replace(s string) (n int, text string) {
	switch b := s[0]; {
	case b == '\r' && len(s) > 1 && s[1] == '\n':
		if c.line {
			return 2, newline
		}
		return 2, "\n"
	case b == '\n':
		return 1, newline
	case b == '\t':
		return 1, " "
	case b == 0x1b && !c.line:
		if n := csi(s); n > 0 {
			return n, ""
		}
		return 1, picture(b)
	case b < ' ' || b == 0x7f:
		return 1, picture(b)
	}
	r, n := utf8.DecodeRuneInString(s)
	switch {
	case r == utf8.RuneError && n == 1:
		return 1, string(utf8.RuneError)
	case r == '\u2028' || r == '\u2029': // line and paragraph separator
		if c.line {
			return n, newline
		}
		return n, "\n"
	case c.line:
		return n, fmt.Sprintf("<U+%04X>", r)
	}
	return n, string(utf8.RuneError)
}

const newline = "\u2424" // its picture

// picture is the visible symbol of a C0 control or DEL.
func picture(b byte) string {
	if b == 0x7f {
		return "\u2421"
	}
	return string(rune(0x2400 + int(b)))
}

// csi is the length of the complete CSI sequence that s begins with, 0 if there is
// none, -1 if its end has not come yet.
func csi(s string) int {
	if len(s) > 1 && s[1] != '[' {
		return 0
	}
	i := 2
	for i < len(s) && i < maxCSI && s[i] >= 0x30 && s[i] <= 0x3f {
		i++
	}
	for i < len(s) && i < maxCSI && s[i] >= 0x20 && s[i] <= 0x2f {
		i++
	}
	switch {
	case i >= maxCSI:
		return 0
	case i >= len(s):
		return -1
	case s[i] >= 0x40 && s[i] <= 0x7e:
		return i + 1
	}
	return 0
}

// unfinished reports whether the meaning of what s begins with depends on more text.
func unfinished(s string, line bool) bool {
	switch {
	case s[0] == '\r':
		return len(s) == 1
	case s[0] == 0x1b:
		return !line && csi(s) < 0
	}
	return !utf8.FullRuneInString(s)
}
