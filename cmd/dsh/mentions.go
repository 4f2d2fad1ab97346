package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"dsh/internal/files"
)

// mentions answers what an @ may mean. Its index is made in the background when the
// first one is typed, and again when it may be stale.
type mentions struct {
	index *files.Index
	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup

	// Of the screen's goroutine.
	asked time.Time
}

// staleAfter is how old an index may be before a mention renews it.
const staleAfter = 5 * time.Second

func newMentions(root string) *mentions {
	ctx, stop := context.WithCancel(context.Background())
	return &mentions{index: files.NewIndex(root), ctx: ctx, stop: stop}
}

// find is for one goroutine.
func (m *mentions) find(query string, n int) (paths []string, note string) {
	state := m.index.State()
	if now := time.Now(); !state.Indexing && now.Sub(m.asked) > staleAfter {
		m.asked = now
		m.work.Go(func() { _ = m.index.Refresh(m.ctx) }) // what was known stays
	}
	best, total := m.index.Candidates(query, n)
	for _, c := range best {
		paths = append(paths, c.Path)
	}
	note = fmt.Sprintf("%d of %d", len(best), total)
	if state.Source != "" {
		note += ", " + state.Source
	} else {
		note += ", still indexing"
	}
	return paths, note
}

// close ends the indexing and waits for it.
func (m *mentions) close() error {
	m.stop()
	m.work.Wait()
	return nil
}
