package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// ErrClosed is the answer of a closed Agent to new input.
var ErrClosed = errors.New("the session is closing: nothing more can be sent")

// ErrBusy is the answer of Maintenance while the agent is not idle.
var ErrBusy = errors.New("the agent is busy: wait until it is idle, or cancel first")

// atEnd is the position behind the last message of a queue.
const atEnd = -1

// Agent runs one session. Its doors (Followup, Steer, Inject, Cancel, and the queue
// operations) may be called from any goroutine and return once what they did is in
// the log; one driver goroutine does the rest. The Agent does not own its log: close
// the Agent first, then the log.
type Agent struct {
	o   Options
	log *session.Log

	mu      sync.Mutex // orders the inbox with the phase: every field below
	act     *activity  // nil: idle
	latch   bool       // somebody wants a turn after the activity that is ending
	heard   bool       // a job ended meanwhile, which is worth a turn if this one ends well
	closed  bool
	route   Route // the chosen one
	fallen  int   // which of the fallbacks the turn is with, from 1; 0 is none
	preset  policy.Preset
	err     error // the last failure that the log could not hold
	waiting []*question
	bodies  []*slot           // the calls that run
	notes   map[string]string // ids of the notes of ended jobs, by job, that the model may not have read
	stirred chan struct{}     // capacity 1: the inbox has changed

	jobs *jobs.Registry

	preSteps   []PreStep      // the extensions, then our own
	recoveries []RequestError // likewise
	d          driverState    // the driver's own; see state.go
}

// activity is one stretch between idle and idle: a driver's run, or maintenance.
type activity struct {
	maintenance bool
	delay       time.Duration   // before its first turn
	ctx         context.Context // of the current turn
	cancel      context.CancelCauseFunc
	closing     bool          // the turn has decided to end: later input belongs to the next
	drop        bool          // a cancel without keepInbox came: a claimed batch is dropped too
	steered     chan struct{} // closed by the next steer; nil while nobody listens
	done        chan struct{} // closed at the end
}

// New makes an idle agent over an open log. It reads what the folds hold and
// starts nothing: what was pending waits for the next wake.
func New(o Options) (*Agent, error) {
	if o.Log == nil || o.Tools == nil {
		return nil, errors.New("an agent needs a log and tools")
	}
	if o.MaxParallel < 0 {
		return nil, fmt.Errorf("parallel tool calls must be at least 1, not %d", o.MaxParallel)
	}
	o.fill()
	a := &Agent{o: o, log: o.Log, route: o.Route, preset: o.Rules.Preset, stirred: make(chan struct{}, 1)}
	a.recoveries = append(slices.Clone(o.Extensions.RequestError), &overflow{a}, &backoff{a}, &fallback{a})
	a.preSteps = slices.Clone(o.Extensions.PreStep)
	if o.Instructions != nil {
		a.preSteps = append(a.preSteps, &instruct{a: a})
	}
	a.d.init(a)
	a.openJobs()
	return a, nil
}

// Followup queues text for a turn of its own and wakes the agent.
func (a *Agent) Followup(text string) (session.QueueItem, error) {
	return a.send(session.NextTurn, a.userMessage(text), true)
}

// Steer queues text for the next step of the running turn and wakes the agent; when
// no turn can take it any more, it opens the next one.
func (a *Agent) Steer(text string) (session.QueueItem, error) {
	return a.send(session.NextStep, a.userMessage(text), true)
}

// Inject queues a message for the next step, whenever there is one. It wakes nobody.
// A message without an id gets one.
func (a *Agent) Inject(m llm.Message) (session.QueueItem, error) {
	m.Content = slices.Clone(m.Content)
	for i := range m.Content {
		m.Content[i].Text, _ = a.o.RedactPrompt(m.Content[i].Text)
	}
	return a.send(session.NextStep, m, false)
}

func (a *Agent) userMessage(text string) llm.Message {
	clean, _ := a.o.RedactPrompt(text)
	return llm.Message{
		Role:    llm.User,
		Content: []llm.Block{llm.TextBlock(clean)},
		Source:  llm.Source{Kind: llm.FromUser},
		ID:      session.NewID(),
	}
}

func (a *Agent) send(target session.Target, m llm.Message, wake bool) (session.QueueItem, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return session.QueueItem{}, ErrClosed
	}
	return a.queue(target, m, wake)
}

// note queues what a call or an extension wants the model to read. A closing agent
// takes it too: it waits for the resume.
func (a *Agent) note(m llm.Message) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, err := a.queue(session.NextStep, m, false)
	return err
}

// queue appends to a queue and, if asked, makes sure that a turn will see it. The
// order matters: what the message may still join is decided before it is written.
// The caller holds a.mu.
func (a *Agent) queue(target session.Target, m llm.Message, wake bool) (session.QueueItem, error) {
	if m.ID == "" {
		m.ID = session.NewID()
	}
	late := a.act != nil && (a.act.closing || a.act.ctx.Err() != nil)
	if wake && late {
		target = session.NextTurn
	}
	box := a.log.Inbox()
	if err := a.appendSplices([]session.InboxSpliced{box.Insert(target, atEnd, m)}); err != nil {
		return session.QueueItem{}, err
	}
	switch {
	case !wake:
	case a.act == nil:
		a.start()
	case late || a.act.maintenance:
		a.latch = true
	case target == session.NextStep:
		a.act.steer()
	}
	return session.QueueItem{ID: m.ID, Target: target, Text: m.PlainText(), Source: m.Source}, nil
}

// Cancel ends the running turn, or the maintenance, with cause; the first cause
// wins. Without keepInbox both queues are emptied, durably, and nothing starts
// again by itself. It returns at once; WhenIdle waits.
func (a *Agent) Cancel(cause session.Cause, keepInbox bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.cancel(cause, keepInbox)
}

func (a *Agent) cancel(cause session.Cause, keepInbox bool) error {
	var err error
	if !keepInbox {
		box := a.log.Inbox()
		err = a.appendSplices(box.Clear())
		a.latch, a.heard = false, false
	}
	if a.act != nil {
		a.act.drop = a.act.drop || !keepInbox
		a.act.cancel(&cause)
	}
	return err
}

// WhenIdle waits until no activity is under way, also over one that starts while it
// waits. It returns an error only when ctx ends first.
func (a *Agent) WhenIdle(ctx context.Context) error {
	for {
		a.mu.Lock()
		act := a.act
		a.mu.Unlock()
		if act == nil {
			return nil
		}
		select {
		case <-act.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Running reports whether a turn is in progress. Maintenance is not one.
func (a *Agent) Running() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.act != nil && !a.act.maintenance
}

// Err is the last failure that could not be written to the log (a full disk), nil
// if there was none.
func (a *Agent) Err() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// Close refuses further input, cancels what runs, keeps the inbox, stops the jobs, and
// waits for the driver and for them; ctx bounds the wait.
func (a *Agent) Close(ctx context.Context) error {
	a.mu.Lock()
	a.closed = true
	a.latch = false
	err := a.cancel(session.Cause{Kind: session.Disposed}, true)
	a.mu.Unlock()
	return errors.Join(err, a.WhenIdle(ctx), a.jobs.Close(ctx))
}

// SetPreset changes what is allowed without asking, from the next call on.
func (a *Agent) SetPreset(p policy.Preset) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.preset = p
}

func (a *Agent) currentPreset() policy.Preset {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.preset
}

// SetRoute changes the model from the next request on.
func (a *Agent) SetRoute(r Route) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.route, a.fallen = r, 0
}

// Maintenance runs job while no turn may start: prompts that arrive are queued and
// run after it. It fails with ErrBusy unless the agent is idle. job must end when
// its context does (ctx ended, or Cancel).
func (a *Agent) Maintenance(ctx context.Context, job func(context.Context) error) error {
	a.mu.Lock()
	if a.closed {
		a.mu.Unlock()
		return ErrClosed
	}
	if a.act != nil {
		a.mu.Unlock()
		return ErrBusy
	}
	act := newActivity(ctx)
	act.maintenance = true
	a.act = act
	a.mu.Unlock()

	defer a.finish(act)
	return job(act.ctx)
}

// listen returns what the next steer closes. The caller of both holds a.mu.
func (act *activity) listen() <-chan struct{} {
	act.steered = make(chan struct{})
	return act.steered
}

func (act *activity) steer() {
	if act.steered != nil {
		close(act.steered)
		act.steered = nil
	}
}

func newActivity(parent context.Context) *activity {
	act := &activity{done: make(chan struct{})}
	act.ctx, act.cancel = context.WithCancelCause(parent)
	return act
}
