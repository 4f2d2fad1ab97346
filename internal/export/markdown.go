package export

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

const (
	// headLines and tailLines are what is shown of a longer output: the JSON form has
	// all of it, a reader wants the beginning and the end.
	headLines, tailLines = 40, 20
	// maxWidth bounds a line of an output, in runes: minified files have one line.
	maxWidth = 500
)

// Markdown writes a document for people. Nothing of the session can break out of its
// place: what was said stands in quotes, outputs and diffs in fences that are longer
// than any inside, names in code spans.
func Markdown(w io.Writer, s *session.Snapshot, title string, present Present) error {
	m := &markdown{w: bufio.NewWriter(w)}
	m.head(info(s, title))
	for item := range items(s, present) {
		m.item(&item)
		if m.err != nil {
			return m.err
		}
	}
	if err := s.Err(); err != nil {
		return err
	}
	return m.w.Flush()
}

type markdown struct {
	w    *bufio.Writer
	turn int
	err  error
}

func (m *markdown) printf(format string, args ...any) {
	if m.err == nil {
		_, m.err = fmt.Fprintf(m.w, format, args...)
	}
}

func (m *markdown) head(i Info) {
	title := i.Title
	if title == "" {
		title = "Session " + i.ID
	}
	m.printf("# %s\n\n", plain(title))
	row := func(name, value string) {
		if value != "" {
			m.printf("- %s: %s\n", name, value)
		}
	}
	row("session", code(i.ID))
	row("forked from", code(i.ForkedFrom))
	row("folder", code(i.Cwd))
	row("model", code(i.Model))
	row("created", day(i.Created))
	row("last used", day(i.Used))
	row("turns", fmt.Sprint(i.Turns))
	row("tokens", fmt.Sprintf("%d in, %d out", i.Usage.InputTokens, i.Usage.OutputTokens))
	row("cost", dollars(i.Cost))
	for _, path := range i.Changed {
		row("changed", code(path))
	}
}

func (m *markdown) item(i *Item) {
	if i.Turn != m.turn {
		m.turn = i.Turn
		m.printf("\n## Turn %d\n", i.Turn)
	}
	switch i.Kind {
	case Prompt:
		m.said("You", i)
	case Answer:
		who := "dsh"
		if i.Interrupted {
			who = "dsh (interrupted)"
		}
		if i.Text != "" {
			m.said(who, i)
		}
	case Summary:
		m.said("Summary of the conversation so far, for the model", i)
	case Call:
		m.call(i.Call)
	case Lost:
		m.printf("\n*%s*\n", i.Text)
	case End:
		m.end(i.End)
	}
}

func (m *markdown) said(who string, i *Item) {
	m.printf("\n**%s** · %s\n\n", who, i.Time.Local().Format(time.TimeOnly))
	text := strings.TrimRight(termtext.Clean(strings.ReplaceAll(i.Text, "\r\n", "\n")), "\n ")
	for line := range strings.SplitSeq(text, "\n") {
		m.printf("%s\n", strings.TrimRight("> "+line, " "))
	}
}

func (m *markdown) call(c *CallBody) {
	line := "\n**" + plain(c.Card.Verb) + "**"
	if c.Card.Target != "" {
		line += " " + code(c.Card.Target)
	}
	for _, fact := range c.Card.Facts {
		line += " · " + plain(fact)
	}
	switch {
	case c.Open:
		line += " · no result"
	case c.Failed:
		line += " · failed"
	}
	m.printf("%s\n", line)
	for i := range c.Card.Diffs {
		m.diff(&c.Card.Diffs[i])
	}
	if c.Result != "" && (c.Failed || c.Card.Kind == session.ShowCommand) {
		m.fence("text", bounded(c.Result))
	}
}

func (m *markdown) diff(d *session.FileDiff) {
	var sb strings.Builder
	from := "a/" + d.Path
	if d.Created {
		from = "/dev/null"
	}
	fmt.Fprintf(&sb, "--- %s\n+++ b/%s\n", termtext.Line(from), termtext.Line(d.Path))
	for _, h := range d.Hunks {
		removed, added := 0, 0
		for _, line := range h.Lines {
			if !strings.HasPrefix(line, "+") {
				removed++
			}
			if !strings.HasPrefix(line, "-") {
				added++
			}
		}
		fmt.Fprintf(&sb, "@@ -%d,%d +%d,%d @@\n", h.OldStart, removed, h.NewStart, added)
		for _, line := range h.Lines {
			sb.WriteString(strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	m.fence("diff", sb.String())
}

func (m *markdown) end(e *EndBody) {
	text := e.Status
	if e.Reason != "" {
		text += ": " + plain(e.Reason)
	}
	if e.Usage != nil && e.Usage.InputTokens+e.Usage.OutputTokens > 0 {
		text += fmt.Sprintf(" · %d tokens in, %d out", e.Usage.InputTokens, e.Usage.OutputTokens)
	}
	if e.Cost != nil {
		text += " · " + dollars(e.Cost)
	}
	m.printf("\n*Turn %d %s*\n", m.turn, text)
}

// fence writes a text as it is: the fence is longer than any run of backticks in it.
func (m *markdown) fence(kind, text string) {
	text = strings.TrimRight(termtext.Clean(text), "\n")
	mark := strings.Repeat("`", max(3, longestRun(text)+1))
	m.printf("\n%s%s\n%s\n%s\n", mark, kind, text, mark)
}

// bounded is the beginning and the end of an output.
func bounded(text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if out := len(lines) - headLines - tailLines; out > 0 {
		note := fmt.Sprintf("[%d lines left out here]", out)
		lines = append(append(lines[:headLines:headLines], note), lines[len(lines)-tailLines:]...)
	}
	for i, line := range lines {
		if r := []rune(line); len(r) > maxWidth {
			lines[i] = string(r[:maxWidth]) + "…"
		}
	}
	return strings.Join(lines, "\n")
}

// code is a text as a code span on one line.
func code(text string) string {
	if text == "" {
		return ""
	}
	text = termtext.Line(text)
	mark, pad := strings.Repeat("`", longestRun(text)+1), ""
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.TrimSpace(text) == "" {
		pad = " "
	}
	return mark + pad + text + pad + mark
}

// plain is a text on one line in which no character means anything to Markdown.
func plain(text string) string {
	var sb strings.Builder
	for _, r := range termtext.Line(text) {
		if strings.ContainsRune("\\`*_{}[]<>#|~&!", r) {
			sb.WriteByte('\\')
		}
		sb.WriteRune(r)
	}
	return sb.String()
}

func longestRun(text string) (longest int) {
	n := 0
	for _, b := range []byte(text) {
		if b != '`' {
			n = 0
			continue
		}
		n++
		longest = max(longest, n)
	}
	return longest
}

func day(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

func dollars(usd *float64) string {
	if usd == nil {
		return "n/a"
	}
	return fmt.Sprintf("$%.4f", *usd)
}
