package prompt

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
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

// ownTags finds the beginning of a tag that dsh itself writes. Compiled when needed, as
// every process pays for what is made at its start.
var ownTags = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<(\s*/?\s*(?:instructions|file|environment|notice|user-command|user-message|compacted-summary)\b)`)
})

// foreign is text of several lines that cannot leave its frame, nor pose as one of
// dsh's: our tags are none in it, and what a reader would not see is shown.
func foreign(s string) string {
	s = ownTags().ReplaceAllString(strings.ReplaceAll(s, "\r\n", "\n"), "&lt;$1")
	var sb strings.Builder
	for _, c := range s {
		if c == '\n' || c == '\t' || unicode.IsGraphic(c) {
			sb.WriteRune(c)
			continue
		}
		fmt.Fprintf(&sb, `\u{%x}`, c)
	}
	return sb.String()
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
