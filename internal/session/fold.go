package session

import (
	"errors"
	"fmt"

	"dsh/internal/llm"
)

// core is the part of the fold that decides whether an event may come next. It is
// cheap to copy: clone shares what later events only extend.
type core struct {
	seed    int  // events inherited from a parent: their inbox is not ours
	next    int  // seq of the next event
	holes   bool // seqs may be missing: superseded chunks that a loader skipped
	surface surface
	inbox   Inbox
	order   order
}

func (c *core) clone() core {
	trial := *c
	trial.order = c.order.clone()
	return trial
}

// require checks what every derivation stands on: numbering, shapes, the surface
// and the inbox. A log that breaks it cannot be opened.
func (c *core) require(ev *Event) error {
	if ev.Data == nil || ev.Data.Type() != ev.Type {
		return fmt.Errorf("type %q does not fit its data", ev.Type)
	}
	if _, raw := ev.Data.(Raw); raw && payloads[ev.Type] != nil {
		return errors.New("its data must not be raw: the type has its own")
	}
	if ev.Seq != c.next && !(c.holes && ev.Seq > c.next) {
		return fmt.Errorf("event %d is next, not %d", c.next, ev.Seq)
	}
	if err := checkShape(ev); err != nil {
		return err
	}
	if err := c.surface.check(ev); err != nil {
		return err
	}
	if p, ok := ev.Data.(InboxSpliced); ok && ev.Seq >= c.seed {
		return c.inbox.check(&p)
	}
	return nil
}

// check says why an event must not come next. It changes nothing.
func (c *core) check(ev *Event) error {
	if err := c.require(ev); err != nil {
		return err
	}
	return c.checkPlace(ev)
}

// checkPlace is the part of check without which a log can be opened all the same.
func (c *core) checkPlace(ev *Event) error {
	if (ours[ev.Type] || !readable(ev.Type)) && !ev.Ignorable {
		return errors.New("the type must be marked ignorable: other readers do not know it")
	}
	if err := c.order.check(ev); err != nil || c.holes {
		return err // with holes, the chunks that a message cites may be missing
	}
	return c.order.checkSources(ev)
}

// apply takes over an event that require let pass, and returns what it removed from
// the inbox.
func (c *core) apply(ev *Event) (removed []waiting) {
	c.next = ev.Seq + 1
	c.surface.apply(ev)
	c.order.apply(ev)
	switch p := ev.Data.(type) {
	case InboxSpliced:
		if ev.Seq >= c.seed {
			removed = c.inbox.apply(&p)
		}
	case InboxHeld:
		c.inbox.applyHeld(&p)
	case UserMessage:
		c.inbox.entered(p.ID)
	case RequestSent, AssistantChunk, TurnEnd:
		c.inbox.claimed = nil // the batch has entered, or was rejected
	}
	return removed
}

// fold is everything that a log's events add up to. Whoever owns it serialises its
// use.
type fold struct {
	core
	state    State
	consumed consumedFold
	partial  partial
}

func newFold(h Header) *fold { return &fold{core: core{seed: h.seed()}} }

// load takes over a stored event. It refuses only what the derivations cannot stand
// on: logs of other writers may differ from ours in order.
func (f *fold) load(ev *Event) error {
	if err := f.require(ev); err != nil {
		return eventError(ev, err)
	}
	f.apply(ev)
	return nil
}

// check says why an event must not be appended. It changes nothing.
func (f *fold) check(ev *Event) error {
	if err := f.core.check(ev); err != nil {
		return eventError(ev, err)
	}
	return nil
}

// checkAll is check for events that are to be appended together: each must fit
// after the ones before it.
func (f *fold) checkAll(evs []Event) error {
	if len(evs) == 1 {
		return f.check(&evs[0])
	}
	trial := f.core.clone()
	for i := range evs {
		if err := trial.check(&evs[i]); err != nil {
			return eventError(&evs[i], err)
		}
		trial.apply(&evs[i])
	}
	return nil
}

// apply takes over an event that passed check or load's requirements.
func (f *fold) apply(ev *Event) {
	removed := f.core.apply(ev)
	f.state.apply(ev)
	f.partial.apply(ev.Data)
	f.consumed.apply(ev.Data)
	if p, ok := ev.Data.(InboxSpliced); ok && ev.Seq >= f.seed {
		f.consumed.splice(&p, removed)
	}
	f.state.Consumed = f.consumed.last
}

// messages are what the model sees; see surface.Messages.
func (f *fold) messages() ([]*llm.Message, int) { return f.surface.Messages() }

// openStep is a copy of the open step; ok is false if none is open.
func (f *fold) openStep() (o OpenStep, ok bool) {
	return f.order.open.clone(), f.order.stepOpen
}

func eventError(ev *Event, err error) error {
	return fmt.Errorf("event %d (%s): %w", ev.Seq, ev.Type, err)
}
