package tui

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/tui/term"
)

// spinEvery is the time between two pictures of the spinner; only a running turn
// ticks.
const spinEvery = time.Second / 8

// Update routes: one case a family of messages, one method each.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.resize(msg.Width, msg.Height)
	case tea.KeyMsg:
		return m, m.key(keyName(msg), msg)
	case term.Chord:
		return m, m.key(msg.String(), tea.KeyMsg{})
	case term.PasteMsg:
		return m, m.paste(string(msg))
	case tea.FocusMsg:
		m.blurred = false
	case tea.BlurMsg:
		m.blurred = true
	case eventsMsg:
		if msg.life == m.life {
			return m, m.apply(msg.events)
		}
	case statusMsg:
		if msg.life == m.life {
			return m, m.status(msg.running)
		}
	case tickMsg:
		return m, m.tick(time.Time(msg))
	case promptMsg:
		m.send(string(msg), m.open.Agent.Followup)
	case openedMsg:
		return m, m.opened(msg)
	case noteMsg:
		m.say(string(msg))
	case editedMsg:
		m.edited(msg)
	case term.BackgroundMsg:
		m.background(msg.Background())
	case term.ResumeMsg:
		m.t.Clear()
	case term.SignalMsg:
		return m, m.signal(msg.Signal)
	}
	return m, nil
}

// View is not called: Frame is what is drawn.
func (m *model) View() string { return "" }

// keyName is a key as the table writes it; runes are themselves.
func keyName(k tea.KeyMsg) string {
	if k.Type == tea.KeySpace && !k.Alt {
		return "space"
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
		if end, ok := events[i].Data.(session.TurnEnd); ok {
			m.ended(end)
		}
	}
	m.project.Apply(events...)
	if m.fresh {
		m.fresh = false
		m.skipOld()
	}
	m.commit()
	m.question()
	return m.startTick()
}

// status follows the agent. What waits after a turn that did not end well is held:
// nothing is sent that was meant for another moment.
func (m *model) status(running bool) tea.Cmd {
	m.running = running
	m.stopAgain = 0
	if !running {
		m.slot = 0
		m.t.Progress(term.ProgressOff)
		m.t.Title("dsh: " + m.title())
		return nil
	}
	m.t.Progress(term.ProgressRunning)
	m.t.Title("* dsh: " + m.title())
	return m.startTick()
}

// longTurn is how long a turn must have taken for its end to be worth a notification.
const longTurn = 10 * time.Second

func (m *model) ended(end session.TurnEnd) {
	if end.Reason.Kind == session.Failed || end.Reason.Kind == session.Blocked {
		var ids []string
		for _, it := range m.open.Agent.Queue() {
			if !it.Held {
				ids = append(ids, it.ID)
			}
		}
		if err := m.open.Agent.Hold(ids...); err != nil {
			m.say("the waiting messages could not be held: " + err.Error())
		}
	}
	if took := time.Since(m.progress.started); m.blurred && took > longTurn {
		m.t.Notify("dsh: finished in " + clock(took))
	}
}

func (m *model) startTick() tea.Cmd {
	if m.ticking || !m.needsTick() {
		return nil
	}
	m.ticking = true
	return tea.Tick(spinEvery, func(t time.Time) tea.Msg { return tickMsg(t) })
}

// needsTick: a turn runs, a question is about to arm, a hint is about to go, a draft
// is about to be saved.
func (m *model) needsTick() bool {
	return m.running || m.ask != nil && !m.ask.armed(time.Now()) || m.hint != "" || m.unsaved
}

func (m *model) tick(now time.Time) tea.Cmd {
	m.ticking = false
	m.spin++
	if m.hint != "" && now.After(m.hintTill) {
		m.hint = ""
	}
	m.focusQuestion(now)
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
	if m.progress.title != "" {
		return m.progress.title
	}
	for _, b := range m.project.Blocks() {
		if b.Kind == 0 && b.Text != "" {
			text, _, _ := strings.Cut(b.Text, "\n")
			return text
		}
	}
	return "new session"
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
	m.hint, m.hintTill = text, time.Now().Add(2*time.Second)
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
	m.say(m.th.secondary(fmt.Sprintf("… %d earlier blocks · %s shows all", first, m.keys.key("transcript"))))
}
