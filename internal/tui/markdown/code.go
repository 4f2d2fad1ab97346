package markdown

import (
	"strings"

	"dsh/internal/termtext"
)

// coder draws a code block line by line. Nothing stands beside the code, so that it
// can be copied from the screen.
type coder struct {
	theme *Theme
	info  string
	width int
	hl    *Highlighter
}

func newCoder(theme *Theme, info string, width int) *coder {
	language, _, _ := strings.Cut(info, " ")
	return &coder{theme: theme, info: info, width: width, hl: NewHighlighter(language, *theme)}
}

// open is the rows above the code: the language, or the fence in a theme without
// styles.
func (c *coder) open(fence string) []string {
	label := visible([]byte(c.info))
	if c.theme.Faint == "" {
		label = fence + label
	}
	if label == "" {
		return nil
	}
	return termtext.Wrap(c.theme.Faint.on(termtext.Expand(label)), c.width)
}

func (c *coder) line(s string) []string {
	return fold(c.hl.Line(termtext.Expand(s)), c.width)
}

// fold breaks text at the edge. Spaces that end a row are not seen, and go.
func fold(s string, width int) []string {
	rows := termtext.Fold(s, width)
	for i, row := range rows {
		rows[i] = trimEnd(row)
	}
	return rows
}

// trimEnd takes the spaces off the end of a row, styled or not.
func trimEnd(row string) string {
	text := row
	for {
		if short := strings.TrimRight(text, " "); short != text {
			text = short
			continue
		}
		i := strings.LastIndexByte(text, 0x1b)
		if i < 0 || strings.IndexByte(text[i:], 'm') != len(text)-i-1 {
			break
		}
		text = text[:i]
	}
	switch {
	case strings.IndexByte(row[len(text):], ' ') < 0:
		return row
	case strings.IndexByte(text, 0x1b) >= 0:
		return text + "\x1b[0m"
	}
	return text
}

// peek draws a line that may go on.
func (c *coder) peek(s string) []string {
	now := *c.hl
	rows := c.line(s)
	*c.hl = now
	return rows
}

func (c *coder) close(fence string) []string {
	if c.theme.Faint == "" {
		return fold(fence, c.width)
	}
	return nil
}
