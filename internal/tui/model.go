package tui

import (
	"context"
	"errors"
	"strings"
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
	t    terminal
	now  func() time.Time
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
	search   *Search    // nil unless earlier prompts are searched
	shell    *shellLine // nil unless a line of the user runs in the shell
	popup    *Completion
	draft    *DraftFile

	errand *errand // what the composer is lent for; nil: it holds the draft

	ask   *approval
	pick  *picker
	pager *pager

	jobs     []session.JobInfo // those that run first
	active   int               // of them
	panel    *jobsPanel        // nil: closed
	todoOpen bool
	leaving  *leaving // nil: nobody asked to leave jobs

	running  bool
	ticking  bool
	spin     int
	pressed  time.Time // of the last key
	closed   time.Time // when something on the Esc ladder closed or stopped
	leaveAt  time.Time // a first ctrl+c on an idle, empty draft
	clearAt  time.Time // a first esc on an idle draft
	sendAt   time.Time // a first press of the key that sends all while a call runs
	sendNext bool      // what is held goes when the turn has stopped
	hint     string    // overrides the hint line until hintTill
	hintTill time.Time
	unsaved  bool // the draft waits for its second
	quitting bool
	err      error
	stops    int     // presses of ctrl+c while a turn runs
	next     tea.Cmd // of a choice in a picker

	focusKnown bool // the terminal reports the focus
	titled     string
	bar        term.Progress
	fullOK     bool // "full" was confirmed in this session

	work    sync.WaitGroup // what was let go in the background
	opening bool
	arrived chan *Opened // at most one, until openedMsg comes
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
	openedMsg struct{ err error } // nil: it is in arrived
	noteMsg   string
	editedMsg struct {
		file string
		err  error
		to   func(text string) // nil: only looked at
	}
)

// Run shows the first session until the user leaves or the context ends. It closes
// the session that is open then, and returns its header for a farewell: the zero
// Header if nothing was said in it.
func Run(ctx context.Context, o Options) (session.Header, error) {
	m, err := newModel(ctx, o, o.Terminal, time.Now)
	if err != nil {
		return session.Header{}, errors.Join(err, o.First.Close())
	}
	defer o.Terminal.Restore() // also when something below panics
	m.resize(o.Terminal.Size())
	m.show(o.First)
	_, err = o.Terminal.Run(ctx, m)
	var header session.Header
	if m.said() {
		header = m.open.Header
	}
	return header, errors.Join(err, m.close(), m.err)
}

// newModel is a screen without a session; show gives it one.
func newModel(ctx context.Context, o Options, t terminal, now func() time.Time) (*model, error) {
	keys, err := newKeys(o.Keys)
	if err != nil {
		return nil, err
	}
	m := &model{o: o, t: t, now: now, bar: term.ProgressOff, arrived: make(chan *Opened, 1), ctx: ctx, keys: keys, th: newTheme(t.Env().Depth), width: 80, height: 24}
	m.background(t.Env().Background)
	m.history = NewHistory(o.History, o.First.Cwd)
	m.history.redact = o.Redact
	m.composer = NewComposer(m.history)
	m.composer.ChipStyle, m.composer.NoteStyle = m.th.accent, m.th.secondary
	m.popup = &Completion{Files: m.files, Commands: m.menu, SelectedStyle: m.th.strong, DetailStyle: m.th.secondary}
	return m, nil
}

// said reports whether the session on screen holds anything of a conversation.
func (m *model) said() bool { return len(m.project.Blocks()) > 0 }

// show puts a session on the screen. Events reach the model from goroutines that end
// with the session.
func (m *model) show(o *Opened) {
	m.open = o
	m.life++
	m.project = &transcript.Projection{}
	m.render = m.newRenderer()
	m.progress = progress{preset: o.Preset, model: o.Model}
	m.printed, m.slot, m.ask, m.pick, m.pager, m.errand = 0, 0, nil, nil, nil, nil
	m.panel, m.leaving, m.todoOpen = nil, nil, false
	m.listJobs()
	m.answer = answer{}
	m.fresh, m.running, m.fullOK, m.sendNext = true, false, false, false
	first := o.Events.Next()
	m.restoreDraft()
	m.greet(len(first) == 0)
	m.apply(first)
	m.stopFeed = m.feed(o, m.life)
}

// allowed says in words what a preset lets happen without asking.
var allowed = map[string]string{
	"read-only": "Changes nothing",
	"ask":       "Asks before edits and commands",
	"workspace": "Edits here without asking, asks before the rest",
	presetFull:  "Runs everything without asking",
}

// greet prints where this is, what it may do, and how to find out more; of a session
// that goes on, only where.
func (m *model) greet(fresh bool) {
	first := strings.TrimSpace("dsh " + m.o.Version)
	m.say(first + "  " + m.th.strong(termtext.Line(m.open.Model)) + "  " + termtext.Line(m.place()))
	if words := allowed[m.open.Preset]; fresh && words != "" {
		m.say(m.th.secondary(words + ": " + m.keys.key("cycle-preset") + ". / commands, ? keys"))
	}
	for _, note := range m.open.Notes {
		m.say(m.th.attention("! ") + termtext.Line(note))
	}
	m.t.Print([]string{""})
}

// place is the folder of the session, under the user's own by its short name.
func (m *model) place() string { return termtext.Home(m.open.Cwd, m.o.Home) }

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
	return tea.Batch(append(cmds, m.startTick())...)
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

// leave lets the session on screen go, keeping the draft. Its end is waited for in the
// background: its goroutines may be about to send to the model.
func (m *model) leave() {
	m.keepDraft()
	stop, open := m.stopFeed, m.open
	m.work.Go(m.t.Guard(func() {
		stop()
		open.Events.Close()
		if err := open.Close(); err != nil {
			m.t.Send(noteMsg("✗ close session " + shortID(open.Header.ID) + ": " + err.Error()))
		}
	}))
}

// close ends everything, after the program has ended.
func (m *model) close() error {
	m.keepDraft()
	m.stopFeed()
	m.open.Events.Close()
	err := m.open.Close()
	m.work.Wait()
	select {
	case late := <-m.arrived:
		late.Events.Close()
		err = errors.Join(err, late.Close())
	default:
	}
	return err
}

// keepDraft writes the draft before its session is left.
func (m *model) keepDraft() {
	if m.errand != nil {
		m.dropErrand()
	}
	m.flushDraft()
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
