package loop

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// RetryPolicy bounds how often and how long a failed request is sent again. Zero
// fields take the defaults of the constants below.
type RetryPolicy struct {
	Attempts  int           // requests a step, the first included
	Base      time.Duration // the first wait; it doubles
	Cap       time.Duration // the longest wait of our own
	HeaderCap time.Duration // the longest wait a provider may ask for
	Total     time.Duration // all waits of a step together
}

const (
	retryAttempts  = 6
	retryBase      = 800 * time.Millisecond
	retryCap       = 30 * time.Second
	retryHeaderCap = 60 * time.Second
	retryTotal     = 5 * time.Minute

	jitterLow, jitterHigh = 0.75, 1.25 // of our own waits
	jitterHeader          = 0.10       // at most, added to a wait the provider named
)

// fewer is the attempts of failures that more attempts rarely mend.
var fewer = map[llm.Code]int{llm.CodeMalformed: 2, llm.CodeToolFormat: 2, llm.CodeEmptyResponse: 3}

func (p *RetryPolicy) fill() {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{{&p.Base, retryBase}, {&p.Cap, retryCap}, {&p.HeaderCap, retryHeaderCap}, {&p.Total, retryTotal}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	if p.Attempts == 0 {
		p.Attempts = retryAttempts
	}
}

// key identifies the limits in the log: changed limits start a new count.
func (p RetryPolicy) key() string {
	raw, err := json.Marshal([]int64{int64(p.Attempts), p.Base.Milliseconds(), p.Cap.Milliseconds(), p.HeaderCap.Milliseconds()})
	if err != nil {
		return "normal"
	}
	return "normal" + string(raw)
}

// retries is the waits of the open step, as a fold.
type retries struct {
	chains map[string]chain // by provider and policy key
	codes  map[llm.Code]int
	waited time.Duration

	fellBack bool // to another model
}

// chain is the retries of one provider under the same limits.
type chain struct {
	id string
	n  int // of the last one
}

func (r *retries) apply(ev *session.Event) {
	switch data := ev.Data.(type) {
	case session.StepStart:
		*r = retries{chains: map[string]chain{}, codes: map[llm.Code]int{}}
	case session.Retry:
		if r.chains == nil {
			return
		}
		r.chains[chainKey(data.Provider, data.PolicyKey)] = chain{data.RetryID, data.Retry}
		if data.Mode == session.ModeFallback {
			r.fellBack, r.codes = true, map[llm.Code]int{} // the other model has its own
			return
		}
		r.codes[data.Failure.Code]++
		r.waited += time.Duration(data.DelayMs) * time.Millisecond
	}
}

func chainKey(provider, policyKey string) string { return provider + "\x00" + policyKey }

// backoff is the recovery that comes last: it waits and sends again, as long as the
// failure may pass and the policy allows.
type backoff struct{ a *Agent }

// RequestError logs the wait before it begins and the attempt before it is made, so
// that a resumed session and the screen know the same.
func (b *backoff) RequestError(ctx context.Context, f RequestFailure) (retry bool, err error) {
	policy, past := b.a.o.Retry, &b.a.d.retries
	provider := f.Route.Config.Provider
	last := past.chains[chainKey(provider, policy.key())]
	id, n := last.id, last.n+1
	delay, ok := policy.delay(f.Failure, n, past, b.a.o.Random)
	if !ok {
		return false, nil
	}
	if n == 1 {
		id = session.NewID()
	}
	limit := policy.Attempts - 1
	err = b.a.append(session.Draft{Data: session.Retry{RetryID: id, Turn: f.Turn, Step: f.Step, Provider: provider,
		Mode: "normal", PolicyKey: policy.key(), Retry: n, MaxRetries: &limit, DelayMs: delay.Milliseconds(), Failure: *f.Failure}})
	if err != nil {
		return false, err
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false, nil
	}
	return true, b.a.append(session.Draft{Data: session.RetryStarted{RetryID: id, Turn: f.Turn, Step: f.Step, Retry: n}})
}

// delay is the wait before retry n; not ok when there shall be none. A provider's
// own word wins, unless it asks for longer than anyone waits.
func (p RetryPolicy) delay(f *llm.Failure, n int, past *retries, random func() float64) (time.Duration, bool) {
	limit := p.Attempts
	if less, ok := fewer[f.Code]; ok && past.codes[f.Code] >= less-1 {
		return 0, false
	}
	if !f.Transient() || n >= limit {
		return 0, false
	}
	var delay time.Duration
	if f.ProviderRetryAfterMs != nil {
		if *f.ProviderRetryAfterMs > p.HeaderCap.Milliseconds() {
			return 0, false
		}
		delay = time.Duration(*f.ProviderRetryAfterMs) * time.Millisecond
		delay += time.Duration(float64(delay) * jitterHeader * random())
	} else {
		doubled := float64(p.Base) * math.Pow(2, float64(n-1))
		jitter := jitterLow + (jitterHigh-jitterLow)*random()
		delay = time.Duration(min(min(doubled, float64(p.Cap))*jitter, float64(p.Cap)))
	}
	return delay, past.waited+delay <= p.Total
}
