package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"dsh/internal/llm"
)

// Snapshot is a log as it was when it was read. It holds no events: each walk reads
// the file again, up to where it ended then. It is for one goroutine.
type Snapshot struct {
	path     string
	header   Header
	size     int64
	state    State
	inbox    Inbox
	messages []*llm.Message
	closers  []Event
	err      error

	Torn bool // the file ends in a half-written record, which is not part of it
	Tail Tail // what lies behind what was read
}

// tries bounds how often Read begins again because the file changed under it.
const tries = 5

// Read reads a log, which may be written meanwhile: without a lock, and without
// changing it. What Open would append to close an interrupted turn exists in memory
// only. Errors are those of Open, without the lock's. With a *DamagedError comes what
// stands before the damage, if anything does.
func Read(path string) (*Snapshot, error) {
	for i := 1; ; i++ {
		s, odd, err := read(path)
		if !odd || i == tries {
			return s, err
		}
	}
}

// read reports, beside its result, whether that may be the work of a writer who
// changed the file in between: what was read looks torn or damaged, and the file is
// another now.
func read(path string) (s *Snapshot, odd bool, err error) {
	src, err := openSource(path)
	if err != nil {
		return nil, false, err
	}
	defer src.close()
	ld, err := load(src, src.size, path)
	if err != nil || ld.tail.Bytes > 0 {
		info, statErr := os.Stat(path)
		odd = !packed(path) && statErr == nil && info.Size() != src.size
	}
	if ld == nil {
		return nil, odd, err
	}
	s = &Snapshot{path: path, header: ld.header, size: ld.size, Torn: ld.tail.Torn || src.short, Tail: ld.tail}
	if err == nil {
		if s.closers, err = ld.close(path); err != nil {
			return nil, false, err
		}
	}
	s.state = ld.fold.state.clone()
	s.inbox = ld.fold.inbox
	s.messages, _ = ld.fold.messages()
	return s, odd, err
}

// close applies what Open would append.
func (ld *loaded) close(path string) (closed []Event, err error) {
	for i, d := range closers(ld.fold) {
		ev := d.event(ld.next+i, ld.time)
		if err := ld.fold.check(&ev); err != nil {
			return nil, fmt.Errorf("close what %s left open: %w", path, err)
		}
		ld.fold.apply(&ev)
		closed = append(closed, ev)
	}
	return closed, nil
}

// Header is the log's first line.
func (s *Snapshot) Header() Header { return s.header }

// Path is the file that was read.
func (s *Snapshot) Path() string { return s.path }

// Closers are the events that Open would append to close an interrupted turn. A
// session that another process has open may have an open turn and be well.
func (s *Snapshot) Closers() []Event { return s.closers }

// State is the runtime state after the closers.
func (s *Snapshot) State() State { return s.state.clone() }

// Messages is what the model sees after the closers, shared and immutable.
func (s *Snapshot) Messages() []*llm.Message { return s.messages }

// Pending is what waits in the inbox after the closers, next-step items first.
func (s *Snapshot) Pending() []QueueItem { return s.inbox.Items() }

// Err is what ended the last walk early, nil if nothing did.
func (s *Snapshot) Err() error { return s.err }

// Events walks all events, chunks included, without the closers. Check Err after it.
func (s *Snapshot) Events() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for _, evs := range s.walk(true) {
			for _, ev := range evs {
				if !yield(ev) {
					return
				}
			}
		}
	}
}

// Outcomes walks all events but chunks, which are most of a log: what they add up to
// is in the messages. Check Err after it.
func (s *Snapshot) Outcomes() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		for _, evs := range s.walk(false) {
			for _, ev := range evs {
				if ev.Type != TypeAssistantChunk && !yield(ev) {
					return
				}
			}
		}
	}
}

// Records walks the events, each with its line as it is stored, without the newline;
// only packed rows are taken apart into one line for each event. The header comes
// first, with the zero Event. A line is valid until the next. Check Err after it.
func (s *Snapshot) Records() iter.Seq2[[]byte, Event] {
	return func(yield func([]byte, Event) bool) {
		for line, evs := range s.walk(true) {
			if len(evs) == 0 && !yield(line, Event{}) || len(evs) > 0 && !s.apart(line, evs, yield) {
				return
			}
		}
	}
}

// apart hands out the events of one line.
func (s *Snapshot) apart(line []byte, evs []Event, yield func([]byte, Event) bool) bool {
	if len(evs) == 1 && !packedRow(line) {
		return yield(line, evs[0])
	}
	var buf []byte
	for _, ev := range evs {
		if buf, s.err = appendEvent(buf[:0], ev); s.err != nil || !yield(buf[:len(buf)-1], ev) {
			return false
		}
	}
	return true
}

func packedRow(line []byte) bool {
	return chunkRow(line) && !bytes.HasPrefix(line, chunkPrefixes[0])
}

// walk yields each line with its events; the header comes with none. Without chunks,
// lines that hold nothing else are passed over undecoded.
func (s *Snapshot) walk(chunks bool) iter.Seq2[[]byte, []Event] {
	return func(yield func([]byte, []Event) bool) {
		src, err := openSource(s.path)
		if s.err = err; err != nil {
			return
		}
		defer src.close()
		lines := newLineReader(src, 0, s.size)
		next, time := 0, s.header.CreatedAt
		for {
			line, _, err := lines.next()
			if err == io.EOF {
				if lines.offset < s.size {
					s.err = errors.New("the log became shorter while it was read: read it again")
				}
				return
			}
			if err == nil && !chunks && chunkRow(line) {
				if first, n, ok := rowSpan(line); ok && first == next {
					next += n
					continue
				}
			}
			var evs []Event
			if err == nil && lines.number > 1 {
				evs, err = decodeLine(line, next, time)
			}
			if err != nil {
				s.err = &DamagedError{Path: s.path, Line: lines.number, Cause: err}
				return
			}
			if n := len(evs); n > 0 {
				next, time = next+n, evs[n-1].Time
			}
			if !yield(line, evs) {
				return
			}
		}
	}
}
