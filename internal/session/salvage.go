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

// Salvaged is the copy of a damaged log.
type Salvaged struct {
	Header Header
	Path   string
	Events int    // that could be read
	Lost   []Loss // in the order of the lines; at most maxLosses of them
	More   int    // losses beyond those
	Turns  int    // the number of the last turn
}

// Loss is what a copy lacks.
type Loss struct {
	Line  int // of the damaged log, from 1
	Cause error
}

// ErrNotDamaged says that there is nothing to salvage.
var ErrNotDamaged = errors.New("there is nothing to salvage: at most its last record is half-written, and dsh resume opens it")

const (
	// maxLosses bounds what is named one by one: more is no report.
	maxLosses = 100
	// maxGap is the most events that one damage may have swallowed. A larger jump of the
	// numbers is itself damage.
	maxGap = 1 << 20
)

// Salvage copies everything that can be read of the log at path into the store, as a
// new session whose parent it is. What is lost is replaced by Lost events, so that the
// events behind it keep their seqs. A header that cannot be read is made up, with the
// directory cwd. The log itself is never written.
//
// Errors: ErrNotDamaged, *NotFoundError, *NewerError, *WriteError, *DamagedError if
// nothing can be read.
func Salvage(root, path, cwd string) (Salvaged, error) {
	if err := checkRoot(root); err != nil {
		return Salvaged{}, err
	}
	src, err := openSource(path)
	if err != nil {
		return Salvaged{}, err
	}
	defer src.close()
	s := salvage{path: path, src: src}
	if err := s.begin(root, path, cwd); err != nil {
		return Salvaged{}, err
	}
	h := s.result.Header
	s.result.Path = filepath.Join(sessionDir(root, h.Cwd, h.ID), logName)
	if err := storeLog(s.result.Path, s.copy); err != nil {
		return Salvaged{}, err
	}
	s.result.Turns = s.ld.fold.order.turn
	return s.result, nil
}

// salvage is a copy being made.
type salvage struct {
	path   string
	src    *source
	lines  *lineReader
	ld     loaded // what was copied; its events are not kept
	result Salvaged
	bad    int  // the first of the lines that were left out since the last good one; 0: none
	torn   bool // the last line was left out, and lacks its end
}

// begin reads the header, or makes one up.
func (s *salvage) begin(root, path, cwd string) error {
	s.lines = newLineReader(s.src, 0, s.src.size)
	err := s.ld.scanHeader(s.lines, path)
	var damaged *DamagedError
	switch {
	case err == nil:
		if in, ok := inStore(root, path); ok {
			err = s.ld.belongs(in)
		}
	case errors.As(err, &damaged):
		s.ld.header = Header{ID: idOf(path), Cwd: cwd, CreatedAt: time.Now().UnixMilli()}
		s.ld.fold = newFold(s.ld.header)
		first := newLineReader(s.src, 0, s.src.size)
		if line, _, err := first.next(); err == nil {
			if _, err := decodeLine(line, 0, 0); err == nil { // the header is missing
				s.lines = newLineReader(s.src, 0, s.src.size)
			}
		}
	default:
		return err
	}
	if errors.As(err, &damaged) {
		s.lose(1, damaged.Cause)
		s.bad = 0 // it is no event
	}
	h := s.ld.header
	h.ParentSession, h.ID = h.ID, NewID()
	s.result.Header = h
	return nil
}

// copy writes what can be read.
func (s *salvage) copy(w io.Writer) error {
	line, err := json.Marshal(s.result.Header)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	for err == nil {
		var ended bool
		line, ended, err = s.lines.next()
		switch {
		case err == io.EOF:
			return s.judge()
		case err == errLongLine: // there is no way over it
			s.lose(s.lines.number+1, fmt.Errorf("%w: the rest is left out", err))
			return s.judge()
		case err != nil:
			return fmt.Errorf("read what can be salvaged: %w", err)
		}
		evs, cause := decodeLine(line, s.ld.next, s.ld.time)
		if cause == nil {
			err = s.fill(w, evs)
			cause = s.take(evs)
		}
		if cause != nil {
			s.lose(s.lines.number, cause)
			s.torn = !ended
			continue
		}
		s.bad = 0
		s.result.Events += len(evs)
		if err == nil {
			_, err = w.Write(append(bytes.Clone(line), '\n'))
		}
	}
	return err
}

// judge decides whether the copy was worth making.
func (s *salvage) judge() error {
	if s.result.Events == 0 {
		return &DamagedError{Path: s.path, Line: 1, Cause: errors.New("no event of it can be read")}
	}
	if n := len(s.result.Lost); n == 0 || n == 1 && s.torn {
		return ErrNotDamaged
	}
	return nil
}

func (s *salvage) lose(line int, cause error) {
	if s.bad == 0 {
		s.bad = line
	}
	if len(s.result.Lost) == maxLosses {
		s.result.More++
		return
	}
	s.result.Lost = append(s.result.Lost, Loss{line, cause})
}

// take makes events part of the copy, all or none.
func (s *salvage) take(evs []Event) error {
	if evs[0].Seq != s.ld.next {
		return fmt.Errorf("event %d stands where event %d belongs", evs[0].Seq, s.ld.next)
	}
	for i := range evs {
		if err := s.ld.fold.load(&evs[i]); err != nil {
			return err // the first of a row, or none
		}
	}
	s.ld.next += len(evs)
	s.ld.time = max(s.ld.time, evs[len(evs)-1].Time)
	return nil
}

// fill writes Lost events for the seqs before the first of evs, if its number can be
// believed.
func (s *salvage) fill(w io.Writer, evs []Event) error {
	first := evs[0].Seq
	if first <= s.ld.next || first-s.ld.next > maxGap || !s.follows(evs[len(evs)-1].Seq+1) {
		return nil
	}
	line := s.bad
	if line == 0 { // nothing was left out: lines are missing
		s.lose(s.lines.number, fmt.Errorf("%d events before it are missing", first-s.ld.next))
		line = s.lines.number
	}
	var buf []byte
	for s.ld.next < first {
		ev := Event{Type: TypeLost, Seq: s.ld.next, Time: s.ld.time, Data: Lost{Line: line}, Ignorable: true}
		var err error
		if buf, err = appendEvent(buf[:0], ev); err != nil {
			return err
		}
		if err = s.take([]Event{ev}); err != nil {
			return err
		}
		if _, err = w.Write(buf); err != nil {
			return err
		}
	}
	return nil
}

// follows reports whether the next line goes on with a seq. One that cannot be read
// speaks neither for nor against it: then it counts that something was left out.
func (s *salvage) follows(seq int) bool {
	line, _, err := newLineReader(s.src, s.lines.offset, s.src.size).next()
	if err != nil {
		return true // the last line
	}
	evs, err := decodeLine(line, seq, s.ld.time)
	if err != nil {
		return s.bad > 0
	}
	return evs[0].Seq == seq
}
