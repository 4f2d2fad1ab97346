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
	return termtext.Fold(c.hl.Line(strings.TrimRight(termtext.Expand(s), " ")), c.width)
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
		return termtext.Fold(fence, c.width)
	}
	return nil
}
