package markdown

// Style is the parameters of an SGR sequence, such as "1;34" for bold blue. The empty
// style draws nothing, and the Markdown signs that it would stand for stay visible; for
// text that looks like any other without its signs, use "39".
type Style string

// Theme says how the parts of a text look. Text itself always has the terminal's own
// colour, and nothing has a background. The zero Theme writes no escape sequence.
type Theme struct {
	Title   Style // heading of the first level
	Heading Style // of the others
	Strong  Style
	Emph    Style
	Strike  Style
	Code    Style // in a line of text
	Link    Style // its text
	Faint   Style // addresses, rules, signs of quotes, the language of a code block

	Comment Style // the rest is for code blocks
	String  Style
	Number  Style
	Keyword Style
	Added   Style // lines of a diff
	Removed Style
}

// Ansi is the theme in the terminal's 16 colours, readable on dark and on light.
func Ansi() Theme {
	return Theme{
		Title: "1;4", Heading: "1", Strong: "1", Emph: "3", Strike: "9", Code: "36", Link: "34", Faint: "2",
		Comment: "2", String: "32", Number: "36", Keyword: "35", Added: "32", Removed: "31",
	}
}

// Mono is the theme without colours, for NO_COLOR on a terminal: weight and underline
// only.
func Mono() Theme {
	return Theme{Title: "1;4", Heading: "1", Strong: "1", Emph: "3", Strike: "9", Link: "4", Faint: "2", Comment: "2"}
}

// on draws text in the style.
func (s Style) on(text string) string {
	if s == "" || text == "" {
		return text
	}
	return "\x1b[" + string(s) + "m" + text + "\x1b[0m"
}

// and is both styles at once.
func (s Style) and(t Style) Style {
	if s == "" || t == "" {
		return s + t
	}
	return s + ";" + t
}
