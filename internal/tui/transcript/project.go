package transcript

import (
	"slices"

	"dsh/internal/session"
)

// Projection is the transcript of one log. It is a fold: a log applied in one piece,
// event by event, or without the chunks that an assistant message superseded makes
// the same settled blocks. The zero value is empty. It is for one goroutine.
type Projection struct {
	blocks  []Block
	settled int
	rev     int

	turn, step int
	started    int64 // when the turn started
	turnOpen   bool
	model      string
	preset     string
	alone      int                        // turns since the last message of the user
	stopped    bool                       // the last turn was, or failed
	jobs       map[string]session.JobInfo // that run, by id
	answering  bool                       // a request is out
	ended      []Block                    // jobs that ended meanwhile

	stream  stream
	calls   map[string]int    // index by call id, of the open step
	asks    map[string]string // call id by approval id
	allowed string            // call id of the last approval, until something else happens
	retry   int               // index+1 of the notice of the retries, while it is live
	inUse   session.ContextUse
	freed   string // what the compaction under way came to
	compact int    // index+1 of the notice of a compaction, while it is live
	verify  int    // index+1 of the notice of a verification, while it is live
	warned  int    // budgets of which the model is still to be told
	inbox   inbox
}

// Apply takes events of the log in order. An event costs the same whatever came before.
func (p *Projection) Apply(events ...session.Event) {
	if n := len(events) / eventsPerBlock; n > lookBack {
		p.blocks = slices.Grow(p.blocks, n)
	}
	for i := range events {
		p.apply(&events[i])
	}
	for p.settled < len(p.blocks) && !p.blocks[p.settled].State.Live() {
		p.settled++
	}
}

// Blocks is the transcript so far. It is a view: it is not written, and is read only
// until the next Apply, which may also replace or take away blocks that have not
// settled: those of a request that failed.
func (p *Projection) Blocks() []Block { return p.blocks }

// Settled is how many blocks from the start can never change any more. They may be
// printed once, in order, and forgotten.
func (p *Projection) Settled() int { return p.settled }

// Rev changes when anything in Blocks does.
func (p *Projection) Rev() int { return p.rev }

// Queue lists what waits in the inbox, in the order of claiming: next-step first.
func (p *Projection) Queue() []session.QueueItem { return p.inbox.items() }

func (p *Projection) apply(ev *session.Event) {
	allowed := p.allowed
	p.allowed = ""
	before := p.inUse.Used
	p.inUse.Apply(ev)
	switch d := ev.Data.(type) {
	case session.TurnStart:
		p.closeStep(ev)
		p.turn, p.step, p.started, p.turnOpen = d.Turn, 0, ev.Time, true
		p.alone++
	case session.TurnEnd:
		p.turnEnd(ev, &d)
	case session.StepStart:
		p.closeStep(ev)
		p.step = d.Step
		p.stream.open(ev.Seq)
	case session.StepEnd:
		p.closeStep(ev)
	case session.EndSeed:
		p.closeStep(ev)
		p.closeCompaction(ev, Stopped)
		p.loseVerification(ev)
		p.turnOpen = false
	case session.RequestSent:
		p.answered()
		p.answering = d.Aside == nil
		p.dropStream()
		p.stream.open(ev.Seq)
	case session.AssistantChunk:
		p.chunk(ev, &d.Chunk)
	case session.AssistantMessage:
		p.answer(ev, &d)
		p.answered()
	case session.ToolCall:
		p.toolCall(ev, &d)
	case session.ToolResult:
		p.toolResult(ev, d)
	case session.PolicyDecision:
		if d.Decision == session.Allow {
			p.allowed = allowed // the rule that an answer made comes after it
		}
	case session.ApprovalAsked:
		p.asked(ev, &d)
	case session.ApprovalDecided:
		p.decided(ev, &d)
	case session.PolicyRule:
		p.rule(ev, &d, allowed)
	case session.UserMessage:
		p.userMessage(ev, &d)
	case session.InboxSpliced:
		p.inbox.spliced(&d, p.turn, p.turnOpen)
	case session.InboxHeld:
		p.inbox.hold(&d)
	case session.CompactionStart, session.CompactionSummary, session.CompactionEnd:
		p.compaction(ev, before)
	case session.JobStarted:
		p.startJob(ev, &d)
	case session.JobSettled:
		p.settleJob(ev, &d)
	case session.VerifyRun:
		p.verification(ev, &d)
	case session.CompactionPrune:
		// people see the result as it was
	default:
		p.notice(ev)
	}
}

// add appends a block of one event.
func (p *Projection) add(ev *session.Event, b Block) int {
	b.ID, b.Version = ID{Seq: ev.Seq}, ev.Seq
	return p.push(b)
}

// push appends a block and decides whether an empty row stands before it.
func (p *Projection) push(b Block) int {
	b.Turn, b.Step = p.turn, p.step
	b.Spaced = spaced(p.blocks, &b)
	p.blocks = append(p.blocks, b)
	p.rev++
	return len(p.blocks) - 1
}

// eventsPerBlock is about what a log has that is read again: room is made at once.
const eventsPerBlock = 3

// lookBack bounds the search for the block that is seen before another one.
const lookBack = 16

// spaced: lists of cards and notices stand together, what is read stands apart.
func spaced(before []Block, b *Block) bool {
	if b.Hidden {
		return false
	}
	for i := len(before) - 1; i >= max(0, len(before)-lookBack); i-- {
		prev := &before[i]
		if prev.Hidden {
			continue
		}
		line := b.Kind == Call || b.Kind == Notice || b.Kind == Job || b.Kind == User && b.Fate == Steered
		return !line || prev.Kind == User && prev.Fate != Steered || prev.Kind == Answer
	}
	return false
}

// touch notes that an event changed the picture of a block.
func (p *Projection) touch(i int, ev *session.Event) *Block {
	p.rev++
	p.blocks[i].Version = ev.Seq
	return &p.blocks[i]
}

// closeStep settles what nothing will be heard of any more.
func (p *Projection) closeStep(ev *session.Event) {
	p.dropStream()
	p.stream.open(ev.Seq)
	for _, i := range p.calls {
		switch b := &p.blocks[i]; b.State {
		case Streaming, Pending:
			p.touch(i, ev).State = NotRun
		case Asked, Running:
			p.touch(i, ev).State = Unknown
		}
	}
	clear(p.calls)
	clear(p.asks)
	p.endRetry(ev)
	p.answered()
}
