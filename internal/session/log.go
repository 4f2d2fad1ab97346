package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// flushAfter is how long a chunk may wait for the disk: a crash loses that much of
// an answer, and a fast stream costs five writes a second.
const flushAfter = 200 * time.Millisecond

// keepBuffer is the largest write buffer that is kept for the next batch.
const keepBuffer = 1 << 20

// Log is one session being written: the file, what is folded from it, and those
// who read along. Its methods may be called from any goroutine; none calls back.
//
// What is promised: an event that Append returned has left the process (a killed
// process loses nothing but chunks younger than 200 ms); what was appended before a
// successful Sync survives a power cut. Readers see events in order, after they
// were written, chunks at once.
type Log struct {
	root   string
	header Header
	path   string

	mu      sync.Mutex
	lock    *writerLock // nil until the first write of a created log
	file    *logFile    // likewise
	fold    *fold
	events  []Event // by seq: all but the chunks that a message superseded
	next    int     // seq of the next event
	written int     // seq of the first event that is not in the file: a waiting chunk
	glue    []byte  // precedes the next write: the header, or a newline that a crash lost
	buf     []byte
	clock   clock
	err     error // of the last write, until one succeeds
	closed  bool

	readers  map[*Reader]struct{}
	flusher  *time.Timer // armed while a chunk waits
	flushing sync.WaitGroup
}

// Create begins a session. Nothing is on disk until the first Append, which makes
// the directories, takes the lock and writes header and events in one write. root
// is the absolute directory of the store; an empty id gets a new one, an id that is
// stored already is refused.
func Create(root string, h Header) (*Log, error) {
	if h.ID == "" {
		h.ID = NewID()
	}
	if h.CreatedAt == 0 {
		h.CreatedAt = time.Now().UnixMilli()
	}
	if err := cmp.Or(checkRoot(root), checkID(h.ID)); err != nil {
		return nil, err
	}
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("create session: %w", err)
	}
	if path := stored(root, h.ID); path != "" {
		return nil, &ExistsError{ID: h.ID, Path: path}
	}
	return &Log{
		root: root, header: h, path: filepath.Join(sessionDir(root, h.Cwd, h.ID), logName),
		fold: newFold(h), glue: append(line, '\n'), clock: newClock(h.CreatedAt),
	}, nil
}

// Header is the log's first line.
func (l *Log) Header() Header { return l.header }

// Path is the log's file; it need not exist before the first Append.
func (l *Log) Path() string { return l.path }

// OutDir is the directory for artifacts, beside the log. Who writes the first one
// makes it, with mode 0700.
func (l *Log) OutDir() string { return filepath.Join(filepath.Dir(l.path), outName) }

// Append adds events, all or none: numbered, timed, checked against the log, and
// written with one write(2) before anybody sees them. Events that are all chunks
// are seen at once and written within 200 ms, or with the next other event.
//
// The log takes the drafts over: what they point to must not change any more. A
// *WriteError means that nothing was added and that a later Append may succeed;
// any other error is a mistake of the caller.
func (l *Log) Append(drafts ...Draft) ([]Event, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, ErrClosed
	}
	return l.append(l.build(drafts, l.clock.now()))
}

func (l *Log) append(evs []Event) ([]Event, error) {
	if len(evs) == 0 {
		return nil, nil
	}
	if err := l.fold.checkAll(evs); err != nil {
		return nil, err
	}
	if onlyChunks(evs) {
		if _, err := appendBatch(l.buf[:0], evs); err != nil {
			return nil, err // found out now, not when they wait for the disk
		}
		l.commit(evs)
		l.armFlusher()
		return evs, nil
	}
	if err := l.write(evs); err != nil {
		return nil, err
	}
	l.commit(evs)
	return evs, nil
}

// build makes events of drafts.
func (l *Log) build(drafts []Draft, time int64) []Event {
	evs := make([]Event, len(drafts))
	for i := range drafts {
		evs[i] = drafts[i].event(l.next+i, time)
	}
	return evs
}

// commit makes events part of the log and tells the readers.
func (l *Log) commit(evs []Event) {
	for i := range evs {
		l.fold.apply(&evs[i])
	}
	l.events = append(l.events, evs...)
	l.next += len(evs)
	if i := lastMessage(evs); i >= 0 {
		l.dropChunks(len(l.events) - len(evs) + i)
	}
	l.wake()
}

// dropChunks forgets the chunks before the assistant message at index i. None lie
// before the message before it, so an event is looked at once.
func (l *Log) dropChunks(i int) {
	from := i
	for from > 0 && l.events[from-1].Type != TypeAssistantMessage {
		from--
	}
	kept := slices.DeleteFunc(l.events[from:i], func(ev Event) bool { return ev.Type == TypeAssistantChunk })
	l.events = slices.Delete(l.events, from+len(kept), i)
}

func lastMessage(evs []Event) int {
	for i := len(evs) - 1; i >= 0; i-- {
		if evs[i].Type == TypeAssistantMessage {
			return i
		}
	}
	return -1
}

func onlyChunks(evs []Event) bool {
	return !slices.ContainsFunc(evs, func(ev Event) bool { return ev.Type != TypeAssistantChunk })
}

// Sync makes everything appended so far survive a power cut, or says that it may
// not: then nothing may be done that relies on it. It does not hold up others.
func (l *Log) Sync() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	err := l.write(nil)
	file := l.file
	var size int64
	if file != nil {
		size = file.size
	}
	l.mu.Unlock()
	if err != nil || file == nil {
		return err
	}
	return file.sync(size)
}

// Close writes and syncs what waits, ends the log's goroutine and gives the session
// back. It returns what could not be stored; a second Close does nothing.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	err := l.write(nil)
	l.stopFlusher()
	l.wake()
	l.mu.Unlock()
	l.flushing.Wait()
	if l.file != nil {
		err = errors.Join(err, l.file.sync(l.file.size), l.file.close())
	}
	if l.lock != nil {
		err = errors.Join(err, l.lock.release())
	}
	return err
}

// Err is the error of the last write, nil once one succeeded: chunks that wait
// for a full disk are reported here and by the next Append or Sync.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// clock gives times that never go backwards, whatever the wall clock does.
type clock struct {
	start time.Time
	last  int64
}

func newClock(last int64) clock { return clock{time.Now(), last} }

// now is in milliseconds since 1970.
func (c *clock) now() int64 {
	c.last = max(c.last, c.start.UnixMilli()+time.Since(c.start).Milliseconds())
	return c.last
}
