package loop

import (
	"context"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// fallback is the recovery of last resort, after backoff: the request goes to the
// next model of the list, once a step. The turn stays with that model, whose cache
// is warm now; the next turn begins with the chosen one again.
type fallback struct{ a *Agent }

// RequestError logs the failure that made it leave, then the route is another. What
// any model would answer the same to (a wrong request, a wrong key, content that is
// refused, a full context) is no reason to go.
func (f *fallback) RequestError(_ context.Context, failed RequestFailure) (retry bool, err error) {
	if !elsewhere(failed.Failure) || f.a.d.retries.fellBack || !f.a.fallBack(failed.Route.Config) {
		return false, nil
	}
	id, limit := session.NewID(), 1
	retried := session.Retry{RetryID: id, Turn: failed.Turn, Step: failed.Step, Provider: failed.Route.Config.Provider,
		Mode: session.ModeFallback, PolicyKey: session.ModeFallback, Retry: 1, MaxRetries: &limit, Failure: *failed.Failure}
	started := session.RetryStarted{RetryID: id, Turn: failed.Turn, Step: failed.Step, Retry: 1}
	return true, f.a.append(session.Draft{Data: retried}, session.Draft{Data: started})
}

// elsewhere reports whether the failure is the provider's, so that another one may
// do better.
func elsewhere(f *llm.Failure) bool {
	passing := *f
	passing.Final = false // it is this provider that says not to ask it again
	return f.Code == llm.CodeQuota || passing.Transient()
}

// fallBack takes the next model of the list, if there is one. A model that the user
// chose since failed was sent is tried as it is.
func (a *Agent) fallBack(failed llm.Config) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.routeInForce().Config != failed {
		return true
	}
	if a.fallen == len(a.o.Fallback) {
		return false
	}
	a.fallen++
	return true
}

// routeInForce is the chosen model, or the one the turn fell back to. The caller
// holds a.mu.
func (a *Agent) routeInForce() Route {
	if a.fallen > 0 {
		return a.o.Fallback[a.fallen-1]
	}
	return a.route
}

// returnToChosen forgets the models that an earlier turn fell back to.
func (a *Agent) returnToChosen() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fallen = 0
}
