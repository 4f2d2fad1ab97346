package redact

import (
	"cmp"
	"slices"
	"strings"
)

// Value is a text that is secret whatever it looks like.
type Value struct {
	Kind string // stands in the marker: "API key", "value of DB_PASSWORD"
	Text string // MinValue bytes or more; shorter ones are not looked for
}

// MinValue is the length of a value that can be told from other text, in bytes.
const MinValue = 8

// Redactor finds secrets. It does not change after New, and is safe for concurrent
// use.
type Redactor struct {
	hits    [1 << 16]uint8 // by two bytes: whether they are the first or the second pair of an anchor
	buckets [buckets][]anchor
	begins  [256][]anchor // by the first byte, for where not more is there
}

// New makes a Redactor of all known shapes and the values.
func New(values []Value) *Redactor { return build(append(valueAnchors(values), shapeAnchors()...)) }

// ValuesOnly makes a Redactor of the values alone: for what may hold examples of keys,
// such as an answer of the model.
func ValuesOnly(values []Value) *Redactor { return build(valueAnchors(values)) }

// build sorts the anchors by precedence: the longest value at a place wins, then the
// shapes in their order.
func build(anchors []anchor) *Redactor {
	slices.SortStableFunc(anchors, func(a, b anchor) int { return cmp.Compare(b.rank(), a.rank()) })
	r := &Redactor{}
	for _, a := range anchors {
		r.hits[pair(a.text[0], a.text[1])] |= firstPair
		r.hits[pair(a.text[1], a.text[2])] |= secondPair
		h := hash(a.text)
		r.buckets[h] = append(r.buckets[h], a)
		r.begins[a.text[0]] = append(r.begins[a.text[0]], a)
	}
	return r
}

// Text is text without its secrets, and how many there were. Text that is clean comes
// back as it is, and so does what Text returned.
func (r *Redactor) Text(text string) (clean string, n int) {
	if len(text) < window {
		return text, 0
	}
	s := r.Stream()
	out := s.Next([]byte(text), true)
	if s.n == 0 {
		return text, 0
	}
	return string(out), s.n
}

// Stream redacts bytes that come in pieces, and yields what Text does of them all. It
// is used by one goroutine.
type Stream struct {
	r    *Redactor
	buf  []byte // context that was out before, what went out last, what is not decided
	from int    // where the context of the next decision begins
	at   int    // where what is not decided begins
	tail tail   // the rest of a secret whose marker is out already
	out  []byte
	n    int
}

// Stream starts a text.
func (r *Redactor) Stream() *Stream { return &Stream{r: r} }

// Held is how many bytes wait for what follows them. Only the beginning of something
// that may be a secret waits, and never more than MaxHeld.
func (s *Stream) Held() int { return len(s.buf) - s.at }

// Next takes a piece, and returns what is decided by now; with end, everything. The
// result belongs to the Stream and is good until the next call.
func (s *Stream) Next(piece []byte, end bool) []byte {
	s.buf = append(append(s.buf[:0], s.buf[s.from:]...), piece...)
	s.at -= s.from
	s.out = s.out[:0]
	from, i := 0, s.at // buf[from:] is the context of i
	done := s.at       // buf[:done] is out, or replaced
	found := false
	for {
		if s.tail.class != nil {
			i = s.tail.skip(s.buf, i)
			from, done = i, i
			if s.tail.class != nil { // it goes on in the next piece
				break
			}
		}
		m, at, state := s.r.find(s.buf, from, i, end)
		if i = at; state != yes {
			break
		}
		found = true
		s.n++
		s.out = append(append(s.out, s.buf[done:m.from]...), marker(m.kind)...)
		i, from, done, s.tail = m.to, m.to, m.to, m.tail
	}
	s.from, s.at = max(from, i-contextSize), i
	if !found {
		return s.buf[done:i] // most pieces are clean: they are not copied again
	}
	s.out = append(s.out, s.buf[done:i]...)
	return s.out
}

// Markers begin and end like this; between stands the kind.
const markerStart, markerEnd = "[redacted: ", "]"

// maxKind bounds the kind in a marker that Marker knows again, in bytes.
const maxKind = 80

func marker(kind string) string { return markerStart + kind + markerEnd }

// Marker is the first marker in a text, "" if there is none.
func Marker(text string) string {
	for {
		_, rest, ok := strings.Cut(text, markerStart)
		if !ok {
			return ""
		}
		kind, _, ok := strings.Cut(rest[:min(len(rest), maxKind+1)], markerEnd)
		if ok && kind != "" && !strings.ContainsAny(kind, "\n[") {
			return marker(kind)
		}
		text = rest
	}
}
