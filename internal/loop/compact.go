package loop

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// Shares of the context window, in percent.
const (
	compactAt   = 80 // from here on room is made
	compactKeep = 16 // of the newest messages stay as they are
	worthwhile  = 5  // under pressure, a summary of less does not help
	overstated  = 90 // of a context that was refused, surely fits
)

// compactRounds is how often one need for room may make a summary.
const compactRounds = 2

// worthAsking is the tokens below which a range is left alone, whoever asks: a summary
// would not be shorter.
const worthAsking = 500

// ErrNothingToCompact says that a conversation has no part that a summary would make
// shorter. Nothing was done.
var ErrNothingToCompact = errors.New("there is nothing to compact")

// compactError is a compaction that came to nothing: the model sees what it saw.
type compactError struct{ cause error }

func (e *compactError) Error() string {
	return "the conversation stays as it is: " + e.cause.Error()
}
func (e *compactError) Unwrap() error { return e.cause }

// compaction makes the model's view of the conversation shorter. It is used by the
// driver, or while the agent is held in maintenance.
type compaction struct {
	a     *Agent
	ctx   context.Context
	turn  *int // nil: between turns
	step  int
	route Route

	window int // tokens that a request and its answer may take
	answer int // the most tokens of a summary
	keep   int // tokens of the newest messages that stay
	worth  int // tokens below which a range is not summarised
	focus  string
}

func (a *Agent) newCompaction(ctx context.Context, route Route, window int) *compaction {
	c := &compaction{a: a, ctx: ctx, route: route, window: window, answer: summaryTokens}
	if window > 0 {
		c.answer = min(c.answer, window/summaryShare)
	}
	return c.bounded()
}

// bounded keeps the summary within what the model may answer at all.
func (c *compaction) bounded() *compaction {
	if most := c.route.Config.MaxTokens; most > 0 {
		c.answer = min(c.answer, most)
	}
	return c
}

// makeRoom stands before the first request of a step: what has been claimed is part
// of the conversation by now, and counts. A compaction that fails costs the turn
// nothing; the request is sent as it is.
func (t *turn) makeRoom() error {
	route, m := t.a.currentRoute(), &t.a.d.meter
	limit := pressure(route)
	if route.Model == nil || route.Window <= 0 || m.total() < max(limit, m.rest) {
		return nil
	}
	c := t.a.newCompaction(t.ctx, route, route.Window)
	c.turn, c.step = &t.n, t.step
	c.keep, c.worth = route.Window*compactKeep/100, route.Window*worthwhile/100
	if err := c.prune(); err != nil {
		return err
	}
	for round := 0; round < compactRounds && m.total() >= limit; round++ {
		if err := c.summarise(); err != nil {
			return t.despite(err)
		}
	}
	return nil
}

// pressure is the tokens from which on room is made. What the answer may take must
// fit too.
func pressure(r Route) int {
	limit := r.Window * compactAt / 100
	if free := r.Window - r.Config.MaxTokens; free > r.Window/2 {
		limit = min(limit, free)
	}
	return limit
}

// despite lets the turn go on after a compaction that came to nothing. A cancel and a
// log that cannot be written end it.
func (t *turn) despite(err error) error {
	if stopped := t.check(); stopped != nil {
		return stopped
	}
	if errors.Is(err, ErrNothingToCompact) || errors.As(err, new(*compactError)) {
		return nil
	}
	return err
}

// overflow is the recovery of a request that was too long for the provider: room is
// made, once, and the request is sent again if that changed anything.
type overflow struct{ a *Agent }

// RequestError declines when the answer before this one was an overflow too: the
// failure that the provider reported stays the reason of the turn's end.
func (o *overflow) RequestError(ctx context.Context, f RequestFailure) (retry bool, err error) {
	d := &o.a.d
	if f.Failure.Code != llm.CodeContextOverflow || d.overflowed {
		return false, nil
	}
	d.overflowed = true
	window := d.meter.total() * overstated / 100
	if f.Route.Window > 0 {
		window = min(window, f.Route.Window)
	}
	_, before := o.a.log.Messages()
	c := o.a.newCompaction(ctx, f.Route, window)
	c.turn, c.step, c.worth = &f.Turn, f.Step, worthAsking
	if err := c.prune(); err != nil {
		return false, err
	}
	for round := range compactRounds {
		guessed := f.Route.Window == 0 && round == 0 // nobody knows how much is enough
		if !guessed && d.meter.total() < window*compactAt/100 {
			break
		}
		err = c.summarise()
		if errors.Is(err, ErrNothingToCompact) || errors.As(err, new(*compactError)) {
			break
		}
		if err != nil {
			return false, err
		}
	}
	_, after := o.a.log.Messages()
	return after != before, nil
}

// overfull is the one place where the loop knows better than the provider why a
// request failed. Some endpoints refuse what is too long with a bare 400, which may
// mean anything; where room would be made for a request of so many tokens, it is
// taken for an overflow. The window is the loop's knowledge, not the client's.
func overfull(f *llm.Failure, tokens int, r Route) *llm.Failure {
	bare := f.Code == llm.CodeInvalidRequest && f.Status == http.StatusBadRequest && f.Wordless
	if !bare || r.Window <= 0 || tokens < pressure(r) {
		return f
	}
	long := *f
	long.Code = llm.CodeContextOverflow
	long.Message = fmt.Sprintf("%s, without a reason, for about %d tokens in a window of %d: taken as too long", f.Message, tokens, r.Window)
	return &long
}

// Compact replaces the conversation but its last message by a summary; focus says
// what to keep above all. OnStatus hears of it as of a turn; it returns when all is on
// disk. ErrBusy: not idle;
// ErrNothingToCompact: nothing was done; a cancel's cause. After any error the model
// sees what it saw.
func (a *Agent) Compact(ctx context.Context, focus string) error {
	focus, _ = a.o.RedactPrompt(focus)
	return a.Maintenance(ctx, func(ctx context.Context) error {
		a.o.OnStatus(true)
		defer a.o.OnStatus(false)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if a.d.open != 0 {
			return ErrBusy // the log could not take the turn's end
		}
		route := a.currentRoute()
		if route.Model == nil {
			return fmt.Errorf("no provider answers for model %q: choose another", route.Config.Model)
		}
		c := a.newCompaction(ctx, route, route.Window)
		c.focus, c.worth = focus, worthAsking
		err := c.summarise()
		if ctx.Err() != nil && err != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		return a.log.Sync()
	})
}

// closeCompaction ends a bracket whose end the log could not take when it was due.
func (a *Agent) closeCompaction() error {
	id := a.log.OpenCompaction()
	if id == "" {
		return nil
	}
	return a.append(session.Draft{Data: session.CompactionEnd{CompactionID: id, Turn: a.openTurn(), Error: "the session log could not be written"}})
}

func (a *Agent) openTurn() *int {
	if a.d.open == 0 {
		return nil
	}
	return &a.d.open
}
