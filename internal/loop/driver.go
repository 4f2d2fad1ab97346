package loop

import (
	"context"
	"slices"
	"time"

	"dsh/internal/session"
)

// start makes the idle agent busy with a new driver. The caller holds a.mu.
func (a *Agent) start() { a.startAfter(0) }

// startAfter is start with a turn that begins later; what is sent meanwhile is in it.
func (a *Agent) startAfter(delay time.Duration) {
	act := newActivity(context.Background())
	act.delay = delay
	a.act = act
	go a.drive(act)
}

// drive runs turns until there is no more to do. After a turn that ended well the
// queue goes on; after any other it is parked until somebody wakes the agent again.
func (a *Agent) drive(act *activity) {
	if act.delay > 0 {
		select {
		case <-time.After(act.delay):
		case <-act.ctx.Done():
		}
	}
	a.o.OnStatus(true)
	for a.turn(act) {
		if !a.next(act) {
			break
		}
	}
	a.finish(act)
}

// next decides, under the lock that sends take, whether the driver goes on with
// another queued turn, and prepares it.
func (a *Agent) next(act *activity) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || act.ctx.Err() != nil || !a.hasPending(a.latch || a.heard) {
		return false
	}
	act.cancel(nil)
	act.ctx, act.cancel = context.WithCancelCause(context.Background())
	act.closing, act.drop, a.latch, a.heard = false, false, false, false
	return true
}

// finish ends an activity: idle is published, then a wake that came too late for it
// starts the next one. Both happen under one lock, so no wake is lost and a waiter
// that sees idle is right.
func (a *Agent) finish(act *activity) {
	act.cancel(nil)
	if !act.maintenance {
		a.o.OnStatus(false)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.act = nil
	replay := (a.latch || a.heard && a.mayBegin()) && !a.closed && a.hasPending(true)
	a.latch, a.heard = false, false
	if replay {
		a.start()
	}
	close(act.done)
}

// mayBegin reports whether the end of a job may begin a turn. After one that was
// stopped, what waits is read when the user goes on.
func (a *Agent) mayBegin() bool {
	end := a.log.LastEnd()
	return end == nil || end.GoesOn()
}

// hasPending reports whether a claim would find a prompt, or, with steps, anything.
func (a *Agent) hasPending(steps bool) bool {
	box := a.log.Inbox()
	if steps {
		return box.Ready(session.NextTurn)
	}
	return slices.ContainsFunc(box.Items(), func(it session.QueueItem) bool {
		return it.Target == session.NextTurn && !it.Held
	})
}
