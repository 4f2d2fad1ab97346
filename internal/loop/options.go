package loop

import (
	"context"
	"io"
	"iter"
	"math/rand/v2"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/prompt"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// Model is what the loop needs of a provider: one dispatch of a request. The last
// chunk is a finish; provider failures are finishes too. An error means that the
// request was refused on this side (by BeforeSend, or by a fault of ours).
type Model interface {
	Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error]
}

// Route names a model and says how to reach it.
type Route struct {
	Model    Model
	Config   llm.Config
	Defaults []string // names of Config fields that the user did not choose
	Window   int      // tokens of context, 0 unknown
}

// Limits of a turn; zero means none.
type Budgets struct {
	Steps int
	Calls int
	Time  time.Duration // without the time a person was asked
}

// DefaultSteps ends a turn that no person would have let run so long.
const DefaultSteps = 200

// DefaultParallel is how many tool bodies of one message run at once.
const DefaultParallel = 10

// Options is everything an Agent is made of. Log, Tools and Route are required; a
// Route without a Model makes turns fail with a message that says so.
type Options struct {
	Log      *session.Log
	Route    Route
	Fallback []Route // tried in turn when the retries of a request are spent
	Tools    *tools.Registry
	Rules    policy.Rules
	Cwd      string // absolute; where relative paths of calls start

	System      string             // the system prompt of a session that has none yet
	Environment func() llm.Message // the environment block, sent once in each process; nil: none

	Instructions *prompt.Instructions // files that the model is told of; nil: none

	Budgets     Budgets
	Retry       RetryPolicy
	MaxParallel int  // 0: DefaultParallel
	Asks        bool // a person can answer; otherwise what would ask is denied

	Handover bool // a steer, or Background, makes a running command a job
	JobLimit int  // of active jobs; 0: jobs.DefaultLimit
	// Look adds to a revision what is known of the workspace beside the log, in bounded
	// time. Nil: nothing.
	Look func(context.Context, jobs.Revision) jobs.Revision

	Extensions Extensions

	// RedactPrompt takes the user's own secrets out of a prompt before it is logged;
	// found says that one was a key of the user, also of a text that was cleaned
	// before, and the prompt is then rejected. Nil: there are none.
	RedactPrompt func(text string) (clean string, found bool)
	// RedactResult takes secrets out of what comes from outside: results, failures,
	// paths. It finds none in what it returned. Nil: there are none.
	RedactResult func(text string) string
	// RedactAnswer starts a filter for one block of an answer: it takes piece by piece
	// and returns what is free of the user's secrets so far; with end, the rest. Nil:
	// there are none.
	RedactAnswer func() func(piece string, end bool) string

	// Save is the place of texts that are too long for a result: see tools.Env. Nil:
	// there is none.
	Save func(kind string, write func(io.Writer) error) (path string, err error)

	// OnStatus hears of idle -> running -> idle, in order, never under a lock, and
	// from a goroutine of the Agent, or of the caller of Compact: it must return soon.
	OnStatus func(running bool)

	// Random is the source of jitter, in [0,1). Nil: math/rand.
	Random func() float64
}

func (o *Options) fill() {
	if o.MaxParallel == 0 {
		o.MaxParallel = DefaultParallel
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.OnStatus == nil {
		o.OnStatus = func(bool) {}
	}
	if o.RedactPrompt == nil {
		o.RedactPrompt = func(text string) (string, bool) { return text, false }
	}
	if o.RedactResult == nil {
		o.RedactResult = func(text string) string { return text }
	}
	o.Retry.fill()
}
