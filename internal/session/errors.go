package session

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrClosed is returned by a Log after Close.
var ErrClosed = errors.New("the session is closed")

// LockedError says that another process writes the session. It can still be read.
type LockedError struct {
	Path string // of the log
	PID  int    // of the writer; 0 when it could not be told
}

func (e *LockedError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	name := shortName(e.Path)
	return fmt.Sprintf("session %s is open in %s: leave it there first, go on in a copy (dsh sessions fork %s) or read it (dsh log %s)",
		name, who, name, name)
}

// DamagedError says that a log is damaged where a crash cannot have done it, or so
// that nothing of it can be used.
type DamagedError struct {
	Path  string
	Line  int // from 1
	Cause error
}

func (e *DamagedError) Error() string {
	text := fmt.Sprintf("%s is damaged in line %d (%v): nothing was changed", e.Path, e.Line, e.Cause)
	if e.Line > 1 {
		name := shortName(e.Path)
		text += fmt.Sprintf("; dsh log %s prints what stands before it, dsh sessions repair %s copies all that can be read", name, name)
	}
	return text
}

func (e *DamagedError) Unwrap() error { return e.Cause }

// AmbiguousError says that a prefix names several sessions.
type AmbiguousError struct {
	Prefix string
	IDs    []string // all that match, newest first
}

// maxNamed bounds the ids an AmbiguousError spells out: a screen line or two.
const maxNamed = 4

func (e *AmbiguousError) Error() string {
	named := e.IDs
	more := ""
	if len(named) > maxNamed {
		more = fmt.Sprintf(" and %d more", len(named)-maxNamed)
		named = named[:maxNamed]
	}
	return fmt.Sprintf("%q names %d sessions (%s%s): give more of the id", e.Prefix, len(e.IDs), strings.Join(named, ", "), more)
}

// NotFoundError says that no session has the name.
type NotFoundError struct{ What string }

func (e *NotFoundError) Error() string {
	if e.What == "" {
		return "there is no session here: dsh sessions list shows all"
	}
	return fmt.Sprintf("no session %q: dsh sessions list shows all", e.What)
}

// UnusableError says that the session that was meant cannot be opened.
type UnusableError struct {
	ID    string
	Cause error
}

func (e *UnusableError) Error() string {
	id := e.ID
	if uuidLike(id) {
		id = id[:shortID]
	}
	return fmt.Sprintf("the last session here, %s, cannot be continued: %v; to take another, name it (dsh sessions list --here)", id, e.Cause)
}

func (e *UnusableError) Unwrap() error { return e.Cause }

// ExistsError says that a session of that id is already stored.
type ExistsError struct{ ID, Path string }

func (e *ExistsError) Error() string {
	return fmt.Sprintf("session %s exists already (%s): resume it, or take another id", e.ID, e.Path)
}

// WriteError says that events could not be stored. What was stored before is whole,
// and a later Append may succeed.
type WriteError struct {
	Path  string
	Cause error
}

func (e *WriteError) Error() string {
	dir := filepath.Dir(e.Path)
	switch {
	case errors.Is(e.Cause, syscall.ENOSPC):
		return fmt.Sprintf("disk full: free space on %s; the session could not be written (%v)", dir, e.Cause)
	case errors.Is(e.Cause, syscall.EDQUOT):
		return fmt.Sprintf("disk quota used up: free space on %s; the session could not be written (%v)", dir, e.Cause)
	case errors.Is(e.Cause, syscall.EFBIG):
		return fmt.Sprintf("file size limit reached: raise it (ulimit -f) or start a new session; %s could not be written (%v)", e.Path, e.Cause)
	case errors.Is(e.Cause, syscall.EROFS), errors.Is(e.Cause, syscall.EACCES), errors.Is(e.Cause, syscall.EPERM):
		return fmt.Sprintf("%s is not writable: make it so, or move the state with DSH_HOME (%v)", dir, e.Cause)
	case errors.Is(e.Cause, syscall.ENOENT), errors.Is(e.Cause, syscall.ENOTDIR):
		return fmt.Sprintf("there is no place for %s: set DSH_HOME to a directory (%v)", e.Path, e.Cause)
	}
	return fmt.Sprintf("the session could not be written to %s: %v", e.Path, e.Cause)
}

func (e *WriteError) Unwrap() error { return e.Cause }

// shortName is how a person names the session of a log: the first characters of
// its id, or its path when it does not lie in a store.
func shortName(path string) string {
	id := idOf(path)
	if filepath.Base(path) == logName && uuidLike(id) {
		return id[:shortID]
	}
	return path
}
