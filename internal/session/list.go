package session

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Entry is what a list shows of a session: its header, and what can be told of the
// rest without loading it.
type Entry struct {
	ID, Path, Cwd string
	Parent        string // id of the session that it was forked or copied from, or ""
	Title         string // or the beginning of the first prompt; may be ""
	CreatedAt     int64  // milliseconds since 1970
	LastUse       int64  // time of the last event, or of the creation; of a damaged log, the file's
	Damaged       error  // why the session cannot be opened, a *NewerError too; the rest may be empty then
	LockedBy      int    // pid of the living process that writes it, 0 if none

	child bool // of a sub-agent
}

// OutDir is the directory of the session's artifacts; it need not exist.
func (e *Entry) OutDir() string { return filepath.Join(filepath.Dir(e.Path), outName) }

const (
	maxTitle   = 80 // runes of a first prompt that stand in for a title
	titleLines = 32 // at a log's start, in which a first prompt is looked for
)

// List is every session of the store, last used first. A damaged one is in it and
// says so. A store that does not exist yet is empty.
func List(root string) ([]Entry, error) {
	paths, err := logs(root, func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	return entries(paths), nil
}

// Find is the session that what names: a path, a whole id, or the beginning of one.
// Errors: *NotFoundError, *AmbiguousError.
func Find(root, what string) (Entry, error) {
	if strings.ContainsRune(what, filepath.Separator) || packed(what) || strings.HasSuffix(what, ".jsonl") {
		return findPath(root, what)
	}
	paths, err := logs(root, func(id string) bool { return what != "" && strings.HasPrefix(id, what) })
	if err != nil {
		return Entry{}, err
	}
	for _, path := range paths {
		if idOf(path) == what {
			paths = []string{path}
			break
		}
	}
	found := entries(paths)
	switch len(found) {
	case 0:
		return Entry{}, &NotFoundError{What: what}
	case 1:
		return found[0], nil
	}
	e := &AmbiguousError{Prefix: what}
	for _, entry := range found {
		e.IDs = append(e.IDs, entry.ID)
	}
	return Entry{}, e
}

func findPath(root, path string) (Entry, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return Entry{}, err
	}
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		path = filepath.Join(path, logName)
		_, err = os.Stat(path)
	}
	if err != nil {
		return Entry{}, &NotFoundError{What: path}
	}
	if in, ok := inStore(root, path); ok {
		return entry(in, true), nil
	}
	return entry(path, false), nil
}

// Latest is the session of a project that was used last, leaving out those of
// sub-agents. One that cannot be opened is not passed over: an older one is not what
// was asked for. Errors: *NotFoundError, *UnusableError.
func Latest(root, cwd string) (Entry, error) {
	paths, err := logsIn(filepath.Join(root, slug(cwd)), func(string) bool { return true })
	if err != nil {
		return Entry{}, err
	}
	for _, e := range entries(paths) {
		switch {
		case e.child:
		case e.Damaged != nil && (e.Cwd == "" || e.Cwd == cwd):
			return Entry{}, &UnusableError{ID: e.ID, Cause: e.Damaged}
		case e.Cwd == cwd:
			return e, nil
		}
	}
	return Entry{}, &NotFoundError{}
}

// logs are the paths of the stored logs whose id is wanted.
func logs(root string, want func(id string) bool) ([]string, error) {
	if err := checkRoot(root); err != nil {
		return nil, err
	}
	projects, err := os.ReadDir(root)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var paths []string
	for _, p := range projects {
		if more, err := logsIn(filepath.Join(root, p.Name()), want); err == nil {
			paths = append(paths, more...)
		}
	}
	return paths, nil
}

// logsIn are those of one project. A session without events, or with an empty file,
// does not exist: its writer died before it had accepted anything.
func logsIn(project string, want func(id string) bool) ([]string, error) {
	dirs, err := os.ReadDir(project)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var paths []string
	for _, d := range dirs {
		path := filepath.Join(project, d.Name(), logName)
		if !want(d.Name()) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

func entries(paths []string) []Entry {
	list := make([]Entry, len(paths))
	for i, path := range paths {
		list[i] = entry(path, true)
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(b.LastUse, a.LastUse), cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// entry looks at the first lines of a log, and from its end back to its title.
func entry(path string, stored bool) Entry {
	e := Entry{ID: idOf(path), Path: path}
	if info, err := os.Stat(path); err == nil {
		e.LastUse = info.ModTime().UnixMilli()
	}
	src, err := openSource(path)
	if err != nil {
		e.Damaged = err
		return e
	}
	defer src.close()
	lines := newLineReader(src, 0, src.size)
	var ld loaded
	err = ld.scanHeader(lines, path)
	if err == nil && stored {
		e.LockedBy = holder(filepath.Dir(path))
		err = ld.belongs(path)
	}
	if err != nil {
		e.Damaged = err
		return e
	}
	h := ld.header
	e.ID, e.Cwd, e.Parent, e.CreatedAt, e.LastUse, e.child = h.ID, h.Cwd, h.ParentSession, h.CreatedAt, h.CreatedAt, h.Origin != ""
	e.lookBack(src)
	if e.Title == "" {
		e.Title = firstPrompt(lines)
	}
	return e
}

var titlePrefix = []byte(`{"type":"session/title"`)

// lookBack finds the time of the last event and the last title.
func (e *Entry) lookBack(src *source) {
	timed := false
	_ = eachLineBack(src, src.size, func(head []byte, offset int64) bool {
		if time, ok := headTime(head); ok && !timed {
			e.LastUse, timed = max(e.LastUse, time), true // a fork is newer than what it took over
		}
		if !bytes.HasPrefix(head, titlePrefix) {
			return true
		}
		line, _, err := newLineReader(src, offset, src.size).next()
		if err != nil {
			return true
		}
		evs, err := decodeLine(line, 0, 0)
		if err != nil {
			return true // torn: an older one counts
		}
		title, _ := evs[0].Data.(Title)
		e.Title = title.Title
		return e.Title == ""
	})
}

// headTime reads the time of an event, or of a row's first, from a line's head.
func headTime(head []byte) (int64, bool) {
	head, _, _ = bytes.Cut(head, []byte(`"data":`))
	for _, key := range []string{`"time":`, `"time0":`} {
		if _, digits, ok := bytes.Cut(head, []byte(key)); ok {
			end := max(0, bytes.IndexByte(digits, ','))
			time, err := strconv.ParseInt(string(digits[:end]), 10, 64)
			return time, err == nil
		}
	}
	return 0, false
}

// firstPrompt is the beginning of the first message that waited or was read.
func firstPrompt(lines *lineReader) string {
	for range titleLines {
		line, _, err := lines.next()
		if err != nil {
			return ""
		}
		evs, err := decodeLine(line, 0, 0)
		if err != nil {
			continue
		}
		switch p := evs[0].Data.(type) {
		case InboxSpliced:
			if len(p.Inserted) > 0 {
				return firstLine(p.Inserted[0].PlainText())
			}
		case UserMessage:
			return firstLine(p.PlainText())
		}
	}
	return ""
}

func firstLine(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if r := []rune(text); len(r) > maxTitle {
		return string(r[:maxTitle-1]) + "…"
	}
	return text
}
