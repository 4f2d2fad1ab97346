package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
)

// loaded is a log as it was found.
type loaded struct {
	header  Header
	fold    *fold
	events  []Event // without the chunks that a message superseded
	next    int     // seq of the next event
	time    int64   // of the last event, or of the session's creation
	size    int64   // of what is good
	tail    Tail    // what lies behind it
	odd     error   // the first thing that Check holds against it
	unended bool    // the last good line lacks its newline
}

// Tail is what lies behind the last good line of a log. It is no part of it:
// opening the log cuts it off.
type Tail struct {
	Bytes  int64
	Line   int   // number of its first line, from 1
	Follow int   // lines behind that one
	Torn   bool  // it is one line without its end, as a crash leaves it
	Cause  error // what is wrong with its first line
}

// Damaged reports whether it is more than a crash of the writer leaves behind.
func (t *Tail) Damaged() bool { return t.Bytes > 0 && !t.Torn }

// load reads the first size bytes of the log at path. Damage at the end, where a
// crash can have made it, is left out; any other is a *DamagedError, and with it
// comes what stands before the damage.
//
// Chunks before the last assistant message are only counted: nobody needs them, and
// they are most of a log. Damage inside them that leaves the count right is found by
// whoever reads them, such as dsh verify.
func load(f io.ReaderAt, size int64, path string) (*loaded, error) {
	var tail Tail
	for end := size; ; {
		needed, err := lastMessageAt(f, end)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
		ld := &loaded{}
		if err := ld.scan(newLineReader(f, 0, end), path, needed); err != nil {
			if damaged := (*DamagedError)(nil); errors.As(err, &damaged) && ld.fold != nil {
				return ld, err
			}
			return nil, err
		}
		if ld.tail.Line > 0 {
			tail = ld.tail
		}
		if ld.size > needed {
			ld.fold.holes = false
			ld.tail = tail
			return ld, ld.tail.measure(f, ld.size, size)
		}
		end = ld.size // the message itself was cut: its chunks are needed after all
	}
}

var messagePrefix = []byte(`{"type":"assistant/message"`)

// lastMessageAt is the offset of the last assistant message, 0 if there is none.
func lastMessageAt(f io.ReaderAt, size int64) (at int64, err error) {
	err = eachLineBack(f, size, func(head []byte, offset int64) bool {
		if bytes.HasPrefix(head, messagePrefix) {
			at = offset
		}
		return at == 0
	})
	return at, err
}

// scan reads lines until the end or until damage that a crash explains. Chunks
// that lie before the offset needed are not decoded.
func (ld *loaded) scan(lines *lineReader, path string, needed int64) error {
	if err := ld.scanHeader(lines, path); err != nil {
		return err
	}
	for {
		at := lines.offset
		line, ended, err := lines.next()
		if err == io.EOF {
			return nil
		}
		if err == errLongLine {
			return &DamagedError{Path: path, Line: lines.number + 1, Cause: err}
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		if err = ld.take(line, at < needed); err == nil {
			ld.size, ld.unended = lines.offset, !ended
			continue
		}
		if unknown := (*UnknownEventError)(nil); errors.As(err, &unknown) {
			return fmt.Errorf("%s, line %d: %w", path, lines.number, err)
		}
		ld.tail.Line, ld.tail.Cause = lines.number, err
		if turnEndFollows(lines) {
			return &DamagedError{Path: path, Line: ld.tail.Line, Cause: err}
		}
		return nil
	}
}

func (ld *loaded) scanHeader(lines *lineReader, path string) error {
	line, ended, err := lines.next()
	if err == io.EOF {
		return &DamagedError{Path: path, Line: 1, Cause: errors.New("the file is empty")}
	}
	if err == nil {
		ld.header, err = DecodeHeader(line)
	}
	if newer := (*NewerError)(nil); errors.As(err, &newer) {
		return &NewerError{Path: path, Version: newer.Version}
	}
	if err != nil {
		return &DamagedError{Path: path, Line: 1, Cause: err}
	}
	ld.fold, ld.time = newFold(ld.header), ld.header.CreatedAt
	ld.fold.holes = true
	ld.size, ld.unended = lines.offset, !ended
	return nil
}

// take makes a line's events part of what is loaded, all or none.
func (ld *loaded) take(line []byte, superseded bool) error {
	if superseded && chunkRow(line) && bytes.HasSuffix(line, []byte("}}")) {
		if first, n, ok := rowSpan(line); ok && first == ld.next {
			ld.next += n
			return nil
		}
	}
	evs, err := decodeLine(line, ld.next, ld.time)
	if err != nil {
		return err
	}
	if evs[0].Seq != ld.next {
		return fmt.Errorf("event %d stands where event %d belongs", evs[0].Seq, ld.next)
	}
	for i := range evs {
		odd := ld.oddity(&evs[i])
		if err := ld.fold.load(&evs[i]); err != nil {
			return err // the first of a row, or none
		}
		ld.odd = cmp.Or(ld.odd, odd)
		ld.time = evs[i].Time
	}
	ld.next += len(evs)
	if !superseded || evs[0].Type != TypeAssistantChunk {
		ld.events = append(ld.events, evs...)
	}
	return nil
}

// oddity is what Check holds against an event that can be loaded.
func (ld *loaded) oddity(ev *Event) error {
	last := ld.time
	if ev.Seq == 0 {
		last = 0 // it need not be after the header
	}
	if err := cmp.Or(ld.fold.checkPlace(ev), checkTime(ev, last)); err != nil {
		return eventError(ev, err)
	}
	return nil
}

// measure sees how much there is from one offset to another.
func (t *Tail) measure(f io.ReaderAt, from, to int64) error {
	t.Bytes = to - from
	lines := newLineReader(f, from, to)
	for {
		switch _, ended, err := lines.next(); {
		case err == io.EOF || err == errLongLine:
			t.Follow = max(0, lines.number-1)
			return nil
		case err != nil:
			return fmt.Errorf("read what a crash left: %w", err)
		default:
			t.Torn = lines.number == 1 && !ended
		}
	}
}

// turnEndFollows reports whether a whole turn/end comes later: then the damage
// before it is not from a crash.
func turnEndFollows(lines *lineReader) bool {
	for {
		line, _, err := lines.next()
		if err != nil {
			return false
		}
		if !bytes.Contains(line, []byte(`"turn/end"`)) {
			continue
		}
		if evs, err := decodeLine(line, 0, 0); err == nil && evs[0].Type == TypeTurnEnd {
			return true
		}
	}
}
