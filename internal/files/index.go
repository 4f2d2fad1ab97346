package files

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Index knows the files of a project, and answers at once, from what it knows so far,
// which of them a few letters may mean. All methods are safe for concurrent use.
type Index struct {
	root    string
	refresh sync.Mutex // one at a time
	shot    atomic.Pointer[snapshot]

	mu     sync.Mutex
	recent []string // the last used ones, the newest last
}

// State is what an Index knows.
type State struct {
	Files     int
	Source    string // "git ls-files" or "walk", "" before the first Refresh
	Indexing  bool   // a Refresh is under way
	Truncated bool   // there are more files than an index holds
}

// Candidate is a file that a query may mean.
type Candidate struct {
	Path    string // relative to the root, with "/"; a directory ends in "/"
	Changed bool   // since the last commit
	Recent  bool   // see Index.Touch
}

// snapshot is never changed once it is published.
type snapshot struct {
	items []item
	state State
}

const (
	maxFiles     = 200_000 // more than all projects but a few have; 40 MB
	firstPublish = 5_000   // files: what there is can be asked for while the rest is found
	maxRecent    = 100
)

// NewIndex is the index of a directory. It knows nothing before the first Refresh.
func NewIndex(root string) *Index {
	ix := &Index{root: root}
	ix.shot.Store(&snapshot{})
	return ix
}

// State says what the index knows now.
func (ix *Index) State() State { return ix.shot.Load().state }

// Touch notes that a file was used, so that it comes before others.
func (ix *Index) Touch(path string) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.recent = slices.DeleteFunc(ix.recent, func(p string) bool { return p == path })
	ix.recent = append(ix.recent, path)
	if len(ix.recent) > maxRecent {
		ix.recent = ix.recent[1:]
	}
}

// Refresh finds the files again: from git in a repository, else by a walk that heeds
// the ignore files and leaves out hidden ones. It returns when it is done; the owner
// runs it in a goroutine it waits for. What was known before is known until then, and
// the first time, what was found so far. An error leaves what was known.
func (ix *Index) Refresh(ctx context.Context) error {
	ix.refresh.Lock()
	defer ix.refresh.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	before := ix.shot.Load()
	b := &builder{ix: ix, full: cancel}
	if len(before.items) == 0 {
		b.publishAt = firstPublish
	}
	ix.publish(before.items, State{Source: before.state.Source, Indexing: true, Truncated: before.state.Truncated})
	source := "git ls-files"
	b.reset()
	err := gitList(ctx, ix.root, b.add)
	if err != nil && ctx.Err() == nil { // no git, no repository, or one that git refuses
		source = "walk"
		b.reset()
		err = b.walk(ctx)
	}
	if err != nil && !b.truncated {
		known := ix.shot.Load()
		ix.publish(known.items, State{Source: known.state.Source, Truncated: known.state.Truncated})
		return fmt.Errorf("cannot index %s: %w", ix.root, err)
	}
	ix.publish(b.present(), State{Source: source, Truncated: b.truncated})
	return nil
}

func (ix *Index) publish(items []item, state State) {
	for i := range items {
		if !strings.HasSuffix(items[i].path, "/") {
			state.Files++
		}
	}
	ix.shot.Store(&snapshot{items, state})
}

// builder collects the items of a new snapshot.
type builder struct {
	ix        *Index
	items     []item
	byPath    map[string]int
	gone      map[string]bool
	truncated bool
	publishAt int    // so many items are published before the rest is found; 0 if none are
	full      func() // ends the search
}

func (b *builder) reset() {
	b.items, b.byPath, b.gone = nil, map[string]int{}, map[string]bool{}
}

// walk finds what git cannot, with one worker, as a builder is for one goroutine.
func (b *builder) walk(ctx context.Context) error {
	_, err := Walk(ctx, b.ix.root, Options{Links: true, Workers: 1}, func(e Entry) error {
		b.add(e.Path, same)
		return nil
	})
	return err
}

func (b *builder) add(path string, s status) {
	if s == gone {
		b.gone[path] = true
		return
	}
	if i, known := b.byPath[path]; known {
		b.items[i].changed = b.items[i].changed || s == changed
		return
	}
	if len(b.items) >= maxFiles {
		b.truncated = true
		b.full()
		return
	}
	for i := range path {
		if path[i] == '/' {
			b.put(path[:i+1], false)
		}
	}
	b.put(path, s == changed)
	if b.publishAt > 0 && len(b.items) >= b.publishAt {
		b.publishAt = 2 * len(b.items)
		b.ix.publish(b.present(), State{Indexing: true})
	}
}

func (b *builder) put(path string, changed bool) {
	if _, known := b.byPath[path]; !known {
		b.byPath[path] = len(b.items)
		b.items = append(b.items, newItem(path, changed))
	}
}

// present is a copy of the items that are there.
func (b *builder) present() []item {
	items := make([]item, 0, len(b.items))
	for _, it := range b.items {
		if !b.gone[it.path] {
			items = append(items, it)
		}
	}
	return items
}
