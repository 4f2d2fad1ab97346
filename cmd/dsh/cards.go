package main

import (
	"fmt"
	"strings"

	"dsh/internal/session"
)

const (
	// failureLines of a failed command's output are shown, from its end, where the
	// reason mostly is; successLines of another's.
	failureLines, successLines = 8, 3
	// maxCardTarget bounds what a card's line says of a command or path, in runes.
	maxCardTarget = 100
)

// cards shows calls in lines of text. It remembers the calls of the events that it
// is told: a result does not repeat its arguments.
type cards struct {
	present func(name, args string, r *session.ToolResult) session.Display
	calls   map[string]session.ToolCall // without a result so far
}

func newCards(present func(name, args string, r *session.ToolResult) session.Display) *cards {
	return &cards{present: present, calls: map[string]session.ToolCall{}}
}

// begin is the line of a call that has no result yet.
func (c *cards) begin(p *session.ToolCall) string {
	c.calls[p.CallID] = *p
	return cardLine(c.present(p.Name, p.Arguments, nil))
}

// result are the lines of a call that has ended: what it was, then some of its
// output.
func (c *cards) result(p *session.ToolResult) (line string, body []string) {
	id := p.Message.Source.CallID
	call := c.calls[id]
	delete(c.calls, id)
	d := c.present(call.Name, call.Arguments, p)
	switch {
	case p.Error != nil:
	case d.Kind == session.ShowCommand:
		body = outputLines(d)
	case d.Kind == session.ShowTodo && d.Text != "":
		body = strings.Split(d.Text, "\n")
	}
	return cardLine(d), body
}

func cardLine(d session.Display) string {
	line := strings.TrimRight("  "+d.Verb+" "+shortTarget(d.Target), " ")
	for _, fact := range d.Facts {
		line += " · " + fact
	}
	return line
}

// shortTarget is a target on one line.
func shortTarget(target string) string {
	first, _, more := strings.Cut(strings.TrimSpace(target), "\n")
	if runes := []rune(first); len(runes) > maxCardTarget {
		first, more = string(runes[:maxCardTarget]), true
	}
	if more {
		first += " …"
	}
	return first
}

// outputLines are the last lines of a command's output.
func outputLines(d session.Display) (lines []string) {
	text := strings.TrimRight(d.Text, "\n")
	if text == "" {
		return nil
	}
	lines = strings.Split(text, "\n")
	limit := successLines
	if d.Command == nil || d.Command.ExitCode != 0 || d.Command.TimedOut {
		limit = failureLines
	}
	if hidden := len(lines) - limit; hidden > 0 {
		lines = append([]string{fmt.Sprintf("(%d lines before)", hidden)}, lines[hidden:]...)
	}
	return lines
}
