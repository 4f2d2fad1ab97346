package redact

import (
	"bytes"
	"encoding/binary"
)

const (
	// window is the bytes of an anchor that are looked for first; none is shorter.
	window = 3
	// contextSize is how far before an anchor its left border is looked at, in bytes:
	// the longest escape that may stand there.
	contextSize = 16
	bucketBits  = 11
	buckets     = 1 << bucketBits // several times the anchors

	firstPair, secondPair = 1, 2
)

// MaxHeld bounds what a Stream holds back, in bytes: the longest value, and more than
// any shape needs to be known.
const MaxHeld = maxValue

// state is what is known about a place.
type state int

const (
	no   state = iota
	yes        // a secret
	more       // it depends on what follows
)

// anchor is a text at which a secret may begin.
type anchor struct {
	text  string
	value bool
	kind  string
	loose bool  // may begin in the middle of a word; a value may too
	judge judge // nil for a value: all of text is the secret
}

// judge decides about an anchor that ends at b[at]. left is what stands before the
// anchor. With end, nothing follows b: the state is not more.
type judge func(left, b []byte, start, at int, end bool) (match, state)

// match is a secret, or the beginning of one that is enough to know it.
type match struct {
	from, to int
	kind     string
	tail     tail // what else belongs to it; the zero value is nothing
}

func (a *anchor) rank() int {
	if a.value {
		return len(a.text)
	}
	return 0
}

// pair is how two bytes stand in the number that is read of them.
func pair(x, y byte) int { return int(y)<<8 | int(x) }

// hash spreads the first bytes of anchors over the buckets.
func hash[T string | []byte](w T) uint32 {
	return (uint32(w[0]) | uint32(w[1])<<8 | uint32(w[2])<<16) * 0x9E3779B1 >> (32 - bucketBits)
}

// find is the first secret in b[i:]; or, where there is none, up to where b is known
// to be clean.
func (r *Redactor) find(b []byte, from, i int, end bool) (match, int, state) {
	for {
		i = r.next(b, i)
		if i >= len(b) {
			return match{}, len(b), no
		}
		list := r.begins[b[i]] // few bytes are left: each that begins so may follow
		if len(b)-i >= window {
			list = r.buckets[hash(b[i:])]
		}
		for k := range list {
			m, state := list[k].at(b, from, i, end)
			if state != no {
				return m, i, state
			}
		}
		i++
	}
}

// next is the first place from i on where an anchor may begin. It looks at every
// second pair of bytes: each anchor has its first or its second pair among them. Eight
// bytes are looked at together, as most of them are clean.
func (r *Redactor) next(b []byte, i int) int {
	hits, last := &r.hits, len(b)-window
	for j := i; j <= last+1; j += 8 {
		if j+8 <= len(b) {
			v := binary.LittleEndian.Uint64(b[j:])
			if hits[v&0xffff]|hits[v>>16&0xffff]|hits[v>>32&0xffff]|hits[v>>48] == 0 {
				continue
			}
		}
		for k := j; k <= min(j+6, last+1); k += 2 {
			hit := hits[pair(b[k], b[k+1])]
			if hit&secondPair != 0 && k > i && len(r.buckets[hash(b[k-1:])]) > 0 {
				return k - 1
			}
			if hit&firstPair != 0 && k <= last && len(r.buckets[hash(b[k:])]) > 0 {
				return k
			}
		}
	}
	return max(i, last+1)
}

func (a *anchor) at(b []byte, from, i int, end bool) (match, state) {
	rest := b[i:]
	if len(rest) < len(a.text) {
		if !end && a.text[:len(rest)] == string(rest) && a.mayBegin(b[from:i]) {
			return match{}, more
		}
		return match{}, no
	}
	if string(rest[:len(a.text)]) != a.text {
		return match{}, no
	}
	if a.value {
		return match{from: i, to: i + len(a.text), kind: a.kind}, yes
	}
	if !a.mayBegin(b[from:i]) {
		return match{}, no
	}
	m, s := a.judge(b[from:i], b, i, i+len(a.text), end)
	m.kind = a.kind
	return m, s
}

// mayBegin reports whether a secret may begin behind left: a word does not begin in
// the middle of another.
func (a *anchor) mayBegin(left []byte) bool {
	return a.value || a.loose || !wordBytes[a.text[0]] || len(left) == 0 || !wordBytes[left[len(left)-1]] || escaped(left)
}

// escaped reports whether the word character before a place is the end of an escape,
// and so no part of a word: \n, =, %3D, a colour.
func escaped(left []byte) bool {
	n := len(left)
	left = left[max(0, n-contextSize):]
	n = len(left)
	last := left[n-1]
	switch {
	case n >= 2 && left[n-2] == '\\' && (last == 'n' || last == 'r' || last == 't'):
		return true
	case n >= 6 && left[n-6] == '\\' && left[n-5] == 'u' && all(left[n-4:], hexBytes):
		return true
	case n >= 3 && left[n-3] == '%' && all(left[n-2:], hexBytes):
		return true
	case last != 'm':
		return false
	}
	at := bytes.LastIndexByte(left, 0x1b)
	return at >= 0 && at+1 < n && left[at+1] == '[' && all(left[at+2:n-1], colourBytes)
}

// tail is the rest of a secret: it goes on as long as its class does.
type tail struct {
	class *[256]bool
	pem   bool
	seen  int  // of a PEM block: bytes so far
	run   int  // dashes in a row
	open  bool // a line of dashes began
	first byte // behind those dashes
}

// skip is where the secret ends in b, and forgets the class if it does.
func (t *tail) skip(b []byte, i int) int {
	for ; i < len(b); i++ {
		if !t.class[b[i]] || t.pem && !t.inside(b[i]) {
			if t.pem && t.class[b[i]] {
				i++ // the last dash is a part of it
			}
			t.class = nil
			return i
		}
	}
	return i
}

// inside takes a byte of a PEM block and reports whether the block goes on: it ends
// with its footer, whatever stands at the beginnings of its lines, or when it is
// longer than any key.
func (t *tail) inside(c byte) bool {
	t.seen++
	if c != '-' {
		if t.run >= dashes && t.open {
			t.first = c
		}
		t.run = 0
		return t.seen < maxPEM
	}
	t.run++
	if t.run == dashes {
		if t.open && t.first == 'E' {
			return false
		}
		t.open, t.first = !t.open, 0
	}
	return t.seen < maxPEM
}

func all(b []byte, class *[256]bool) bool {
	for _, c := range b {
		if !class[c] {
			return false
		}
	}
	return true
}

// run is where the class ends in b[at:limit].
func run(b []byte, at, limit int, class *[256]bool) int {
	limit = min(limit, len(b))
	for at < limit && class[b[at]] {
		at++
	}
	return at
}

// classOf makes a class of characters, of which a-b are ranges.
func classOf(chars string) *[256]bool {
	var class [256]bool
	for i := 0; i < len(chars); i++ {
		if i+2 < len(chars) && chars[i+1] == '-' {
			for c := int(chars[i]); c <= int(chars[i+2]); c++ {
				class[c] = true
			}
			i += 2
			continue
		}
		class[chars[i]] = true
	}
	return &class
}

var (
	wordBytes   = classOf("a-zA-Z0-9_")
	hexBytes    = classOf("0-9a-fA-F")
	colourBytes = classOf("0-9;")
)
