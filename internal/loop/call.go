package loop

import (
	"fmt"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/prompt"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// Codes of results that the loop itself makes.
const (
	codeDenied    = "DENIED"
	codeSync      = "LOG_NOT_DURABLE"
	codeHook      = "HOOK_FAILED"
	abortedName   = "AbortError"
	toolErrorName = "ToolError"
)

// prepare takes a call through validation, hooks, policy and the person, in that
// order. It returns the body to run, or nil when the call is settled without one.
func (t *turn) prepare(slot *slot) (body func() tools.Result, err error) {
	if err := t.spendCalls(); err != nil && err != errStopped {
		return nil, err
	}
	if t.check() != nil {
		t.abandon(slot)
		return nil, nil
	}
	call, refused := t.a.o.Tools.Prepare(slot.call.Name, slot.call.Arguments)
	slot.info = Call{Turn: t.n, Step: t.step, ID: slot.call.ID, Name: slot.call.Name, Arguments: slot.call.Arguments}
	if refused != nil {
		slot.result = *refused
		return nil, nil
	}
	slot.yield = make(chan string, 1)
	rules := t.a.rules() // of now: while the body runs, a person may answer another call
	env := tools.Env{Cwd: t.a.o.Cwd, CallID: slot.call.ID, Seen: t.a.log.Seen, Save: t.a.o.Save, Redact: t.a.o.RedactResult,
		Judge: func(a policy.Action) session.Verdict { return policy.Decide(rules, a).Verdict },
		Jobs:  t.a.jobs, Yield: slot.yield}
	if slot.info.Action, refused = call.Action(env); refused != nil {
		slot.result = *refused
		return nil, nil
	}
	slot.preview = func() session.Display { return call.Preview(t.ctx, env) }
	allowed, err := t.judge(slot)
	if err != nil || !allowed {
		return nil, err
	}
	if err := t.a.log.Sync(); err != nil {
		slot.result = failed(codeSync, "the session log could not be written to disk, so the call was not run: "+err.Error())
		return nil, nil
	}
	if t.check() != nil {
		t.abandon(slot)
		return nil, nil
	}
	return func() tools.Result { return call.Run(t.ctx, env) }, nil
}

// judge lets the hooks refuse, then asks policy, then, if it must, the person. A
// refusal given before the turn ended stays a refusal.
func (t *turn) judge(slot *slot) (allowed bool, err error) {
	for _, hook := range t.a.o.Extensions.Tool {
		deny, err := hook.Before(t.ctx, slot.info)
		if err != nil {
			slot.result, slot.final = failed(codeHook, err.Error()), true
			return false, nil
		}
		if deny != "" {
			slot.result = failed(codeDenied, deny)
			return false, nil
		}
		if t.check() != nil {
			t.abandon(slot)
			return false, nil
		}
	}
	if err := t.a.logPreset(); err != nil {
		return false, err
	}
	decision := t.a.decide(slot.info.Action)
	err = t.a.append(session.Draft{Data: session.PolicyDecision{CallID: slot.call.ID, Decision: decision.Verdict,
		Rule: decision.Rule, Reason: decision.Reason, Effect: decision.Effect}})
	if err != nil {
		return false, err
	}
	switch decision.Verdict {
	case session.Allow:
		return true, nil
	case session.Ask:
		return t.ask(slot, decision)
	}
	t.refuse(slot, decision, "Error: not allowed: "+decision.Reason)
	return false, nil
}

// decide asks policy under the rules of now.
func (a *Agent) decide(action policy.Action) session.Decision {
	return policy.Decide(a.rules(), action)
}

// rules are those the agent was made with and those of the session.
func (a *Agent) rules() policy.Rules {
	rules := a.o.Rules
	rules.Preset = a.currentPreset()
	rules.Rules = append(rules.Rules[:len(rules.Rules):len(rules.Rules)], a.d.rules...)
	return rules
}

// refuse settles a call that policy or the person did not allow.
func (t *turn) refuse(slot *slot, d session.Decision, text string) {
	action := slot.info.Action
	slot.result = tools.Result{Text: text, IsError: true, Code: codeDenied, Meta: session.ResultMeta{
		Refused: &session.Refusal{Tool: slot.call.Name, Target: action.Target, Reason: d.Reason, Flag: d.Flag}}}
}

// abandon settles a call that the end of the turn kept from running. The text says
// that this was meant: a model that reads it as a fault tries again.
func (t *turn) abandon(slot *slot) {
	slot.result = tools.Result{Text: "Error: " + t.stopped() + " before this call started: it did not run. Do not repeat it unless asked to.",
		IsError: true, Code: session.CodeNotRun}
	slot.final = true
}

// stopped says who ended the turn, as the beginning of a sentence.
func (t *turn) stopped() string {
	switch c := causeOf(t.ctx); c.Kind {
	case session.ByHook:
		return "the turn was ended (" + c.Reason + ")"
	case session.Disposed:
		return "dsh was closed"
	case session.ByParent:
		return "the task was cancelled"
	}
	return "the user interrupted on purpose"
}

// settle commits a call: the hooks see its result, then it is logged with what it
// changed, and its notes wait for the next step.
func (t *turn) settle(slot *slot) error {
	t.afterAbort(slot)
	if !slot.final {
		t.after(slot)
	}
	slot.checkBlocks()
	t.a.redact(&slot.result)
	data := session.ToolResult{Turn: t.n, Step: t.step, Message: resultMessage(slot), Meta: encodeMeta(slot.result.Meta)}
	if slot.result.IsError {
		data.Error = &session.ToolError{Name: errorName(slot.result.Code), Code: slot.result.Code}
	}
	drafts := []session.Draft{session.Visible(data, slot.seq)}
	for _, path := range slot.result.Changed {
		drafts = append(drafts, session.Draft{Data: session.WorkspaceChanged{Path: path, CallID: slot.call.ID}})
	}
	for _, data := range slot.result.Events {
		drafts = append(drafts, session.Draft{Data: data})
	}
	if err := t.a.append(drafts...); err != nil {
		return err
	}
	return t.notes(slot)
}

// afterAbort says who stopped a body that ended after the turn did, before what the
// body itself says of it. What ended before stays what it was, and so does a failure
// of the body's own.
func (t *turn) afterAbort(slot *slot) {
	if slot.final || t.check() == nil || slot.result.Code != session.CodeAborted {
		return
	}
	said, output, more := strings.Cut(strings.TrimPrefix(slot.result.Text, "Error: "), "\n")
	slot.result.Text = "Error: " + t.stopped() + " while this call was running. The call says: " + said +
		" Unless that tells more, it may have taken effect in part or in full: look before relying on it, and do not repeat it unless asked to."
	if more {
		slot.result.Text += "\n" + output
	}
	slot.result.Blocks, slot.result.IsError, slot.result.Code = nil, true, session.CodeAborted
}

func (t *turn) after(slot *slot) {
	for _, hook := range t.a.o.Extensions.Tool {
		result, err := hook.After(t.ctx, slot.info, slot.result)
		if err != nil {
			slot.withhold(codeHook, err.Error())
			return
		}
		slot.result = result
	}
}

// notes queues what the call wants said, then what the repeat guard has to say. It
// stops the turn when the same call brought the same result too often.
func (t *turn) notes(slot *slot) error {
	notes := slot.result.Contexts
	if t.check() == nil {
		note, stop := t.a.d.repeat.verdict()
		if note != "" {
			notes = append(notes, notice(note))
		}
		if stop != "" {
			t.stop(stop)
		}
	}
	for _, note := range notes {
		if err := t.a.note(note); err != nil {
			return err
		}
	}
	return nil
}

// checkBlocks withholds a result that no message can hold: a tool that breaks the
// rules costs one call, not the turn.
func (s *slot) checkBlocks() {
	for _, b := range s.result.Blocks {
		if b.Type == llm.ToolCall || b.Type == llm.ToolResult {
			s.withhold(tools.Internal, fmt.Sprintf("%s returned a block of type %s, which no result may hold. This is a bug in dsh.", s.call.Name, b.Type))
			return
		}
	}
}

// withhold puts an error in the place of a result. What the call did, and what was
// refused, stays true.
func (s *slot) withhold(code, text string) {
	old := s.result
	s.result = failed(code, text)
	s.result.Changed, s.result.Events, s.result.Meta.Refused = old.Changed, old.Events, old.Meta.Refused
}

func resultMessage(slot *slot) llm.Message {
	content := slot.result.Blocks
	if len(content) == 0 {
		content = []llm.Block{llm.TextBlock(slot.result.Text)}
	}
	return llm.Message{
		Role: llm.User,
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: slot.call.ID, Content: content,
			IsError: slot.result.IsError}},
		Source: llm.Source{Kind: llm.FromTool, CallID: slot.call.ID},
		ID:     session.NewID(),
	}
}

// notice is a note of dsh itself to the model.
func notice(text string) llm.Message {
	m := prompt.NoticeMessage(text)
	m.ID = session.NewID()
	return m
}

func failed(code, text string) tools.Result {
	return tools.Result{Text: "Error: " + text, IsError: true, Code: code}
}

func errorName(code string) string {
	if code == session.CodeAborted || code == session.CodeNotRun {
		return abortedName
	}
	return toolErrorName
}
