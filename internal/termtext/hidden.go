package termtext

import "unicode"

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
)

// hidden reports whether a rune from U+0080 on is a control, changes the direction or
// the layout of other text, or shows as nothing. Some of these are needed: see joins.
func hidden(r rune) bool {
	switch {
	case r < 0xa0 || r == 0xad:
		return true
	case r < 0x300, r >= 0x3041 && r <= 0x30ff, r >= 0x3400 && r <= 0x9fff, r >= 0xac00 && r <= 0xd7a3:
		return false // most of the world's text, decided without a search
	}
	return unicode.In(r, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) ||
		unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// joins reports whether a hidden rune is a normal part of writing after prev: joiners
// in Indic scripts, Persian and emoji, variation selectors after the character that
// they vary. At most one or two follow a visible rune, so they cannot carry a text.
func joins(prev, r rune) bool {
	selects := unicode.Is(unicode.Variation_Selector, prev)
	switch {
	case r == joiner || r == nonJoiner:
		return prev >= 0x300 && prev != joiner && prev != nonJoiner
	case prev == joiner || prev == nonJoiner || selects:
		return false
	case r >= 0xfe00 && r <= 0xfe0f:
		return prev >= 0xa0 || prev >= '0' && prev <= '9' || prev == '#' || prev == '*'
	case r >= 0xe0100 && r <= 0xe01ef:
		return unicode.Is(unicode.Han, prev)
	}
	return false
}
