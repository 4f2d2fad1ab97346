package loop

import (
	"slices"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// input claims what waits for the boundary, asks the extensions what enters, and
// opens the step with it. What arrives from here on belongs to the next boundary.
// owes says that a step follows in any case; without anything to say none is opened.
// A claimed batch that does not enter goes back to the head of its queue, unless an
// extension rejected it or the user's cancel dropped it.
func (t *turn) input(target session.Target, owes bool) (opened bool, rejected string, err error) {
	if err := t.check(); err != nil {
		return false, "", err
	}
	batch, err := t.a.claim(target)
	if err != nil {
		return false, "", err
	}
	enter, rejected, err := t.preStep(pointers(batch), owes)
	if err == nil {
		err = t.check() // the end of the turn also wins over what an extension made of it
	}
	opened = err == nil && rejected == "" && (owes || len(enter) > 0)
	if opened {
		err = t.openStep(enter)
	}
	if err != nil {
		if e := t.a.requeue(t.act, batch); e != nil {
			t.a.fail(e)
		}
		return false, "", err
	}
	return opened, rejected, nil
}

// openStep is the last place where a batch can be refused; from here on it is part
// of the conversation.
func (t *turn) openStep(enter []*llm.Message) error {
	if err := t.spendStep(); err != nil {
		return err
	}
	drafts := []session.Draft{{Data: session.StepStart{Turn: t.n, Step: t.step + 1}}}
	for _, m := range enter {
		drafts = append(drafts, session.Visible(session.UserMessage{Message: *m}))
	}
	if err := t.a.append(drafts...); err != nil {
		return err
	}
	t.step++
	return nil
}

func (t *turn) preStep(batch []*llm.Message, owes bool) (enter []*llm.Message, rejected string, err error) {
	a := t.a
	if a.holdsKey(batch) {
		return nil, "the prompt contains your API key", nil
	}
	enter = append(enter, batch...)
	if len(enter) > 0 && a.o.Environment != nil && !a.d.environmentSent {
		enter = append(enter, a.environment())
	}
	if owes || len(enter) > 0 {
		enter = append(enter, t.budgetNotes()...)
	}
	for _, ext := range a.preSteps {
		enter, rejected, err = ext.PreStep(t.ctx, Batch{Turn: t.n, Step: t.step + 1, Messages: enter, Owes: owes})
		if err != nil || rejected != "" {
			return nil, rejected, err
		}
		if err := t.check(); err != nil {
			return nil, "", err
		}
	}
	return enter, "", nil
}

// environment makes the block; it counts as sent once it has entered a step.
func (a *Agent) environment() *llm.Message {
	m := a.o.Environment()
	a.redactBlocks(m.Content)
	m.ID = session.NewID()
	a.d.environmentID = m.ID
	return &m
}

// holdsKey reports whether the door took a key out of a prompt, in this process or
// an earlier one: the text is safe by now, but it is not what the user meant to send.
func (a *Agent) holdsKey(batch []*llm.Message) bool {
	return slices.ContainsFunc(batch, func(m *llm.Message) bool {
		if m.Source.Kind != llm.FromUser {
			return false
		}
		_, found := a.o.RedactPrompt(m.PlainText())
		return found
	})
}

// claim takes what waits for a boundary out of the inbox.
func (a *Agent) claim(target session.Target) ([]llm.Message, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	box := a.log.Inbox()
	batch, splices := box.Claim(target)
	if err := a.appendSplices(splices); err != nil {
		return nil, err
	}
	return batch, nil
}

// requeue puts a batch back to the head of its queues. When a cancel emptied the
// queues meanwhile, the batch leaves them again, as what it is: canceled.
func (a *Agent) requeue(act *activity, batch []llm.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	box := a.log.Inbox()
	var splices []session.InboxSpliced
	for _, back := range box.Requeue(batch) {
		splices = append(splices, back)
		if act.drop {
			splices = append(splices, session.InboxSpliced{Target: back.Target,
				RemovedCount: len(back.Inserted), Outcome: session.OutcomeCanceled})
		}
	}
	return a.appendSplices(splices)
}

// appendSplices writes changes of the inbox in one append. The caller holds a.mu.
func (a *Agent) appendSplices(splices []session.InboxSpliced) error {
	if len(splices) == 0 {
		return nil
	}
	drafts := make([]session.Draft, len(splices))
	for i, s := range splices {
		drafts[i] = session.Draft{Data: s}
	}
	_, err := a.log.Append(drafts...)
	a.stir()
	return err
}

// stir tells the scheduler to look at the inbox.
func (a *Agent) stir() {
	select {
	case a.stirred <- struct{}{}:
	default:
	}
}

// steered reports whether the user waits for the next step.
func (a *Agent) steered() bool {
	box := a.log.Inbox()
	return slices.ContainsFunc(box.Items(), func(it session.QueueItem) bool {
		return it.Target == session.NextStep && !it.Held && it.Source.Kind == llm.FromUser
	})
}

func pointers(batch []llm.Message) []*llm.Message {
	all := make([]*llm.Message, len(batch))
	for i := range batch {
		all[i] = &batch[i]
	}
	return all
}
