package files

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"unicode/utf8"
)

const (
	scanBuffer = 128 << 10 // most files fit, and larger ones gain nothing from more
	maxPiece   = 1 << 20   // of a line that is looked at in one piece
	overlap    = 4 << 10   // bytes of a piece that the next one begins with
	checkSize  = 8 << 20   // a cancel is noticed after so many bytes at the latest
)

// errBinary says that a file is not text.
var errBinary = errors.New("binary file")

// errEnough ends the scan of a file of which no more is asked.
var errEnough = errors.New("enough was found")

var byteOrderMark = []byte("\xef\xbb\xbf")

// scanner looks for the lines of one file after the other. It is used by one goroutine
// at a time.
type scanner struct {
	*search
	auto *automaton
	buf  []byte

	// Of the file that is looked at.
	hits   Hits
	number int  // of the line that begins, or goes on, at the place reached
	inside bool // the place reached is within that line
	shown  int  // number of the last line in hits, or of the last that counted
	follow int  // lines of context still to come
}

func newScanner(s *search) *scanner {
	return &scanner{search: s, auto: newAutomaton(s.q.Pattern.prog), buf: make([]byte, scanBuffer)}
}

// file looks at one file. Raw system calls: the runtime's files cost as much again, for
// a poller that files do not need.
func (s *scanner) file(path string) (Hits, error) {
	fd, err := ignoringEINTR(func() (int, error) {
		return syscall.Open(path, syscall.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	})
	if err == syscall.ELOOP {
		err = fs.ErrNotExist // it became a link
	}
	if err != nil {
		return Hits{}, err
	}
	defer syscall.Close(fd)
	err = s.scan(func(b []byte) (int, error) {
		return ignoringEINTR(func() (int, error) { return syscall.Read(fd, b) })
	})
	if err == errEnough {
		err = nil
	}
	return s.hits, err
}

// scan looks at what read gives, until that is nothing.
func (s *scanner) scan(read func([]byte) (int, error)) error {
	s.hits, s.number, s.inside, s.shown, s.follow = Hits{}, 1, false, 0, 0
	filled, at := 0, 0 // buf[at:filled] was not looked at; what is before it may be context
	for begun, sum := false, 0; ; {
		n, err := read(s.buf[filled:])
		if err != nil {
			return err
		}
		if bytes.IndexByte(s.buf[filled:filled+n], 0) >= 0 {
			return errBinary
		}
		filled += n
		if sum += n; sum >= checkSize {
			sum = 0
			if err := s.ctx.Err(); err != nil {
				return err
			}
		}
		if n > 0 && filled < len(s.buf) {
			continue
		}
		if !begun && bytes.HasPrefix(s.buf[:filled], byteOrderMark) {
			filled = copy(s.buf, s.buf[len(byteOrderMark):filled])
		}
		begun = true
		if n == 0 {
			return s.lines(at, filled, false)
		}
		end := at + bytes.LastIndexByte(s.buf[at:filled], '\n') + 1
		switch {
		case end > at:
			err = s.lines(at, end, false)
			from := s.contextBefore(end)
			filled, at = copy(s.buf, s.buf[from:filled]), end-from
		case at > 0: // the line is long: its context has to go
			filled, at = copy(s.buf, s.buf[at:filled]), 0
		case len(s.buf) < maxPiece:
			s.buf = append(s.buf, make([]byte, len(s.buf))...)
		default:
			err = s.lines(0, filled, true)
			filled = copy(s.buf, s.buf[filled-overlap:filled])
		}
		if err != nil {
			return err
		}
	}
}

// contextBefore is where the lines begin that may be the context of a match behind a
// place, or that Part wants to see. Long ones are given up: there must be room for what
// follows.
func (s *scanner) contextBefore(end int) int {
	from := s.contextLines(end)
	if s.q.Part != nil && (from < end || s.q.Context == 0) {
		from = min(from, max(0, end-before))
	}
	return from
}

func (s *scanner) contextLines(end int) int {
	from := end
	for range s.q.Context {
		if from == 0 {
			break
		}
		from = bytes.LastIndexByte(s.buf[:from-1], '\n') + 1
	}
	if end-from > len(s.buf)/2 {
		return end
	}
	return from
}

// lines looks at buf[at:end]. That ends at the end of a line, unless it is cut.
func (s *scanner) lines(at, end int, cut bool) error {
	text, inside := s.buf[:end], s.inside
	for at < end {
		from, to := s.next(text, at, inside, cut)
		if from < 0 {
			break
		}
		inside = inside && from == at
		if err := s.between(text, at, from, true); err != nil {
			return err
		}
		if !inside || s.shown != s.number {
			s.hits.Count++
			if s.q.First {
				return errEnough
			}
			if err := s.add(s.number, text, from, to, true); err != nil {
				return err
			}
			s.shown, s.follow = s.number, s.q.Context
		}
		if to < end {
			s.number++
			inside = false
		}
		at = to + 1
	}
	s.inside = cut
	if at < end {
		return s.between(text, at, end, false)
	}
	return nil
}

// next finds the first line from a place on that matches: text[from:to]; from is -1 if
// there is none.
func (s *scanner) next(text []byte, at int, inside, cut bool) (from, to int) {
	p := s.q.Pattern
	for at < len(text) {
		hit := -1
		if p.literal != nil {
			hit = p.literal.index(text[at:])
		} else {
			hit = s.auto.find(text[at:], inside, cut)
		}
		if hit < 0 {
			break
		}
		hit += at
		from = at + bytes.LastIndexByte(text[at:hit], '\n') + 1
		to = len(text)
		if i := bytes.IndexByte(text[hit:], '\n'); i >= 0 {
			to = hit + i
		}
		if p.literal == nil || p.exact || s.auto.find(text[from:to], inside && from == at, cut && to == len(text)) >= 0 {
			return from, to
		}
		at, inside = to+1, false
	}
	return -1, 0
}

// between passes over text[at:to], lines without a match, and shows what of them is the
// context of the match before and, if there is one, of that behind.
func (s *scanner) between(text []byte, at, to int, match bool) error {
	for s.follow > 0 && at < to {
		end := to
		if i := bytes.IndexByte(text[at:to], '\n'); i >= 0 {
			end = at + i
		}
		if err := s.add(s.number, text, at, end, false); err != nil {
			return err
		}
		s.shown = s.number
		s.follow--
		if at = end + 1; end < to {
			s.number++
		}
	}
	if at >= to && !match {
		return nil
	}
	if at < to {
		s.number += bytes.Count(text[at:to], []byte("\n"))
	}
	if !match {
		return nil
	}
	var starts []int
	for p := to; len(starts) < s.q.Context && p > 0 && s.number-len(starts)-1 > s.shown; {
		p = bytes.LastIndexByte(text[:p-1], '\n') + 1
		starts = append(starts, p)
	}
	for i, end := len(starts)-1, 0; i >= 0; i-- {
		end = starts[i] + bytes.IndexByte(text[starts[i]:], '\n')
		if err := s.add(s.number-i-1, text, starts[i], end, false); err != nil {
			return err
		}
	}
	return nil
}

// add keeps a line, all[from:to].
func (s *scanner) add(number int, all []byte, from, to int, match bool) error {
	if s.q.Counts {
		return nil
	}
	text := bytes.TrimSuffix(all[from:to], []byte("\r"))
	l := Line{Number: number, Match: match}
	if len(text) > maxLine {
		l.Text, l.Cut = s.head(text), true
	} else {
		l.Text = strings.ToValidUTF8(string(text), string(utf8.RuneError))
		if s.q.Part != nil {
			l.Text = s.q.Part(string(all[max(0, from-before):from]), l.Text)
		}
	}
	s.hits.Lines = append(s.hits.Lines, l)
	return s.keep(l.Text)
}

// head is the beginning of a line that is too long.
func (s *scanner) head(text []byte) string {
	seen := strings.ToValidUTF8(string(text[:min(len(text), maxLine+beyond)]), string(utf8.RuneError))
	n := maxLine
	if s.q.Clean != nil {
		seen = s.q.Clean(seen)
		if len(text) > maxLine+beyond { // what Clean did not see the end of is not shown
			n = min(n, max(len(seen)-beyond, 0))
		}
	}
	if len(seen) <= n {
		return seen
	}
	for n > 0 && !utf8.RuneStart(seen[n]) {
		n--
	}
	return seen[:n]
}

func ignoringEINTR(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != syscall.EINTR {
			return n, err
		}
	}
}
