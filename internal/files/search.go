package files

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Query is what a search looks for.
type Query struct {
	Pattern *Pattern
	Include *Glob // only files whose path matches; nil for all
	Context int   // lines before and after each match
	Counts  bool  // only how many lines match, not the lines
	First   bool  // only whether a line matches: a file is left at its first, and its count is 1

	// Clean takes out of a long line what must not be seen, before it is cut, where half
	// of it would stay; nil takes nothing. Several goroutines call it.
	Clean func(string) string
	// Part gives what to show of a line that follows on before, which is the end of the
	// file's text ahead of it, and lent for the call: a line may be a part of what must not
	// be seen. Nil shows all. Several goroutines call it.
	Part func(before []byte, line string) string
}

// Hits are the lines of a file that match.
type Hits struct {
	Path  string // relative to the root, with "/"; "." if the root is the file
	Count int    // of matching lines
	Lines []Line // those, and their context, in order; empty if only counts were asked for
}

// Line is a line of a file, without its end.
type Line struct {
	Number int    // from 1
	Text   string // at most maxLine bytes
	Cut    bool   // there was more
	Match  bool   // else it is context
}

// maxLine is how much of a line is kept, in bytes: longer ones are made by machines.
const maxLine = 2000

// beyond is how much behind that Clean sees, in bytes: the most it needs to know what
// begins before.
const beyond = 4 << 10

// before is how much ahead of a line Part sees, in bytes: more than the longest private
// key in use.
const before = 8 << 10

// Search gives the files below a root, or the root if it is a file, with lines that
// match, sorted by path. Links are not followed, and files that hold a NUL byte are not
// text. Memory is bounded whatever the files are like: more lines than can be kept end
// the search with ErrTooMuch. A line of more than a MiB is searched in overlapping
// pieces.
func Search(ctx context.Context, root string, q Query, o Options) ([]Hits, Skipped, error) {
	o.Links = false
	q.Counts = q.Counts || q.First
	if q.Counts {
		q.Context = 0
	}
	if q.Include != nil {
		o.Hidden = o.Hidden || q.Include.Hidden()
	}
	s := search{ctx: ctx, q: q, o: o}
	s.scanners.New = func() any { return newScanner(&s) }
	skipped, err := Walk(ctx, root, o, s.visit)
	if err == nil {
		err = ctx.Err() // nothing looked at it behind the last file
	}
	if err != nil {
		return nil, Skipped{}, err
	}
	skipped.add(s.skipped)
	slices.SortFunc(s.found, func(a, b Hits) int { return strings.Compare(a.Path, b.Path) })
	return s.found, skipped, nil
}

// search is what the workers share.
type search struct {
	ctx      context.Context
	q        Query
	o        Options
	scanners sync.Pool
	kept     atomic.Int64 // bytes of what was found

	mu      sync.Mutex
	found   []Hits
	skipped Skipped
}

// keep makes room for a text.
func (s *search) keep(text string) error {
	if s.kept.Add(int64(len(text)+perItem)) > maxFound {
		return ErrTooMuch
	}
	return nil
}

func (s *search) visit(e Entry) error {
	if s.q.Include != nil && e.Path != "." && !s.q.Include.Match(e.Path) {
		return nil
	}
	if err := s.ctx.Err(); err != nil {
		return err
	}
	sc := s.scanners.Get().(*scanner)
	hits, err := sc.file(e.Abs())
	s.scanners.Put(sc)
	switch {
	case err == nil && hits.Count == 0, errors.Is(err, fs.ErrNotExist):
		return nil // also what went away, or became a link, meanwhile
	case errors.Is(err, errBinary):
		return s.skip(Skipped{Binary: 1})
	case errors.Is(err, ErrTooMuch), s.ctx.Err() != nil:
		return err
	case err != nil:
		return s.skip(Skipped{Unreadable: 1, Unread: []string{e.Path}})
	case s.o.Withheld != nil && s.o.Withheld(e.Abs()):
		return s.skip(Skipped{Withheld: 1})
	}
	hits.Path = e.Path
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, hits)
	return s.keep(hits.Path)
}

func (s *search) skip(k Skipped) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.skipped.add(k)
	return nil
}
