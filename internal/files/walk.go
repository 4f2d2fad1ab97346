package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// Options say what a walk leaves out, and how it is done.
type Options struct {
	Hidden   bool // give also what has a name that begins with "."
	NoIgnore bool // give also what the ignore files exclude
	Links    bool // give links too, as entries of their own; they are never followed

	// Project is a directory above the root whose ignore files, and those on the way,
	// hold where no repository says more. Empty: those from the root on.
	Project string
	// Workers is how many goroutines walk and visit; 0 is one for each processor.
	Workers int
	// Withheld reports whether a file, by its absolute path, must not be shown. Find and
	// Search ask it for what they found; nil withholds none.
	Withheld func(path string) bool
}

// Skipped is what a walk or a search left out. A directory counts once, whatever is in
// it.
type Skipped struct {
	Hidden, Ignored int
	Links           int // links, for they may lead anywhere; Find follows those to files
	Special         int // pipes, sockets and devices
	Binary          int // files that are not text, of a search
	Withheld        int // see Options
	Unreadable      int
	Unread          []string // the first of those by name, sorted
}

// maxUnread is how many unreadable paths are remembered by name: enough to see what is
// wrong.
const maxUnread = 20

// cannotRead notes a path that could not be read.
func (s *Skipped) cannotRead(path string) {
	s.Unreadable++
	at, _ := slices.BinarySearch(s.Unread, path)
	s.Unread = slices.Insert(s.Unread, at, path)
	s.Unread = s.Unread[:min(len(s.Unread), maxUnread)]
}

func (s *Skipped) add(o Skipped) {
	s.Hidden += o.Hidden
	s.Ignored += o.Ignored
	s.Links += o.Links
	s.Special += o.Special
	s.Binary += o.Binary
	s.Withheld += o.Withheld
	for _, path := range o.Unread {
		s.cannotRead(path)
	}
	s.Unreadable += o.Unreadable - len(o.Unread)
}

// Entry is a regular file, or a link if Options.Links asks for them.
type Entry struct {
	Path string // relative to the root, with "/"; "." if the root is a file
	Type fs.FileMode
	root string
}

// Abs is the entry's absolute path. It leads over no link but the entry itself.
func (e Entry) Abs() string {
	if e.Path == "." {
		return e.root
	}
	return below(e.root, e.Path)
}

// repositories are the directories in which version control keeps its own things, or
// the files that stand for them. No walk enters them.
var repositories = []string{".git", ".hg", ".svn", ".bzr", ".jj", ".sl"}

// OfRepository reports whether a path leads into such a directory.
func OfRepository(path string) bool {
	for name := range strings.SplitSeq(path, "/") {
		if slices.Contains(repositories, name) {
			return true
		}
	}
	return false
}

const (
	// maxWorkers bounds the goroutines of a walk: more than this wait for the disk or
	// for each other.
	maxWorkers = 8
	// batch is how many entries of a directory are read at once, so that one with
	// millions of them fits into memory, and is shared by the workers.
	batch = 1024
)

// Walk gives the files below a root to visit, in no order, from several goroutines at
// once. Links are not followed, so that it ends, and never leaves the root. The root
// itself may be a link; if it is a file, it is the only entry.
//
// A directory that cannot be read is noted in what was skipped, and the walk goes on.
// A root that cannot, the first error of visit, and the end of the context end it with
// an error. When Walk returns, no visit is running.
func Walk(ctx context.Context, root string, o Options, visit func(Entry) error) (Skipped, error) {
	abs, info, err := resolve(root)
	if err != nil {
		return Skipped{}, fmt.Errorf("cannot search %s: %w", root, err)
	}
	w := &walk{ctx: ctx, root: abs, Options: o, visit: visit}
	w.changed.L = &w.mu
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return Skipped{Special: 1}, nil
		}
		return Skipped{}, visit(Entry{Path: ".", root: abs})
	}
	first := task{}
	if !o.NoIgnore {
		first.rules = outer(abs, realOr(o.Project, abs))
	}
	w.tasks = []task{first}
	workers := o.Workers
	if workers <= 0 {
		workers = min(runtime.GOMAXPROCS(0), maxWorkers)
	}
	var done sync.WaitGroup
	for range workers {
		done.Go(w.work)
	}
	done.Wait()
	return w.skipped, w.err
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

// realOr is a path with its links resolved, or another if it is empty or leads nowhere.
func realOr(path, other string) string {
	if path == "" {
		return other
	}
	real, _, err := resolve(path)
	if err != nil {
		return other
	}
	return real
}

type walk struct {
	ctx  context.Context
	root string
	Options
	visit func(Entry) error

	mu      sync.Mutex
	changed sync.Cond // tasks, busy or err
	tasks   []task    // a stack: what is deep is done first, so that it stays small
	busy    int       // workers that may add tasks
	err     error
	skipped Skipped
}

// task is a directory to read, or some entries of one that is read.
type task struct {
	dir     string // relative to the root, "" for it
	rules   *level // those of the directories above; with entries, also its own
	entries []fs.DirEntry
}

func (w *walk) work() {
	for {
		t, ok := w.next()
		if !ok {
			return
		}
		var skipped Skipped
		err := w.do(t, &skipped)
		w.mu.Lock()
		w.busy--
		w.skipped.add(skipped)
		if w.err == nil {
			w.err = err
		}
		w.mu.Unlock()
		w.changed.Broadcast()
	}
}

func (w *walk) next() (task, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.tasks) == 0 && w.busy > 0 && w.err == nil {
		w.changed.Wait()
	}
	if len(w.tasks) == 0 || w.err != nil {
		return task{}, false
	}
	last := len(w.tasks) - 1
	t := w.tasks[last]
	w.tasks[last] = task{}
	w.tasks = w.tasks[:last]
	w.busy++
	return t, true
}

func (w *walk) push(t task) {
	w.mu.Lock()
	w.tasks = append(w.tasks, t)
	w.mu.Unlock()
	w.changed.Signal()
}

// offer gives a task to another worker if one has nothing to do.
func (w *walk) offer(t task) bool {
	w.mu.Lock()
	idle := len(w.tasks) == 0
	if idle {
		w.tasks = append(w.tasks, t)
	}
	w.mu.Unlock()
	if idle {
		w.changed.Signal()
	}
	return idle
}

func (w *walk) do(t task, skipped *Skipped) error {
	if t.entries != nil {
		return w.some(t, skipped)
	}
	abs := below(w.root, t.dir)
	dir, err := os.Open(abs)
	if err != nil {
		return w.unreadable(t.dir, err, skipped)
	}
	defer dir.Close()
	for first := true; ; first = false {
		t.entries, err = dir.ReadDir(batch)
		if err != nil && !errors.Is(err, io.EOF) {
			return w.unreadable(t.dir, err, skipped)
		}
		if len(t.entries) == 0 {
			return nil
		}
		whole := first && len(t.entries) < batch
		if first && !w.NoIgnore {
			t.rules = t.rules.enter(abs, t.dir, func(name string) bool {
				return !whole || slices.ContainsFunc(t.entries, func(e fs.DirEntry) bool { return e.Name() == name })
			})
		}
		if !whole && w.offer(t) {
			continue
		}
		if err := w.some(t, skipped); err != nil {
			return err
		}
	}
}

func (w *walk) unreadable(dir string, err error, skipped *Skipped) error {
	if dir == "" {
		return fmt.Errorf("cannot read %s: %w", w.root, err)
	}
	skipped.cannotRead(dir + "/")
	return nil
}

// some visits entries of a directory.
func (w *walk) some(t task, skipped *Skipped) error {
	if err := w.ctx.Err(); err != nil {
		return err
	}
	prefix := t.dir
	if prefix != "" {
		prefix += "/"
	}
	for _, e := range t.entries {
		name := e.Name()
		path := prefix + name
		switch {
		case slices.Contains(repositories, name):
		case !w.Hidden && name[0] == '.':
			skipped.Hidden++
		case t.rules.ignores(path, name, e.IsDir()):
			skipped.Ignored++
		case e.IsDir():
			w.push(task{dir: path, rules: t.rules})
		case e.Type()&fs.ModeSymlink != 0 && !w.Links:
			skipped.Links++
		case e.Type()&^fs.ModeSymlink != 0:
			skipped.Special++
		default:
			if err := w.visit(Entry{Path: path, Type: e.Type(), root: w.root}); err != nil {
				return err
			}
		}
	}
	return nil
}

func below(root, rel string) string {
	if rel == "" {
		return root
	}
	if root == "/" {
		return root + rel
	}
	return root + string(filepath.Separator) + filepath.FromSlash(rel)
}
