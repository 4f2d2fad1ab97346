package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// span is a piece of a line, in bytes.
type span struct{ from, to int }

// maxWords bounds the words of a line that are compared one with another; between the
// words that two longer lines begin and end with, all counts as changed.
const maxWords = 200

// changed are the pieces of a line that are not in the one it was changed from or to.
// None if the two share less than half of their text: then all is changed.
func changed(line, other string) []span {
	a, b := words(line), words(other)
	head := 0
	for head < len(a) && head < len(b) && a[head] == b[head] {
		head++
	}
	end := 0
	for end < len(a)-head && end < len(b)-head && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	kept := make([]bool, len(a))
	for i := range a {
		kept[i] = i < head || i >= len(a)-end
	}
	common(a[head:len(a)-end], b[head:len(b)-end], kept[head:])
	var spans []span
	at, same := 0, 0
	for i, word := range a {
		switch {
		case kept[i]:
			same += len(word)
		case len(spans) > 0 && spans[len(spans)-1].to == at:
			spans[len(spans)-1].to += len(word)
		default:
			spans = append(spans, span{at, at + len(word)})
		}
		at += len(word)
	}
	if 2*same < min(len(line), len(other)) || same == 0 || 4*same < max(len(line), len(other)) {
		return nil
	}
	return spans
}

// common marks the words of a longest common subsequence of a and b.
func common(a, b []string, kept []bool) {
	if len(a) == 0 || len(b) == 0 || len(a) > maxWords || len(b) > maxWords {
		return
	}
	width := len(b) + 1
	best := make([]int, (len(a)+1)*width) // bytes in common from here on
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			best[i*width+j] = max(best[(i+1)*width+j], best[i*width+j+1])
			if a[i] == b[j] {
				best[i*width+j] = max(best[i*width+j], best[(i+1)*width+j+1]+len(a[i]))
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j] && best[i*width+j] == best[(i+1)*width+j+1]+len(a[i]):
			kept[i] = true
			i, j = i+1, j+1
		case best[i*width+j] == best[(i+1)*width+j]:
			i++
		default:
			j++
		}
	}
}

// words divides a line into runs of letters and digits, runs of spaces, and single
// characters.
func words(line string) []string {
	var list []string
	for line != "" {
		r, n := utf8.DecodeRuneInString(line)
		if k := class(r); k != other {
			for n < len(line) {
				next, size := utf8.DecodeRuneInString(line[n:])
				if class(next) != k {
					break
				}
				n += size
			}
		}
		list = append(list, line[:n])
		line = line[n:]
	}
	return list
}

type charClass uint8

const (
	other charClass = iota
	letter
	blank
)

func class(r rune) charClass {
	switch {
	case r == '_' || unicode.IsLetter(r) && !unicode.Is(unicode.Han, r) || unicode.IsDigit(r) || unicode.IsMark(r):
		return letter
	case r == ' ':
		return blank
	}
	return other
}

// paintSpans styles a line, and pieces of it in a style of their own.
func paintSpans(line string, spans []span, style, word Style) string {
	var sb strings.Builder
	at := 0
	for _, s := range spans {
		sb.WriteString(style.Paint(line[at:s.from]))
		sb.WriteString(word.Paint(line[s.from:s.to]))
		at = s.to
	}
	sb.WriteString(style.Paint(line[at:]))
	return sb.String()
}
