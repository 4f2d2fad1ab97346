package session

import (
	"encoding/json"

	"dsh/internal/llm"
)

// Type names an event. The names, the field names and the shapes are those of the
// session format, version 0, of DeepSeek Harness; those marked "ours" are
// additions that its readers may ignore.
type Type string

const (
	TypeTurnStart        Type = "turn/start"
	TypeTurnEnd          Type = "turn/end"
	TypeStepStart        Type = "step/start"
	TypeStepEnd          Type = "step/end"
	TypeUserMessage      Type = "user/message"
	TypeAssistantChunk   Type = "assistant/chunk"
	TypeAssistantMessage Type = "assistant/message"
	TypeToolCall         Type = "tool/call"
	TypeToolResult       Type = "tool/result"
	TypeRequestHeader    Type = "request/header"
	TypeRequestContext   Type = "request/context"
	TypeInboxSpliced     Type = "agent/inbox/spliced"
	TypeEndSeed          Type = "session/end-seed"
	TypeTitle            Type = "session/title"
	TypeRetry            Type = "llm/retry"
	TypeRetryStarted     Type = "llm/retry-started"
	TypeApprovalAsked    Type = "approval/asked"
	TypeApprovalDecided  Type = "approval/decided"
	TypeApprovalPolicy   Type = "approval/policy"
	TypePermissionPreset Type = "permission/preset"
	TypeSandboxMode      Type = "sandbox/mode"
	TypeTodoWrite        Type = "todo/write"

	// Ours.
	TypeRequestSent      Type = "request/sent"
	TypeRequestSpent     Type = "request/spent"
	TypePolicyPreset     Type = "policy/preset"
	TypePolicyDecision   Type = "policy/decision"
	TypePolicyRule       Type = "policy/rule"
	TypeInboxHeld        Type = "inbox/held"
	TypeTurnBudget       Type = "turn/budget"
	TypeWorkspaceChanged Type = "workspace/changed"
	TypeJobStarted       Type = "job/started"
	TypeJobSettled       Type = "job/settled"
	TypeLost             Type = "session/lost"
	TypeVerifyRun        Type = "verify/run"
)

// Event is one record of the log.
type Event struct {
	Type Type
	Seq  int   // position in the log, from 0, without gaps
	Time int64 // milliseconds since 1970; never smaller than the event's before

	Data Payload

	Surface   *SurfaceOp // what it does to the model's view; nil unless the type is a surface type
	Sources   []int      // seqs this event was made from; nil absent, empty means "from nothing"
	Ignorable bool       // a reader that does not know the type may skip it
}

// Replaces reports whether the event takes the place of others in what the model sees:
// it is no news to a person.
func (ev *Event) Replaces() bool { return ev.Surface != nil && ev.Surface.Replace }

// Payload is an event's data. Each type below has one; types of the format that dsh
// does not act on, and ignorable unknown ones, are Raw.
type Payload interface{ Type() Type }

// SurfaceOp says how a surface event changes the list of model-visible events:
// appended at the tail, or replacing the nodes from Start to End (seqs, inclusive).
type SurfaceOp struct {
	Replace    bool
	Start, End int
}

// TurnStart opens a turn, before its input is claimed. Turns count from 1 and never
// repeat within a log.
type TurnStart struct {
	Turn int `json:"turn"`
}

// TurnEnd closes it. Exactly one for each TurnStart; a crash's is written on resume.
type TurnEnd struct {
	Turn   int       `json:"turn"`
	Reason EndReason `json:"reason"`
}

// StepStart opens a step, when its input is known. Steps count from 1 in each turn.
type StepStart struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// StepEnd closes it, after every call has its result.
type StepEnd struct {
	Turn int `json:"turn"`
	Step int `json:"step"`
}

// UserMessage (surface) is an input that entered a step: the user's, or a note of
// dsh itself (see its source).
type UserMessage struct{ llm.Message }

// AssistantChunk is one streamed piece, as it arrived. Readers that only need the
// outcome may skip chunks: an AssistantMessage supersedes those it cites.
type AssistantChunk struct {
	Turn  int       `json:"turn"`
	Step  int       `json:"step"`
	Chunk llm.Chunk `json:"chunk"`
}

// AssistantMessage (surface) is the answer of one successful request, or the part
// of it that a cancel or crash let through (Interrupted). Its sources are exactly
// its chunks. Empty content anchors the usage and is invisible to the model.
type AssistantMessage struct {
	Turn        int         `json:"turn"`
	Step        int         `json:"step"`
	Message     llm.Message `json:"message"`
	Usage       *llm.Usage  `json:"usage,omitempty"`
	Interrupted bool        `json:"interrupted,omitempty"`
}

// ToolCall says that dsh took a call up; policy comes after it. A call that was
// never taken up before a crash or cancel has one too when its result is written.
type ToolCall struct {
	Turn      int    `json:"turn"`
	Step      int    `json:"step"`
	CallID    string `json:"callId"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolResult (surface) is what the model reads of a call. It cites its ToolCall.
// Results stand in the order of the calls, whatever order they ended in.
type ToolResult struct {
	Turn    int             `json:"turn"`
	Step    int             `json:"step"`
	Message llm.Message     `json:"message"`
	Error   *ToolError      `json:"error,omitempty"`
	Meta    json.RawMessage `json:"meta,omitempty"` // a ResultMeta when dsh wrote it
}

// ToolError is the machine-readable side of an error result.
type ToolError struct {
	Name string `json:"name"`
	Code string `json:"code"`
}

// RequestHeader is written before the first request and whenever the header
// changes; requests between two of them share it. Reason: initial, resume, change.
type RequestHeader struct {
	Header llm.Header `json:"header"`
	Reason string     `json:"reason"`
}

// RequestContext tells what is known about the route's capacity. Advisory.
type RequestContext struct {
	Provider      string `json:"provider"`
	Model         string `json:"model"`
	ContextWindow *int   `json:"contextWindow,omitempty"`
}

// RequestSent (ours) is written, and synced, just before a request leaves. Audit
// derives its digest again: from the header and the messages in force, or, with an
// Aside, from what that makes of them.
type RequestSent struct {
	Turn    int `json:"turn"` // 0, as the step, for an aside between turns
	Step    int `json:"step"`
	Attempt int `json:"attempt"` // from 1 within the step, or within the compaction
	llm.Sent
	Aside *Aside `json:"aside,omitempty"`
}

// RequestSpent (ours) is written when a request comes to nothing after a part of its
// answer came: it may have to be paid for. An answer that is kept says so itself.
type RequestSpent struct {
	Turn     int        `json:"turn"` // as in its RequestSent
	Step     int        `json:"step"`
	Provider string     `json:"provider"`
	Model    string     `json:"model"`
	Usage    *llm.Usage `json:"usage,omitempty"`
	Streamed int        `json:"streamed"` // bytes of text, reasoning and arguments that came
}

// Target is one of the inbox's two queues.
type Target string

const (
	NextStep Target = "next-step"
	NextTurn Target = "next-turn"
)

// InboxSpliced is the only record of the inbox: RemovedCount messages leave the
// queue at Start, Inserted take their place. A pure removal without an outcome is
// a claim; any other removal says OutcomeCanceled.
type InboxSpliced struct {
	Target       Target        `json:"target"`
	Start        int           `json:"start"`
	RemovedCount int           `json:"removedCount,omitempty"`
	Inserted     []llm.Message `json:"inserted"`
	Outcome      string        `json:"outcome,omitempty"`
}

// OutcomeCanceled marks messages that left the inbox without entering a turn.
const OutcomeCanceled = "canceled"

// InboxHeld (ours) marks waiting messages that a claim must skip until the user
// says so (Held false releases them). Written on resume for what was pending.
type InboxHeld struct {
	IDs  []string `json:"ids"`
	Held bool     `json:"held"`
}

// EndSeed ends the part of the log that an earlier process wrote: brackets that are
// open before it belong to a dead life.
type EndSeed struct{}

// Title names the session for people. The last one wins.
type Title struct {
	Title string `json:"title"`
}

// ModeFallback is the mode of a Retry that goes to another model at once.
const ModeFallback = "fallback"

// Retry is written before the wait for another attempt.
type Retry struct {
	RetryID    string      `json:"retryId"` // constant along a chain of attempts
	Turn       int         `json:"turn"`
	Step       int         `json:"step"`
	Provider   string      `json:"provider"`
	Mode       string      `json:"mode"`      // normal, fallback
	PolicyKey  string      `json:"policyKey"` // the limits that were in force
	Retry      int         `json:"retry"`     // from 1
	MaxRetries *int        `json:"maxRetries,omitempty"`
	DelayMs    int64       `json:"delayMs"`
	Failure    llm.Failure `json:"failure"`
}

// RetryStarted is written after the wait, before the attempt.
type RetryStarted struct {
	RetryID string `json:"retryId"`
	Turn    int    `json:"turn"`
	Step    int    `json:"step"`
	Retry   int    `json:"retry"`
}

// ApprovalAsked opens a question to the person about one call.
type ApprovalAsked struct {
	ID       string `json:"id"`
	ToolName string `json:"toolName"`
	CallID   string `json:"callId,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// ApprovalDecided closes it: allowed-once, rejected or cancelled. Exactly one each.
type ApprovalDecided struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
}

// ApprovalPolicy, PermissionPreset and SandboxMode are the original's words for
// what PolicyPreset says in ours; the last of each wins.
type ApprovalPolicy struct {
	Policy string `json:"policy"`
}
type PermissionPreset struct {
	Preset string `json:"preset"`
}
type SandboxMode struct {
	Mode string `json:"mode"`
}

// TodoWrite is the plan that the model keeps: the whole list, the last one wins, an
// empty one is none. It holds until the next turn starts.
type TodoWrite struct {
	Todos []Todo `json:"todos"`
}

// PolicyPreset (ours) is the preset in force from here on: read-only, ask,
// workspace, full.
type PolicyPreset struct {
	Preset string `json:"preset"`
}

// PolicyDecision (ours) is policy's decision on one call, before it runs.
type PolicyDecision struct {
	CallID   string  `json:"callId"`
	Decision Verdict `json:"decision"`
	Rule     string  `json:"rule,omitempty"`
	Reason   string  `json:"reason,omitempty"`
	Effect   Effect  `json:"effect"`
}

// PolicyRule (ours) is a rule made during the session. Scope: session.
type PolicyRule struct {
	Scope    string  `json:"scope"`
	Pattern  string  `json:"pattern"`
	Decision Verdict `json:"decision"`
}

// TurnBudget (ours) says that a budget of the turn is nearly used (the model is
// told) or used up (Ended; the turn ends).
type TurnBudget struct {
	Turn  int    `json:"turn"`
	Kind  string `json:"kind"` // steps, calls, time
	Limit int64  `json:"limit"`
	Used  int64  `json:"used"`
	Ended bool   `json:"ended,omitempty"`
}

// WorkspaceChanged (ours) follows a result that changed a file.
type WorkspaceChanged struct {
	Path   string `json:"path"`
	CallID string `json:"callId"`
}

// Lost (ours) stands for one event of a damaged log that could not be read, in the
// copy that Salvage makes of it: the events behind it keep their seqs.
type Lost struct {
	Line int `json:"line"` // of the damaged log, from 1; the first that was left out
}

// Raw is the data of an event that dsh keeps but does not act on.
type Raw struct {
	T    Type
	Data json.RawMessage
}

func (TurnStart) Type() Type        { return TypeTurnStart }
func (TurnEnd) Type() Type          { return TypeTurnEnd }
func (StepStart) Type() Type        { return TypeStepStart }
func (StepEnd) Type() Type          { return TypeStepEnd }
func (UserMessage) Type() Type      { return TypeUserMessage }
func (AssistantChunk) Type() Type   { return TypeAssistantChunk }
func (AssistantMessage) Type() Type { return TypeAssistantMessage }
func (ToolCall) Type() Type         { return TypeToolCall }
func (ToolResult) Type() Type       { return TypeToolResult }
func (RequestHeader) Type() Type    { return TypeRequestHeader }
func (RequestContext) Type() Type   { return TypeRequestContext }
func (RequestSent) Type() Type      { return TypeRequestSent }
func (RequestSpent) Type() Type     { return TypeRequestSpent }
func (InboxSpliced) Type() Type     { return TypeInboxSpliced }
func (InboxHeld) Type() Type        { return TypeInboxHeld }
func (EndSeed) Type() Type          { return TypeEndSeed }
func (Title) Type() Type            { return TypeTitle }
func (Retry) Type() Type            { return TypeRetry }
func (RetryStarted) Type() Type     { return TypeRetryStarted }
func (ApprovalAsked) Type() Type    { return TypeApprovalAsked }
func (ApprovalDecided) Type() Type  { return TypeApprovalDecided }
func (ApprovalPolicy) Type() Type   { return TypeApprovalPolicy }
func (PermissionPreset) Type() Type { return TypePermissionPreset }
func (SandboxMode) Type() Type      { return TypeSandboxMode }
func (TodoWrite) Type() Type        { return TypeTodoWrite }
func (PolicyPreset) Type() Type     { return TypePolicyPreset }
func (PolicyDecision) Type() Type   { return TypePolicyDecision }
func (PolicyRule) Type() Type       { return TypePolicyRule }
func (TurnBudget) Type() Type       { return TypeTurnBudget }
func (WorkspaceChanged) Type() Type { return TypeWorkspaceChanged }
func (JobStarted) Type() Type       { return TypeJobStarted }
func (JobSettled) Type() Type       { return TypeJobSettled }
func (Lost) Type() Type             { return TypeLost }
func (r Raw) Type() Type            { return r.T }

// EndKind is how a turn ended.
type EndKind string

const (
	Completed   EndKind = "completed"
	Aborted     EndKind = "aborted" // Cause says by whom
	Blocked     EndKind = "blocked" // an extension rejected the input
	Failed      EndKind = "error"   // Failure says what
	MaxTokens   EndKind = "max-tokens"
	Interrupted EndKind = "interrupted" // the process died; written on resume
)

// EndReason is the outcome of a turn.
type EndReason struct {
	Kind    EndKind      `json:"kind"`
	Cause   *Cause       `json:"reason,omitempty"`
	Failure *llm.Failure `json:"error,omitempty"`
}

// GoesOn reports whether dsh may begin a turn by itself after one that ended so: not if
// it was stopped, or failed. Who stopped it, a person or a budget, meant the work.
func (r *EndReason) GoesOn() bool { return r.Kind == Completed || r.Kind == MaxTokens }

// CauseKind is who aborted a turn.
type CauseKind string

const (
	ByUser   CauseKind = "user"
	ByParent CauseKind = "parent"
	ByHook   CauseKind = "hook"     // a budget, a guard; Reason says which
	Disposed CauseKind = "disposed" // dsh is closing
)

// Cause is why a turn was aborted; it is also the cause of the turn's context.
type Cause struct {
	Kind   CauseKind `json:"kind"`
	Reason string    `json:"reason,omitempty"`
}

func (c *Cause) Error() string {
	switch {
	case c.Reason != "":
		return c.Reason
	case c.Kind == ByUser:
		return "interrupted by the user"
	case c.Kind == Disposed:
		return "dsh was stopped"
	}
	return "cancelled by its " + string(c.Kind)
}
