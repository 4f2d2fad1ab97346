package tui

import (
	"io"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"dsh/internal/tui/term"
)

// theme paints the screen's own parts in the terminal's 16 colours, or without
// colour. Blocks have a theme of their own. Its zero value paints nothing.
type theme struct {
	bold, dim, green, red, yellow, blue lipgloss.Style
}

// newTheme makes the styles for a depth of colours. The renderer is told what it may
// use: by itself it would ask the terminal.
func newTheme(depth term.Depth) theme {
	profile := termenv.ANSI
	if depth == term.NoColor {
		profile = termenv.Ascii
	}
	r := lipgloss.NewRenderer(io.Discard, termenv.WithProfile(profile))
	r.SetHasDarkBackground(true)
	color := func(c string) lipgloss.Style { return r.NewStyle().Foreground(lipgloss.Color(c)) }
	return theme{
		bold: r.NewStyle().Bold(true), dim: r.NewStyle().Faint(true),
		green: color("2"), red: color("1"), yellow: color("3"), blue: color("4"),
	}
}

func (t theme) strong(text string) string    { return t.bold.Render(text) }
func (t theme) secondary(text string) string { return t.dim.Render(text) }
func (t theme) ok(text string) string        { return t.green.Render(text) }
func (t theme) bad(text string) string       { return t.red.Render(text) }
func (t theme) attention(text string) string { return t.yellow.Render(text) }
func (t theme) accent(text string) string    { return t.blue.Render(text) }
