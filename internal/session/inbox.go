package session

import (
	"errors"
	"fmt"
	"slices"

	"dsh/internal/llm"
)

// Inbox holds the messages that wait: for the next step of the running turn, and
// for a turn of their own. It is a fold over InboxSpliced and InboxHeld; its other
// methods plan: they return what to log and change nothing. A copy is a snapshot:
// what is applied later to one is not seen by the other. The zero value is empty.
type Inbox struct {
	step, turn []waiting
	claimed    []waiting // claimed in the open turn and not yet a user message
}

type waiting struct {
	target Target
	msg    llm.Message
	held   bool
}

// Len is the number of waiting messages, held ones included.
func (b *Inbox) Len() int { return len(b.step) + len(b.turn) }

// Ready reports whether a claim for a target would get something.
func (b *Inbox) Ready(t Target) bool {
	free := func(w waiting) bool { return !w.held }
	return slices.ContainsFunc(b.step, free) || t == NextTurn && slices.ContainsFunc(b.turn, free)
}

// Items lists what waits in the order of claiming: next-step first.
func (b *Inbox) Items() []QueueItem {
	items := make([]QueueItem, 0, b.Len())
	for _, list := range [][]waiting{b.step, b.turn} {
		for _, w := range list {
			items = append(items, QueueItem{ID: w.msg.ID, Target: w.target, Text: w.msg.PlainText(), Source: w.msg.Source, Held: w.held})
		}
	}
	return items
}

// Message returns a waiting message.
func (b *Inbox) Message(id string) (llm.Message, bool) {
	t, i := b.find(id)
	if i < 0 {
		return llm.Message{}, false
	}
	return (*b.queue(t))[i].msg, true
}

// Insert plans messages to be put into a queue at a position: 0 is the head, and
// any position past the end, or a negative one, is the end.
func (b *Inbox) Insert(t Target, at int, msgs ...llm.Message) InboxSpliced {
	n := len(*b.queue(t))
	if at < 0 || at > n {
		at = n
	}
	return InboxSpliced{Target: t, Start: at, Inserted: msgs}
}

// Splice plans the general form. Positions are normalised as those of a list
// splice: a negative start counts from the end, everything is clamped. ok is false
// when nothing would change.
func (b *Inbox) Splice(t Target, start, remove int, insert ...llm.Message) (p InboxSpliced, ok bool) {
	n := len(*b.queue(t))
	if start < 0 {
		start += n
	}
	start = min(max(start, 0), n)
	remove = min(max(remove, 0), n-start)
	p = InboxSpliced{Target: t, Start: start, RemovedCount: remove, Inserted: insert}
	if remove > 0 {
		p.Outcome = OutcomeCanceled
	}
	return p, remove > 0 || len(insert) > 0
}

// Claim plans to take the batch of a step: all next-step messages, and for NextTurn
// one next-turn message after them. Held messages stay. The splices are to be
// logged in order.
func (b *Inbox) Claim(t Target) (batch []llm.Message, splices []InboxSpliced) {
	take := func(target Target, limit int) {
		removed := 0
		for i, w := range *b.queue(target) {
			if w.held || removed == limit {
				continue
			}
			at := i - removed // where it stands after the splices before
			last := len(splices) - 1
			if last >= 0 && splices[last].Target == target && splices[last].Start == at {
				splices[last].RemovedCount++
			} else {
				splices = append(splices, InboxSpliced{Target: target, Start: at, RemovedCount: 1})
			}
			batch = append(batch, w.msg)
			removed++
		}
	}
	take(NextStep, len(b.step))
	if t == NextTurn {
		take(NextTurn, 1)
	}
	return batch, splices
}

// Clear plans to cancel everything that waits, held or not: next-step first.
func (b *Inbox) Clear() []InboxSpliced {
	var splices []InboxSpliced
	for _, t := range []Target{NextStep, NextTurn} {
		if n := len(*b.queue(t)); n > 0 {
			splices = append(splices, InboxSpliced{Target: t, RemovedCount: n, Outcome: OutcomeCanceled})
		}
	}
	return splices
}

// Replace plans to put another message in the place of a waiting one, which keeps
// its held mark. ok is false if it does not wait any more.
func (b *Inbox) Replace(id string, msg llm.Message) (p InboxSpliced, ok bool, err error) {
	t, i := b.find(id)
	if i < 0 {
		return p, false, nil
	}
	p, _ = b.Splice(t, i, 1, msg)
	return p, true, b.check(&p)
}

// Remove plans to cancel a waiting message; ok is false if it is gone.
func (b *Inbox) Remove(id string) (p InboxSpliced, ok bool) {
	t, i := b.find(id)
	if i < 0 {
		return p, false
	}
	return b.Splice(t, i, 1)
}

// Move plans to take a message to another place, and releases it if it was held.
// Both splices belong in one append. At is a position of the target without the
// message; past the end is the end. ok is false if the message is gone.
func (b *Inbox) Move(id string, to Target, at int) (splices []InboxSpliced, ok bool) {
	from, i := b.find(id)
	if i < 0 {
		return nil, false
	}
	msg := (*b.queue(from))[i].msg
	out, _ := b.Splice(from, i, 1)
	n := len(*b.queue(to))
	if from == to {
		n--
	}
	if at < 0 || at > n {
		at = n
	}
	return []InboxSpliced{out, {Target: to, Start: at, Inserted: []llm.Message{msg}}}, true
}

// Turns plans to give next-step messages of the user turns of their own: they go ahead of the
// next-turn queue, in their order, and none of them is held any more. Ids of others
// are passed over.
func (b *Inbox) Turns(ids []string) (splices []InboxSpliced) {
	var moved []llm.Message
	for i, w := range b.step {
		if w.msg.Source.Kind == llm.FromUser && slices.Contains(ids, w.msg.ID) {
			splices = append(splices, InboxSpliced{Target: NextStep, Start: i - len(moved), RemovedCount: 1, Outcome: OutcomeCanceled})
			moved = append(moved, w.msg)
		}
	}
	if len(moved) > 0 {
		splices = append(splices, InboxSpliced{Target: NextTurn, Inserted: moved})
	}
	return splices
}

// Requeue plans to put a claimed batch back at the heads of the queues it came
// from, in its order.
func (b *Inbox) Requeue(batch []llm.Message) []InboxSpliced {
	var splices []InboxSpliced
	for _, t := range []Target{NextStep, NextTurn} {
		var back []llm.Message
		for _, m := range batch {
			if b.origin(m.ID) == t {
				back = append(back, m)
			}
		}
		if len(back) > 0 {
			splices = append(splices, InboxSpliced{Target: t, Inserted: back})
		}
	}
	return splices
}

// Claimed are the messages that were claimed and have not entered a step.
func (b *Inbox) Claimed() []llm.Message {
	var list []llm.Message
	for _, w := range b.claimed {
		list = append(list, w.msg)
	}
	return list
}

func (b *Inbox) origin(id string) Target {
	for _, w := range b.claimed {
		if w.msg.ID == id {
			return w.target
		}
	}
	return NextTurn
}

func (b *Inbox) queue(t Target) *[]waiting {
	if t == NextStep {
		return &b.step
	}
	return &b.turn
}

func (b *Inbox) find(id string) (Target, int) {
	for _, t := range []Target{NextStep, NextTurn} {
		for i, w := range *b.queue(t) {
			if w.msg.ID == id {
				return t, i
			}
		}
	}
	return "", -1
}

// waitsForUser reports whether a message is held after a crash. The notes of jobs are
// not: what they say is no less true then, and nobody would know to release them.
func waitsForUser(s *llm.Source) bool { return s.Form != FormJob }

// unheld are the ids that a claim would not skip, of messages that wait for the user
// after a crash.
func (b *Inbox) unheld() []string {
	var ids []string
	for _, it := range b.Items() {
		if !it.Held && waitsForUser(&it.Source) {
			ids = append(ids, it.ID)
		}
	}
	return ids
}

// check says why a splice must not be applied.
func (b *Inbox) check(p *InboxSpliced) error {
	if p.Target != NextStep && p.Target != NextTurn {
		return fmt.Errorf("the inbox has no queue %q", p.Target)
	}
	queue := *b.queue(p.Target)
	end := p.Start + p.RemovedCount
	switch {
	case p.Start < 0 || p.RemovedCount < 0 || end < p.Start || end > len(queue):
		return fmt.Errorf("splice at %d removing %d does not fit the %s queue of %d", p.Start, p.RemovedCount, p.Target, len(queue))
	case p.RemovedCount == 0 && len(p.Inserted) == 0:
		return errors.New("the splice changes nothing")
	case p.Outcome != "" && (p.Outcome != OutcomeCanceled || p.RemovedCount == 0):
		return fmt.Errorf("outcome %q does not fit the splice", p.Outcome)
	}
	seen := map[string]bool{}
	for i := range p.Inserted {
		m := &p.Inserted[i]
		if err := checkUserMessage(m); err != nil {
			return err
		}
		t, at := b.find(m.ID)
		leaves := t == p.Target && at >= p.Start && at < end
		if seen[m.ID] || at >= 0 && !leaves {
			return fmt.Errorf("message %q is in the inbox already", m.ID)
		}
		seen[m.ID] = true
	}
	return nil
}

// apply takes over a splice that check let pass, and returns what it removed.
func (b *Inbox) apply(p *InboxSpliced) (removed []waiting) {
	queue := b.queue(p.Target)
	removed = slices.Clone((*queue)[p.Start : p.Start+p.RemovedCount])
	inserted := make([]waiting, len(p.Inserted))
	for i, m := range p.Inserted {
		inserted[i] = waiting{p.Target, m, i < len(removed) && removed[i].held}
		b.entered(m.ID) // a requeued message is not claimed any more
	}
	*queue = slices.Concat((*queue)[:p.Start], inserted, (*queue)[p.Start+p.RemovedCount:])
	if p.isClaim() {
		b.claimed = slices.Concat(b.claimed, removed)
	}
	return removed
}

// isClaim: a pure removal without an outcome.
func (p *InboxSpliced) isClaim() bool {
	return p.RemovedCount > 0 && p.Outcome == "" && len(p.Inserted) == 0
}

func (b *Inbox) applyHeld(p *InboxHeld) {
	for _, id := range p.IDs {
		if t, i := b.find(id); i >= 0 {
			queue := b.queue(t)
			*queue = slices.Clone(*queue)
			(*queue)[i].held = p.Held
		}
	}
}

// entered notes that a claimed message reached the model's view.
func (b *Inbox) entered(id string) {
	is := func(w waiting) bool { return w.msg.ID == id }
	if slices.ContainsFunc(b.claimed, is) {
		b.claimed = slices.DeleteFunc(slices.Clone(b.claimed), is)
	}
}
