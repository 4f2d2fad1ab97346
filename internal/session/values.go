package session

import (
	"encoding/json"

	"dsh/internal/llm"
)

// Verdict is one of policy's three answers.
type Verdict string

const (
	Allow Verdict = "allow"
	Deny  Verdict = "deny"
	Ask   Verdict = "ask"
)

// Effect is what an action may do to the world, as far as policy can tell.
type Effect string

const (
	EffectRead    Effect = "read"
	EffectChange  Effect = "change"
	EffectUnknown Effect = "unknown"
)

// Decision is policy's judgement of an action.
type Decision struct {
	Verdict Verdict
	Rule    string // the rule or preset that decided
	Reason  string // one sentence for the model and the person
	Effect  Effect
	Offer   string // the narrowest pattern that "always" may remember
	Flag    string // what would allow it in a run without a person
}

// ApprovalRequest is a call that waits for a person.
type ApprovalRequest struct {
	ID       string
	CallID   string
	Tool     string
	Display  Display
	Decision Decision
}

// Answer is a person's answer to an ApprovalRequest.
type Answer struct {
	Outcome Outcome
	Pattern string // with ForSession: the rule to remember
	Say     string // with No: what the model is told
}

// Outcome is the kind of an Answer.
type Outcome string

const (
	Once       Outcome = "once"
	ForSession Outcome = "session"
	No         Outcome = "no"
)

// DisplayKind selects how a card is drawn. The set is closed: the screen draws
// kinds, never tools.
type DisplayKind string

const (
	ShowText    DisplayKind = "text"
	ShowDiff    DisplayKind = "diff"
	ShowCommand DisplayKind = "command"
	ShowFiles   DisplayKind = "files"
	ShowMatches DisplayKind = "matches"
	ShowJob     DisplayKind = "job"
	ShowTodo    DisplayKind = "todo"
	ShowImage   DisplayKind = "image"
)

// Display is a call as a person sees it: a line made of Verb, Target and Facts, and
// a body of which the field of the kind is set. It may hold any text; whoever
// draws it sanitises.
type Display struct {
	Kind   DisplayKind `json:"kind"`
	Verb   string      `json:"verb"`             // "Read", "Edit"
	Target string      `json:"target,omitempty"` // the raw argument: a path, a command
	Facts  []string    `json:"facts,omitempty"`  // "120 lines", "+3 -1"
	Text   string      `json:"text,omitempty"`
	Diffs  []FileDiff  `json:"diffs,omitempty"`

	Command *CommandBody `json:"command,omitempty"` // of kind command; its output is in Text
}

// CommandBody is a command and, once it has ended, how. If that was with an exit code
// or a signal, the last line of the result says so too. A result's meta holds no
// output: the result does.
type CommandBody struct {
	Description string `json:"description,omitempty"` // the model's, for people
	Dir         string `json:"dir,omitempty"`         // where it runs; empty for the session's directory
	ExitCode    int    `json:"exitCode,omitempty"`    // -1 if a signal ended it
	Signal      string `json:"signal,omitempty"`      // "SIGTERM"
	TimedOut    bool   `json:"timedOut,omitempty"`
	Truncated   bool   `json:"truncated,omitempty"` // the result has its beginning and its end only
	Artifact    string `json:"artifact,omitempty"`  // file with the whole output
}

// FileDiff is the change of one file. Hunks are made when the tool runs: on replay
// the old text is gone.
type FileDiff struct {
	Path    string `json:"path"`
	Created bool   `json:"created,omitempty"`
	Hunks   []Hunk `json:"hunks,omitempty"` // none when the old text was not text, or too large
}

// Hunk is a piece of a diff with its context. Lines begin with ' ', '+' or '-'.
type Hunk struct {
	OldStart int      `json:"oldStart"` // from 1
	NewStart int      `json:"newStart"`
	Lines    []string `json:"lines"`
}

// ResultMeta is what dsh stores in ToolResult.Meta.
type ResultMeta struct {
	Display *Display      `json:"display,omitempty"`
	Seen    []FileVersion `json:"seen,omitempty"`    // what the call let the model see
	Refused *Refusal      `json:"refused,omitempty"` // policy did not let it run
}

// FileVersion is a file as the model last saw it. Absent: it was not there.
type FileVersion struct {
	Path   string `json:"path"` // real path, the key
	Absent bool   `json:"absent,omitempty"`
	SHA256 string `json:"sha256,omitempty"` // of the whole content, lower-case hex
	Size   int64  `json:"size,omitempty"`
}

// Refusal is an action that policy did not allow, for the result of a run.
type Refusal struct {
	Tool   string `json:"tool"`
	Target string `json:"target,omitempty"`
	Reason string `json:"reason"`
	Flag   string `json:"flag,omitempty"`
}

// QueueItem is a message that waits in the inbox.
type QueueItem struct {
	ID     string
	Target Target
	Text   string
	Source llm.Source
	Held   bool // a claim skips it until the user releases it
}

// DecodeMeta reads a result's meta; ok is false for none and for foreign ones.
func DecodeMeta(raw json.RawMessage) (m ResultMeta, ok bool) {
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil {
		return ResultMeta{}, false
	}
	return m, m.Display != nil || len(m.Seen) > 0 || m.Refused != nil
}
