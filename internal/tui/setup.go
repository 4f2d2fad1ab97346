package tui

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/termtext"
	"dsh/internal/tui/term"
)

// SetupOptions is what the first run without a key needs.
type SetupOptions struct {
	Terminal *term.Terminal
	Variable string // the variable that may hold the key instead
	File     string // where the key will be kept, for people
	KeyPage  string // where a key is to be had
	Config   string // the settings file, for another endpoint
	// Check asks the endpoint with a key. Refused says that the key itself is wrong:
	// then it is not kept.
	Check func(ctx context.Context, key string) (models []string, refused bool, err error)
	Save  func(key string) error
}

// Setup asks for a key and keeps it. It reports whether there is one now.
func Setup(ctx context.Context, o SetupOptions) (bool, error) {
	defer o.Terminal.Restore()
	ctx, stop := context.WithCancel(ctx)
	defer stop() // ends a check that nobody waits for
	m := newSetup(ctx, o, o.Terminal)
	_, err := o.Terminal.Run(ctx, m)
	return m.saved, err
}

// setupForm is the form: a choice, then a hidden field.
type setupForm struct {
	o   SetupOptions
	ctx context.Context
	t   terminal
	th  theme

	width    int
	chosen   int
	asking   bool // the field has the keys
	key      string
	checking bool
	note     string
	saved    bool
	quitting bool
}

func newSetup(ctx context.Context, o SetupOptions, t terminal) *setupForm {
	return &setupForm{o: o, ctx: ctx, t: t, th: newTheme(t.Env().Depth), width: 80}
}

// checkedMsg is what the endpoint said.
type checkedMsg struct {
	models  []string
	refused bool
	err     error
}

func (s *setupForm) choices() []string {
	return []string{"Paste a key", "Use $" + s.o.Variable, "Another endpoint", "Quit"}
}

func (s *setupForm) details() []string {
	return []string{"kept in " + s.o.File + ", readable by you only", "export it and start dsh again", "say where it is in " + s.o.Config, ""}
}

func (s *setupForm) Init() tea.Cmd { return nil }

// View is not called: Frame is what is drawn.
func (s *setupForm) View() string { return "" }

func (s *setupForm) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		s.width = max(1, msg.Width)
	case term.PasteMsg:
		if s.asking && !s.checking {
			s.key += strings.TrimSpace(string(msg))
		}
	case tea.KeyMsg:
		if s.asking {
			return s, s.field(msg)
		}
		return s, s.choice(msg)
	case checkedMsg:
		return s, s.checked(msg)
	case term.SignalMsg:
		return s, s.quit()
	}
	return s, nil
}

func (s *setupForm) choice(k tea.KeyMsg) tea.Cmd {
	switch name := keyName(k); name {
	case "up", "ctrl+p":
		s.chosen = max(0, s.chosen-1)
	case "down", "ctrl+n":
		s.chosen = min(len(s.choices())-1, s.chosen+1)
	case "1", "2", "3", "4":
		s.chosen = int(name[0] - '1')
		return s.choose()
	case "enter":
		return s.choose()
	case "esc", "ctrl+c", "ctrl+d":
		return s.quit()
	}
	return nil
}

func (s *setupForm) choose() tea.Cmd {
	switch s.chosen {
	case 0:
		s.asking, s.note = true, ""
		return nil
	case 1:
		s.say("export " + s.o.Variable + "=...   and start dsh again")
	case 2:
		s.say("Write this to "+s.o.Config+" and start dsh again:", "",
			`model = "local/NAME"`, "", "[provider.local]", `base_url = "http://127.0.0.1:8080/v1"`, `key_env = "LOCAL_KEY"   # leave it out where no key is wanted`)
	}
	return s.quit()
}

func (s *setupForm) say(rows ...string) {
	for i := range rows {
		rows[i] = termtext.Line(rows[i])
	}
	s.t.Print(rows)
}

func (s *setupForm) quit() tea.Cmd {
	s.quitting, s.key = true, ""
	return tea.Quit
}

func (s *setupForm) field(k tea.KeyMsg) tea.Cmd {
	switch k.Type {
	case tea.KeyCtrlC, tea.KeyCtrlD:
		return s.quit()
	case tea.KeyEsc:
		s.asking, s.checking, s.key = false, false, ""
	case tea.KeyCtrlU:
		s.key = ""
	case tea.KeyBackspace:
		if s.key != "" && !s.checking {
			s.key = s.key[:len(s.key)-1]
		}
	case tea.KeyRunes:
		if !s.checking {
			s.key += strings.TrimSpace(string(k.Runes))
		}
	case tea.KeyEnter:
		if s.key == "" || s.checking {
			return nil
		}
		s.checking, s.note = true, "Checking"
		key := s.key
		return func() tea.Msg {
			ctx, stop := context.WithTimeout(s.ctx, checkTime)
			defer stop()
			models, refused, err := s.o.Check(ctx, key)
			return checkedMsg{models, refused, err}
		}
	}
	return nil
}

// checkTime bounds the wait for the endpoint: without a network the key is kept all
// the same.
const checkTime = 15 * time.Second

func (s *setupForm) checked(msg checkedMsg) tea.Cmd {
	if !s.checking {
		return nil // somebody went back meanwhile
	}
	s.checking = false
	if msg.refused {
		s.note, s.key = "✗ "+msg.err.Error(), ""
		return nil
	}
	if err := s.o.Save(s.key); err != nil {
		s.note = "✗ not saved: " + err.Error()
		return nil
	}
	what := "Saved in " + s.o.File + "."
	if msg.err != nil {
		what += " It could not be checked: " + msg.err.Error()
	} else if len(msg.models) > 0 {
		what = "ok: " + strings.Join(msg.models[:min(3, len(msg.models))], ", ") + ". " + what
	}
	s.say(what, "")
	s.saved = true
	return s.quit()
}

// Frame is the form.
func (s *setupForm) Frame() term.Frame {
	if s.quitting {
		return term.Frame{}
	}
	rows := []string{"No API key yet. Nothing has been sent anywhere.", ""}
	cursor := term.Cursor{Hidden: true}
	if s.asking {
		field := "  Key (hidden)  " + strings.Repeat("*", min(len(s.key), 40))
		rows = append(rows, field)
		cursor = term.Cursor{Row: len(rows) - 1, Col: min(len(field), max(0, s.width-1)), Shape: term.Bar}
		rows = append(rows, "  "+s.th.secondary(termtext.Line(s.note)), s.th.secondary("  enter check and save · esc back"))
	} else {
		for i, c := range s.choices() {
			mark := "  "
			if i == s.chosen {
				mark = chosen
			}
			rows = append(rows, mark+string(rune('1'+i))+"  "+c+strings.Repeat(" ", max(1, 26-len(c)))+s.th.secondary(s.details()[i]))
		}
		rows = append(rows, "", s.th.secondary("  Get a key  "+s.o.KeyPage), s.th.secondary("  enter choose · 1-4 · esc quit"))
	}
	for i := range rows {
		rows[i] = termtext.Cut(rows[i], max(0, s.width-1))
	}
	return term.Frame{Rows: rows, Cursor: cursor}
}
