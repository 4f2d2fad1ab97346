package loop

import (
	"time"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// slot is one call of a message while it is scheduled.
type slot struct {
	call      llm.Block
	seq       int // of its tool/call
	exclusive bool
	final     bool // settled without a body, and not shown to hooks
	done      bool
	began     time.Time   // of the body
	yield     chan string // capacity 1: asks the body to let the turn go on
	asked     bool        // by a steer
	info      Call
	preview   func() session.Display // for the person who is asked
	result    tools.Result
}

// schedule runs the calls of one message: bodies overlap in a rolling pool, an
// exclusive call is a barrier, and results are committed in the model's order. Only
// bodies run elsewhere; everything else is the driver's.
type schedule struct {
	t       *turn
	slots   []slot
	ended   chan ended
	next    int // the first call not taken up
	commit  int // the first call without a result in the log
	running int
	ends    bool   // a result said that the turn need not go on
	handed  string // the job that a call became
}

type ended struct {
	index  int
	result tools.Result
}

// runCalls returns when every call has its result, or with the first failure of the
// machinery; then the step pairs what is left. It never leaves a body running.
func (t *turn) runCalls(calls []llm.Block) (ends bool, err error) {
	s := &schedule{t: t, slots: make([]slot, len(calls)), ended: make(chan ended, len(calls))}
	for i, call := range calls {
		s.slots[i].call = call
	}
	for err == nil && s.commit < len(s.slots) {
		err = s.advance()
		if err == nil && t.ctx.Err() != nil && s.commit == s.next && s.running == 0 {
			return s.ends, s.abandonRest()
		}
	}
	for s.running > 0 {
		s.wait()
	}
	return s.ends, err
}

// advance makes one move: commit what is ready, take up what may start, or wait.
func (s *schedule) advance() error {
	if s.commit < s.next && s.slots[s.commit].done {
		err := s.commitNext()
		return err
	}
	if s.mayStart() {
		return s.start()
	}
	if s.running > 0 {
		s.wait()
	}
	return nil
}

// mayStart reads the mode of the next call now, not earlier: results before it may
// have changed it. The call that is one too many is a barrier too, for it ends the
// turn, and those before it were within the budget.
func (s *schedule) mayStart() bool {
	if s.next >= len(s.slots) || s.t.ctx.Err() != nil || s.running >= s.t.a.o.MaxParallel {
		return false
	}
	if s.next > s.commit && s.slots[s.next-1].exclusive {
		return false
	}
	slot := &s.slots[s.next]
	slot.exclusive = s.t.callsSpent() || !s.t.a.o.Tools.Concurrent(slot.call.Name, slot.call.Arguments)
	return !slot.exclusive || s.commit == s.next
}

// start takes the next call up: it is logged, then judged, and its body starts
// unless that settled it.
func (s *schedule) start() error {
	i := s.next
	slot := &s.slots[i]
	if err := s.takeUp(slot); err != nil {
		return err
	}
	if s.handed != "" && !s.t.a.o.Tools.Reads(slot.call.Name) {
		slot.supersede(s.handed)
		return nil
	}
	body, err := s.t.prepare(slot)
	if err != nil || body == nil {
		slot.done = err == nil
		return err
	}
	s.running++
	slot.began = time.Now()
	s.t.a.addBody(slot)
	go func() { s.ended <- ended{i, body()} }()
	return nil
}

// takeUp logs the next call: from here on it needs a result.
func (s *schedule) takeUp(slot *slot) error {
	events, err := s.t.a.log.Append(session.Draft{Data: session.ToolCall{Turn: s.t.n, Step: s.t.step,
		CallID: slot.call.ID, Name: slot.call.Name, Arguments: slot.call.Arguments}})
	if err != nil {
		return err
	}
	s.t.a.d.apply(&events[0])
	s.next++
	slot.seq = events[0].Seq
	return nil
}

// wait waits for a body to end. Meanwhile it hears the user: see holdsUp.
func (s *schedule) wait() {
	for {
		var due <-chan time.Time
		slot := s.holdsUp()
		if slot != nil {
			timer := time.NewTimer(time.Until(slot.began.Add(steerGrace)))
			defer timer.Stop()
			due = timer.C
		}
		select {
		case e := <-s.ended:
			s.end(e)
			return
		case <-s.t.a.stirred:
		case <-due:
			slot.asked = true
			slot.askYield(session.HandoverSteer)
		}
	}
}

// holdsUp is the first call that keeps a steer from being read and may be asked to let
// it: a command, or what nothing may overlap. Nil if there is none.
func (s *schedule) holdsUp() *slot {
	if !s.t.a.steered() {
		return nil
	}
	for i := s.commit; i < s.next; i++ {
		slot := &s.slots[i]
		exec := slot.info.Action.Class == policy.Exec
		if !slot.done && !slot.asked && (exec && s.t.a.o.Handover || !exec && slot.exclusive) {
			return slot
		}
	}
	return nil
}

// askYield asks a body once; what does not listen is not disturbed.
func (s *slot) askYield(why string) {
	select {
	case s.yield <- why:
	default:
	}
}

func (s *schedule) end(e ended) {
	slot := &s.slots[e.index]
	s.running--
	slot.result, slot.done = e.result, true
	s.t.a.removeBody(slot)
	if e.result.Handed != "" {
		s.handed = e.result.Handed
	}
}

// supersede settles a call that would have begun after another became a job: it may
// rely on what that has not done yet, and the user waits.
func (s *slot) supersede(job string) {
	s.result = failed(tools.Superseded, "this call was not started, because an earlier one of the same message became job "+job+", which still runs. Ask for it again if it is still wanted.")
	s.final, s.done = true, true
}

func (s *schedule) commitNext() error {
	slot := &s.slots[s.commit]
	if err := s.t.settle(slot); err != nil {
		return err
	}
	s.ends = s.ends || slot.result.EndsTurn && !slot.result.IsError
	s.commit++
	return nil
}

// abandonRest gives every call that was never taken up its record and its result,
// in order: the next turn replays this history, and providers refuse a call without
// a result.
func (s *schedule) abandonRest() error {
	for s.next < len(s.slots) {
		slot := &s.slots[s.next]
		if err := s.takeUp(slot); err != nil {
			return err
		}
		s.t.abandon(slot)
		if err := s.commitNext(); err != nil {
			return err
		}
	}
	return nil
}
