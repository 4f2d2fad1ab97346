package markdown

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// segment is a part of the source that is rendered by itself.
type segment struct {
	start, end int // end is 0 while it is open
	blank      bool
	number     int   // of the ordered item that it is, if the list began before it
	fence      fence // if it is a code block
}

// fence is the opening line of a code block.
type fence struct {
	char   byte
	n      int // how many of them; 0 means no fence
	indent int
	text   string // the fence characters
	info   string
}

// scanner finds, line by line, where segments begin: at the lines that begin a
// top-level block or a top-level list item whatever came before. Where it is not sure
// it waits, which costs time but changes no row.
type scanner struct {
	fence   fence
	blank   bool  // the line before was blank
	ended   bool  // the line before ended its block: whatever comes begins a new one
	begun   bool  // the segment of this line was begun early
	content int   // where the content of the open list item begins; 0 means no list
	inner   fence // the open code block in the item
	ordered byte  // the delimiter of its numbers, 0 for a bullet
	number  int
	table   bool // the open segment ends in a table
	pipe    bool // the line before may be the head of a table
	hollow  bool // the line before is an item without text, which nothing continues
}

// line takes the next whole line, and returns the segment that it begins, if it does.
func (s *scanner) line(line []byte) *segment {
	if s.begun {
		s.begun = false
		s.columns(line)
		return nil
	}
	if s.fence.n > 0 {
		if s.fence.closes(line) {
			s.fence, s.ended = fence{}, true
		}
		return nil
	}
	if len(bytes.TrimSpace(line)) == 0 {
		s.blank, s.table, s.pipe = true, false, false
		return nil
	}
	seg := s.text(line)
	if seg != nil {
		s.table, s.pipe = false, false
	}
	s.columns(line)
	return seg
}

// early does the same for a line that has not ended, if its beginning decides.
func (s *scanner) early(line []byte) *segment {
	if !s.blank || s.begun || s.fence.n > 0 {
		return nil
	}
	if r, _ := utf8.DecodeRune(line); !unicode.IsLetter(r) {
		return nil
	}
	seg := &segment{blank: s.blank}
	*s = scanner{begun: true}
	return seg
}

// text judges a line that is not blank and not in a fence.
func (s *scanner) text(line []byte) *segment {
	indent, rest := indentation(line)
	ended, fresh := s.ended, s.blank || s.ended || s.hollow
	seg := &segment{blank: s.blank}
	s.blank, s.ended, s.hollow = false, false, false
	switch {
	case s.content > 0 && indent >= s.content:
		s.inside(rest, indent)
		return nil
	case s.inner.n > 0 && s.inner.closes(line):
		// Strictly this opens a block that would swallow all that follows. Models
		// mean the end of the item's.
		s.leave(nil)
		s.ended = true
		return nil
	case indent > 3 && !ended: // goes on, or is code that may as well be drawn with it
		return nil
	case indent > 3:
		return s.leave(seg)
	}
	f, fenced := openFence(rest, indent)
	m, item := openItem(rest, indent)
	switch {
	case fenced:
		s.fence, seg.fence = f, f
	case heading(rest):
		s.ended = true
	case thematic(rest):
		if !fresh && rest[0] == '-' && s.content == 0 {
			return nil // the underline of a heading
		}
		s.ended = true
	case item && (fresh || s.content > 0 || m.interrupts):
		return s.item(m, seg)
	case !fresh:
		return nil
	}
	return s.leave(seg)
}

// inside follows the code blocks of the open item.
func (s *scanner) inside(rest []byte, indent int) {
	if s.inner.n > 0 {
		if s.inner.closes(rest) {
			s.inner = fence{}
		}
		return
	}
	s.inner, _ = openFence(rest, indent)
}

// leave ends the open list.
func (s *scanner) leave(seg *segment) *segment {
	s.content, s.inner, s.ordered, s.number = 0, fence{}, 0, 0
	return seg
}

// item opens a list item, in the open list if it belongs to it.
func (s *scanner) item(m marker, seg *segment) *segment {
	if s.content > 0 && m.ordered != 0 && m.ordered == s.ordered {
		s.number++
		seg.number = s.number
	} else {
		s.number = m.number
	}
	s.content, s.ordered, s.hollow = m.content, m.ordered, len(m.text) == 0
	s.inner, _ = openFence(m.text, m.content)
	return seg
}

// columns notices top-level tables.
func (s *scanner) columns(line []byte) {
	s.table = s.table || s.content == 0 && s.pipe && delimiters(string(line)) != nil
	s.pipe = bytes.IndexByte(line, '|') >= 0
}

// indentation is the columns of white space that a line begins with, and the rest.
func indentation(line []byte) (int, []byte) {
	n := 0
	for i, b := range line {
		switch b {
		case ' ':
			n++
		case '\t':
			n += 4 - n%4
		default:
			return n, line[i:]
		}
	}
	return n, nil
}

func openFence(rest []byte, indent int) (fence, bool) {
	if len(rest) == 0 || rest[0] != '`' && rest[0] != '~' {
		return fence{}, false
	}
	n := len(rest) - len(bytes.TrimLeft(rest, string(rest[:1])))
	info := strings.TrimSpace(string(rest[n:]))
	if n < 3 || rest[0] == '`' && strings.Contains(info, "`") {
		return fence{}, false
	}
	return fence{char: rest[0], n: n, indent: indent, text: string(rest[:n]), info: info}, true
}

// closes reports whether a line ends the code block.
func (f fence) closes(line []byte) bool {
	indent, rest := indentation(line)
	rest = bytes.TrimRight(rest, " \t")
	return indent < 4 && len(rest) >= f.n && len(bytes.Trim(rest, string(f.char))) == 0
}

// mayClose reports whether the beginning of a line may become the end of the block.
func (f fence) mayClose(line []byte) bool {
	indent, rest := indentation(line)
	return indent < 4 && len(bytes.Trim(bytes.TrimRight(rest, " \t"), string(f.char))) == 0
}

// strip takes the indentation of the fence off a line of the block.
func (f fence) strip(line []byte) string {
	i := 0
	for i < len(line) && i < f.indent && line[i] == ' ' {
		i++
	}
	return string(line[i:])
}

func heading(rest []byte) bool {
	n := len(rest) - len(bytes.TrimLeft(rest, "#"))
	return n >= 1 && n <= 6 && (n == len(rest) || rest[n] == ' ' || rest[n] == '\t')
}

func thematic(rest []byte) bool {
	c := rest[0]
	if c != '-' && c != '*' && c != '_' {
		return false
	}
	n := 0
	for _, b := range rest {
		switch b {
		case c:
			n++
		case ' ', '\t':
		default:
			return false
		}
	}
	return n >= 3
}

// marker is the beginning of a list item.
type marker struct {
	content    int
	text       []byte
	ordered    byte
	number     int
	interrupts bool // it ends a paragraph without a blank line
}

func openItem(rest []byte, indent int) (marker, bool) {
	var m marker
	n := 0
	for n < len(rest) && n < 9 && rest[n] >= '0' && rest[n] <= '9' {
		m.number = 10*m.number + int(rest[n]-'0')
		n++
	}
	switch {
	case n >= len(rest):
		return m, false
	case n > 0 && (rest[n] == '.' || rest[n] == ')'):
		m.ordered = rest[n]
	case n > 0 || rest[0] != '-' && rest[0] != '*' && rest[0] != '+':
		return m, false
	}
	n++
	if n < len(rest) && rest[n] != ' ' && rest[n] != '\t' {
		return m, false
	}
	pad, text := indentation(rest[n:])
	m.interrupts = len(text) > 0 && (m.ordered == 0 || m.number == 1)
	if pad == 0 || pad > 4 || len(text) == 0 {
		pad = 1
	}
	m.content, m.text = indent+n+pad, text
	return m, true
}
