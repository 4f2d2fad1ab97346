package termtext

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// TabWidth is the distance between tab stops, in columns.
const TabWidth = 4

// Width is the number of columns that one line of text takes, by grapheme clusters:
// an ideograph or an emoji is 2, a combining mark 0, an escape sequence 0. A tab counts
// 0, since what it takes depends on where it stands: Expand the text first.
func Width(s string) int {
	if isPrintable(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// isPrintable reports whether every byte of s is printable ASCII: one column each.
func isPrintable(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

// Expand replaces tabs by the spaces up to the next tab stop. Each line of the text
// begins at column 0. Text without tabs is returned as it is.
func Expand(s string) string {
	if strings.IndexByte(s, '\t') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 2*TabWidth)
	column := 0
	for s != "" {
		i := strings.IndexAny(s, "\t\n")
		if i < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:i])
		column += Width(s[:i])
		if s[i] == '\n' {
			b.WriteByte('\n')
			column = 0
		} else {
			n := TabWidth - column%TabWidth
			b.WriteString("    "[:n])
			column += n
		}
		s = s[i+1:]
	}
	return b.String()
}

// Cut is the longest beginning of one line that fits into width columns. A cluster
// that would reach over the edge is left out whole. Escape sequences behind the cut
// are kept, so that a style that was opened is closed.
func Cut(s string, width int) string {
	if len(s) <= width && isPrintable(s) {
		return s
	}
	column := 0
	for t := (tokens{s: s}); t.next(); column += t.width {
		if column+t.width > width && t.width > 0 {
			return s[:t.start] + escapes(s[t.start:])
		}
	}
	return s
}

// escapes is what escape sequences stand in s.
func escapes(s string) string {
	if strings.IndexByte(s, 0x1b) < 0 {
		return ""
	}
	var b strings.Builder
	for t := (tokens{s: s}); t.next(); {
		if t.kind == escape {
			b.WriteString(t.text())
		}
	}
	return b.String()
}
