package prompt

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	maxValue = 4096 // characters of an environment value: the longest path of Linux
	maxArgs  = 500  // characters of a call's arguments in a notice
)

// frame puts text between tags, each on its own line.
func frame(tag, text string) string {
	return "<" + tag + ">\n" + strings.TrimRight(text, "\n") + "\n</" + tag + ">"
}

// inline makes one line of foreign text that cannot leave its frame: no tags, no line
// breaks, nothing invisible. At most limit characters, the cut marked.
func inline(s string, limit int) string {
	var sb strings.Builder
	n := 0
	for _, c := range s {
		if n++; n > limit {
			sb.WriteString("…")
			break
		}
		switch {
		case c == '<':
			sb.WriteString("&lt;")
		case c == '>':
			sb.WriteString("&gt;")
		case c == '\n':
			sb.WriteString(`\n`)
		case !unicode.IsPrint(c):
			fmt.Fprintf(&sb, `\u{%x}`, c)
		default:
			sb.WriteRune(c)
		}
	}
	return sb.String()
}
