package openai

import (
	"bytes"
	"fmt"
)

// maxEvent bounds one event: the largest tool argument anybody has streamed is a
// few MiB, and a server that never ends a line must not take the memory.
const maxEvent = 64 << 20

// framer cuts a byte stream into server-sent events. It takes the stream in pieces
// of any size. Lines end in LF, CR or CRLF; comments, empty events and unknown
// fields are passed over.
type framer struct {
	emit  func(kind string, data []byte) // data is valid during the call
	limit int                            // bytes of one event

	line    []byte // the line so far; a comment's text is not kept
	comment bool
	cr      bool // the last byte was CR: a LF now belongs to it
	began   bool // the first line is over: no byte order mark any more

	kind  string
	data  []byte
	lines int // data lines of the open event
}

var bom = []byte("\xEF\xBB\xBF")

// feed takes the next bytes. An error means that an event is too long.
func (f *framer) feed(p []byte) error {
	for len(p) > 0 {
		if f.cr && p[0] == '\n' {
			f.cr, p = false, p[1:]
			continue
		}
		f.cr = false
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			return f.grow(p)
		}
		if err := f.grow(p[:end]); err != nil {
			return err
		}
		f.cr = p[end] == '\r'
		p = p[end+1:]
		f.endLine()
	}
	return nil
}

func (f *framer) grow(p []byte) error {
	if len(f.line) == 0 && len(p) > 0 && p[0] == ':' && f.began {
		f.comment = true
	}
	if f.comment {
		return nil
	}
	if len(f.line)+len(f.data)+len(p) > f.limit {
		return fmt.Errorf("an event is longer than %d bytes", f.limit)
	}
	f.line = append(f.line, p...)
	return nil
}

func (f *framer) endLine() {
	line := f.line
	f.line = f.line[:0]
	if !f.began {
		f.began, line = true, bytes.TrimPrefix(line, bom)
	}
	if f.comment {
		f.comment = false
		return
	}
	if len(line) == 0 {
		f.dispatch()
		return
	}
	field, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		f.kind = string(value)
	case "error": // llama.cpp: not a field of the standard
		f.kind = "error"
		f.addData(value)
	case "data":
		f.addData(value)
	}
}

// addData appends a data line. A line that is a whole document is an event at once:
// some servers put one newline after it, and some keep the connection open after an
// error.
func (f *framer) addData(value []byte) {
	if f.lines > 0 {
		f.data = append(f.data, '\n')
	}
	f.data = append(f.data, value...)
	f.lines++
	if f.lines == 1 && complete(f.data) {
		f.dispatch()
	}
}

// complete reports whether data is a whole event by itself: the end of the stream,
// or an object whose braces are closed. Whether it is JSON is the decoder's
// question.
func complete(data []byte) bool {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return string(data) == "[DONE]"
	}
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			i = stringEnd(data, i)
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i == len(data)-1
			}
		}
	}
	return false
}

// stringEnd is the index of the quote that closes the string opened at i, or the
// length when none does.
func stringEnd(data []byte, i int) int {
	for i++; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i
		case '\\':
			i++
		}
	}
	return len(data)
}

func (f *framer) dispatch() {
	if data := bytes.TrimSpace(f.data); len(data) > 0 {
		f.emit(f.kind, data)
	}
	f.kind, f.data, f.lines = "", f.data[:0], 0
}

// close ends the stream. An event that lacks only its newlines is delivered, the
// stub of a cut one is not.
func (f *framer) close() {
	if len(f.line) > 0 {
		f.endLine()
	}
	if complete(f.data) {
		f.dispatch()
	}
}
