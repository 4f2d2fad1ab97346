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
	withCR := text
	if !verbatim {
		withCR = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	endings := newEndings(body)
	from := 0
	for _, s := range spans {
		sb.WriteString(body[from:s.start])
		if withCR != text && endings.crlfAt(s.start) {
			sb.WriteString(withCR)
		} else {
			sb.WriteString(text)
		}
		from = s.end
	}
	sb.WriteString(body[from:])
	return sb.String()
}

// endings tells how lines end along a text, in one pass over it.
type endings struct {
	body string
	next int  // the first newline at or after the place asked for last
	last bool // nothing follows, and next is the last newline of all
}

func newEndings(body string) *endings { return &endings{body: body, next: -1} }

// crlfAt reports whether lines end in CRLF at a place: by the next ending, or by the
// last one if none follows. Places must not go backwards.
func (e *endings) crlfAt(place int) bool {
	if e.next < place && !e.last {
		if i := strings.IndexByte(e.body[place:], '\n'); i >= 0 {
			e.next = place + i
		} else {
			e.next, e.last = strings.LastIndexByte(e.body, '\n'), true
		}
	}
	return e.next > 0 && e.body[e.next-1] == '\r'
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
