package tui

import (
	"context"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/term"
	"dsh/internal/tui/transcript"
)

// model is the whole screen. Only Update and what it calls touch it, all on the
// program's goroutine; the session reaches it as messages.
type model struct {
	o    Options
	t    *term.Terminal
	ctx  context.Context
	keys *keys
	th   theme
	look *transcript.Theme

	width, height int
	blurred       bool // the window has no focus, as far as the terminal says

	open     *Opened
	stopFeed func()
	life     int // counts sessions: messages of an earlier one are dropped
	project  *transcript.Projection
	render   *transcript.Renderer
	progress progress
	fresh    bool   // nothing of the log has been seen
	printed  int    // blocks that are in the scrollback
	answer   answer // the block that streams
	slot     int    // rows kept for the live tail while a turn runs

	composer *Composer
	history  *History
	search   *Search // nil unless earlier prompts are searched
	popup    *Completion
	draft    *DraftFile

	ask   *approval
	pick  *picker
	pager *pager

	running   bool
	ticking   bool
	spin      int
	pressed   time.Time // of the last key
	closed    time.Time // when something on the Esc ladder closed or stopped
	leaveAt   time.Time // a first ctrl+c on an idle, empty draft
	clearAt   time.Time // a first esc on an idle draft
	hint      string    // overrides the hint line until hintTill
	hintTill  time.Time
	unsaved   bool // the draft waits for its second
	quitting  bool
	err       error
	stopAgain int     // presses while stopping
	next      tea.Cmd // of a choice in a picker
}

// What reaches the model from outside.
type (
	eventsMsg struct {
		life   int
		events []session.Event
	}
	statusMsg struct {
		life    int
		running bool
	}
	tickMsg   time.Time
	openedMsg struct {
		opened *Opened
		err    error
	}
	noteMsg   string
	editedMsg struct {
		file string
		err  error
		to   func(text string) // nil: only looked at
	}
)

// Run shows the first session until the user leaves or the context ends. It closes
// the session that is open then, and returns its header for a farewell.
func Run(ctx context.Context, o Options) (session.Header, error) {
	keys, err := newKeys(nil)
	if err != nil {
		return session.Header{}, err
	}
	m := &model{o: o, t: o.Terminal, ctx: ctx, keys: keys, th: newTheme(o.Terminal.Env().Depth), width: 80, height: 24}
	m.background(o.Terminal.Env().Background)
	m.history = NewHistory(o.History, o.First.Cwd)
	m.composer = NewComposer(m.history)
	m.composer.ChipStyle, m.composer.NoteStyle = m.th.accent, m.th.secondary
	m.popup = &Completion{Files: m.files, Commands: m.menu, SelectedStyle: m.th.strong, DetailStyle: m.th.secondary}
	m.show(o.First)
	_, err = o.Terminal.Run(ctx, m)
	header := m.open.Header
	if closeErr := m.leave(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = m.err
	}
	return header, err
}

// show puts a session on the screen. Events reach the model from goroutines that end
// with the session.
func (m *model) show(o *Opened) {
	m.open = o
	m.life++
	m.project = &transcript.Projection{}
	m.render = m.newRenderer()
	m.progress = progress{preset: o.Preset, model: o.Model}
	m.printed, m.slot, m.ask, m.pick, m.pager = 0, 0, nil, nil, nil
	m.answer = answer{}
	m.fresh = true
	m.restoreDraft()
	m.greet()
	m.stopFeed = m.feed(o, m.life)
}

// greet prints what the session is, before its first event.
func (m *model) greet() {
	first := "dsh"
	if m.o.Version != "" {
		first += " " + m.o.Version
	}
	m.say(first + "  " + m.th.strong(termtext.Line(m.open.Model)) + "  " + termtext.Line(m.open.Cwd))
	for _, note := range m.open.Notes {
		m.say(m.th.attention("! ") + termtext.Line(note))
	}
}

// Init starts what feeds the model.
func (m *model) Init() tea.Cmd {
	var cmds []tea.Cmd
	if m.o.Prompt != "" {
		prompt := m.o.Prompt
		cmds = append(cmds, func() tea.Msg { return promptMsg(prompt) })
	}
	if m.t.Env().Depth != term.NoColor && m.t.Env().Background == term.UnknownBackground {
		m.t.AskBackground()
	}
	return tea.Batch(cmds...)
}

type promptMsg string

// frameTime is the shortest time between two bundles of events.
const frameTime = time.Second / 30

// feed sends the session's events and its status to the model, from goroutines that
// end when stop is called.
func (m *model) feed(o *Opened, life int) (stop func()) {
	ctx, cancel := context.WithCancel(m.ctx)
	var feeds sync.WaitGroup
	feeds.Go(m.t.Guard(func() {
		for {
			if events := o.Events.Next(); len(events) > 0 {
				m.t.Send(eventsMsg{life, events})
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(frameTime): // what streams faster is shown in one frame
			}
			select {
			case <-ctx.Done():
				return
			case <-o.Events.Wake():
			}
		}
	}))
	feeds.Go(m.t.Guard(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case running := <-o.Status:
				m.t.Send(statusMsg{life, running})
			}
		}
	}))
	return func() {
		cancel()
		feeds.Wait()
	}
}

// leave closes the session on screen, keeping the draft.
func (m *model) leave() error {
	m.flushDraft()
	m.stopFeed()
	m.open.Events.Close()
	return m.open.Close()
}

func (m *model) newRenderer() *transcript.Renderer {
	return transcript.NewRenderer(transcript.Presenter(m.o.Present))
}

// background chooses the look of the blocks. Rows that are printed keep theirs.
func (m *model) background(b term.Background) {
	env := m.t.Env()
	look := transcript.Terminal{NoColor: env.Depth == term.NoColor, ASCII: !env.UTF8, Colors: 16}
	switch env.Depth {
	case term.Color256:
		look.Colors = 256
	case term.TrueColor:
		look.Colors = 1 << 24
	}
	switch b {
	case term.Dark:
		look.Background = transcript.Dark
	case term.Light:
		look.Background = transcript.Light
	}
	m.look = transcript.NewTheme(look)
}
