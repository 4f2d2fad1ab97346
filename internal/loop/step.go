package loop

import (
	"dsh/internal/llm"
)

// requests makes room where the conversation is about to outgrow the window, and
// sends the step's request until one succeeds or nobody wants another
// attempt, then runs the calls of the answer. owes says that the model has results
// to read.
func (t *turn) requests() (owes bool, err error) {
	if err := t.makeRoom(); err != nil {
		return false, err
	}
	for attempt := 1; ; attempt++ {
		answer, failure, err := t.request(attempt)
		if err != nil {
			return false, err
		}
		if failure == nil {
			return t.take(answer)
		}
		failure = overfull(failure, t.a.d.meter.total(), t.route)
		retry, err := t.recover(attempt, failure)
		if err != nil {
			return false, err
		}
		if !retry {
			return false, failure
		}
	}
}

// take acts on an answer. An answer that hit the output limit runs nothing: its
// calls are not in the message.
func (t *turn) take(m *llm.Message) (owes bool, err error) {
	if m == nil {
		return false, nil
	}
	calls := m.Calls()
	if len(calls) == 0 {
		return false, nil
	}
	ends, err := t.runCalls(calls)
	if err == nil {
		err = t.check()
	}
	return !ends, err
}

// recover asks, one after another, who may want the failed request sent again. A
// cancel beats whatever they say.
func (t *turn) recover(attempt int, failure *llm.Failure) (retry bool, err error) {
	f := RequestFailure{Turn: t.n, Step: t.step, Attempt: attempt, Route: t.route, Failure: failure}
	for _, ext := range t.a.recoveries {
		retry, err = ext.RequestError(t.ctx, f)
		if stopped := t.check(); stopped != nil {
			return false, stopped
		}
		if err != nil || retry {
			return retry, err
		}
	}
	return false, nil
}
