package term

import (
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"runtime/debug"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Model is a Bubble Tea model that draws frames. View is not called.
type Model interface {
	tea.Model
	// Frame is what the terminal shall show. It is asked for after messages, at
	// most Options.FPS times a second, and always after the last one; on the
	// goroutine of Update.
	Frame() Frame
}

// Run runs m until it quits, ctx ends, the terminal is gone or something panics, and
// restores the terminal. Update gets tea.WindowSizeMsg, keys (tea.KeyMsg, Chord),
// PasteMsg, focus, mouse, replies (BackgroundMsg, CursorMsg, ReplyMsg) and SignalMsg.
// Commands are Bubble Tea's, except those about the terminal: use Print, Clear, Title,
// Suspend and Exec of this package. A panic in the model or in a command is returned as
// a *Panic.
func (t *Terminal) Run(ctx context.Context, m Model) (Model, error) {
	defer t.Restore()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(t.ctx, stop)()
	r := &running{t: t, model: m}
	r.program = tea.NewProgram(r, tea.WithContext(ctx), tea.WithInput(nil), tea.WithOutput(io.Discard),
		tea.WithoutRenderer(), tea.WithoutSignalHandler(), tea.WithoutCatchPanics(), tea.WithFilter(ownSuspend))
	t.program.Store(r.program)
	t.owned.Go(t.Guard(t.readLoop))
	_, err := r.program.Run()
	if t.ctx.Err() == nil {
		t.Guard(func() { t.Draw(r.model.Frame()) })()
	}
	t.Restore()
	t.wait()
	if failure := t.Err(); failure != nil {
		return r.model, failure
	}
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return r.model, err
}

// wait waits for the goroutines, but not for a write that a stuck terminal never ends.
func (t *Terminal) wait() {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.owned.Wait()
	}()
	select {
	case <-ended:
	case <-time.After(stuckFor):
	}
}

// Send hands msg to the running model, and waits until it is taken. Without a running
// model it does nothing.
func (t *Terminal) Send(msg tea.Msg) {
	if p := t.program.Load(); p != nil {
		p.Send(msg)
	}
}

// Panic is a panic that was caught after the terminal was restored.
type Panic struct {
	Value any
	Stack []byte
}

func (p *Panic) Error() string { return fmt.Sprintf("panic: %v\n\n%s", p.Value, p.Stack) }

// Guard wraps the function of a goroutine: a panic in it restores the terminal and
// ends Run, which returns it. Every goroutine of the program needs it, since a panic
// that nobody catches leaves the terminal as it is.
func (t *Terminal) Guard(f func()) func() {
	return func() {
		defer t.caught()
		f()
	}
}

// caught is deferred where a panic may come by.
func (t *Terminal) caught() {
	if v := recover(); v != nil {
		t.fail(&Panic{Value: v, Stack: debug.Stack()})
	}
}

// fail restores the terminal and ends Run with err, if it is the first.
func (t *Terminal) fail(err error) {
	t.mu.Lock()
	if t.failure == nil {
		t.failure = err
	}
	t.mu.Unlock()
	t.Restore()
}

// Err is what ended the terminal, if anything but Restore did: a *Panic, or the error
// of a terminal that is gone.
func (t *Terminal) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failure
}

// running is the model Bubble Tea sees.
type running struct {
	t       *Terminal
	model   Model
	program *tea.Program
	last    time.Time // of the last frame
	armed   bool      // a frame is due later
}

// frameMsg says that a frame is due.
type frameMsg struct{}

// resizedMsg becomes a tea.WindowSizeMsg with the size of the moment it is handled.
type resizedMsg struct{}

// suspendMsg stands for tea.SuspendMsg, which would stop the process in raw mode.
type suspendMsg struct{}

func ownSuspend(_ tea.Model, msg tea.Msg) tea.Msg {
	if _, ok := msg.(tea.SuspendMsg); ok {
		return suspendMsg{}
	}
	return msg
}

func (r *running) Init() (cmd tea.Cmd) {
	defer r.t.caught()
	first := r.model.Init()
	_, second := r.Update(resizedMsg{}) // the first frame needs it
	return tea.Batch(r.guard(first), second)
}

func (r *running) Update(msg tea.Msg) (self tea.Model, cmd tea.Cmd) {
	self = r // after a panic too
	defer r.t.caught()
	switch msg.(type) {
	case frameMsg:
		r.armed = false
		return r, nil
	case suspendMsg:
		return r, r.guard(r.t.Suspend())
	}
	if _, ok := msg.(resizedMsg); ok {
		w, h := r.t.Size()
		msg = tea.WindowSizeMsg{Width: w, Height: h}
	}
	next, cmd := r.model.Update(msg)
	m, ok := next.(Model)
	if !ok {
		panic(fmt.Sprintf("Update returned a %T, which draws no frames", next))
	}
	r.model = m
	return r, r.guard(cmd)
}

// View is called after each Update. It draws now if the last frame is old enough, else
// once it will be.
func (r *running) View() string {
	defer r.t.caught()
	if r.armed || r.t.ctx.Err() != nil {
		return ""
	}
	if wait := time.Second/time.Duration(r.t.fps) - time.Since(r.last); wait > 0 {
		r.armed = true
		time.AfterFunc(wait, func() { r.program.Send(frameMsg{}) })
		return ""
	}
	r.t.Draw(r.model.Frame())
	r.last = time.Now()
	return ""
}

// guard wraps a command, and those it answers with in a batch or a sequence.
func (r *running) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer r.t.caught()
		msg = cmd()
		// A batch, and a sequence, whose type is not exported: slices of commands.
		if v := reflect.ValueOf(msg); v.Kind() == reflect.Slice && v.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
			for i := range v.Len() {
				v.Index(i).Set(reflect.ValueOf(r.guard(v.Index(i).Interface().(tea.Cmd))))
			}
		}
		return msg
	}
}
