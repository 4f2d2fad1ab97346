package termtext

import (
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// Cluster is the first grapheme cluster of s, "" if s is empty, and the columns it
// takes. Terminals do not agree: width is what one takes that knows clusters, most is
// what any takes, since one that does not adds up the runes of a family of emoji.
//
// The text is clean. A byte that begins no rune is a cluster of no width.
func Cluster(s string) (cluster string, width, most int) {
	switch {
	case s == "":
		return "", 0, 0
	case s[0] < utf8.RuneSelf && (len(s) == 1 || s[1] < utf8.RuneSelf):
		return s[:1], 1, 1
	case !utf8.FullRuneInString(s):
		return s[:1], 0, 0
	}
	cluster, width = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
	if cluster == "" {
		return s[:1], 0, 0
	}
	return cluster, width, max(width, ansi.StringWidthWc(cluster))
}

// MayBreak reports whether a row may end between two clusters that follow each other:
// the rules of Wrap, for who keeps the spaces that Wrap leaves out. Those belong to
// the row before the break.
func MayBreak(prev, next string) bool {
	if next == " " {
		return false
	}
	k := glyph
	if prev == " " {
		k = space
	}
	return breaks(prev, k, next)
}
