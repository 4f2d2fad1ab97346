package tui

import (
	"strings"
	"unicode/utf8"

	"dsh/internal/termtext"
)

// cell is one unit of a line: a cluster or a chip.
type cell struct {
	start, end int    // in bytes
	show       string // what stands on screen; "" for a tab
	width      int    // in columns
	most       int    // in columns of a terminal that does not know clusters
	kind       cellKind
}

type cellKind uint8

const (
	cellText cellKind = iota
	cellSpace
	cellTab
	cellChip
)

// cellAt is the unit that begins at byte i of a line, whose first column is given. A
// chip has no width yet.
func cellAt(line string, i, column int) cell {
	end := nextEnd(line, i)
	c := cell{start: i, end: end, show: line[i:end], width: 1, most: 1}
	switch b := line[i]; {
	case b == chipOpen:
		c.kind, c.width, c.most = cellChip, 0, 0
	case b == '\t':
		c.kind, c.show = cellTab, ""
		c.width = termtext.TabWidth - column%termtext.TabWidth
		c.most = c.width
	case end == i+1:
		if b == ' ' {
			c.kind = cellSpace
		}
	case end == i+wideBytes && wide(runeAt(line, i)):
		c.width, c.most = 2, 2
	default:
		c.show, c.width, c.most = visible(c.show)
	}
	return c
}

// dotted carries marks that have nothing to stand on.
const dotted = "\u25cc"

// visible is what a cluster shows as. What would be invisible or change the text
// around it shows as U+FFFD.
func visible(cluster string) (show string, width, most int) {
	if clean := termtext.Clean(cluster); clean != cluster {
		return "\ufffd", 1, 1
	}
	_, width, most = termtext.Cluster(cluster)
	if width == 0 {
		return dotted + cluster, 1, max(most, 0) + 1
	}
	return cluster, width, most
}

// maxCluster bounds a cluster, in bytes: no writing has a longer one, and a megabyte
// of marks on one letter must not cost a megabyte at each.
const maxCluster = 256

// clusterEnd is the end of the cluster that begins at byte i, where no chip begins.
func clusterEnd(line string, i int) int {
	if line[i] < utf8.RuneSelf && (i+1 == len(line) || line[i+1] < utf8.RuneSelf || line[i+1] == chipOpen) {
		return i + 1
	}
	if r, n := utf8.DecodeRuneInString(line[i:]); wide(r) && (i+n == len(line) || certain(line, i+n)) {
		return i + n
	}
	end := min(len(line), i+maxCluster)
	for end < len(line) && !utf8.RuneStart(line[end]) {
		end--
	}
	rest := line[i:end]
	if chip := strings.IndexByte(rest, chipOpen); chip > 0 {
		rest = rest[:chip]
	}
	cluster, _, _ := termtext.Cluster(rest)
	return i + len(cluster)
}

// nextEnd is the end of the unit that begins at byte i.
func nextEnd(line string, i int) int {
	if line[i] == chipOpen {
		return chipEnd(line, i)
	}
	return clusterEnd(line, i)
}

// prevStart is the start of the unit that ends at byte i, which is not 0.
func prevStart(line string, i int) int {
	if line[i-1] == chipClose {
		return strings.LastIndexByte(line[:i], chipOpen)
	}
	at := safeStart(line, i)
	for {
		end := nextEnd(line, at)
		if end >= i {
			return at
		}
		at = end
	}
}

// snap moves a byte offset that may be inside a unit to that unit's end.
func snap(line string, i int) int {
	if i == 0 || i == len(line) || certain(line, i) {
		return i
	}
	at := safeStart(line, i)
	for at < i {
		at = nextEnd(line, at)
	}
	return at
}

// safeStart is a boundary of units before byte i, as near as one is certain.
func safeStart(line string, i int) int {
	for {
		_, n := utf8.DecodeLastRuneInString(line[:i])
		i -= max(n, 1)
		if i <= 0 || certain(line, i) {
			return max(i, 0)
		}
	}
}

// certain reports whether the runes on both sides of byte i say that there is a
// boundary. A chip's mark does: text never holds its bytes.
func certain(line string, i int) bool {
	if line[i] == chipOpen || line[i-1] == chipClose {
		return true
	}
	before, _ := utf8.DecodeLastRuneInString(line[:i])
	after, _ := utf8.DecodeRuneInString(line[i:])
	return alone(before) && alone(after)
}

// alone reports whether a rune never joins another one of this kind in a cluster.
func alone(r rune) bool { return r >= ' ' && r <= '~' || r == '\t' || wide(r) }

// wideBytes is how many bytes a wide rune has.
const wideBytes = 3

// wide reports whether a rune is a kana, an ideograph or a syllable of Hangul that is
// common enough to be told without a table: two columns, and alone.
func wide(r rune) bool {
	return r >= 0x3041 && r <= 0x3096 || r >= 0x30a1 && r <= 0x30fa || r >= 0x4e00 && r <= 0x9fff || r >= 0xac00 && r <= 0xd7a3
}

func runeAt(line string, i int) rune {
	r, _ := utf8.DecodeRuneInString(line[i:])
	return r
}
