package session

import (
	"bytes"
	"errors"
	"io"
)

const (
	readSize = 64 << 10  // of one read of a log
	maxLine  = 256 << 20 // bytes; a longer one is no event but damage
)

var errLongLine = errors.New("a line is longer than 256 MB")

// lineReader cuts a log into lines without bounds on their length but maxLine. It
// holds one line at a time.
type lineReader struct {
	r   io.Reader
	buf []byte
	pos int // start of what is not handed out yet
	err error

	offset int64 // of the next line
	number int   // of the last line handed out, from 1
}

// newLineReader reads the lines from one offset to another, where lines begin.
func newLineReader(r io.ReaderAt, from, to int64) *lineReader {
	return &lineReader{r: io.NewSectionReader(r, from, to-from), offset: from,
		buf: make([]byte, 0, min(readSize, to-from+1))}
}

// next is the next line without its newline, valid until the call after; ended is
// false for a last line that lacks it. At the end it returns io.EOF.
func (lr *lineReader) next() (line []byte, ended bool, err error) {
	searched := lr.pos
	for {
		if i := bytes.IndexByte(lr.buf[searched:], '\n'); i >= 0 {
			line = lr.buf[lr.pos : searched+i]
			lr.take(len(line) + 1)
			return line, true, nil
		}
		if lr.err != nil {
			break
		}
		searched = len(lr.buf) - lr.pos
		lr.fill()
	}
	if lr.err != io.EOF {
		return nil, false, lr.err
	}
	if lr.pos == len(lr.buf) {
		return nil, false, io.EOF
	}
	line = lr.buf[lr.pos:]
	lr.take(len(line))
	return line, false, nil
}

func (lr *lineReader) take(n int) {
	lr.pos += n
	lr.offset += int64(n)
	lr.number++
}

// fill moves the rest to the front and reads more behind it.
func (lr *lineReader) fill() {
	lr.buf = append(lr.buf[:0], lr.buf[lr.pos:]...)
	lr.pos = 0
	if len(lr.buf) == cap(lr.buf) {
		if len(lr.buf) >= maxLine {
			lr.err = errLongLine
			return
		}
		lr.buf = append(make([]byte, 0, 2*cap(lr.buf)), lr.buf...)
	}
	n, err := lr.r.Read(lr.buf[len(lr.buf):cap(lr.buf)])
	lr.buf = lr.buf[:len(lr.buf)+n]
	lr.err = err
}

// eachLineBack calls f with the head (at most lineHead bytes) and the offset of
// each line of the first size bytes, last line first, until f returns false. It
// reads no more of the file than that takes.
func eachLineBack(r io.ReaderAt, size int64, f func(head []byte, offset int64) bool) error {
	buf := make([]byte, min(readSize+lineHead, size))
	end := size
	for hi := size; hi > 0; {
		lo := max(0, hi-readSize)
		n, err := r.ReadAt(buf[:min(hi+lineHead, size)-lo], lo)
		if err != nil && err != io.EOF {
			return err
		}
		window := buf[:n]
		for i := min(hi-lo, int64(n)); i > 0; {
			nl := int64(bytes.LastIndexByte(window[:i], '\n'))
			if nl < 0 {
				break
			}
			if lo+nl+1 < end && !f(head(window[nl+1:]), lo+nl+1) {
				return nil
			}
			end, i = lo+nl, nl
		}
		if lo == 0 && end > 0 {
			f(head(window), 0)
		}
		hi = lo
	}
	return nil
}

// lineHead is how much of a line tells its type and time: those come first in it.
const lineHead = 256

// head is the beginning of the line that b starts with.
func head(b []byte) []byte {
	b = b[:min(len(b), lineHead)]
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		b = b[:i]
	}
	return b
}
