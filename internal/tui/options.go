package tui

import (
	"context"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tui/term"
)

// Agent is all that the screen asks of the loop, in session's words. Every method
// returns once what it did is in the log.
type Agent interface {
	Followup(text string) (session.QueueItem, error)
	Steer(text string) (session.QueueItem, error)
	Interrupt() error
	Hold(ids ...string) error
	Release(ids ...string) error
	Queue() []session.QueueItem
	Replace(id, text string) (bool, error)
	Remove(id string) (bool, error)
	Move(id string, to session.Target, at int) (bool, error)
	Waiting() []session.ApprovalRequest
	Decide(id string, answer session.Answer) error
	Running() bool

	// Jobs are all jobs of the session. PeekJob is the output of one from byte from on,
	// and the offset to go on from: it takes nothing from the model.
	Jobs() []session.JobInfo
	PeekJob(id string, from int64) (text string, next int64)
	StopJob(id, why string) error
	// Background has a running command go on as a job, every one for ""; it reports
	// whether there was one.
	Background(callID string) bool
}

// Events is the screen's place in a log.
type Events interface {
	Next() []session.Event
	Wake() <-chan struct{}
	Close()
}

// Opened is one session on the screen. The screen closes it.
type Opened struct {
	Agent  Agent
	Events Events      // from the first event
	Status <-chan bool // running or not, in order; closed by Close
	Header session.Header
	Cwd    string
	Model  string // provider/name
	Effort string // "" the model's default
	Preset string
	// Handover says that a running command can become a job.
	Handover bool
	Notes    []string // what the user should know before anything runs

	// Files answers an @ mention at once, from what is known so far: paths, the best
	// first, and a word about how many there are. Nil: none.
	Files func(query string, n int) (paths []string, note string)

	Kill func() // ends running commands without grace; nil: there are none
	// Output is the end of what a running call has put out so far. Nil: nothing is.
	Output func(callID string) string
	// Shell runs a line of the user's and returns what it printed; private keeps it
	// from the model. Nil: there is no shell.
	Shell func(ctx context.Context, line string, private bool) (output string, err error)

	SetModel  func(name, effort string) (model string, err error)
	SetPreset func(preset string) error
	Rename    func(title string) error
	Close     func() error
}

// Command is a command of the screen that the wiring adds.
type Command struct {
	Name, Args, Help string
	Run              func(ctx context.Context, args string) (string, error)
}

// Options is everything the screen is made of.
type Options struct {
	Terminal *term.Terminal
	// Open opens a session by id, or a new one for "".
	Open func(id string) (*Opened, error)
	// First is what the screen begins with, Prompt its first prompt, if any.
	First  *Opened
	Prompt string

	Sessions func() ([]session.Entry, error)
	// Rename and Delete change a stored session, by its whole id, that is not on screen.
	Rename   func(id, title string) error
	Delete   func(id string) error
	Models   func() []llm.ModelInfo
	Presets  []string // in the order in which shift+tab goes round; the rest is typed
	Commands []Command
	Keys     map[string][]string // action to keys, in place of the table's
	// Present shows a pending call; the names of tools are behind it.
	Present func(name, arguments string, result *session.ToolResult) session.Display
	// Editor is the argument vector of the user's editor; empty: none.
	Editor []string

	History string // file of the prompt history; "" for none
	Drafts  string // directory of unsent drafts; "" for none
	// Redact takes the user's secrets out of what goes into those files. Nil: nothing
	// is taken out.
	Redact  func(text string) string
	Version string
	Home    string // the user's directory, for short names; "" unknown
}
