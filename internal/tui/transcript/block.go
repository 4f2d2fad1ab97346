package transcript

import "dsh/internal/session"

// Block is one thing of the transcript: a message, a card, a notice. Blocks stand in
// the order of the log. A block is the projection's: it is read, never written, and
// only until the next Apply.
type Block struct {
	ID      ID
	Version int // seq of the last event that changed its picture
	Kind    Kind
	State   State
	Fate    Fate // of a user's message
	Spaced  bool // an empty row stands before it
	Hidden  bool // it has no rows unless it is expanded
	Turn    int
	Step    int
	Time    int64 // of a call: when it was taken up; of an end: how long the turn took; ms
	Until   int64 // of a retry that waits: when it ends; ms since 1970

	Text   string // what is said; of a notice, and of a job: its line
	Detail string // of a notice or a job: what more there is to read; of an attempt: its failure
	Tokens int    // of a thought, 0 if unknown

	CallID string // of a call
	Name   string // of a call: the tool's; of a job: how much it put out
	Args   string // of a call: as the model sent them, so far; of a job: its label
	Answer string // of a call: what the person said, "allowed once"; of a job: what its end begins

	result session.Payload // a session.ToolResult, nil before it is there
}

// ID names a block for as long as there is a log. It is the same whenever and however
// often the log is projected.
type ID struct {
	Seq int // of the event that opened it, or that opened the request it came from
	N   int // which block of that request, from 1; 0 for blocks of one event
}

// Kind is what a block is.
type Kind uint8

const (
	User    Kind = iota // a message of the person
	Thought             // what the model thought
	Answer              // what the model said
	Call                // a call of a tool, and its result
	Notice              // a line of dsh: retries, compaction, budgets, modes
	Job                 // how a job ended
	End                 // how a turn ended, unless it was completed
)

// State is where a block is in its life.
type State uint8

const (
	Streaming State = iota // text or arguments arrive
	Pending                // the call is whole and was not taken up
	Asked                  // a person is asked
	Running
	lastLive = Running

	Done    State = iota
	Partial       // text that a cancel or a crash cut off
	Failed        // a call: an error; a notice: one that ends the work
	Refused       // by policy, a hook or the person
	Stopped       // a call that was ended while it ran
	NotRun        // a call that never ran
	Unknown       // a call of which nobody knows whether it ran
	Warning       // a notice that asks for attention
	Plain         // a notice that only informs
)

// Live reports whether the block may still change.
func (s State) Live() bool { return s <= lastLive }

// Fate is what became of a message of the person on its way into the session.
type Fate uint8

const (
	Prompted Fate = iota // it opened its turn at once
	Steered              // it joined a turn that ran
	Queued               // it waited for a turn to end
	Held                 // it waited until the person released it
)

// Result is what the model read of a call; nil before it is there.
func (b *Block) Result() *session.ToolResult {
	if r, ok := b.result.(session.ToolResult); ok {
		return &r
	}
	return nil
}
