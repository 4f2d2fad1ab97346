package session

import (
	"slices"

	"dsh/internal/llm"
)

// What follows are views of the folds, each true at one moment. What they return is
// a copy, or shared and immutable.

// Messages is what the model sees, and a number that changes whenever the list is
// something else than its former self with more at the end.
func (l *Log) Messages() ([]*llm.Message, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.messages()
}

// Node is one event that the model sees, or, for an answer without content, that
// only marks a place.
type Node struct {
	Seq     int
	Message *llm.Message
	Result  *ToolResult // nil for what is no tool result
	Visible bool        // it is one of Messages
}

// Surface is what Messages is made of. It costs as much as the surface is long.
func (l *Log) Surface() []Node {
	l.mu.Lock()
	defer l.mu.Unlock()
	nodes := make([]Node, len(l.fold.surface.nodes))
	for i, n := range l.fold.surface.nodes {
		nodes[i] = Node{n.seq, n.msg, n.result, n.visible()}
	}
	return nodes
}

// OpenCompaction is the id of the compaction that has begun and not ended, in this
// life; "" if there is none.
func (l *Log) OpenCompaction() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.order.compaction
}

// State is the runtime state.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.state.clone()
}

// Inbox is what waits: its methods plan what to append.
func (l *Log) Inbox() Inbox {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.inbox // it copies on write
}

// RequestHeader is the header in force; ok is false before the first request.
func (l *Log) RequestHeader() (h llm.Header, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fold.state.Header == nil {
		return llm.Header{}, false
	}
	return *l.fold.state.Header, true
}

// OpenStep is the step that is open and its calls; Step is 0 when none is.
func (l *Log) OpenStep() OpenStep {
	l.mu.Lock()
	defer l.mu.Unlock()
	o, ok := l.fold.openStep()
	if !ok {
		return OpenStep{}
	}
	return o
}

// Seen is the version of a file that the model saw last; ok is false if it saw none.
func (l *Log) Seen(path string) (v FileVersion, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	v, ok = l.fold.state.Seen[path]
	return v, ok
}

// Jobs are all jobs of the session, in the order of their starts. The caller must not
// change them.
func (l *Log) Jobs() []JobInfo {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clip(l.fold.state.Jobs)
}

// Alone is the number of turns since the last one with a message of the user.
func (l *Log) Alone() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.state.Alone
}

// LastEnd is how the last turn that ended did; nil before the first. Read only.
func (l *Log) LastEnd() *EndReason {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.state.LastEnd
}

// Edited is what State says of Changes and Edits. The slice is shared: read only.
func (l *Log) Edited() (changes int, edits []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.fold.state
	return s.Changes, slices.Clip(s.Edits)
}

// Instructed is what State says of Instructions, Visited and Visits. The slices are
// shared: read only.
func (l *Log) Instructed() (files Instructions, visited []string, visits int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	st := &l.fold.state
	return st.Instructions, slices.Clip(st.Visited), st.Visits
}

// LastTurn is the number of the last turn that started, 0 before the first.
func (l *Log) LastTurn() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fold.order.turn
}

// NextSeq is the seq of the next event, which is the number of events so far.
func (l *Log) NextSeq() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}
