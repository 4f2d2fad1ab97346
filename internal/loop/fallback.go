package loop

import (
	"context"

	"dsh/internal/llm"
)

// fallback is the recovery that comes last, when nobody waits any more: the next model
// of the user's list takes over, at most one in a step, until the turn ends. The log
// shows it as a change of the header.
type fallback struct{ a *Agent }

// fallen is how far down the list the open turn is.
type fallen struct {
	from   llm.Config // the route that was left; another choice of the user ends it
	n      int
	inStep bool
}

// RequestError declines what another model would not make better: a request that is
// wrong, and one that its own user stopped.
func (f *fallback) RequestError(_ context.Context, r RequestFailure) (retry bool, err error) {
	d := &f.a.d.fallen
	passing := r.Failure.Transient() || r.Failure.Code == llm.CodeQuota
	if !passing || d.inStep {
		return false, nil
	}
	primary := f.a.currentRoute().Config
	if d.from != primary {
		d.from, d.n = primary, 0
	}
	if d.n == len(f.a.o.Fallback) {
		return false, nil
	}
	d.n++
	d.inStep = true
	return true, nil
}

// turnRoute is the route of the driver's next request.
func (a *Agent) turnRoute() Route {
	r := a.currentRoute()
	if d := &a.d.fallen; d.n > 0 && d.from == r.Config {
		return a.o.Fallback[d.n-1]
	}
	return r
}
