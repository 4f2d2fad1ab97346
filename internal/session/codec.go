package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"dsh/internal/llm"
)

// ours are the types that dsh added to the format: written with the ignorable mark,
// so that other readers may skip them.
var ours = map[Type]bool{
	TypeRequestSent: true, TypePolicyPreset: true, TypePolicyDecision: true, TypePolicyRule: true,
	TypeInboxHeld: true, TypeTurnBudget: true, TypeWorkspaceChanged: true,
}

// kept are the types of the format that dsh knows and does not act on: Raw.
var kept = map[Type]bool{
	"tool/code-dispatch-start": true, "tool/code-dispatch": true, "todo/write": true,
	"session/title-llm-request": true, "agent-preset/selected": true,
	"compaction/start": true, "compaction/summary": true, "compaction/end": true, "compaction/prune": true,
	"plan/mode": true, "goal/change": true, "schedule/change": true, "hook/invoked": true, "hook/result": true,
	"command/run": true, "command/done": true, "feedback/record": true, "subagent/descriptor": true,
	"team/member": true, "team/task": true, "team/message/queued": true, "team/message/delivered": true,
	"tool-workflow/run-start": true, "tool-workflow/run-end": true, "tool-workflow/agent-start": true,
	"tool-workflow/agent-end": true, "web/deepseek-search-llm-request": true,
}

// UnknownEventError says that a log holds an event that must be understood and is
// not: leaving it out would change the history.
type UnknownEventError struct{ Type string }

func (e *UnknownEventError) Error() string {
	return fmt.Sprintf("event type %q is unknown and not marked ignorable: a newer dsh may be needed to open this session", e.Type)
}

// appendEvent appends the line of one event, newline included. On an error dst is
// unchanged.
func appendEvent(dst []byte, ev Event) ([]byte, error) {
	if ev.Data == nil || ev.Data.Type() != ev.Type {
		return dst, fmt.Errorf("event %d: type %q does not fit its data", ev.Seq, ev.Type)
	}
	e := encoder{buf: dst}
	e.lit(`{"type":`).str(string(ev.Type)).lit(`,"seq":`).int(int64(ev.Seq)).lit(`,"time":`).int(ev.Time)
	e.lit(`,"data":`).payload(ev.Data)
	if op := ev.Surface; op != nil && op.Replace {
		e.lit(`,"surfaceOp":{"op":"replace","start":`).int(int64(op.Start)).lit(`,"end":`).int(int64(op.End)).lit(`}`)
	} else if op != nil {
		e.lit(`,"surfaceOp":"append"`)
	}
	if ev.Sources != nil {
		e.lit(`,"sourceEventSeqs":`).ints(ev.Sources)
	}
	if ev.Ignorable {
		e.lit(`,"ignorable":true`)
	}
	e.lit("}\n")
	if e.err != nil {
		return dst, fmt.Errorf("event %d (%s) cannot be logged: %w", ev.Seq, ev.Type, e.err)
	}
	return e.buf, nil
}

func (e *encoder) payload(p Payload) *encoder {
	switch p := p.(type) {
	case AssistantChunk:
		return e.place(p.Turn, p.Step).lit(`,"chunk":`).chunk(&p.Chunk).lit(`}`)
	case UserMessage:
		return e.message(&p.Message)
	case AssistantMessage:
		e.place(p.Turn, p.Step).lit(`,"message":`).message(&p.Message)
		if p.Usage != nil {
			e.lit(`,"usage":`).value(p.Usage)
		}
		if p.Interrupted {
			e.lit(`,"interrupted":true`)
		}
		return e.lit(`}`)
	case ToolResult:
		e.place(p.Turn, p.Step).lit(`,"message":`).message(&p.Message)
		if p.Error != nil {
			e.lit(`,"error":`).value(p.Error)
		}
		if len(p.Meta) > 0 {
			e.lit(`,"meta":`).raw(p.Meta)
		}
		return e.lit(`}`)
	case InboxSpliced:
		e.lit(`{"target":`).str(string(p.Target)).lit(`,"start":`).int(int64(p.Start))
		if p.RemovedCount != 0 {
			e.lit(`,"removedCount":`).int(int64(p.RemovedCount))
		}
		return e.lit(`,"inserted":`).messages(p.Inserted).field("outcome", p.Outcome).lit(`}`)
	case RequestHeader:
		return e.lit(`{"header":`).header(&p.Header).lit(`,"reason":`).str(p.Reason).lit(`}`)
	case Raw:
		return e.raw(p.Data)
	}
	return e.value(p)
}

func (e *encoder) place(turn, step int) *encoder {
	return e.lit(`{"turn":`).int(int64(turn)).lit(`,"step":`).int(int64(step))
}

// header keeps the bytes of the tools' schemas: they are a part of every request.
func (e *encoder) header(h *llm.Header) *encoder {
	e.lit(`{"config":`).value(h.Config)
	if len(h.AdapterDefaults) > 0 {
		e.lit(`,"adapterDefaults":`).value(h.AdapterDefaults)
	}
	e.field("system", h.System)
	if len(h.Tools) > 0 {
		e.lit(`,"tools":[`)
		for i, t := range h.Tools {
			if i > 0 {
				e.lit(`,`)
			}
			e.lit(`{"name":`).str(t.Name).lit(`,"description":`).str(t.Description)
			e.lit(`,"parameters":`).raw(t.Parameters).lit(`}`)
		}
		e.lit(`]`)
	}
	return e.lit(`}`)
}

// envelope is an event's line; pointers tell absent from zero.
type envelope struct {
	Type      Type            `json:"type"`
	Seq       *int            `json:"seq"`
	Time      *int64          `json:"time"`
	Data      json.RawMessage `json:"data"`
	SurfaceOp json.RawMessage `json:"surfaceOp"`
	Sources   []int           `json:"sourceEventSeqs"`
	Ignorable bool            `json:"ignorable"`

	// Of packed rows, in place of seq and time.
	Seq0  *int   `json:"seq0"`
	Time0 *int64 `json:"time0"`
}

// decodeLine reads one line of a log: one event, or the members of a packed row. A
// line without seq and time (recorders strip them) is numbered pos, and gets the
// time lastTime; one of the two alone is an error.
func decodeLine(line []byte, pos int, lastTime int64) ([]Event, error) {
	if depth(line) > maxDepth {
		return nil, errTooDeep
	}
	var env envelope
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&env); err != nil {
		return nil, fmt.Errorf("not an event: %w", err)
	}
	if dec.More() {
		return nil, errors.New("not an event: there is more after it")
	}
	if env.Type == "" || len(env.Data) == 0 || env.Data[0] != '{' {
		return nil, errors.New("not an event: it needs a type and data")
	}
	if isRow(env.Type) {
		return decodeRow(&env, pos, lastTime)
	}
	if env.Seq0 != nil || env.Time0 != nil {
		return nil, errors.New("not an event: seq0 and time0 belong to packed rows")
	}
	ev := Event{Type: env.Type, Seq: pos, Time: lastTime, Sources: env.Sources, Ignorable: env.Ignorable}
	if err := number(env.Seq, env.Time, &ev.Seq, &ev.Time); err != nil {
		return nil, err
	}
	var err error
	if ev.Surface, err = decodeSurfaceOp(env.SurfaceOp); err != nil {
		return nil, err
	}
	if ev.Data, err = decodePayload(env.Type, env.Data, env.Ignorable); err != nil {
		return nil, err
	}
	return []Event{ev}, nil
}

// number takes over a line's own numbers: both or none.
func number(seq *int, time *int64, toSeq *int, toTime *int64) error {
	if (seq == nil) != (time == nil) {
		return errors.New("an event needs both seq and time, or neither")
	}
	if seq == nil {
		return nil
	}
	if *seq < 0 || *time < 0 {
		return errors.New("seq or time is negative")
	}
	*toSeq, *toTime = *seq, *time
	return nil
}

func decodeSurfaceOp(raw json.RawMessage) (*SurfaceOp, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if string(raw) == `"append"` {
		return &SurfaceOp{}, nil
	}
	var op struct {
		Op    string `json:"op"`
		Start *int   `json:"start"`
		End   *int   `json:"end"`
	}
	if err := json.Unmarshal(raw, &op); err != nil || op.Op != "replace" || op.Start == nil || op.End == nil {
		return nil, fmt.Errorf("surfaceOp %.80s is neither append nor a replace with start and end", raw)
	}
	return &SurfaceOp{Replace: true, Start: *op.Start, End: *op.End}, nil
}

func decodePayload(t Type, data json.RawMessage, ignorable bool) (Payload, error) {
	if decode, known := payloads[t]; known {
		p, err := decode(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		return p, nil
	}
	if !ignorable && !kept[t] {
		return nil, &UnknownEventError{Type: string(t)}
	}
	return Raw{T: t, Data: bytes.Clone(data)}, nil
}

var payloads = map[Type]func(json.RawMessage) (Payload, error){
	TypeTurnStart:        as[TurnStart],
	TypeTurnEnd:          as[TurnEnd],
	TypeStepStart:        as[StepStart],
	TypeStepEnd:          as[StepEnd],
	TypeUserMessage:      as[UserMessage],
	TypeAssistantChunk:   as[AssistantChunk],
	TypeAssistantMessage: as[AssistantMessage],
	TypeToolCall:         as[ToolCall],
	TypeToolResult:       as[ToolResult],
	TypeRequestHeader:    as[RequestHeader],
	TypeRequestContext:   as[RequestContext],
	TypeInboxSpliced:     as[InboxSpliced],
	TypeEndSeed:          as[EndSeed],
	TypeTitle:            as[Title],
	TypeRetry:            as[Retry],
	TypeRetryStarted:     as[RetryStarted],
	TypeApprovalAsked:    as[ApprovalAsked],
	TypeApprovalDecided:  as[ApprovalDecided],
	TypeApprovalPolicy:   as[ApprovalPolicy],
	TypePermissionPreset: as[PermissionPreset],
	TypeSandboxMode:      as[SandboxMode],
	TypeRequestSent:      as[RequestSent],
	TypePolicyPreset:     as[PolicyPreset],
	TypePolicyDecision:   as[PolicyDecision],
	TypePolicyRule:       as[PolicyRule],
	TypeInboxHeld:        as[InboxHeld],
	TypeTurnBudget:       as[TurnBudget],
	TypeWorkspaceChanged: as[WorkspaceChanged],
}

func as[P Payload](data json.RawMessage) (Payload, error) {
	var p P
	err := json.Unmarshal(data, &p)
	return p, err
}
