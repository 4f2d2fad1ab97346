package tui

import "dsh/internal/tui/term"

// theme paints the screen's own parts in the terminal's 16 colours. Its zero value
// paints nothing but what works without colour. Blocks have a theme of their own.
type theme struct{ colors bool }

func newTheme(depth term.Depth) theme { return theme{colors: depth != term.NoColor} }

const reset = "\x1b[0m"

func (t theme) sgr(code, text string) string {
	if text == "" {
		return ""
	}
	return "\x1b[" + code + "m" + text + reset
}

func (t theme) color(code, text string) string {
	if !t.colors {
		return text
	}
	return t.sgr(code, text)
}

func (t theme) strong(text string) string    { return t.sgr("1", text) }
func (t theme) secondary(text string) string { return t.sgr("2", text) }
func (t theme) ok(text string) string        { return t.color("32", text) }
func (t theme) bad(text string) string       { return t.color("31", text) }
func (t theme) attention(text string) string { return t.color("33", text) }
func (t theme) accent(text string) string    { return t.color("34", text) }
