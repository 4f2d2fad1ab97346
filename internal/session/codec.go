package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"dsh/internal/llm"
)

// ours are the types that dsh added to the format: written with the ignorable mark,
// so that other readers may skip them.
var ours = map[Type]bool{
	TypeRequestSent: true, TypeRequestSpent: true, TypePolicyPreset: true, TypePolicyDecision: true, TypePolicyRule: true,
	TypeInboxHeld: true, TypeTurnBudget: true, TypeWorkspaceChanged: true, TypeLost: true,
	TypeJobStarted: true, TypeJobSettled: true,
	TypeVerifyRun: true,
}

// kept are the types of the format that dsh knows and does not act on: Raw.
var kept = map[Type]bool{
	"tool/code-dispatch-start": true, "tool/code-dispatch": true,
	"session/title-llm-request": true, "agent-preset/selected": true,
	"plan/mode": true, "goal/change": true, "schedule/change": true, "hook/invoked": true, "hook/result": true,
	"command/run": true, "command/done": true, "feedback/record": true, "subagent/descriptor": true,
	"team/member": true, "team/task": true, "team/message/queued": true, "team/message/delivered": true,
	"tool-workflow/run-start": true, "tool-workflow/run-end": true, "tool-workflow/agent-start": true,
	"tool-workflow/agent-end": true, "web/deepseek-search-llm-request": true,
}

// readable reports whether an event of a type can be read without the ignorable
// mark.
func readable(t Type) bool {
	_, known := payloads[t]
	return known || kept[t]
}

// UnknownEventError says that a log holds an event that must be understood and is
// not: leaving it out would change the history.
type UnknownEventError struct{ Type string }

func (e *UnknownEventError) Error() string {
	return fmt.Sprintf("event type %q is unknown and not marked ignorable: a newer dsh may be needed to open this session", e.Type)
}

// MarshalJSON is the event as a log holds it, a single chunk unpacked.
func (ev Event) MarshalJSON() ([]byte, error) {
	line, err := appendEvent(nil, ev)
	return bytes.TrimSuffix(line, []byte("\n")), err
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
	case CompactionStart:
		return e.compaction(p.CompactionID, p.SourceCommandID, p.Turn, "")
	case CompactionEnd:
		return e.compaction(p.CompactionID, p.SourceCommandID, p.Turn, p.Error)
	case CompactionSummary:
		return e.compactionSummary(&p)
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

// envelope is an event's line, its parts not yet read.
type envelope struct {
	kind       Type
	seq, time  int64 // of a packed row: seq0 and time0
	hasSeq     bool
	hasTime    bool
	row, plain bool // it has keys that only rows, or only plain events, have
	data       []byte
	surface    []byte
	sources    []int
	ignorable  bool
}

func readEnvelope(line []byte) (env envelope, err error) {
	r := reader{b: line}
	r.object(func(key []byte) {
		switch string(key) {
		case "type":
			env.kind = Type(r.word())
		case "seq":
			env.seq, env.hasSeq, env.plain = r.integer(), true, true
		case "time":
			env.time, env.hasTime, env.plain = r.integer(), true, true
		case "seq0":
			env.seq, env.hasSeq, env.row = r.integer(), true, true
		case "time0":
			env.time, env.hasTime, env.row = r.integer(), true, true
		case "data":
			env.data = r.span()
		case "surfaceOp":
			env.surface, env.plain = r.span(), true
		case "sourceEventSeqs":
			env.sources, env.plain = []int{}, true
			r.list(func() { env.sources = append(env.sources, r.int()) })
		case "ignorable":
			env.ignorable, env.plain = r.bool(), true
		default:
			r.fail(fmt.Sprintf("unknown key %.40q", key))
		}
	})
	if err := r.end(); err != nil {
		return env, err
	}
	switch {
	case env.kind == "" || len(env.data) == 0 || env.data[0] != '{':
		return env, errors.New("it needs a type and data")
	case isRow(env.kind) && env.plain || !isRow(env.kind) && env.row:
		return env, errors.New("it mixes the keys of an event and of a packed row")
	case env.hasSeq != env.hasTime:
		return env, errors.New("it needs both seq and time, or neither")
	case env.seq < 0 || env.time < 0:
		return env, errors.New("seq or time is negative")
	}
	return env, nil
}

// decodeLine reads one line of a log: one event, or the members of a packed row. A
// line without seq and time (recorders strip them) is numbered pos, and gets the
// time lastTime; one of the two alone is an error. The events do not share the
// line's memory.
func decodeLine(line []byte, pos int, lastTime int64) ([]Event, error) {
	if tooDeep(line) {
		return nil, errTooDeep
	}
	env, err := readEnvelope(line)
	if err != nil {
		return nil, fmt.Errorf("not an event: %w", err)
	}
	if !env.hasSeq {
		env.seq, env.time = int64(pos), lastTime
	}
	if isRow(env.kind) {
		return decodeRow(&env)
	}
	ev := Event{Type: env.kind, Seq: int(env.seq), Time: env.time, Sources: env.sources, Ignorable: env.ignorable}
	if ev.Surface, err = decodeSurfaceOp(env.surface); err != nil {
		return nil, err
	}
	if ev.Data, err = decodePayload(env.kind, env.data, env.ignorable); err != nil {
		return nil, err
	}
	return []Event{ev}, nil
}

// maxNumber is the largest integer that every JSON reader keeps exact.
const maxNumber = 1<<53 - 1

func decodeSurfaceOp(raw []byte) (*SurfaceOp, error) {
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

func decodePayload(t Type, data []byte, ignorable bool) (Payload, error) {
	if !ignorable && !readable(t) {
		return nil, &UnknownEventError{Type: string(t)}
	}
	decode, known := payloads[t]
	r := reader{b: data}
	if !known {
		p := Raw{T: t, Data: r.raw()}
		return p, r.end()
	}
	p := decode(&r)
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	return p, nil
}

// Types are the types of event that this version can read, in order.
func Types() []Type {
	all := slices.AppendSeq(slices.Collect(maps.Keys(payloads)), maps.Keys(kept))
	slices.Sort(all)
	return slices.Compact(all)
}

var payloads = map[Type]func(*reader) Payload{
	TypeTurnStart:        as[TurnStart],
	TypeTurnEnd:          as[TurnEnd],
	TypeStepStart:        as[StepStart],
	TypeStepEnd:          as[StepEnd],
	TypeUserMessage:      func(r *reader) Payload { return r.userMessage() },
	TypeAssistantChunk:   func(r *reader) Payload { return r.assistantChunk() },
	TypeAssistantMessage: func(r *reader) Payload { return r.assistantMessage() },
	TypeToolCall:         as[ToolCall],
	TypeToolResult:       func(r *reader) Payload { return r.toolResult() },
	TypeRequestHeader:    as[RequestHeader],
	TypeRequestContext:   as[RequestContext],
	TypeInboxSpliced:     func(r *reader) Payload { return r.inboxSpliced() },
	TypeEndSeed:          as[EndSeed],
	TypeTitle:            as[Title],
	TypeRetry:            as[Retry],
	TypeRetryStarted:     as[RetryStarted],
	TypeApprovalAsked:    as[ApprovalAsked],
	TypeApprovalDecided:  as[ApprovalDecided],
	TypeApprovalPolicy:   as[ApprovalPolicy],
	TypePermissionPreset: as[PermissionPreset],
	TypeSandboxMode:      as[SandboxMode],
	TypeTodoWrite:        as[TodoWrite],
	TypeRequestSent:      as[RequestSent],
	TypeRequestSpent:     as[RequestSpent],
	TypePolicyPreset:     as[PolicyPreset],
	TypePolicyDecision:   as[PolicyDecision],
	TypePolicyRule:       as[PolicyRule],
	TypeInboxHeld:        as[InboxHeld],
	TypeTurnBudget:       as[TurnBudget],
	TypeWorkspaceChanged: as[WorkspaceChanged],
	TypeJobStarted:       as[JobStarted],
	TypeJobSettled:       as[JobSettled],
	TypeLost:             as[Lost],
	TypeVerifyRun:        as[VerifyRun],

	TypeCompactionStart:   func(r *reader) Payload { return r.compactionStart() },
	TypeCompactionSummary: func(r *reader) Payload { return r.compactionSummary() },
	TypeCompactionEnd:     func(r *reader) Payload { return r.compactionEnd() },
	TypeCompactionPrune:   as[CompactionPrune],
}

// as reads the payloads that are small or rare.
func as[P Payload](r *reader) Payload {
	var p P
	r.value(&p)
	return p
}
