package session

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

// write puts the waiting chunks and evs into the file with one write(2); nothing to
// write is no error. On an error nothing of them is in the file, and the chunks
// go on waiting. The caller holds mu.
func (l *Log) write(evs []Event) error {
	waiting := l.events[len(l.events)-(l.next-l.written):]
	if len(waiting)+len(evs) == 0 {
		return nil
	}
	last := l.next + len(evs) - 1
	lines, err := appendBatch(append(l.buf[:0], l.glue...), waiting)
	if err == nil {
		lines, err = appendBatch(lines, evs)
	}
	if err != nil {
		return err // not the disk's fault: the events cannot be written at all
	}
	if cap(lines) <= keepBuffer {
		l.buf = lines
	}
	if l.file == nil {
		err = l.create(lines, last)
	} else {
		err = l.file.write(lines, l.written, last)
	}
	l.err = err
	if err != nil {
		return err
	}
	l.glue = nil
	l.written = last + 1
	l.stopFlusher()
	return nil
}

// create makes the session's directory, locks it and writes the first lines.
func (l *Log) create(lines []byte, last int) error {
	dir := filepath.Dir(l.path)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return &WriteError{Path: l.path, Cause: err}
	}
	if l.lock == nil {
		lock, err := lockDir(dir)
		if err != nil {
			return err
		}
		l.lock = lock
	}
	file, err := createFile(l.path, lines, last)
	if errors.Is(err, os.ErrExist) {
		return &ExistsError{ID: l.header.ID, Path: l.path}
	}
	l.file = file
	return err
}

// armFlusher starts the window of the first chunk that waits; later chunks do not
// prolong it. The caller holds mu.
func (l *Log) armFlusher() {
	if l.flusher != nil {
		return
	}
	l.flushing.Add(1)
	l.flusher = time.AfterFunc(flushAfter, func() {
		defer l.flushing.Done()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.flusher = nil
		_ = l.write(nil) // kept in err, and tried again by the next Append or Sync
	})
}

// stopFlusher ends the window; if it has just ended by itself, its flush finds
// nothing to do. The caller holds mu.
func (l *Log) stopFlusher() {
	if l.flusher != nil && l.flusher.Stop() {
		l.flusher = nil
		l.flushing.Done()
	}
}
