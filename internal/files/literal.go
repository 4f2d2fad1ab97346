package files

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// literal is a text that is looked for by its rarest byte, since there are instructions
// for that.
type literal struct {
	text []byte
	fold bool    // ASCII letters match in either case; text is in lower case
	at   int     // where the rarest byte is
	rare [2]byte // it, and the other case of it
}

// frequent are the bytes that code has most of, the most frequent first.
const frequent = " etaonrisl\tcdpu\nmf.hg(),_bvy=\"w:x0;/1-k{}2"

func newLiteral(text string, fold bool) *literal {
	l := &literal{text: []byte(text), fold: fold}
	best := -1
	for i := range len(text) {
		rank := strings.IndexByte(frequent, text[i]|lowerBit(text[i]))
		if rank < 0 {
			rank = len(frequent)
		}
		if rank > best {
			best, l.at = rank, i
		}
	}
	l.rare = [2]byte{text[l.at], text[l.at]}
	if fold && lower(text[l.at]) {
		l.rare[1] = text[l.at] &^ caseBit
	}
	return l
}

const caseBit = 'a' - 'A'

func lower(c byte) bool { return 'a' <= c && c <= 'z' }

// lowerBit is what makes an upper case letter a lower case one.
func lowerBit(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return caseBit
	}
	return 0
}

const (
	// window is how much is searched for one case of the rarest byte before it is
	// searched for the other: where one is frequent, and the other is not there, more
	// would be looked at for nothing.
	window = 4 << 10
	// patience is after how many bytes without success, for each time that the rarest
	// byte was there in vain, it counts as too frequent to be looked for.
	patience = 32
)

// index is where the literal first stands in a text, -1 if it does not.
func (l *literal) index(text []byte) int {
	vain := 0
	for from := 0; from+len(l.text) <= len(text); {
		at := l.next(text, from+l.at)
		if at < 0 {
			return -1
		}
		at -= l.at
		if at+len(l.text) > len(text) {
			return -1
		}
		if l.stands(text[at : at+len(l.text)]) {
			return at
		}
		from = at + 1
		if vain++; !l.fold && vain > 8 && from < vain*patience {
			if i := bytes.Index(text[from:], l.text); i >= 0 {
				return from + i
			}
			return -1
		}
	}
	return -1
}

// next is where the rarest byte is, from a place on.
func (l *literal) next(text []byte, from int) int {
	if l.rare[0] == l.rare[1] {
		if i := bytes.IndexByte(text[from:], l.rare[0]); i >= 0 {
			return from + i
		}
		return -1
	}
	for ; from < len(text); from += window {
		part := text[from:min(from+window, len(text))]
		i := bytes.IndexByte(part, l.rare[0])
		if i >= 0 {
			part = part[:i]
		}
		if j := bytes.IndexByte(part, l.rare[1]); j >= 0 {
			i = j
		}
		if i >= 0 {
			return from + i
		}
	}
	return -1
}

func (l *literal) stands(text []byte) bool {
	if !l.fold {
		return bytes.Equal(text, l.text)
	}
	for i, c := range text {
		if c|lowerBit(c) != l.text[i] {
			return false
		}
	}
	return true
}

// required is the longest text that stands in every match, in lower case if its case
// does not count, and whether it is the whole of each match.
func required(re *syntax.Regexp) (text string, fold, exact bool) {
	switch re.Op {
	case syntax.OpLiteral:
		return ofLiteral(re)
	case syntax.OpCapture:
		return required(re.Sub[0])
	case syntax.OpPlus:
		text, fold, _ = required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			text, fold, _ = required(re.Sub[0])
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if t, f, whole := required(sub); len(t) > len(text) {
				text, fold, exact = t, f, whole && len(re.Sub) == 1
			}
		}
	}
	return text, fold, exact
}

// ofLiteral is the part of a text that is found by its bytes. Broken UTF-8 counts as
// U+FFFD, but has other bytes; and where case does not count, some letters have a third
// form, and some are not ASCII.
func ofLiteral(re *syntax.Regexp) (text string, fold, exact bool) {
	whole := string(re.Rune)
	if re.Flags&syntax.FoldCase == 0 {
		if strings.ContainsRune(whole, unicode.ReplacementChar) {
			return "", false, false
		}
		return whole, false, true
	}
	other := func(r rune) bool { return r >= utf8.RuneSelf || strings.ContainsRune("kKsS", r) }
	for _, part := range strings.FieldsFunc(whole, other) {
		if len(part) > len(text) {
			text = strings.ToLower(part)
		}
	}
	return text, true, len(text) == len(whole)
}
