package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"dsh/internal/session"

	udiff "github.com/aymanbagabas/go-udiff"
)

const (
	diffContext  = 3       // unchanged lines around a change
	maxDiffBytes = 1 << 20 // of the changed region of either text; beyond it there are no hunks
	maxDiffLines = 2000    // lines of a file's hunks in the log, which keeps them for ever
)

// change is what happened to a text: hunks for people, and how many lines were
// added and removed. fits is false if the change is too large for hunks.
type change struct {
	hunks          []session.Hunk
	added, removed int
	fits           bool
}

// diff compares two texts. Only the region between their first and last difference
// is looked at, so that a small change in a large file costs little.
func diff(old, new string) change {
	if old == new {
		return change{fits: true}
	}
	from, oldEnd, newEnd := changedRegion(old, new)
	oldPart, newPart := old[from:oldEnd], new[from:newEnd]
	if len(oldPart) > maxDiffBytes || len(newPart) > maxDiffBytes || !utf8.ValidString(oldPart) || !utf8.ValidString(newPart) {
		return change{}
	}
	unified, err := udiff.ToUnifiedDiff("", "", oldPart, udiff.Lines(oldPart, newPart), diffContext)
	if err != nil {
		return change{}
	}
	before := strings.Count(old[:from], "\n")
	c := change{fits: true}
	for _, h := range unified.Hunks {
		hunk := session.Hunk{OldStart: h.FromLine + before, NewStart: h.ToLine + before}
		for _, l := range h.Lines {
			sign := " "
			switch l.Kind {
			case udiff.Delete:
				sign = "-"
				c.removed++
			case udiff.Insert:
				sign = "+"
				c.added++
			}
			hunk.Lines = append(hunk.Lines, sign+bareLine(l.Content))
		}
		c.hunks = append(c.hunks, hunk)
	}
	return c
}

// addition is the hunk of a text that replaces nothing.
func addition(text string) []session.Hunk {
	if text == "" {
		return nil
	}
	hunk := session.Hunk{OldStart: 1, NewStart: 1}
	for line := range strings.Lines(text) {
		hunk.Lines = append(hunk.Lines, "+"+bareLine(line))
	}
	return []session.Hunk{hunk}
}

// bareLine is a line without its ending.
func bareLine(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// toLog are the hunks, if the log can afford them.
func (c change) toLog() []session.Hunk {
	lines := 0
	for _, h := range c.hunks {
		lines += len(h.Lines)
	}
	if lines > maxDiffLines {
		return nil
	}
	return c.hunks
}

// changedRegion is the smallest region of whole lines, with context, that holds
// every difference: both texts are equal before from and behind their ends.
func changedRegion(old, new string) (from, oldEnd, newEnd int) {
	shorter := min(len(old), len(new))
	for from < shorter && old[from] == new[from] {
		from++
	}
	tail := 0
	for tail < shorter-from && old[len(old)-1-tail] == new[len(new)-1-tail] {
		tail++
	}
	// To the start of the line, and as many lines up as the context has.
	from = strings.LastIndexByte(old[:from], '\n') + 1
	for range diffContext {
		if from > 0 {
			from = strings.LastIndexByte(old[:from-1], '\n') + 1
		}
	}
	rest := old[len(old)-tail:]
	down := 0
	for range diffContext + 1 {
		end := strings.IndexByte(rest[down:], '\n')
		if end < 0 {
			down = len(rest)
			break
		}
		down += end + 1
	}
	return from, len(old) - tail + down, len(new) - tail + down
}

// facts are "+3 -1".
func (c change) facts() string {
	return fmt.Sprintf("+%d -%d", c.added, c.removed)
}
