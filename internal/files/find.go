package files

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// File is a file that was found.
type File struct {
	Path     string // relative to the root, with "/"
	Modified time.Time
}

// ErrTooMuch ends a search that found more than maxFound.
var ErrTooMuch = errors.New("more was found than can be kept")

const (
	// maxFound bounds the paths and lines that one search keeps, in bytes: a list of
	// more tells nobody anything.
	maxFound = 20 << 20
	// perItem is what a path or a line costs beside its text.
	perItem = 64
)

// Find gives the files below a directory whose paths match, the newest first, those of
// the same time by path. A link to a file counts as a file, with the time of what it
// leads to. A pattern that spells out a path finds that file whatever the ignore files
// say.
func Find(ctx context.Context, root string, g Glob, o Options) ([]File, Skipped, error) {
	o.Links, o.Hidden = true, o.Hidden || g.Hidden()
	f := finder{o: o}
	if g.literal() {
		info, err := os.Lstat(below(root, g.pattern))
		if err == nil && info.Mode()&fs.ModeType&^fs.ModeSymlink == 0 {
			f.named = g.pattern
			if err := f.take(Entry{Path: g.pattern, Type: info.Mode().Type(), root: root}); err != nil {
				return nil, Skipped{}, err
			}
		}
		if !g.name {
			return f.found, f.skipped, ctx.Err()
		}
	}
	skipped, err := Walk(ctx, root, o, func(e Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Path == f.named || !g.Match(e.Path) {
			return nil
		}
		return f.take(e)
	})
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, Skipped{}, err
	}
	skipped.add(f.skipped)
	slices.SortFunc(f.found, func(a, b File) int {
		return cmp.Or(b.Modified.Compare(a.Modified), strings.Compare(a.Path, b.Path))
	})
	return f.found, skipped, nil
}

// finder collects what several goroutines find.
type finder struct {
	o     Options
	named string // was taken before the walk
	kept  atomic.Int64

	mu      sync.Mutex
	found   []File
	skipped Skipped
}

func (f *finder) take(e Entry) error {
	info, err := os.Stat(e.Abs())
	withheld := err == nil && f.o.Withheld != nil && f.o.Withheld(e.Abs())
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil && e.Type&fs.ModeSymlink == 0:
		return nil // it went away
	case err != nil, info.IsDir():
		f.skipped.Links++
		return nil
	case !info.Mode().IsRegular():
		f.skipped.Special++
		return nil
	case withheld:
		f.skipped.Withheld++
		return nil
	}
	if f.kept.Add(int64(len(e.Path)+perItem)) > maxFound {
		return ErrTooMuch
	}
	f.found = append(f.found, File{Path: e.Path, Modified: info.ModTime()})
	return nil
}
