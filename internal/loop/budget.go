package loop

import (
	"fmt"
	"time"

	"dsh/internal/llm"
	"dsh/internal/prompt"
	"dsh/internal/session"
)

// Kinds of turn/budget events.
const (
	budgetSteps = "steps"
	budgetCalls = "calls"
	budgetTime  = "time"
)

// nearlyUsed is the share of a budget, in percent, from which on the model is told.
const nearlyUsed = 80

// spent is what the open turn has used, as a fold.
type spent struct {
	turn, steps, calls int
	told               map[string]bool
}

func (s *spent) apply(ev *session.Event) {
	switch data := ev.Data.(type) {
	case session.TurnStart:
		*s = spent{turn: data.Turn, told: map[string]bool{}}
	case session.StepStart:
		s.steps++
	case session.ToolCall:
		s.calls++
	case session.TurnBudget:
		if s.told != nil {
			s.told[data.Kind] = true
		}
	}
}

// spendStep ends the turn when its steps are used up. It stands before step/start,
// so that the input it would have taken stays in the inbox.
func (t *turn) spendStep() error {
	limit := t.a.o.Budgets.Steps
	if limit == 0 || t.a.d.spent.steps < limit {
		return nil
	}
	return t.spendAll(budgetSteps, limit, t.a.d.spent.steps)
}

// callsSpent says that the next call is one too many.
func (t *turn) callsSpent() bool {
	limit := t.a.o.Budgets.Calls
	return limit != 0 && t.a.d.spent.calls >= limit
}

// spendCalls ends the turn when the call just taken up is one too many; the call
// and the rest of its message get results that say so.
func (t *turn) spendCalls() error {
	limit := t.a.o.Budgets.Calls
	if limit == 0 || t.a.d.spent.calls <= limit {
		return nil
	}
	return t.spendAll(budgetCalls, limit, limit)
}

func (t *turn) spendAll(kind string, limit, used int) error {
	err := t.a.append(session.Draft{Data: session.TurnBudget{Turn: t.n, Kind: kind,
		Limit: int64(limit), Used: int64(used), Ended: true}})
	t.stop(fmt.Sprintf("budget: %s %d", kind, limit))
	if err != nil {
		return err
	}
	return errStopped
}

// spendTime records that the clock ended the turn: its timer does not write.
func (t *turn) spendTime() error {
	limit := t.a.o.Budgets.Time
	if limit == 0 || causeOf(t.ctx).Reason != timeSpent(limit) {
		return nil
	}
	ms := limit.Milliseconds()
	return t.a.append(session.Draft{Data: session.TurnBudget{Turn: t.n, Kind: budgetTime, Limit: ms, Used: ms, Ended: true}})
}

func timeSpent(limit time.Duration) string { return "budget: " + budgetTime + " " + limit.String() }

// budgetNotes tells the model, once a turn and budget, that little is left.
func (t *turn) budgetNotes() []*llm.Message {
	b, s := t.a.o.Budgets, &t.a.d.spent
	var notes []*llm.Message
	tell := func(kind string, used, limit int64) {
		if limit == 0 || used*100 < limit*nearlyUsed || s.told[kind] {
			return
		}
		err := t.a.append(session.Draft{Data: session.TurnBudget{Turn: t.n, Kind: kind, Limit: limit, Used: used}})
		if err == nil {
			m := notice(prompt.BudgetNotice(kind, used, limit))
			notes = append(notes, &m)
		}
	}
	if s.steps < b.Steps { // otherwise nobody is going to read it
		tell(budgetSteps, int64(s.steps), int64(b.Steps))
	}
	tell(budgetCalls, int64(s.calls), int64(b.Calls))
	if left, limited := t.clock.remaining(); limited {
		tell(budgetTime, (b.Time - left).Milliseconds(), b.Time.Milliseconds())
	}
	return notes
}
