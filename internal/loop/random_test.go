package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// A ride is a session under random use: people at several doors at once, a provider
// and tools that answer, fail, hang and take their time. All of it comes from the
// seed, but for the order of what happens at the same moment.
type ride struct {
	f    *fixture
	seed uint64
	calm bool // nothing fails, and nobody cancels, removes or closes
	full bool // the disk is full now and then: doors may refuse

	mu       sync.Mutex
	accepted []string // ids of the messages that a door took
	requests uint64
}

const (
	rides    = 6
	riders   = 3
	rideOps  = 25
	rideStep = 40 // milliseconds between what one rider does, at most
)

func TestRandomUseLosesNoMessage(t *testing.T) {
	for seed := range uint64(rides) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRide(t, seed, false)
				r.run()
				r.f.accountFor(r.accepted)

				// The next life takes up what waits, when the user says so.
				g := r.f.reopen(nil)
				var held []string
				for _, it := range g.Queue() {
					expect(t, "held after a resume", it.Held, true)
					held = append(held, it.ID)
				}
				must(t, g.Release(held...))
				g.idle()
				expect(t, "waiting in the end", g.queued(), "[]")
				g.accountFor(r.accepted)
			})
		})
	}
}

// Without failures and cancels, everything that wakes is answered.
func TestRandomUseLosesNoWake(t *testing.T) {
	for seed := range uint64(rides) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRide(t, seed+1000, true)
				r.run()
				for _, it := range r.f.Queue() {
					if it.Source.Kind == llm.FromUser {
						t.Errorf("%q was accepted, and nobody is going to answer it", it.Text)
					}
				}
				r.f.accountFor(r.accepted)
				for _, end := range of[session.TurnEnd](r.f) {
					if end.Reason.Kind != session.Completed && end.Reason.Kind != session.MaxTokens {
						t.Errorf("turn %d ended %+v", end.Turn, end.Reason)
					}
				}
			})
		})
	}
}

func newRide(t *testing.T, seed uint64, calm bool) *ride {
	r := &ride{seed: seed, calm: calm}
	p := &probe{name: "probe", safe: func(args string) bool { return len(args)%2 == 0 }, run: r.tool}
	w := &probe{name: "risky", class: policy.Write, run: r.tool}
	plays := make([]play, 500)
	for i := range plays {
		plays[i] = r.play
	}
	r.f = newFixture(t, plays, with(p, w), budgets(Budgets{Steps: 12, Calls: 20}), entering(r.preStep), ending(r.stopping),
		func(o *Options) { o.Rules.Preset, o.Asks = policy.PresetAsk, true })
	if calm {
		r.f.o.Budgets = Budgets{}
	}
	return r
}

// run lets the riders do what they do and waits until all is quiet.
func (r *ride) run() {
	var wg sync.WaitGroup
	for i := range riders {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(r.seed, uint64(i)))
			for n := range rideOps {
				time.Sleep(time.Duration(rng.IntN(rideStep)) * time.Millisecond)
				r.act(rng, fmt.Sprintf("%d-%d", i, n))
			}
		}()
	}
	wg.Wait()
	quiet := make(chan struct{})
	go func() {
		defer close(quiet)
		r.f.idle()
	}()
	for { // somebody has to answer
		select {
		case <-quiet:
			return
		case <-time.After(time.Second):
			r.decide(rand.New(rand.NewPCG(r.seed, 99)))
		}
	}
}

func (r *ride) act(rng *rand.Rand, text string) {
	f := r.f
	switch n := rng.IntN(20); {
	case n < 6:
		r.accept(f.Followup(text))
	case n < 10:
		r.accept(f.Steer(text))
	case n < 12:
		r.accept(f.Inject(note(text)))
	case n < 14:
		r.decide(rng)
	case n < 15:
		err := f.Maintenance(context.Background(), func(ctx context.Context) error { return linger(ctx, rng, 30) })
		if err != nil && !errors.Is(err, ErrBusy) && !errors.Is(err, ErrClosed) && ctxCause(err) == "" {
			f.t.Errorf("maintenance: %v", err)
		}
	case n < 16 && rng.IntN(2) == 0:
		f.SetRoute(Route{Model: f.model, Config: llm.Config{Provider: "test", Model: fmt.Sprint("m", rng.IntN(3))}})
	case n < 16:
		if it, ok := r.any(rng); ok {
			_, err := f.Move(it.ID, [2]session.Target{session.NextStep, session.NextTurn}[rng.IntN(2)], rng.IntN(3))
			r.tolerate(err)
		}
	case r.calm:
		r.accept(f.Steer(text))
	case n < 17:
		if it, ok := r.any(rng); ok {
			_, err := f.Remove(it.ID)
			r.tolerate(err)
		}
	case n < 19:
		r.tolerate(f.Cancel(session.Cause{Kind: session.ByUser}, rng.IntN(3) > 0))
	case rng.IntN(20) == 0:
		r.tolerate(f.Agent.Close(context.Background()))
	}
}

func ctxCause(err error) string {
	var cause *session.Cause
	if errors.As(err, &cause) {
		return string(cause.Kind)
	}
	return ""
}

func (r *ride) tolerate(err error) {
	if err != nil && !errors.Is(err, ErrClosed) && !r.full {
		r.f.t.Error(err)
	}
}

func (r *ride) accept(it session.QueueItem, err error) {
	r.tolerate(err)
	if err == nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.accepted = append(r.accepted, it.ID)
	}
}

func (r *ride) any(rng *rand.Rand) (session.QueueItem, bool) {
	items := r.f.Queue()
	if len(items) == 0 {
		return session.QueueItem{}, false
	}
	return items[rng.IntN(len(items))], true
}

func (r *ride) decide(rng *rand.Rand) {
	for _, q := range r.f.Waiting() {
		outcome := [3]session.Outcome{session.Once, session.No, session.ForSession}[rng.IntN(3)]
		_ = r.f.Decide(q.ID, session.Answer{Outcome: outcome}) // another rider may have been faster
	}
}

// roll is the dice of one thing the provider's side does.
func (r *ride) roll() *rand.Rand {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	return rand.New(rand.NewPCG(r.seed^0xd5, r.requests))
}

func linger(ctx context.Context, rng *rand.Rand, ms int) error {
	select {
	case <-time.After(time.Duration(rng.IntN(ms)) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (r *ride) play(ctx context.Context, req *llm.Request, yield func(llm.Chunk) bool) {
	rng := r.roll()
	if linger(ctx, rng, 20) != nil {
		return
	}
	switch n := rng.IntN(12); {
	case n < 4:
		say("fine")(ctx, req, yield)
	case n < 6:
		call("probe", fmt.Sprintf(`{"n":%d}`, rng.IntN(30)), "probe", "{}", "risky", "{}")(ctx, req, yield)
	case n < 8:
		call("probe", fmt.Sprintf(`{"n":%d}`, rng.IntN(30)))(ctx, req, yield)
	case n < 9:
		cut(text("too long"), delta(1, "", "probe", `{"`))(ctx, req, yield)
	case r.calm:
		say("calm")(ctx, req, yield)
	case n < 10:
		yield(text("half"))
		fail(llm.Failure{Code: llm.CodeServer, Message: "down"})(ctx, req, yield)
	case n < 11:
		fail(llm.Failure{Code: llm.CodeAuth, Message: "no"})(ctx, req, yield)
	default:
		yield(text("on and on"))
		_ = linger(ctx, rng, 500)
	}
}

func (r *ride) tool(ctx context.Context, args string) (tools.Result, error) {
	rng := r.roll()
	_ = linger(ctx, rng, 15)
	res := tools.Result{Text: fmt.Sprint("ran ", args, rng.IntN(5)), EndsTurn: rng.IntN(8) == 0}
	if rng.IntN(4) == 0 {
		res.Contexts = []llm.Message{note("it says more")}
	}
	if rng.IntN(6) == 0 {
		return tools.Result{}, errTest
	}
	return res, nil
}

func (r *ride) preStep(b Batch) ([]*llm.Message, string, error) {
	rng := r.roll()
	time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
	switch n := rng.IntN(40); {
	case r.calm:
	case n == 0:
		return nil, "not today", nil
	case n < 3:
		return nil, "", errTest
	}
	return b.Messages, "", nil
}

func (r *ride) stopping(Stopping) (Ending, error) {
	rng := r.roll()
	time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond)
	if rng.IntN(8) == 0 {
		return Ending{Continue: []llm.Message{note("go on")}}, nil
	}
	return Ending{}, nil
}

// follows are the states of a message, each with those it may come from. A message
// that is moved is cancelled and inserted in one append.
var follows = map[string][]string{
	"waits":    {"", "claimed", "canceled"},
	"claimed":  {"waits"},
	"canceled": {"waits"},
	"entered":  {"claimed"},
	"rejected": {"claimed"},
}

// accountFor follows every accepted message through the log: it entered a step once,
// or waits, or was cancelled, or was in a batch that was rejected.
func (f *fixture) accountFor(accepted []string) {
	f.t.Helper()
	state := map[string]string{}
	queue := map[session.Target][]string{}
	become := func(id, to string) {
		from := state[id]
		if !slices.Contains(follows[to], from) {
			f.t.Errorf("message %s was %q and became %q", id, from, to)
		}
		state[id] = to
	}
	for _, ev := range f.events() {
		switch p := ev.Data.(type) {
		case session.InboxSpliced:
			q := queue[p.Target]
			out := "claimed"
			if p.Outcome != "" {
				out = p.Outcome
			}
			for _, id := range q[p.Start : p.Start+p.RemovedCount] {
				become(id, out)
			}
			var in []string
			for _, m := range p.Inserted {
				become(m.ID, "waits")
				in = append(in, m.ID)
			}
			queue[p.Target] = append(append(append([]string{}, q[:p.Start]...), in...), q[p.Start+p.RemovedCount:]...)
		case session.UserMessage:
			if state[p.ID] != "" {
				become(p.ID, "entered")
			}
		case session.TurnEnd:
			for id, s := range state {
				if s == "claimed" && p.Reason.Kind == session.Blocked {
					become(id, "rejected")
				}
			}
		}
	}
	for _, id := range accepted {
		if s := state[id]; s == "" || s == "claimed" {
			f.t.Errorf("accepted message %s is lost: %q", id, s)
		}
	}
	f.check()
}
