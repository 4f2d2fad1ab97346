package tools

import (
	"context"
	"encoding/json"
	"io"

	"dsh/internal/jobs"
	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// Tool is one capability of the model. Arguments reach it as the JSON object the
// model sent, already validated against Schema. A Tool is safe for concurrent use.
type Tool interface {
	Name() string
	// Description is what the model reads: what it does, and in at most two
	// sentences when to use it.
	Description() string
	// Schema is a JSON Schema object. Its bytes are a part of every request: they
	// must be the same in every process.
	Schema() json.RawMessage
	Class() policy.Class
	// Concurrent reports whether a call with these arguments may overlap others.
	Concurrent(args json.RawMessage) bool
	// Action describes the call for policy. An error is the call's result.
	Action(env Env, args json.RawMessage) (policy.Action, error)
	// Run does it. An *Error becomes an error result with its code; any other error
	// too, without one. A cancelled ctx must end it soon.
	Run(ctx context.Context, env Env, args json.RawMessage) (Result, error)
	// Display presents a call for people: pending when r is nil, otherwise with its
	// result. It is pure, and total over any arguments and results.
	Display(args json.RawMessage, r *session.ToolResult) session.Display
}

// Env is what a call may know of its surroundings.
type Env struct {
	Cwd    string // absolute; relative paths resolve against it
	CallID string
	// Seen is the version of a file (by real path) that the model has seen.
	Seen func(path string) (session.FileVersion, bool)
	// Save keeps a text that is too long for a result, and returns the file that a
	// later read can show. An error beside a path: the file has the beginning only.
	// The kind is for people: lower-case letters. Nil: there is no place to keep it.
	Save func(kind string, write func(io.Writer) error) (path string, err error)

	// Judge is policy's verdict on an action: of a tool that comes upon more files than
	// it was pointed to. Safe for concurrent use. Nil allows all.
	Judge func(policy.Action) session.Verdict
	// Redact takes secrets out of a text, before any of it is kept, cut or shown. Nil:
	// there are none.
	Redact func(text string) string
	// Jobs are the background work of the agent that makes the call. Nil: it can have
	// none.
	Jobs *jobs.Registry
	// Yield asks a call that waits to let the turn go on, once: see session.HandoverSteer
	// for the words. A call that does not wait long need not listen. Nil: nobody asks.
	Yield <-chan string

	judged []string // the paths policy judged; set by Call.Run
}

// Result is what a call yields.
type Result struct {
	Text    string      // what the model reads
	Bounded bool        // the tool has cut Text itself: it is long on purpose
	Blocks  []llm.Block // in place of Text, when it is more than text
	IsError bool
	Code    string // of an error result
	Meta    session.ResultMeta
	Changed []string // real paths of the files it changed

	// Events are what the call changes in the session's state: log-only events, which
	// are logged with the result. A result that becomes an error later keeps them.
	Events []session.Payload

	Contexts []llm.Message // notes that join the next step
	EndsTurn bool          // the model need not be asked again

	// Handed is the job that the call became before its end: what comes after it in the
	// same message may rely on more than there is.
	Handed string
	Stands bool // a cancel that came meanwhile takes nothing back
}

// Error is a failure that the model can act on: its text is the result.
type Error struct {
	Code string
	Text string
}

func (e *Error) Error() string { return e.Text }
