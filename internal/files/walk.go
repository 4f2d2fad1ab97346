package files

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Options say what a walk leaves out.
type Options struct {
	Hidden   bool // also what has a name that begins with "."
	NoIgnore bool // also what the ignore files exclude
	Dirs     bool // give the directories too, each before what is in it

	// Skipped counts what was left out, if it is not nil. A directory counts once,
	// whatever is in it.
	Skipped *Skipped
}

// Skipped counts what a walk left out.
type Skipped struct {
	Hidden, Ignored int
	Links           int // links to directories: given as entries, but not followed
}

// Entry is a file, or a directory if Options.Dirs asks for them.
type Entry struct {
	Path  string      // relative to the root, with "/"
	Type  fs.FileMode // the type bits
	entry fs.DirEntry
}

// Info is what the file system says of it. Links are not followed.
func (e Entry) Info() (fs.FileInfo, error) { return e.entry.Info() }

// repositories are the directories in which version control keeps its own things, or
// the files that stand for them. No walk enters them.
var repositories = []string{".git", ".hg", ".jj", ".svn"}

// Walk gives what is below a root, a directory's entries sorted by name. Links to
// directories are not followed, so that it ends, and never leaves the root. The root
// itself may be a link; if it is a file, it is the only entry, with the Path ".".
//
// A directory that cannot be read is given as an entry with an error, and the walk
// goes on. A root that cannot, and the end of the context, end it with an error.
func Walk(ctx context.Context, root string, o Options) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		if o.Skipped == nil {
			o.Skipped = &Skipped{}
		}
		abs, info, err := resolve(root)
		switch {
		case err != nil:
			yield(Entry{Path: "."}, fmt.Errorf("cannot search %s: %w", root, err))
			return
		case !info.IsDir():
			yield(Entry{Path: ".", Type: info.Mode().Type(), entry: fs.FileInfoToDirEntry(info)}, nil)
			return
		}
		w := walk{ctx: ctx, root: abs, Options: o, yield: yield}
		var rules *level
		if !o.NoIgnore {
			rules = outer(abs)
		}
		w.dir("", rules)
	}
}

func resolve(root string) (abs string, info fs.FileInfo, err error) {
	if abs, err = filepath.Abs(root); err != nil {
		return "", nil, err
	}
	if abs, err = filepath.EvalSymlinks(abs); err != nil {
		return "", nil, err
	}
	info, err = os.Stat(abs)
	return abs, info, err
}

type walk struct {
	ctx  context.Context
	root string
	Options
	yield func(Entry, error) bool
}

// dir walks a directory, and reports whether to go on.
func (w *walk) dir(rel string, rules *level) bool {
	if err := w.ctx.Err(); err != nil {
		w.yield(Entry{Path: rel}, err)
		return false
	}
	abs := filepath.Join(w.root, filepath.FromSlash(rel))
	entries, err := os.ReadDir(abs)
	if err != nil {
		if !w.yield(Entry{Path: nameOf(rel), Type: fs.ModeDir}, fmt.Errorf("cannot read %s: %w", abs, err)) {
			return false
		}
	}
	if !w.NoIgnore {
		rules = rules.enter(abs, rel, func(name string) bool {
			_, found := slices.BinarySearchFunc(entries, name, func(e fs.DirEntry, name string) int {
				return strings.Compare(e.Name(), name)
			})
			return found
		})
	}
	for _, e := range entries {
		if !w.entry(rel, e, rules) {
			return false
		}
	}
	return true
}

func (w *walk) entry(dir string, e fs.DirEntry, rules *level) bool {
	name := e.Name()
	path := name
	if dir != "" {
		path = dir + "/" + name
	}
	switch {
	case slices.Contains(repositories, name):
		return true
	case !w.Hidden && name[0] == '.':
		w.Skipped.Hidden++
		return true
	case rules.ignores(path, name, e.IsDir()):
		w.Skipped.Ignored++
		return true
	}
	if e.Type()&fs.ModeSymlink != 0 {
		if info, err := os.Stat(filepath.Join(w.root, filepath.FromSlash(path))); err == nil && info.IsDir() {
			w.Skipped.Links++
		}
	}
	if !e.IsDir() || w.Dirs {
		if !w.yield(Entry{Path: path, Type: e.Type(), entry: e}, nil) {
			return false
		}
	}
	return !e.IsDir() || w.dir(path, rules)
}

func nameOf(rel string) string {
	if rel == "" {
		return "."
	}
	return rel
}
