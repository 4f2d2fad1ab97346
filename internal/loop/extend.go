package loop

import (
	"context"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// Extensions are the four places where others take part in a turn. Each owns one
// decision. They are called by the driver, one after another, in slice order; an
// error ends the turn as failed, and an error after the turn's context has ended
// counts as the abort. None may write to the log, but for what Stopping says.
type Extensions struct {
	PreStep      []PreStep
	Tool         []ToolHook
	RequestError []RequestError
	TurnStopping []TurnStopping
}

// Batch is the input that is about to enter a step.
type Batch struct {
	Turn, Step int
	Messages   []*llm.Message // what was claimed, then what earlier extensions made of it; do not change in place
	Owes       bool           // the step follows in any case; otherwise only if there are messages
}

// PreStep decides what enters a step: it returns the messages, changed as it likes
// in a slice of its own. A non-empty reject ends the turn as blocked and drops the
// batch.
type PreStep interface {
	PreStep(ctx context.Context, b Batch) (enter []*llm.Message, reject string, err error)
}

// Call is a tool call as hooks see it.
type Call struct {
	Turn, Step int
	ID, Name   string
	Arguments  string // as the model sent them
	Action     policy.Action
}

// ToolHook stands around a call. Before may only refuse (policy and the person come
// after it); After sees every result of a call that was prepared, and returns the
// result to use, with the notes it wants to add.
type ToolHook interface {
	Before(ctx context.Context, c Call) (deny string, err error)
	After(ctx context.Context, c Call, r tools.Result) (tools.Result, error)
}

// RequestFailure is a request that failed, with nothing of it in the history.
type RequestFailure struct {
	Turn, Step, Attempt int
	Route               Route
	Failure             *llm.Failure
}

// RequestError decides whether a failed request is sent again. The first to say so
// wins; it has waited, or mended, whatever that needs.
type RequestError interface {
	RequestError(ctx context.Context, f RequestFailure) (retry bool, err error)
}

// Stopping is a turn that could end now.
type Stopping struct {
	Turn   int
	Reason session.EndReason

	// Record writes a check's own event and syncs the log: what a check does must not
	// be invisible after a power cut. It is called before TurnStopping returns.
	Record func(session.VerifyRun) error

	// Steered is closed when the user says something that the turn's next step takes:
	// the turn goes on whatever the answer is, so a long look is not worth its time.
	Steered <-chan struct{}
}

// Ending is the answer to Stopping: input for one more step, or another reason to
// end with. The zero value lets the turn end.
type Ending struct {
	Continue []llm.Message
	Reason   *session.EndReason
}

// TurnStopping decides whether a turn may end.
type TurnStopping interface {
	TurnStopping(ctx context.Context, s Stopping) (Ending, error)
}
