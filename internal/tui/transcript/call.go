package transcript

import (
	"slices"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// What a person answered, as a fact on a card.
const (
	factOnce    = "allowed once"
	factSession = "allowed for this session"
	factDenied  = "denied by you"
)

// track makes a call findable while its step is open.
func (p *Projection) track(id string, at int) {
	if p.calls == nil {
		p.calls = map[string]int{}
	}
	p.calls[id] = at
}

// call finds a call of the open step; with ok false there is none.
func (p *Projection) call(id string) (at int, ok bool) {
	at, ok = p.calls[id]
	return at, ok
}

func (p *Projection) toolCall(ev *session.Event, d *session.ToolCall) {
	at, ok := p.call(d.CallID)
	if !ok || p.blocks[at].result != nil {
		at = p.add(ev, Block{Kind: Call, CallID: d.CallID, Name: d.Name, Args: d.Arguments})
		p.track(d.CallID, at)
	}
	b := p.touch(at, ev)
	b.State, b.Time = Running, ev.Time
}

func (p *Projection) toolResult(ev *session.Event, d session.ToolResult) {
	if ev.Surface != nil && ev.Surface.Replace {
		return // the model sees less of it from now on, people see what was
	}
	id := d.Message.Source.CallID
	at, ok := p.call(id)
	if !ok || p.blocks[at].result != nil {
		at = p.add(ev, Block{Kind: Call, CallID: id})
		p.track(id, at)
	}
	b := p.touch(at, ev)
	b.result, b.State = d, outcome(&d)
}

// codeDenied is the code of a result that policy, a hook or a person denied.
const codeDenied = "DENIED"

// codeSuperseded is the code of a result of a call that was not started, as the one
// before it became a job.
const codeSuperseded = "SUPERSEDED"

// outcome is how a call ended.
func outcome(r *session.ToolResult) State {
	if !failed(r) {
		return Done
	}
	if r.Error != nil {
		switch r.Error.Code {
		case session.CodeAborted:
			return Stopped
		case session.CodeNotRun, session.CodeNotStarted, codeSuperseded:
			return NotRun
		case session.CodeUnknown:
			return Unknown
		case codeDenied:
			return Refused
		}
	}
	return Failed
}

func failed(r *session.ToolResult) bool {
	return r.Error != nil || slices.ContainsFunc(r.Message.Content, func(b llm.Block) bool { return b.IsError })
}

func (p *Projection) asked(ev *session.Event, d *session.ApprovalAsked) {
	at, ok := p.call(d.CallID)
	if !ok || !p.blocks[at].State.Live() {
		return
	}
	if p.asks == nil {
		p.asks = map[string]string{}
	}
	p.asks[d.ID] = d.CallID
	p.touch(at, ev).State = Asked
}

func (p *Projection) decided(ev *session.Event, d *session.ApprovalDecided) {
	id, ok := p.asks[d.ID]
	at, open := p.call(id)
	if !ok || !open || !p.blocks[at].State.Live() {
		return
	}
	b := p.touch(at, ev)
	if b.State == Asked {
		b.State = Running
	}
	switch d.Outcome {
	case "allowed-once":
		b.Answer, b.Time, p.allowed = factOnce, ev.Time, id
	case "rejected":
		b.Answer = factDenied
	}
}

// rule: the one that an answer made is a fact of its call.
func (p *Projection) rule(ev *session.Event, d *session.PolicyRule, allowed string) {
	if at, ok := p.call(allowed); ok && allowed != "" && p.blocks[at].State.Live() {
		p.touch(at, ev).Answer = factSession
		return
	}
	p.add(ev, Block{Kind: Notice, State: Plain, Text: "Rule for this session: " + string(d.Decision) + " " + d.Pattern})
}
