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
