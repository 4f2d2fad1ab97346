package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Opened says what Open had to do. All of it is in the log by now.
type Opened struct {
	Cut        Tail        // most likely a record that a crash left half-written
	Kept       string      // file that has what was cut, when that was more than a half-written record; else ""
	Odd        error       // the first thing that Check holds against the log, which can be gone on with all the same
	Closed     []Event     // what closed a turn that a crash left open
	Requeued   []QueueItem // claimed before the crash, never seen by the model, waiting again
	Held       []QueueItem // everything that waits: it is sent only when the user says so
	Lost       []string    // ids of the jobs that died with the process
	CopiedFrom string      // the log that was copied into the store; "" when it was there
}

// Open continues a stored session: it takes the lock, cuts a torn end, and appends
// what closes an interrupted turn and marks the begin of a new life. Opening again
// without appending adds nothing.
//
// A log outside the store root, or a compressed one, is copied into it under a new
// id, and the copy is opened; the original is never written.
//
// Errors: *NotFoundError, *LockedError, *NewerError, *DamagedError, *WriteError, and
// *UnknownEventError for an event that must be understood and is not.
func Open(root, path string) (*Log, Opened, error) {
	if err := checkRoot(root); err != nil {
		return nil, Opened{}, err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return nil, Opened{}, &NotFoundError{What: path}
	} else if err != nil {
		return nil, Opened{}, fmt.Errorf("open session: %w", err)
	}
	if in, ok := inStore(root, path); ok {
		return openStored(root, in)
	}
	to, cut, err := copyIn(root, path)
	if err != nil {
		return nil, Opened{}, err
	}
	l, opened, err := openStored(root, to)
	opened.CopiedFrom, opened.Cut = path, cut
	return l, opened, err
}

func openStored(root, path string) (*Log, Opened, error) {
	lock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return nil, Opened{}, err
	}
	l, opened, err := openLocked(root, path)
	if err != nil {
		return nil, Opened{}, errors.Join(err, lock.release())
	}
	l.lock = lock
	err = l.repair(&opened)
	if err != nil {
		return nil, Opened{}, errors.Join(err, l.Close())
	}
	return l, opened, nil
}

// openLocked loads the log and opens its file behind what is good. What lies there is
// kept in a file of its own, unless it is the half of a record that a crash left.
func openLocked(root, path string) (l *Log, opened Opened, err error) {
	ld, err := loadFile(path)
	if err != nil {
		return nil, opened, err
	}
	if err := ld.belongs(path); err != nil {
		return nil, opened, err
	}
	opened.Cut, opened.Odd = ld.tail, ld.odd
	if ld.tail.Damaged() {
		if opened.Kept, err = keepTail(path, ld.size); err != nil {
			return nil, opened, err
		}
	}
	l = &Log{root: root, header: ld.header, path: path, fold: ld.fold, events: ld.events,
		next: ld.next, written: ld.next, clock: newClock(ld.time)}
	if ld.unended {
		l.glue = []byte{'\n'}
	}
	l.file, err = openFile(path, ld.size)
	return l, opened, err
}

// belongs refuses a stored log that lies in another session's directory: its lock
// would not be that session's.
func (ld *loaded) belongs(path string) error {
	if ld.header.ID == idOf(path) {
		return nil
	}
	return &DamagedError{Path: path, Line: 1,
		Cause: fmt.Errorf("it is session %q in the directory of %q", ld.header.ID, idOf(path))}
}

// repair appends the closers, in the time of the last event, and the end of the
// former life's part, in one write.
func (l *Log) repair(opened *Opened) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	drafts := closers(l.fold)
	closed := len(drafts)
	if n := len(l.events); n == 0 || closed > 0 || l.events[n-1].Type != TypeEndSeed {
		drafts = append(drafts, Draft{Data: EndSeed{}})
	}
	evs, err := l.append(l.build(drafts, l.clock.last))
	if err != nil {
		return err
	}
	requeued := map[string]bool{}
	for _, ev := range evs[:closed] {
		switch p := ev.Data.(type) {
		case InboxSpliced:
			for _, m := range p.Inserted {
				requeued[m.ID] = true
			}
		case JobSettled:
			opened.Lost = append(opened.Lost, p.ID)
		case InboxHeld:
		default:
			opened.Closed = append(opened.Closed, ev)
		}
	}
	for _, item := range l.fold.inbox.Items() {
		if item.Held {
			opened.Held = append(opened.Held, item)
		}
		if requeued[item.ID] && !strings.HasPrefix(item.ID, lostNotice) {
			opened.Requeued = append(opened.Requeued, item)
		}
	}
	return nil
}
