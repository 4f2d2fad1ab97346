package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"
)

// Forked is a new session that begins with a part of another.
type Forked struct {
	Header Header
	Path   string
	Turn   int // the last turn it has; 0 if none
}

// ForkError says that a session has no finished turn of that number.
type ForkError struct {
	Turn int  // that was asked for; 0: the last finished one
	Last int  // the last finished turn, 0 if there is none
	Open bool // the turn that was asked for has begun and not ended
}

func (e *ForkError) Error() string {
	switch {
	case e.Open && e.Last == 0:
		return fmt.Sprintf("turn %d has not ended, and none before it has: there is nothing to fork yet", max(1, e.Turn))
	case e.Open:
		return fmt.Sprintf("turn %d has not ended: fork at turn %d or before", e.Turn, e.Last)
	case e.Last == 0:
		return "the session has no turn: there is nothing to fork at"
	}
	return fmt.Sprintf("there is no turn %d: the session has turns 1 to %d", e.Turn, e.Last)
}

// Fork makes a new session of the log at path up to the end of a turn, or, for turn 0,
// of all that is finished. What happened between that turn and the next prompt comes
// along, what waits in the inbox does not. The log may be open elsewhere or lie outside
// the store, and is never written; damage behind the turn does not matter.
//
// The copied events keep their bytes, and what they say of saved outputs points to the
// parent's.
//
// Errors: *NotFoundError, *NewerError, *DamagedError, *WriteError, *ForkError.
func Fork(root, path string, turn int) (Forked, error) {
	if err := checkRoot(root); err != nil {
		return Forked{}, err
	}
	src, err := openSource(path)
	if err != nil {
		return Forked{}, err
	}
	defer src.close()
	cut, err := findCut(src, path, turn)
	if err != nil {
		return Forked{}, err
	}
	now := time.Now().UnixMilli()
	h := cut.header
	h.ID, h.ParentSession, h.SeedLength = NewID(), h.ID, &cut.events
	if !cut.untimed {
		h.CreatedAt = now
	}
	line, err := json.Marshal(h)
	if err != nil {
		return Forked{}, fmt.Errorf("fork %s: %w", path, err)
	}
	end, err := cut.end(max(now, cut.time))
	if err != nil {
		return Forked{}, fmt.Errorf("fork %s: %w", path, err)
	}
	f := Forked{Header: h, Path: filepath.Join(sessionDir(root, h.Cwd, h.ID), logName), Turn: cut.turn}
	seed := io.NewSectionReader(src, cut.from, cut.to-cut.from)
	return f, storeLog(f.Path, func(w io.Writer) error {
		return copyBehind(w, line, io.MultiReader(seed, bytes.NewReader(end)))
	})
}

// cut is the part of a log that a fork takes over.
type cut struct {
	header   Header
	from, to int64 // bytes of the events
	events   int
	time     int64 // of the last of them
	turn     int   // the last that ended
	marked   bool  // the log itself ends with EndSeed
	unended  bool  // the last line lacks its newline
	untimed  bool  // it has events without a time, which count from the session's creation
}

// findCut reads a log until the end of the turn is certain. The events between turns
// belong to the turn before, up to the first prompt for the next.
func findCut(src *source, path string, turn int) (cut, error) {
	lines := newLineReader(src, 0, src.size)
	var ld loaded
	if err := ld.scanHeader(lines, path); err != nil {
		return cut{}, err
	}
	c := cut{header: ld.header, from: ld.size, to: ld.size, unended: ld.unended}
	for whole := false; ; {
		ended, timed, err := ld.step(lines, path)
		if err == io.EOF {
			break
		}
		if err != nil {
			return cut{}, err
		}
		last := ld.lastType()
		c.untimed = c.untimed || !timed
		switch {
		case last == TypeTurnEnd:
			whole, c.turn = true, ld.fold.order.turn
		case last == TypeTurnStart, last == TypeInboxSpliced && !ld.fold.order.turnOpen:
			whole = false
		}
		if !whole && turn > 0 && turn == c.turn {
			return c, nil
		}
		if whole || turn == 0 && !ld.fold.order.turnOpen {
			c.to, c.events, c.time = lines.offset, ld.next, ld.time
			c.marked, c.unended = last == TypeEndSeed, !ended
		}
	}
	o := &ld.fold.order
	switch {
	case turn == 0 && (c.turn > 0 || !o.turnOpen), turn > 0 && turn == c.turn:
		return c, nil
	}
	return cut{}, &ForkError{Turn: turn, Last: c.turn, Open: o.turnOpen && (turn == 0 || turn == o.turn)}
}

// timeField begins the time of an event, and of a row of chunks.
var timeField = []byte(`"time`)

// step takes one more line; timed says that it bears a time. What a crash can have left is the end, as is io.EOF.
func (ld *loaded) step(lines *lineReader, path string) (ended, timed bool, err error) {
	line, ended, err := lines.next()
	switch {
	case err == io.EOF:
		return false, false, err
	case err == errLongLine:
		return false, false, &DamagedError{Path: path, Line: lines.number + 1, Cause: err}
	case err != nil:
		return false, false, fmt.Errorf("read %s: %w", path, err)
	}
	ld.events = ld.events[:0] // only the last is asked for
	err = ld.take(line, true)
	switch number := lines.number; {
	case err == nil:
		return ended, bytes.Contains(line, timeField), nil
	case errors.As(err, new(*UnknownEventError)):
		return false, false, fmt.Errorf("%s, line %d: %w", path, number, err)
	case turnEndFollows(lines):
		return false, false, &DamagedError{Path: path, Line: number, Cause: err}
	}
	return false, false, io.EOF
}

// lastType is the type of the event that was taken last.
func (ld *loaded) lastType() Type {
	if n := len(ld.events); n > 0 {
		return ld.events[n-1].Type
	}
	return TypeAssistantChunk // they are skipped
}

// end is what follows the seed: the mark of a new life, unless it has one.
func (c *cut) end(time int64) (line []byte, err error) {
	if c.unended {
		line = []byte{'\n'}
	}
	if c.marked {
		return line, nil
	}
	return appendEvent(line, Event{Type: TypeEndSeed, Seq: c.events, Time: time, Data: EndSeed{}})
}
