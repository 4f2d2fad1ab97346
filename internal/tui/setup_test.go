package tui

import (
	"context"
	"errors"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/tui/term"
)

// form is a setup whose endpoint knows one key.
func form(t *testing.T, saved *string) *setupForm {
	return newSetup(t.Context(), SetupOptions{Variable: "DEEPSEEK_API_KEY", File: "~/.config/dsh/credentials.toml", Config: "~/.config/dsh/config.toml",
		Check: func(_ context.Context, key string) ([]string, bool, error) {
			switch key {
			case "sk-good":
				return []string{"flash"}, false, nil
			case "sk-offline":
				return nil, false, errors.New("no route to host")
			}
			return nil, true, errors.New("401: this key is not accepted")
		},
		Save: func(key string) error { *saved = key; return nil },
	}, &fakeTerminal{env: colours})
}

func pressForm(s *setupForm, names ...string) {
	for _, name := range names {
		if _, cmd := s.Update(keyMsg(name)); cmd != nil {
			if msg, ok := cmd().(checkedMsg); ok {
				s.Update(msg)
			}
		}
	}
}

func TestFirstRunAsksForAKey(t *testing.T) {
	t.Parallel()
	var saved string
	s := form(t, &saved)
	pressForm(s, "enter")
	s.Update(term.PasteMsg(" sk-wrong\n"))
	if got := plain(s.Frame().Rows); strings.Contains(got, "sk-") || !strings.Contains(got, "Key (hidden)  ********") {
		t.Errorf("the key is not hidden:\n%s", got)
	}
	pressForm(s, "enter")
	if got := plain(s.Frame().Rows); saved != "" || !strings.Contains(got, "401: this key is not accepted") {
		t.Fatalf("saved %q:\n%s", saved, got)
	}
	s.Update(term.PasteMsg("sk-good"))
	pressForm(s, "enter")
	if saved != "sk-good" || !s.saved || !s.quitting {
		t.Errorf("saved %q", saved)
	}
}

func TestFirstRunKeepsAKeyThatCannotBeChecked(t *testing.T) {
	t.Parallel()
	var saved string
	s := form(t, &saved)
	pressForm(s, "1")
	s.Update(term.PasteMsg("sk-offline"))
	pressForm(s, "enter")
	if got := plain(s.t.(*fakeTerminal).printed); saved != "sk-offline" || !strings.Contains(got, "could not be checked: no route to host") {
		t.Errorf("saved %q, said %q", saved, got)
	}
}

func TestFirstRunTellsOfOtherWaysAndLeaves(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"2": "export DEEPSEEK_API_KEY=", "3": "[provider.local]", "4": "", "esc": "", "ctrl+c": ""} {
		var saved string
		s := form(t, &saved)
		pressForm(s, key)
		if got := plain(s.t.(*fakeTerminal).printed); !s.quitting || s.saved || saved != "" || !strings.Contains(got, want) {
			t.Errorf("%s: quitting %v, said %q", key, s.quitting, got)
		}
	}
	var saved string
	s := form(t, &saved)
	for width := range 100 {
		s.Update(tea.WindowSizeMsg{Width: width, Height: 10})
		for _, row := range s.Frame().Rows {
			if n := len([]rune(styles.ReplaceAllString(row, ""))); n > max(0, width-1) && width > 0 {
				t.Fatalf("a row of %d columns in %d", n, width)
			}
		}
	}
}

func TestTheQuestionBeforeASessionBeginsOnItsFirstChoice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		keys []string
		want int
	}{{[]string{"enter"}, 0}, {[]string{"down", "enter"}, 1}, {[]string{"2"}, 1}, {[]string{"9", "x", "esc"}, -1}, {[]string{"ctrl+c"}, -1}} {
		m := &chooser{Question: Question{Text: []string{"evil \x1b[2J = \u202e", "b", "c"}, Choices: []string{"No", "Yes"}}, width: 30, height: 9, answer: -1}
		if got := plain(m.Frame().Rows); strings.ContainsAny(got, "\x1b\u202e") || !strings.Contains(got, "❯ 1  No") || strings.Count(got, "\n") > 8 {
			t.Errorf("the question is\n%q", got)
		}
		for _, key := range c.keys {
			m.Update(keyMsg(key))
		}
		if m.answer != c.want || !m.done {
			t.Errorf("%q answer %d, want %d", c.keys, m.answer, c.want)
		}
	}
}
