package termtext

import (
	"strings"
	"unicode/utf8"
)

// minWidth is the least width that text can be wrapped to: that of an ideograph.
const minWidth = 2

// Wrap breaks text into rows of at most width columns (2 at least): at line feeds, at
// spaces, between ideographs, else inside a word. No row begins with closing
// punctuation or ends with an opening one where an ideograph stands next to it. A word
// or an address that fits into a row stays whole. The spaces at a break are left out,
// and nothing else is; those that a line begins with stay if they leave room.
//
// Each row carries its own style: what is open at its end is closed there and opened
// again in the next. The text is clean and without tabs; its only escape sequences
// are styles.
func Wrap(s string, width int) []string { return wrap(s, width, false) }

// Fold breaks text into rows at line feeds and at the edge, and leaves out nothing:
// for code and for output, where every space counts. Styles are as in Wrap.
func Fold(s string, width int) []string { return wrap(s, width, true) }

func wrap(s string, width int, hard bool) []string {
	w := wrapper{width: max(width, minWidth), hard: hard}
	for more := true; more; {
		var line string
		line, s, more = strings.Cut(s, "\n")
		w.line(line)
	}
	return w.rows
}

type wrapper struct {
	width int
	hard  bool
	rows  []string
	pen   pen // at the start of the next row
}

// line adds the rows of one line.
func (w *wrapper) line(s string) {
	for {
		end, next := len(s), len(s)
		if len(s) > w.width || !isPrintable(s) {
			end, next = w.measure(s)
		} else if !w.hard {
			end = len(strings.TrimRight(s, " "))
		}
		if end == 0 && next < len(s) { // the line begins with more spaces than there is room
			w.follow(s[:next])
		} else {
			w.row(s[:end], s[end:next])
		}
		if next == len(s) {
			return
		}
		s = s[next:]
	}
}

// row adds one row, and follows the styles in it and in what is left out behind it.
func (w *wrapper) row(s, dropped string) {
	start := w.pen.sequence()
	if strings.IndexByte(s, 0x1b) < 0 && strings.IndexByte(dropped, 0x1b) < 0 {
		if start != "" && s != "" {
			s = start + s + reset
		}
		w.rows = append(w.rows, s)
		return
	}
	w.follow(s)
	switch {
	case escapes(s) == s: // nothing is seen of it
		w.rows = append(w.rows, "")
	case w.pen != (pen{}):
		w.rows = append(w.rows, start+s+reset)
	default:
		w.rows = append(w.rows, start+s)
	}
	w.follow(dropped)
}

func (w *wrapper) follow(s string) {
	for t := (tokens{s: s}); t.next(); {
		if t.kind == escape {
			w.pen.apply(t.text())
		}
	}
}

// measure finds where the first row of s ends and where the next one begins.
func (w *wrapper) measure(s string) (end, next int) {
	var prev string
	prevKind := escape
	column, last, spaces, brk, brkNext := 0, 0, 0, 0, 0 // spaces is where the last run of them begins
	seen := false                                       // more than spaces stands in the row
	for t := (tokens{s: s}); t.next(); {
		if t.width == 0 {
			if t.kind == glyph && prevKind == space { // a mark on a space: that one is text
				if column > w.width && !w.hard {
					return spaces, last
				}
				prevKind, seen = glyph, true
			}
			continue
		}
		if t.kind == space && prevKind != space {
			spaces = t.start
		}
		if seen && t.kind == glyph && breaks(prev, prevKind, t.text()) {
			brk, brkNext = t.start, t.start
			if prevKind == space {
				brk = spaces
			}
		}
		if column+t.width > w.width && column > 0 && (w.hard || t.kind == glyph) {
			switch {
			case !w.hard && !seen:
				return 0, t.start
			case !w.hard && brk > 0:
				return brk, brkNext
			case !w.hard && prevKind == space:
				return spaces, t.start
			}
			return t.start, t.start
		}
		column += t.width
		seen = seen || t.kind == glyph
		prev, prevKind, last = t.text(), t.kind, t.start
	}
	if !w.hard && prevKind == space {
		return spaces, len(s)
	}
	return len(s), len(s)
}

// breaks reports whether a row may end before the cluster next, which takes columns,
// and which follows prev.
func breaks(prev string, prevKind kind, next string) bool {
	a, _ := utf8.DecodeRuneInString(prev)
	b, _ := utf8.DecodeRuneInString(next)
	switch {
	case prevKind == space:
		return !closesWide(b)
	case !ideographic(a) && !ideographic(b):
		return false
	}
	return !closes(b) && !opens(a)
}

// ideographic reports whether lines break on both sides of a character: ideographs,
// kana, Hangul, fullwidth forms, emoji.
func ideographic(r rune) bool {
	return r >= 0x2e80 && (r < 0xa4d0 || r >= 0xac00 && r < 0xd7a4 || r >= 0xf900 && r < 0xfb00 ||
		r >= 0xfe30 && r < 0xfe50 || r >= 0xff00 && r < 0xfff0 || r >= 0x1f000 && r < 0x3fffe)
}

// closesWide reports whether r is East Asian punctuation, a small kana or a repeat
// mark, which never begins a row.
func closesWide(r rune) bool {
	return strings.ContainsRune("、。，．・：；？！）］｝〕〉》」』】〙〗〟｠»｡､｣･ーｰぁぃぅぇぉっゃゅょゎゕゖァィゥェォッャュョヮヵヶㇰㇱㇲㇳㇴㇵㇶㇷㇸㇹㇺㇻㇼㇽㇾㇿ々〻ゝゞヽヾ％‰℃～〜", r)
}

// closes reports whether r may not begin a row beside an ideograph.
func closes(r rune) bool {
	return closesWide(r) || strings.ContainsRune(",.;:?!)]}%\"'’”›…‥—–·/", r)
}

// opens reports whether r may not end a row.
func opens(r rune) bool {
	return strings.ContainsRune("（［｛〔〈《「『【〘〖〝｟｢«‘“‹([{￥＄￡＃$#@", r)
}
