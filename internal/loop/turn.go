package loop

import (
	"context"
	"errors"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// turn is the state of the turn under way. It belongs to the driver.
type turn struct {
	a     *Agent
	act   *activity
	ctx   context.Context
	end   context.CancelCauseFunc // of ctx; the activity's is another one by the next turn
	n     int
	step  int // the last step that was opened, 0 none
	clock *clock

	route     Route // of the last request
	maxTokens bool  // some step hit the output limit: sticky for the outcome
}

// CodeLog is the code of a turn that failed because its log could not be written; a
// later, shorter event found place.
const CodeLog llm.Code = "LOG"

// errStopped means that the turn's context ended; the cause says why.
var errStopped = errors.New("the turn was stopped")

// turn runs one turn and reports whether the driver may go on with the queue. A
// turn that was opened is closed, whatever happens in it.
func (a *Agent) turn(act *activity) (goOn bool) {
	if act.ctx.Err() != nil {
		return false // cancelled before it began: nothing to balance
	}
	n, err := a.startTurn()
	if err != nil {
		a.close(act)
		a.fail(err)
		return false
	}
	a.returnToChosen()
	t := &turn{a: a, act: act, ctx: act.ctx, end: act.cancel, n: n}
	if err := a.logPreset(); err != nil {
		a.fail(err)
	}
	t.clock = startClock(a.o.Budgets.Time, func() { t.stop(timeSpent(a.o.Budgets.Time)) })
	reason, runErr := t.run()
	t.clock.stop()
	if runErr != nil {
		reason = t.outcome(runErr)
		if e := t.spendTime(); e != nil {
			a.fail(e)
		}
	}
	a.close(act)
	err = a.endTurn(t.n, reason)
	if err == nil {
		err = a.log.Sync()
	}
	if err != nil {
		if broken := (*session.WriteError)(nil); errors.As(runErr, &broken) {
			err = broken // the rest follows from it
		}
		a.fail(err)
		return false
	}
	return a.mayBegin()
}

func (a *Agent) startTurn() (n int, err error) {
	if err := a.closeBroken(); err != nil {
		return 0, err
	}
	n = a.log.LastTurn() + 1
	return n, a.append(session.Draft{Data: session.TurnStart{Turn: n}})
}

// closeBroken ends what the log could not take the end of, when it was full: the turn
// or the compaction that is open then would keep every later turn from starting.
func (a *Agent) closeBroken() error {
	if err := a.closeCompaction(); err != nil {
		return err
	}
	if a.d.open == 0 {
		return nil
	}
	box := a.log.Inbox()
	if err := a.requeue(&activity{}, box.Claimed()); err != nil {
		return err
	}
	failure := &llm.Failure{Code: llm.CodeUnknown, Message: "the session log could not be written"}
	return a.endTurn(a.d.open, session.EndReason{Kind: session.Failed, Failure: failure})
}

// endTurn closes a turn, and before it the step that the log could not take the end
// of.
func (a *Agent) endTurn(n int, reason session.EndReason) error {
	step := a.log.OpenStep()
	drafts := session.Pair(step, session.Broken)
	if step.Step > 0 {
		drafts = append(drafts, session.Draft{Data: session.StepEnd{Turn: step.Turn, Step: step.Step}})
	}
	return a.append(append(drafts, session.Draft{Data: session.TurnEnd{Turn: n, Reason: reason}})...)
}

// run is the loop over steps. owes says that tools ran and the model has not read
// their results; it is not the same as having a reason to end with.
func (t *turn) run() (session.EndReason, error) {
	target, owes := session.NextTurn, false
	for {
		opened, rejected, err := t.input(target, owes)
		if err != nil {
			return session.EndReason{}, err
		}
		if rejected != "" {
			return session.EndReason{Kind: session.Blocked}, nil
		}
		if opened { // an emptied prompt costs no request
			if owes, err = t.runStep(); err != nil {
				return session.EndReason{}, err
			}
		}
		if !owes {
			reason, done, err := t.mayEnd()
			if err != nil || done {
				return reason, err
			}
		}
		target = session.NextStep
	}
}

// mayEnd asks the extensions, unless nothing happened, then closes the turn to
// further input if there is none. A steer that arrives before the close gets its
// step.
func (t *turn) mayEnd() (reason session.EndReason, done bool, err error) {
	if err := t.check(); err != nil {
		return reason, false, err
	}
	reason = t.reason()
	steered, waits := t.listen()
	if waits {
		return reason, false, nil
	}
	extensions := t.a.o.Extensions.TurnStopping
	if t.step == 0 {
		extensions = nil
	}
	for _, ext := range extensions {
		ending, err := ext.TurnStopping(t.ctx, Stopping{Turn: t.n, Reason: reason, Record: t.record, Steered: steered})
		if err != nil {
			return reason, false, err
		}
		if err := t.check(); err != nil {
			return reason, false, err
		}
		for _, m := range ending.Continue {
			if err := t.a.note(m); err != nil {
				return reason, false, err
			}
		}
		if ending.Reason != nil {
			reason = *ending.Reason
		}
	}
	return reason, t.a.closeUnlessInput(t.act), nil
}

// listen returns what a steer closes, or that next-step input waits already; no steer
// comes between the two.
func (t *turn) listen() (steered <-chan struct{}, waits bool) {
	t.a.mu.Lock()
	defer t.a.mu.Unlock()
	return t.act.listen(), t.a.hasStepInput()
}

// record writes an event of a check.
func (t *turn) record(run session.VerifyRun) error {
	if err := t.a.append(session.Draft{Data: run}); err != nil {
		return err
	}
	return t.a.log.Sync()
}

func (t *turn) reason() session.EndReason {
	if t.maxTokens {
		return session.EndReason{Kind: session.MaxTokens}
	}
	return session.EndReason{Kind: session.Completed}
}

// runStep runs the open step and closes it, also when it fails: every call of it has
// its result before step/end.
func (t *turn) runStep() (owes bool, err error) {
	owes, err = t.requests()
	if pairErr := t.pairRest(err); err == nil {
		err = pairErr
	}
	if endErr := t.a.append(session.Draft{Data: session.StepEnd{Turn: t.n, Step: t.step}}); err == nil {
		err = endErr
	}
	return owes, err
}

// pairRest gives a result to every call that the step leaves without one.
func (t *turn) pairRest(stepErr error) error {
	why := session.Broken
	if stepErr == nil || t.ctx.Err() != nil {
		why = session.Cancelled
	}
	rest := session.Pair(t.a.log.OpenStep(), why)
	if len(rest) == 0 {
		return nil
	}
	return t.a.append(rest...)
}

// outcome is what a failed run of the turn is recorded as. An abort wins over
// whatever error it provoked.
func (t *turn) outcome(err error) session.EndReason {
	if t.ctx.Err() != nil {
		cause := causeOf(t.ctx)
		return session.EndReason{Kind: session.Aborted, Cause: &cause}
	}
	failure := &llm.Failure{Code: llm.CodeUnknown, Message: err.Error()}
	if !errors.As(err, &failure) && errors.As(err, new(*session.WriteError)) {
		failure.Code = CodeLog
	}
	return session.EndReason{Kind: session.Failed, Failure: failure}
}

// stop ends the turn for a reason that dsh itself has: a budget or a guard.
func (t *turn) stop(reason string) {
	t.end(&session.Cause{Kind: session.ByHook, Reason: reason})
}

// check is the one place where the driver looks whether the turn was ended.
func (t *turn) check() error {
	if t.ctx.Err() != nil {
		return errStopped
	}
	return nil
}

// close marks the activity as past its last claim.
func (a *Agent) close(act *activity) {
	a.mu.Lock()
	defer a.mu.Unlock()
	act.closing = true
}

// closeUnlessInput closes unless next-step input waits; both are decided under the
// lock that sends take.
func (a *Agent) closeUnlessInput(act *activity) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	act.closing = !a.hasStepInput()
	return act.closing
}

func (a *Agent) hasStepInput() bool {
	box := a.log.Inbox()
	return box.Ready(session.NextStep)
}

// append writes to the log and feeds the driver's own folds.
func (a *Agent) append(drafts ...session.Draft) error {
	events, err := a.log.Append(drafts...)
	for i := range events {
		a.d.apply(&events[i])
	}
	return err
}

// fail remembers an error that the log could not take.
func (a *Agent) fail(err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.err = err
}

// clock ends a turn after its time; it stands still while a person is asked.
type clock struct {
	left    time.Duration
	resumed time.Time
	timer   *time.Timer
}

func startClock(limit time.Duration, expired func()) *clock {
	if limit <= 0 {
		return &clock{}
	}
	return &clock{left: limit, resumed: time.Now(), timer: time.AfterFunc(limit, expired)}
}

func (c *clock) stop() {
	if c.timer != nil && c.timer.Stop() {
		c.left -= time.Since(c.resumed)
	}
}

func (c *clock) resume() {
	if c.timer != nil {
		c.resumed = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

// remaining is the time left; false if there is no limit.
func (c *clock) remaining() (time.Duration, bool) {
	if c.timer == nil {
		return 0, false
	}
	return c.left - time.Since(c.resumed), true
}

func causeOf(ctx context.Context) session.Cause {
	var c *session.Cause
	if errors.As(context.Cause(ctx), &c) {
		return *c
	}
	return session.Cause{Kind: session.Disposed}
}
