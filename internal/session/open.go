package session

import "slices"

// OpenStep is the step that is running, or that a crash left open.
type OpenStep struct {
	Turn, Step int
	Calls      []OpenCall // of its assistant message, in the model's order

	// Decided: policy judges the calls of this log, so one without an allow did not run.
	// Otherwise only a call without a ToolCall surely did not.
	Decided bool
}

// OpenCall is one call of the open step.
type OpenCall struct {
	ID, Name, Arguments string

	CallSeq     int  // seq of its ToolCall; -1: not taken up
	HasDecision bool // policy judged it
	Allowed     bool // by policy, or by a person whom policy asked
	Asked       bool // a person was asked
	Done        bool // it has its result
}

// mayHaveRun reports whether a call's body may have started.
func (o *OpenStep) mayHaveRun(c *OpenCall) bool {
	return c.CallSeq >= 0 && (c.Allowed || !o.Decided)
}

// call finds a call by its id; nil if the step has none of that id.
func (o *OpenStep) call(id string) *OpenCall {
	for i := range o.Calls {
		if o.Calls[i].ID == id {
			return &o.Calls[i]
		}
	}
	return nil
}

func (o *OpenStep) clone() OpenStep {
	c := *o
	c.Calls = slices.Clone(o.Calls)
	return c
}
