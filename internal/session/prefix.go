package session

import (
	"iter"

	"dsh/internal/llm"
)

// Prefix is what the model-facing folds hold at a place in a log: what a request
// that is sent there is made of.
type Prefix struct {
	Header   *llm.Header // nil before the first
	Messages []*llm.Message
}

// Prefixes walks all events, each with what the events before it add up to. Check
// Err after it.
func (s *Snapshot) Prefixes() iter.Seq2[Event, Prefix] {
	return func(yield func(Event, Prefix) bool) {
		f := newFold(s.header)
		for ev := range s.Events() {
			messages, _ := f.messages()
			if !yield(ev, Prefix{f.state.Header, messages}) {
				return
			}
			if s.err = f.load(&ev); s.err != nil {
				return
			}
		}
	}
}

// States walks all events but chunks, each with the state that it leaves behind: a view, true
// until the next event. Check Err after it.
func (s *Snapshot) States() iter.Seq2[Event, *State] {
	return func(yield func(Event, *State) bool) {
		var st State
		for ev := range s.Outcomes() {
			st.apply(&ev)
			if !yield(ev, &st) {
				return
			}
		}
	}
}
