package tools

import (
	"fmt"
	"slices"
	"strings"
)

// span is a half-open range of bytes.
type span struct{ start, end int }

// findSpans finds old in body literally, from left to right, without overlaps. A
// line ending of old matches both kinds, since read shows them alike, unless old has
// carriage returns and occurs exactly as it is (exact).
func findSpans(body, old string) (spans []span, exact bool) {
	if strings.Contains(old, "\r") {
		if spans := allIndexes(body, old); len(spans) > 0 {
			return spans, true
		}
	}
	old = strings.ReplaceAll(old, "\r\n", "\n")
	if !strings.Contains(body, "\r\n") {
		return allIndexes(body, old), false
	}
	flat := strings.ReplaceAll(body, "\r\n", "\n")
	return unflatten(body, allIndexes(flat, old)), false
}

func allIndexes(body, old string) []span {
	var spans []span
	for from := 0; ; {
		i := strings.Index(body[from:], old)
		if i < 0 {
			return spans
		}
		spans = append(spans, span{from + i, from + i + len(old)})
		from += i + len(old)
	}
}

// unflatten maps spans of body with LF endings to body itself. A span that begins
// with a line ending takes all of it; one that ends before an ending takes none.
func unflatten(body string, spans []span) []span {
	out := make([]span, len(spans))
	crs, next := 0, strings.Index(body, "\r\n") // carriage returns passed, offset of the one to come
	toBody := func(i int) int {
		for next >= 0 && next-crs < i {
			crs++
			if more := strings.Index(body[next+2:], "\r\n"); more >= 0 {
				next += 2 + more
			} else {
				next = -1
			}
		}
		return i + crs
	}
	for i, s := range spans {
		out[i] = span{toBody(s.start), toBody(s.end)}
	}
	return out
}

// overlapsItself reports whether the text of s also occurs at a place that overlaps s, so that
// even one occurrence is not one place.
func overlapsItself(body string, s span) bool {
	end := min(len(body), 2*s.end-s.start-1)
	return strings.Contains(body[s.start+1:end], body[s.start:s.end])
}

// splice replaces spans of body. Everything outside them stays as it is, byte for
// byte; unless verbatim, the line endings of the new text become those of the place.
func splice(body string, spans []span, text string, verbatim bool) string {
	var sb strings.Builder
	withCR := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	from := 0
	for _, s := range spans {
		sb.WriteString(body[from:s.start])
		if !verbatim && crlfAt(body, s) {
			sb.WriteString(withCR)
		} else {
			sb.WriteString(text)
		}
		from = s.end
	}
	sb.WriteString(body[from:])
	return sb.String()
}

// crlfAt reports whether lines end in CRLF at a span: by the first ending in it,
// else the first after it, else the last before it.
func crlfAt(body string, s span) bool {
	at := strings.IndexByte(body[s.start:], '\n')
	if at >= 0 {
		at += s.start
	} else if at = strings.LastIndexByte(body[:s.start], '\n'); at < 0 {
		return false
	}
	return at > 0 && body[at-1] == '\r'
}

// lineNumbers names the lines on which spans begin.
func lineNumbers(body string, spans []span) string {
	const most = 20
	var names []string
	line, from := 1, 0
	for _, s := range spans[:min(len(spans), most)] {
		line += strings.Count(body[from:s.start], "\n")
		from = s.start
		names = append(names, fmt.Sprint(line))
	}
	names = slices.Compact(names)
	list := strings.Join(names, ", ")
	if len(spans) > most {
		list += " and further down"
	}
	if len(names) == 1 && len(spans) <= most {
		return "line " + list
	}
	return "lines " + list
}
