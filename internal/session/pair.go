package session

import (
	"fmt"

	"dsh/internal/llm"
)

// Why says how a step came to end with calls that have no result.
type Why int

const (
	Crashed   Why = iota // the process died: written on resume
	Cancelled            // the user stopped the turn
	Broken               // dsh itself failed
)

// Codes of the results that stand in for a call's own.
const (
	CodeNotStarted  = "TOOL_NOT_STARTED"
	CodeUnknown     = "TOOL_OUTCOME_UNKNOWN"
	CodeNotRun      = "ABORTED_BEFORE_DISPATCH"
	CodeAborted     = "ABORTED"
	nameNotStarted  = "ToolNotStartedError"
	nameUnknown     = "ToolOutcomeUnknownError"
	nameAbort       = "AbortError"
	textNotStarted  = "Error: this call was not started. Ask for it again if it is still wanted."
	textUnknown     = "Error: this call was started and its outcome is unknown: it may have happened in whole, in part or not at all. Ask for it again only if it is read-only or idempotent; otherwise check the state first, or ask the user."
	textNotRun      = "Error: the user interrupted the turn on purpose before this call had started. Nothing of it happened. Do not ask for it again unless the user wants it."
	textInterrupted = "Error: the user interrupted the turn on purpose while this call was running. It may have happened in part. Do not ask for it again unless the user wants it."
)

// Pair drafts a result for each call of a step that has none, in the calls' order,
// and a ToolCall before it where there was none. After a crash the result stands
// alone: a ToolCall would claim that dsh had taken the call up.
func Pair(o OpenStep, why Why) []Draft {
	var drafts []Draft
	for i := range o.Calls {
		c := &o.Calls[i]
		if c.Done {
			continue
		}
		result := Visible(standIn(&o, c, why))
		switch {
		case c.CallSeq >= 0:
			result.Sources = []int{c.CallSeq}
		case why != Crashed:
			drafts = append(drafts, Draft{Data: ToolCall{Turn: o.Turn, Step: o.Step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments}})
			result.CitesPrevious = true
		}
		drafts = append(drafts, result)
	}
	return drafts
}

// standIn is the error result of a call that will not have its own.
func standIn(o *OpenStep, c *OpenCall, why Why) ToolResult {
	text, fault := textNotStarted, ToolError{nameNotStarted, CodeNotStarted}
	switch ran := o.mayHaveRun(c); {
	case why == Cancelled && ran:
		text, fault = textInterrupted, ToolError{nameAbort, CodeAborted}
	case why == Cancelled:
		text, fault = textNotRun, ToolError{nameAbort, CodeNotRun}
	case ran:
		text, fault = textUnknown, ToolError{nameUnknown, CodeUnknown}
	}
	return ToolResult{Turn: o.Turn, Step: o.Step, Error: &fault, Message: llm.Message{
		Role: llm.User,
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: c.ID, IsError: true,
			Content: []llm.Block{llm.TextBlock(text)}}},
		Source: llm.Source{Kind: llm.FromTool, CallID: c.ID},
		ID:     fmt.Sprintf("result-%d.%d-%s", o.Turn, o.Step, c.ID),
	}}
}
