package transcript

import "dsh/internal/tui/markdown"

// Theme is how things look: the styles, and the glyphs. It is made once and shared; rows are cached by its address.
type Theme struct {
	Dim, Bold, Accent    Style
	OK, Error, Attention Style
	Added, Removed       Style // lines of a diff
	AddedWord            Style // what changed within a line
	RemovedWord          Style
	Markdown             markdown.Theme
	Glyphs               Glyphs
}

// Style is an SGR sequence, "" for none.
type Style string

const reset = "\x1b[0m"

// Paint is text in the style. The text holds no escape sequence.
func (s Style) Paint(text string) string {
	if s == "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + reset
}

// Glyphs are the signs. Each takes one column, in CJK terminals too, but Dot and Cut,
// which stand only where a shift does no harm.
type Glyphs struct {
	You, Steer, Thought         string
	OK, Failed, Refused, NotRun string
	Ask, Warning, Job, Dot, Cut string
	Spin                        []string
}

var glyphs = Glyphs{
	You: "❯", Steer: "↳", Thought: "✱", OK: "✓", Failed: "✗", Refused: "⊘", NotRun: "◌",
	Ask: "?", Warning: "!", Job: "&", Dot: "·", Cut: "…",
	Spin: []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"},
}

var asciiGlyphs = Glyphs{
	You: ">", Steer: "+", Thought: "*", OK: "v", Failed: "x", Refused: "-", NotRun: "o",
	Ask: "?", Warning: "!", Job: "&", Dot: "-", Cut: "~",
	Spin: []string{"-", "\\", "|", "/"},
}

// Background is what is known of the terminal's.
type Background uint8

const (
	UnknownBackground Background = iota
	Dark
	Light
)

// Terminal is what a theme depends on.
type Terminal struct {
	NoColor    bool // only bold, underline and reverse are used
	Background Background
	Colors     int  // 16, 256 or 1<<24; 0 means 16
	ASCII      bool // the terminal or its locale shows ASCII only
}

// NewTheme chooses the theme of a terminal: its own 16 colours, unless the background
// is known and there are more colours.
func NewTheme(t Terminal) *Theme {
	theme := ansi
	switch {
	case t.NoColor:
		theme = mono
	case t.Background == Dark && t.Colors >= 256:
		theme = dark
	case t.Background == Light && t.Colors >= 256:
		theme = light
	}
	if !t.NoColor && t.Colors >= 1<<24 {
		theme.tint(t.Background)
	}
	theme.Markdown = markdown.Ansi()
	if t.NoColor {
		theme.Markdown = markdown.Mono()
	}
	theme.Glyphs = glyphs
	if t.ASCII {
		theme.Glyphs = asciiGlyphs
	}
	return &theme
}

// tint puts colour behind the lines of a diff. Their text keeps the terminal's.
func (t *Theme) tint(b Background) {
	switch b {
	case Dark:
		t.Added, t.Removed = "48;2;18;38;30", "48;2;45;22;24"
		t.AddedWord, t.RemovedWord = "48;2;29;87;58", "48;2;108;38;43"
	case Light:
		t.Added, t.Removed = "48;2;230;255;236", "48;2;255;235;233"
		t.AddedWord, t.RemovedWord = "48;2;171;242;188", "48;2;255;193;190"
	}
}

var mono = Theme{Bold: "1", Accent: "4", AddedWord: "1;4", RemovedWord: "1;4"}

var ansi = Theme{
	Dim: "2", Bold: "1", Accent: "34",
	OK: "32", Error: "31", Attention: "33",
	Added: "32", Removed: "31", AddedWord: "1;4;32", RemovedWord: "1;4;31",
}

var dark = Theme{
	Dim: "38;5;245", Bold: "1", Accent: "38;5;75",
	OK: "38;5;114", Error: "38;5;203", Attention: "38;5;221",
	Added: "38;5;114", Removed: "38;5;203", AddedWord: "1;4;38;5;114", RemovedWord: "1;4;38;5;203",
}

var light = Theme{
	Dim: "38;5;241", Bold: "1", Accent: "38;5;26",
	OK: "38;5;28", Error: "38;5;160", Attention: "38;5;130",
	Added: "38;5;28", Removed: "38;5;160", AddedWord: "1;4;38;5;28", RemovedWord: "1;4;38;5;160",
}
