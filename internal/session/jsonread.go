package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// reader takes JSON apart in one pass. A log is mostly strings, and encoding/json
// scans them once for each level of our own unmarshalers: that costs 20 times as
// much, seconds on a large log. The first error sticks; after it every method
// returns zero. Whoever makes one has bounded the nesting with tooDeep.
type reader struct {
	b       []byte
	i       int
	err     error
	scratch []byte
}

func (r *reader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%s at byte %d", what, r.i)
	}
	r.i = len(r.b)
}

// peek is the next byte that is not white space; 0 at the end.
func (r *reader) peek() byte {
	for ; r.i < len(r.b); r.i++ {
		switch c := r.b[r.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (r *reader) take(c byte) bool {
	if r.peek() != c {
		return false
	}
	r.i++
	return true
}

// object calls field for each key; field must read the value. The key's bytes are
// valid until it does.
func (r *reader) object(field func(key []byte)) {
	if !r.take('{') {
		r.fail("expected an object")
		return
	}
	if r.take('}') {
		return
	}
	for r.err == nil {
		key := r.text()
		if !r.take(':') {
			r.fail("expected a colon")
			return
		}
		field(key)
		if r.take(',') {
			continue
		}
		if !r.take('}') {
			r.fail("expected the end of an object")
		}
		return
	}
}

// list calls item for each element; item must read it.
func (r *reader) list(item func()) {
	if !r.take('[') {
		r.fail("expected a list")
		return
	}
	if r.take(']') {
		return
	}
	for r.err == nil {
		item()
		if r.take(',') {
			continue
		}
		if !r.take(']') {
			r.fail("expected the end of a list")
		}
		return
	}
}

func (r *reader) string() string { return string(r.text()) }

// text reads a string. The bytes are valid until the next read.
func (r *reader) text() []byte {
	if !r.take('"') {
		r.fail("expected a string")
		return nil
	}
	start, high := r.i, byte(0)
	for i := start; i < len(r.b); i++ {
		switch c := r.b[i]; {
		case c == '"':
			r.i = i + 1
			return validUTF8(r.b[start:i], high)
		case c == '\\':
			return r.escaped(start, i, high)
		case c < ' ':
			r.i = i
			r.fail("control character in a string")
			return nil
		default:
			high |= c
		}
	}
	r.fail("a string without an end")
	return nil
}

// escaped reads on from the first backslash of a string.
func (r *reader) escaped(start, i int, high byte) []byte {
	if most := skipString(r.b, start-1) - start; cap(r.scratch) < most {
		r.scratch = make([]byte, 0, most)
	}
	out := append(r.scratch[:0], r.b[start:i]...)
	for r.i = i; r.i < len(r.b); {
		c := r.b[r.i]
		switch {
		case c == '"':
			r.i++
			r.scratch = out
			return validUTF8(out, high)
		case c == '\\':
			out = r.escape(out)
			if r.err != nil {
				return nil
			}
		case c < ' ':
			r.fail("control character in a string")
			return nil
		default:
			from := r.i
			for r.i < len(r.b) && r.b[r.i] != '"' && r.b[r.i] != '\\' && r.b[r.i] >= ' ' {
				high |= r.b[r.i]
				r.i++
			}
			out = append(out, r.b[from:r.i]...)
		}
	}
	r.fail("a string without an end")
	return nil
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape appends what one escape sequence stands for.
func (r *reader) escape(out []byte) []byte {
	if r.i+1 >= len(r.b) {
		r.fail("a string without an end")
		return nil
	}
	if c := escapes[r.b[r.i+1]]; c != 0 {
		r.i += 2
		return append(out, c)
	}
	u := r.unit(r.i)
	if u < 0 {
		r.fail("unknown escape in a string")
		return nil
	}
	r.i += 6
	if utf16.IsSurrogate(u) {
		pair := utf16.DecodeRune(u, r.unit(r.i))
		if pair != utf8.RuneError {
			r.i += 6
		}
		u = pair // a lone surrogate has no UTF-8: it becomes U+FFFD
	}
	return utf8.AppendRune(out, u)
}

// unit is the UTF-16 unit of the escape \uXXXX at i; -1 if there is none.
func (r *reader) unit(i int) rune {
	if i+6 > len(r.b) || r.b[i] != '\\' || r.b[i+1] != 'u' {
		return -1
	}
	n := rune(0)
	for _, c := range r.b[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | rune(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | rune(c-'a'+10)
		case c >= 'A' && c <= 'F':
			n = n<<4 | rune(c-'A'+10)
		default:
			return -1
		}
	}
	return n
}

func validUTF8(s []byte, high byte) []byte {
	if high < utf8.RuneSelf || utf8.Valid(s) {
		return s
	}
	return []byte(string([]rune(string(s)))) // U+FFFD for each bad byte, as encoding/json
}

// integer reads an integer in the range that JSON keeps exact.
func (r *reader) integer() int64 {
	r.peek()
	start := r.i
	for r.i < len(r.b) && (r.b[r.i] == '-' || r.b[r.i] >= '0' && r.b[r.i] <= '9') {
		r.i++
	}
	s := string(r.b[start:r.i])
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || s == "-0" || len(s) > 1 && (s[0] == '0' || s[0] == '-' && s[1] == '0') ||
		n > maxNumber || n < -maxNumber || r.i < len(r.b) && bytes.IndexByte([]byte(".eE"), r.b[r.i]) >= 0 {
		r.fail("expected an integer")
		return 0
	}
	return n
}

func (r *reader) int() int { return int(r.integer()) }

func (r *reader) bool() bool {
	switch s := r.span(); string(s) {
	case "true":
		return true
	case "false":
	default:
		r.fail("expected true or false")
	}
	return false
}

// span passes over a value, without judging what is inside.
func (r *reader) span() []byte {
	first := r.peek()
	start := r.i
	switch first {
	case '"':
		r.i = min(skipString(r.b, r.i)+1, len(r.b))
	case '{', '[':
		for now := 0; r.i < len(r.b); r.i++ {
			switch r.b[r.i] {
			case '"':
				r.i = skipString(r.b, r.i)
			case '{', '[':
				now++
			case '}', ']':
				now--
			}
			if now == 0 {
				r.i++
				break
			}
		}
		r.i = min(r.i, len(r.b))
	default:
		for r.i < len(r.b) && bytes.IndexByte([]byte(",]} \t\r\n"), r.b[r.i]) < 0 {
			r.i++
		}
	}
	if r.i == start {
		r.fail("expected a value")
	}
	return r.b[start:r.i]
}

// skip passes over a value that must be JSON.
func (r *reader) skip() []byte {
	s := r.span()
	if r.err == nil && !json.Valid(s) {
		r.fail("not JSON")
	}
	return s
}

// raw is a copy of a value.
func (r *reader) raw() json.RawMessage { return bytes.Clone(r.skip()) }

// value reads a plain struct or list.
func (r *reader) value(to any) {
	if s := r.span(); r.err == nil {
		if err := json.Unmarshal(s, to); err != nil {
			r.err = err
		}
	}
}

// end returns the error, also if anything is left.
func (r *reader) end() error {
	if r.err == nil && r.peek() != 0 {
		return errors.New("there is more after the value")
	}
	return r.err
}
