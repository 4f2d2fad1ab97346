package loop

import (
	"errors"
	"slices"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// Queue is what waits in the inbox, next-step items first.
func (a *Agent) Queue() []session.QueueItem {
	box := a.log.Inbox()
	return box.Items()
}

// Replace changes the text of a waiting message; false if it is no longer waiting.
func (a *Agent) Replace(id, text string) (bool, error) {
	m := a.userMessage(text)
	return a.edit(func(box *session.Inbox) ([]session.InboxSpliced, bool, error) {
		p, ok, err := box.Replace(id, m)
		return []session.InboxSpliced{p}, ok, err
	})
}

// Remove takes a waiting message out of the inbox; false if it is no longer waiting.
func (a *Agent) Remove(id string) (bool, error) {
	return a.edit(func(box *session.Inbox) ([]session.InboxSpliced, bool, error) {
		p, ok := box.Remove(id)
		return []session.InboxSpliced{p}, ok, nil
	})
}

// Move takes a waiting message to another place of the inbox; false if it is no
// longer waiting. Past the end is the end. Within its queue a held message stays held,
// into the other one it is released.
func (a *Agent) Move(id string, to session.Target, at int) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	stays := slices.ContainsFunc(a.Queue(), func(it session.QueueItem) bool {
		return it.ID == id && it.Held && it.Target == to
	})
	ok, err := a.editLocked(func(box *session.Inbox) ([]session.InboxSpliced, bool, error) {
		splices, ok := box.Move(id, to, at)
		if ok && to == session.NextStep && a.act != nil && a.act.closing {
			a.latch = true // the turn has no step left for it, and no other turn looks there first
		}
		return splices, ok, nil
	})
	if ok && err == nil && stays {
		err = a.hold([]string{id})
	}
	return ok, err
}

// Release lets held messages go, and wakes the agent when there were any. Ids that
// are not held are passed over. What was meant for a step that never came has a turn of
// its own, before what was queued.
func (a *Agent) Release(ids ...string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return ErrClosed
	}
	if ids = a.among(ids, true); len(ids) == 0 {
		return nil
	}
	stepless := a.act == nil || a.act.maintenance || a.act.closing || a.act.ctx.Err() != nil
	drafts := []session.Draft{{Data: session.InboxHeld{IDs: ids, Held: false}}}
	if stepless {
		box := a.log.Inbox()
		for _, p := range box.Turns(ids) {
			drafts = append(drafts, session.Draft{Data: p})
		}
	}
	if _, err := a.log.Append(drafts...); err != nil {
		return err
	}
	a.stir()
	switch {
	case a.act == nil:
		a.start()
	case stepless:
		a.latch = true
	}
	return nil
}

// Hold keeps waiting messages of the user from being claimed until they are
// released.
func (a *Agent) Hold(ids ...string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hold(ids)
}

// Interrupt is the user's stop: the turn is cancelled, and what the user had sent
// ahead is held, so that nothing is sent that was meant for another moment. Notes of
// dsh itself keep waiting for the next step.
func (a *Agent) Interrupt() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ids []string
	for _, it := range a.Queue() {
		if it.Source.Kind == llm.FromUser {
			ids = append(ids, it.ID)
		}
	}
	return errors.Join(a.hold(ids), a.cancel(session.Cause{Kind: session.ByUser}, true))
}

func (a *Agent) hold(ids []string) error {
	if ids = a.among(ids, false); len(ids) == 0 {
		return nil
	}
	_, err := a.log.Append(session.Draft{Data: session.InboxHeld{IDs: ids, Held: true}})
	return err
}

// among are those of ids that wait and are held, or not.
func (a *Agent) among(ids []string, held bool) []string {
	var list []string
	for _, it := range a.Queue() {
		if it.Held == held && slices.Contains(ids, it.ID) {
			list = append(list, it.ID)
		}
	}
	return list
}

// edit writes what plan makes of the inbox of now.
func (a *Agent) edit(plan func(*session.Inbox) ([]session.InboxSpliced, bool, error)) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.editLocked(plan)
}

// editLocked is edit for a caller that holds a.mu.
func (a *Agent) editLocked(plan func(*session.Inbox) ([]session.InboxSpliced, bool, error)) (bool, error) {
	box := a.log.Inbox()
	splices, ok, err := plan(&box)
	if err != nil || !ok {
		return false, err
	}
	return true, a.appendSplices(splices)
}
