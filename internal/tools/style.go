package tools

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// style is what is known of the bytes of a file that passed through it: whether they
// are text, and what an overwrite keeps of it. It takes files of any size.
type style struct {
	bom   bool
	lines int // ends of lines
	crlf  int // those that are CRLF

	begun  bool
	binary bool   // NUL, or not UTF-8
	tail   []byte // of a character that the last write cut
	cr     bool   // the last byte is a CR
}

func (s *style) Write(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if !s.begun {
		s.bom, s.begun = bytes.HasPrefix(b, utf8BOM), true
	}
	s.lines += bytes.Count(b, []byte("\n"))
	s.crlf += bytes.Count(b, []byte("\r\n"))
	if s.cr && b[0] == '\n' {
		s.crlf++
	}
	s.cr = b[len(b)-1] == '\r'
	s.judge(b)
	return len(b), nil
}

func (s *style) judge(b []byte) {
	if s.binary {
		return
	}
	for len(s.tail) > 0 && len(b) > 0 && !utf8.FullRune(s.tail) {
		s.tail, b = append(s.tail, b[0]), b[1:]
	}
	if !utf8.FullRune(s.tail) && len(s.tail) > 0 {
		return
	}
	whole := len(b) - brokenTail(b)
	s.binary = !utf8.Valid(s.tail) || !utf8.Valid(b[:whole]) || bytes.IndexByte(b, 0) >= 0
	s.tail = append(s.tail[:0], b[whole:]...)
}

// text reports whether all that came was text.
func (s *style) text() bool { return !s.binary && len(s.tail) == 0 }

// apply is new content with the byte order mark and the line endings of the old,
// where that is certain: all of old's lines end in CRLF and no line of new does. The
// sentence says what was adapted.
func (s *style) apply(content string) (out []byte, said string) {
	if !s.text() {
		return []byte(content), ""
	}
	if s.lines > 0 && s.crlf == s.lines && !strings.Contains(content, "\r") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
		said = " Its CRLF line endings were kept."
	}
	if s.bom && !strings.HasPrefix(content, string(utf8BOM)) {
		content = string(utf8BOM) + content
		said += " Its byte order mark was kept."
	}
	return []byte(content), said
}
