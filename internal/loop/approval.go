package loop

import (
	"encoding/json"
	"fmt"
	"slices"

	"dsh/internal/policy"
	"dsh/internal/session"
)

// Outcomes of an approval, as they are logged.
const (
	approvedOnce     = "allowed-once"
	approvalRejected = "rejected"
	approvalCanceled = "cancelled"
)

// question is an approval that waits for its answer.
type question struct {
	request session.ApprovalRequest
	answer  chan session.Answer // capacity 1: who answers takes it off the list, so there is one
}

// ask puts a call before the person and waits; the turn's clock stands still
// meanwhile. Without a person the call is denied and the text names the flag that
// would allow it.
func (t *turn) ask(slot *slot, d session.Decision) (allowed bool, err error) {
	if !t.a.o.Asks {
		text := "Error: not allowed: " + d.Reason + " Nobody can be asked in this run."
		if d.Flag != "" {
			text += " The user can allow it with " + d.Flag + "."
		}
		t.refuse(slot, d, text)
		return false, nil
	}
	q := &question{
		request: session.ApprovalRequest{ID: session.NewID(), CallID: slot.call.ID, Tool: slot.call.Name,
			Display: slot.preview(), Decision: d},
		answer: make(chan session.Answer, 1),
	}
	t.a.addQuestion(q) // before it is logged: who reads of it may answer at once
	defer t.a.removeQuestion(q)
	err = t.a.append(session.Draft{Data: session.ApprovalAsked{ID: q.request.ID, ToolName: slot.call.Name,
		CallID: slot.call.ID, Reason: d.Reason}})
	if err != nil {
		return false, err
	}
	t.clock.stop()
	defer t.clock.resume()
	select {
	case answer := <-q.answer:
		return t.answered(slot, q, answer)
	case <-t.ctx.Done():
		t.abandon(slot)
		return false, t.decided(q, approvalCanceled)
	}
}

func (t *turn) answered(slot *slot, q *question, answer session.Answer) (allowed bool, err error) {
	switch answer.Outcome {
	case session.Once, session.ForSession:
		drafts := []session.Draft{{Data: session.ApprovalDecided{ID: q.request.ID, Outcome: approvedOnce}},
			// The log's allow is what tells "started" from "not started" after a crash.
			{Data: session.PolicyDecision{CallID: slot.call.ID, Decision: session.Allow, Rule: "answer",
				Reason: "the user allowed it", Effect: q.request.Decision.Effect}}}
		if answer.Outcome == session.ForSession && answer.Pattern != "" {
			drafts = append(drafts, session.Draft{Data: session.PolicyRule{Scope: "session", Pattern: answer.Pattern, Decision: session.Allow}})
		}
		return true, t.a.append(drafts...)
	case session.No:
		text := "Error: the user said no to this call. Do not repeat it unless asked to."
		if answer.Say != "" {
			text = "Error: the user said no to this call, and says: " + answer.Say
		}
		t.refuse(slot, q.request.Decision, text)
		return false, t.decided(q, approvalRejected)
	}
	slot.result, slot.final = failed(codeDenied, fmt.Sprintf("the approval got an answer that means nothing: %q", answer.Outcome)), true
	return false, t.decided(q, approvalRejected)
}

func (t *turn) decided(q *question, outcome string) error {
	return t.a.append(session.Draft{Data: session.ApprovalDecided{ID: q.request.ID, Outcome: outcome}})
}

// Waiting is the approvals that wait for an answer, in the model's order.
func (a *Agent) Waiting() []session.ApprovalRequest {
	a.mu.Lock()
	defer a.mu.Unlock()
	requests := make([]session.ApprovalRequest, len(a.waiting))
	for i, q := range a.waiting {
		requests[i] = q.request
	}
	return requests
}

// Decide answers an approval. Only the first answer counts: an id that is unknown, or
// has its answer, is an error, and so is a rule that cannot be read; after that one
// the approval still waits.
func (a *Agent) Decide(id string, answer session.Answer) error {
	if answer.Outcome == session.ForSession && answer.Pattern != "" {
		if _, err := policy.ParseRule(answer.Pattern, session.Allow, "session"); err != nil {
			return err
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	i := slices.IndexFunc(a.waiting, func(q *question) bool { return q.request.ID == id })
	if i < 0 {
		return fmt.Errorf("no approval %s is waiting: it has its answer, or its turn has ended", id)
	}
	a.waiting[i].answer <- answer
	a.waiting = slices.Delete(a.waiting, i, i+1)
	return nil
}

func (a *Agent) addQuestion(q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, q)
}

func (a *Agent) removeQuestion(q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = slices.DeleteFunc(a.waiting, func(o *question) bool { return o == q })
}

func encodeMeta(m session.ResultMeta) json.RawMessage {
	if m.Display == nil && len(m.Seen) == 0 && m.Refused == nil {
		return nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil // a struct of strings and numbers always encodes
	}
	return raw
}
