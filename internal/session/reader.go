package session

import (
	"slices"
	"sort"
)

// Reader is one consumer's place in a log. Its methods are for one goroutine.
type Reader struct {
	log  *Log
	next int // seq
	wake chan struct{}
}

// Reader starts at the event with seq from.
func (l *Log) Reader(from int) *Reader {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := &Reader{log: l, next: from, wake: make(chan struct{}, 1)}
	if l.readers == nil {
		l.readers = map[*Reader]struct{}{}
	}
	l.readers[r] = struct{}{}
	return r
}

// Next returns the events since the last call, none if there are none. Chunks that
// an assistant message has superseded meanwhile may be missing. The slice is the
// caller's; what the events point to is shared and immutable.
func (r *Reader) Next() []Event {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	evs := r.log.events
	i := sort.Search(len(evs), func(i int) bool { return evs[i].Seq >= r.next })
	r.next = max(r.next, r.log.next)
	return slices.Clone(evs[i:])
}

// Wake receives after events were appended that Next has not returned, and when the
// log closes. It has room for one: call Next until it returns none, then wait.
func (r *Reader) Wake() <-chan struct{} { return r.wake }

// Close ends the waking.
func (r *Reader) Close() {
	r.log.mu.Lock()
	defer r.log.mu.Unlock()
	delete(r.log.readers, r)
}

// wake tells the readers; one that was told and has not looked yet is told enough.
// The caller holds mu.
func (l *Log) wake() {
	for r := range l.readers {
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}
