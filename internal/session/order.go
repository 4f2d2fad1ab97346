package session

import (
	"errors"
	"fmt"
	"slices"

	"dsh/internal/llm"
)

// order is the state machine of what may follow what: turns and steps nest and
// count, everything a step does names it, calls get their results in order, retries
// and approvals open and close. It is copied by clone, so its slices but the calls
// are only ever appended to or replaced.
type order struct {
	turn, step         int
	turnOpen, stepOpen bool

	open     OpenStep
	answered bool  // the open step has its assistant message, and that says something
	attempt  int   // of the last RequestSent of the open step
	chunks   []int // seqs of the running attempt's chunks

	retries  []Retry // the last of each chain of the open step
	starting *Retry  // written, its attempt not started

	approvals  []approval // that wait for their decision
	compaction string     // the open one; "" none
	provider   string     // of the header in force

	checks   int  // verifications of the turn
	checking bool // the last of them runs
}

type approval struct{ id, callID string }

func (o *order) clone() order {
	c := *o
	c.open = o.open.clone()
	return c
}

// check says why an event must not come next. It changes nothing.
func (o *order) check(ev *Event) error {
	switch p := ev.Data.(type) {
	case TurnStart:
		if o.turnOpen || p.Turn != o.turn+1 || o.compaction != "" {
			return fmt.Errorf("turn %d cannot start: %s", p.Turn, o.where())
		}
	case TurnEnd:
		if !o.turnOpen || o.stepOpen || p.Turn != o.turn {
			return fmt.Errorf("turn %d cannot end: %s", p.Turn, o.where())
		}
	case StepStart:
		if !o.turnOpen || o.stepOpen || p.Turn != o.turn || p.Step != o.step+1 {
			return fmt.Errorf("step %d.%d cannot start: %s", p.Turn, p.Step, o.where())
		}
	case StepEnd:
		return o.checkStepEnd(&p)
	case AssistantChunk:
		return o.inStep(p.Turn, p.Step)
	case AssistantMessage:
		return o.checkAnswer(ev, &p)
	case ToolCall:
		return o.checkCall(&p)
	case ToolResult:
		return o.checkResult(ev, &p)
	case RequestHeader, RequestContext:
		return o.inTurn()
	case RequestSent:
		if p.Aside != nil {
			return o.checkAside(&p)
		}
		if p.Attempt < 1 || p.Attempt < o.attempt || p.Attempt > o.attempt+1 {
			return fmt.Errorf("request attempt %d does not follow attempt %d", p.Attempt, o.attempt)
		}
		return o.inStep(p.Turn, p.Step)
	case Retry:
		return o.checkRetry(&p)
	case RetryStarted:
		return o.checkRetryStarted(&p)
	case ApprovalAsked:
		if p.ID == "" || o.asked(p.ID) >= 0 {
			return fmt.Errorf("approval %q is asked for already", p.ID)
		}
	case ApprovalDecided:
		if o.asked(p.ID) < 0 {
			return fmt.Errorf("approval %q is decided and not waiting", p.ID)
		}
	case CompactionStart, CompactionSummary, CompactionEnd, CompactionPrune:
		return o.checkCompaction(p)
	case TodoWrite:
		return o.inTurn()
	case VerifyRun:
		return o.checkVerify(&p)
	}
	return nil
}

func (o *order) where() string {
	switch {
	case o.stepOpen:
		return fmt.Sprintf("step %d.%d is open", o.turn, o.step)
	case o.compaction != "" && !o.turnOpen:
		return fmt.Sprintf("compaction %q is open", o.compaction)
	case o.turnOpen:
		return fmt.Sprintf("turn %d is open after %d steps", o.turn, o.step)
	}
	return fmt.Sprintf("no turn is open after %d turns", o.turn)
}

// checkAside: a request beside the conversation belongs to what it is made for.
func (o *order) checkAside(p *RequestSent) error {
	if p.Aside.Purpose != PurposeCompaction || o.compaction == "" {
		return fmt.Errorf("nothing is open that a request for %q belongs to", p.Aside.Purpose)
	}
	if o.stepOpen || p.Step != 0 {
		return o.inStep(p.Turn, p.Step)
	}
	return nil
}

func (o *order) inTurn() error {
	if !o.turnOpen {
		return errors.New("it belongs inside a turn, and " + o.where())
	}
	return nil
}

func (o *order) inStep(turn, step int) error {
	if !o.stepOpen || turn != o.turn || step != o.step {
		return fmt.Errorf("it names step %d.%d, and %s", turn, step, o.where())
	}
	return nil
}

// checkStepEnd: dsh pairs every call. Logs without policy decisions are not its
// own, and their writer may leave calls unanswered.
func (o *order) checkStepEnd(p *StepEnd) error {
	if err := o.inStep(p.Turn, p.Step); err != nil {
		return err
	}
	for _, c := range o.open.Calls {
		if !c.Done && o.open.Decided {
			return fmt.Errorf("step %d.%d cannot end: call %q has no result", p.Turn, p.Step, c.ID)
		}
	}
	return nil
}

func (o *order) checkAnswer(ev *Event, p *AssistantMessage) error {
	if ev.Surface != nil && ev.Surface.Replace {
		return o.inTurn()
	}
	if err := o.inStep(p.Turn, p.Step); err != nil {
		return err
	}
	if o.answered {
		return fmt.Errorf("step %d.%d has its assistant message already", p.Turn, p.Step)
	}
	seen := map[string]bool{}
	for _, b := range p.Message.Calls() {
		if b.ID == "" || seen[b.ID] {
			return fmt.Errorf("call id %q is empty or there twice", b.ID)
		}
		seen[b.ID] = true
	}
	return nil
}

// checkSources wants an assistant message to cite the chunks of its attempt.
func (o *order) checkSources(ev *Event) error {
	replaces := ev.Surface != nil && ev.Surface.Replace
	if ev.Type != TypeAssistantMessage || replaces || slices.Equal(ev.Sources, o.chunks) {
		return nil
	}
	return fmt.Errorf("the assistant message cites %d events, not the %d chunks of its attempt", len(ev.Sources), len(o.chunks))
}

func (o *order) checkCall(p *ToolCall) error {
	if err := o.inStep(p.Turn, p.Step); err != nil {
		return err
	}
	c := o.open.call(p.CallID)
	if c == nil || c.CallSeq >= 0 || c.Done {
		return fmt.Errorf("call %q is not one of the step's calls, or was taken up before", p.CallID)
	}
	return nil
}

func (o *order) checkResult(ev *Event, p *ToolResult) error {
	if ev.Surface != nil && ev.Surface.Replace {
		return o.inTurn()
	}
	if err := o.inStep(p.Turn, p.Step); err != nil {
		return err
	}
	id := p.Message.Source.CallID
	c := o.open.call(id)
	if c == nil || c.Done {
		return fmt.Errorf("the result of call %q has no call in this step, or is its second", id)
	}
	if c.CallSeq >= 0 && !slices.Contains(ev.Sources, c.CallSeq) {
		return fmt.Errorf("the result of call %q does not cite its call, event %d", id, c.CallSeq)
	}
	if c.CallSeq < 0 && (p.Error == nil || p.Error.Code != CodeNotStarted) {
		return fmt.Errorf("call %q has a result and was never taken up", id)
	}
	for i := range o.open.Calls {
		if before := &o.open.Calls[i]; before == c {
			break
		} else if !before.Done {
			return fmt.Errorf("the result of call %q stands before the one of %q", id, before.ID)
		}
	}
	return nil
}

func (o *order) checkRetry(p *Retry) error {
	if err := o.inStep(p.Turn, p.Step); err != nil {
		return err
	}
	if o.provider != "" && p.Provider != o.provider {
		return fmt.Errorf("the retry is for provider %q, the request went to %q", p.Provider, o.provider)
	}
	want := 1
	for _, r := range o.retries {
		if r.Provider == p.Provider && r.PolicyKey == p.PolicyKey {
			want = r.Retry + 1
			if r.RetryID != p.RetryID {
				return fmt.Errorf("retry %d has another id than the chain it continues", p.Retry)
			}
		} else if r.RetryID == p.RetryID {
			return fmt.Errorf("retry id %q belongs to another chain", p.RetryID)
		}
	}
	if p.Retry != want || o.starting != nil || o.answered {
		return fmt.Errorf("retry %d cannot be announced: retry %d is next, once the one before has started", p.Retry, want)
	}
	return nil
}

func (o *order) checkRetryStarted(p *RetryStarted) error {
	if err := o.inStep(p.Turn, p.Step); err != nil {
		return err
	}
	if s := o.starting; s == nil || s.RetryID != p.RetryID || s.Retry != p.Retry {
		return fmt.Errorf("retry %d was not announced, or has started before", p.Retry)
	}
	return nil
}

func (o *order) asked(id string) int {
	return slices.IndexFunc(o.approvals, func(a approval) bool { return a.id == id })
}

// apply moves on. It never fails: logs that check would refuse are loaded too.
func (o *order) apply(ev *Event) {
	replaces := ev.Surface != nil && ev.Surface.Replace
	switch p := ev.Data.(type) {
	case TurnStart:
		o.turn, o.turnOpen, o.step, o.stepOpen = p.Turn, true, 0, false
		o.checks, o.checking = 0, false
	case TurnEnd:
		o.turnOpen, o.stepOpen = false, false
		o.endStep()
	case StepStart:
		o.step, o.stepOpen = p.Step, true
		o.endStep()
		o.open.Turn, o.open.Step = o.turn, o.step
	case StepEnd:
		o.stepOpen = false
		o.endStep()
	case AssistantChunk:
		o.chunks = append(o.chunks, ev.Seq)
		if failed(&p.Chunk) {
			o.chunks = nil
		}
	case AssistantMessage:
		if !replaces {
			o.answer(&p.Message)
		}
	case ToolCall:
		if c := o.open.call(p.CallID); c != nil {
			c.CallSeq = ev.Seq
		}
	case ToolResult:
		if c := o.open.call(p.Message.Source.CallID); c != nil && !replaces {
			c.Done = true
		}
	case RequestHeader:
		o.provider = p.Header.Config.Provider
	case RequestSent:
		if p.Aside == nil {
			o.attempt, o.chunks = p.Attempt, nil
		}
	case CompactionStart:
		o.compaction = p.CompactionID
	case CompactionEnd:
		o.compaction = ""
	case VerifyRun:
		o.checks, o.checking = p.Attempt, p.Verdict == VerifyRunning
	case EndSeed:
		o.approvals, o.compaction = nil, "" // of a dead life
	default:
		o.applyPolicy(ev.Data)
	}
}

func (o *order) applyPolicy(data Payload) {
	switch p := data.(type) {
	case PolicyPreset:
		o.open.Decided = true // dsh writes this log: it judges every call before it runs
	case Retry:
		o.retries = append(slices.DeleteFunc(slices.Clone(o.retries), func(r Retry) bool { return r.RetryID == p.RetryID }), p)
		o.starting, o.chunks = &p, nil
	case RetryStarted:
		o.starting, o.chunks = nil, nil
	case PolicyDecision:
		o.open.Decided = true
		if c := o.open.call(p.CallID); c != nil {
			c.HasDecision, c.Allowed = true, p.Decision == Allow
		}
	case ApprovalAsked:
		o.approvals = append(o.approvals, approval{p.ID, p.CallID})
		if c := o.open.call(p.CallID); c != nil {
			c.Asked = true
		}
	case ApprovalDecided:
		i := o.asked(p.ID)
		if i < 0 {
			return
		}
		if c := o.open.call(o.approvals[i].callID); c != nil && p.Outcome == allowedOnce {
			c.Allowed = true
		}
		o.approvals = slices.Delete(slices.Clone(o.approvals), i, i+1)
	}
}

// allowedOnce is the outcome of an approval that lets a call run.
const allowedOnce = "allowed-once"

// answer takes over the calls of the step's assistant message. An empty one only
// anchors the usage: the request is owed again. Ids that are there twice, in logs of
// other writers, cannot be told apart and count once.
func (o *order) answer(m *llm.Message) {
	o.answered, o.chunks = len(m.Content) > 0, nil
	for _, b := range m.Calls() {
		if o.open.call(b.ID) == nil {
			o.open.Calls = append(o.open.Calls, OpenCall{ID: b.ID, Name: b.Name, Arguments: b.Arguments, CallSeq: -1})
		}
	}
}

// endStep forgets the open step; whether the log has decisions stays known.
func (o *order) endStep() {
	o.open = OpenStep{Decided: o.open.Decided}
	o.answered, o.attempt, o.chunks, o.retries, o.starting = false, 0, nil, nil, nil
}
