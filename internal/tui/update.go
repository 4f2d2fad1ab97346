package tui

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/term"
)

// spinEvery is the time between two pictures of the spinner; only a running turn
// ticks.
const spinEvery = time.Second / 8

// Update routes: one case a family of messages, one method each.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	cmd := m.route(msg)
	m.announce()
	return m, cmd
}

func (m *model) route(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyMsg:
		return m.pressedKey(keyName(msg), msg)
	case term.Chord:
		return m.pressedKey(msg.String(), tea.KeyMsg{})
	case term.PasteMsg:
		return m.paste(string(msg))
	case tea.FocusMsg:
		m.blurred, m.focusKnown = false, true
	case tea.BlurMsg:
		m.blurred, m.focusKnown = true, true
	case eventsMsg:
		if msg.life == m.life {
			return m.apply(msg.events)
		}
	case statusMsg:
		if msg.life == m.life {
			return m.status(msg.running)
		}
	case tickMsg:
		return m.tick()
	case promptMsg:
		m.first(string(msg))
	case openedMsg:
		return m.opened(msg)
	case shellMsg:
		m.shellEnded(msg)
	case noteMsg:
		m.say(termtext.Clean(string(msg)))
	case editedMsg:
		m.edited(msg)
	case term.BackgroundMsg:
		m.background(msg.Background())
	case term.ResumeMsg:
		m.t.Clear()
	case term.SignalMsg:
		return m.signal(msg.Signal)
	}
	return nil
}

// pressedKey does what a key means, and sees to it that what was typed is saved soon.
func (m *model) pressedKey(name string, raw tea.KeyMsg) tea.Cmd {
	cmd := m.key(name, raw)
	m.unsaved = m.draft != nil
	return tea.Batch(cmd, m.startTick())
}

// first sends the prompt of the command line; one that cannot be sent is a draft.
func (m *model) first(prompt string) {
	if !m.send(prompt, m.open.Agent.Followup) {
		m.composer.SetText(prompt)
	}
}

// announce shows the state in the window's title and in its progress bar.
func (m *model) announce() {
	title, bar := "dsh", term.ProgressOff
	if m.progress.title != "" || m.progress.first != "" {
		title += ": " + termtext.Cut(termtext.Line(m.title()), maxTitle)
	}
	switch {
	case m.ask != nil:
		title = "? " + title
	case m.running:
		title = "* " + title
	}
	if m.running {
		bar = term.ProgressRunning
	}
	if title != m.titled {
		m.titled = title
		m.t.Title(title)
	}
	if bar != m.bar {
		m.bar = bar
		m.t.Progress(bar)
	}
}

// maxTitle is the longest title of a window, in columns.
const maxTitle = 60

// View is not called: Frame is what is drawn.
func (m *model) View() string { return "" }

// keyName is a key as the table writes it. Several characters in one message are
// text, also where they spell the name of a key.
func keyName(k tea.KeyMsg) string {
	switch {
	case k.Type == tea.KeySpace && !k.Alt:
		return "space"
	case k.Type == tea.KeyRunes && len(k.Runes) > 1:
		return ""
	}
	return k.String()
}

func (m *model) resize(width, height int) {
	if width <= 0 || height <= 0 {
		width, height = 80, 24
	}
	if width != m.width {
		m.slot = 0
		defer m.rewrap()
	}
	m.width, m.height = width, height
}

// apply takes what the log has new, prints what cannot change any more, and looks
// whether a question came or went.
func (m *model) apply(events []session.Event) tea.Cmd {
	for i := range events {
		m.progress.apply(&events[i])
		if end, ok := events[i].Data.(session.TurnEnd); ok && !m.fresh {
			m.ended(end)
		}
	}
	m.project.Apply(events...)
	if jobsChanged(events) {
		m.listJobs()
	}
	m.todoOpen = m.todoOpen && len(m.progress.todos) > 0
	if m.fresh {
		m.fresh = false
		m.skipOld()
	}
	m.commit()
	m.question()
	return m.startTick()
}

// status follows the agent.
func (m *model) status(running bool) tea.Cmd {
	if m.running && !running && m.progress.phase == phaseStopping {
		m.closed = m.now() // the key that stopped it does nothing else for a moment
	}
	m.running = running
	m.stops = 0
	if !running {
		m.slot = 0
	}
	if !running && m.sendNext {
		m.sendNext = false
		m.releaseHeld()
	}
	return m.startTick()
}

// longTurn is how long a turn must have taken for its end to be worth a notification,
// and quietFor how long nobody must have typed where the focus is not known.
const (
	longTurn = 10 * time.Second
	quietFor = 30 * time.Second
)

// away reports whether nobody seems to look.
func (m *model) away() bool {
	return m.blurred || !m.focusKnown && m.now().Sub(m.pressed) > quietFor
}

// ended sees to what waits after a turn that did not end well: it is held, so that
// nothing is sent that was meant for another moment. The agent itself holds on an
// interrupt, and what was sent after that is meant.
func (m *model) ended(end session.TurnEnd) {
	byUser := end.Reason.Cause != nil && end.Reason.Cause.Kind == session.ByUser
	if end.Reason.Kind != session.Completed && end.Reason.Kind != session.MaxTokens && !byUser {
		m.holdWaiting()
	}
	if took := m.now().Sub(m.progress.started); m.away() && took > longTurn {
		m.t.Notify("dsh: finished in " + clock(took))
	}
}

func (m *model) holdWaiting() {
	if m.errand != nil {
		m.errand.hold = true
	}
	var ids []string
	for _, it := range m.waiting() {
		if !it.Held {
			ids = append(ids, it.ID)
		}
	}
	if len(ids) > 0 {
		m.report("hold the waiting messages", m.open.Agent.Hold(ids...))
	}
}

func (m *model) startTick() tea.Cmd {
	if m.ticking || !m.needsTick() {
		return nil
	}
	m.ticking = true
	return tea.Tick(spinEvery, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// needsTick: a turn or a job in sight runs, a question is about to arm, a hint is about to go, a draft
// is about to be saved.
func (m *model) needsTick() bool {
	return m.running || m.ask != nil && !m.ask.armed(m.now()) && m.composer.Empty() || m.hint != "" || m.unsaved ||
		m.panel != nil && m.panel.follows() || m.pager != nil && m.pager.follow != nil
}

func (m *model) tick() tea.Cmd {
	now := m.now()
	m.ticking = false
	m.spin++
	if m.hint != "" && now.After(m.hintTill) {
		m.hint = ""
	}
	m.focusQuestion(now)
	m.follow()
	if m.popup.open { // more files may be known by now
		m.popup.Update(m.composer)
	}
	m.saveDraft(now)
	return m.startTick()
}

// signal obeys a signal from outside: an interrupt ends the turn, the others end dsh.
func (m *model) signal(s syscall.Signal) tea.Cmd {
	if s == syscall.SIGINT {
		m.interrupt()
		return nil
	}
	m.quitting = true
	m.err = &SignalError{s}
	return tea.Quit
}

// SignalError says that a signal ended the screen.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return "ended by " + e.Signal.String() }

// title is the session's, or the beginning of its first prompt.
func (m *model) title() string {
	switch {
	case m.progress.title != "":
		return m.progress.title
	case m.progress.first != "":
		return m.progress.first
	}
	return "new session"
}

// fail shows what went wrong, and why.
func (m *model) fail(what string, err error) {
	m.say(m.th.bad("✗ ") + termtext.Clean(what+": "+err.Error()))
}

// report shows an error, if there is one.
func (m *model) report(what string, err error) {
	if err != nil {
		m.fail(what, err)
	}
}

// say shows a line of the screen's own above the live region.
func (m *model) say(text string) {
	var rows []string
	for line := range strings.Lines(text) {
		rows = append(rows, m.wrap(strings.TrimSuffix(line, "\n"))...)
	}
	m.t.Print(rows)
}

// flash overrides the hint for a moment.
func (m *model) flash(text string) tea.Cmd {
	m.hint, m.hintTill = text, m.now().Add(2*time.Second)
	return m.startTick()
}

// skipOld leaves all but the last turn of a resumed session to the transcript.
func (m *model) skipOld() {
	blocks := m.project.Blocks()
	settled := m.project.Settled()
	if settled == 0 {
		return
	}
	first := settled - 1
	for first > 0 && blocks[first-1].Turn == blocks[settled-1].Turn {
		first--
	}
	if first == 0 {
		return
	}
	m.printed = first
	m.say(fmt.Sprintf("Resumed %q", termtext.Cut(termtext.Line(m.title()), maxTitle)))
	m.t.Print([]string{m.th.secondary(fmt.Sprintf("    … %d earlier blocks · %s shows all", first, m.keys.key("transcript")))})
}
