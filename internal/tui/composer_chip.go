package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A chip stands in a line as its number between two bytes that no UTF-8 text can
// hold, so that nothing typed or pasted can be taken for one.
const (
	chipOpen  = 0xff
	chipClose = 0xfe
)

// From chipLines lines or chipChars characters on, a paste becomes a chip: what does
// not fit into the composer, or hides what was typed around it.
const (
	chipLines = 10
	chipChars = 1000
)

// Paste inserts what was pasted, and nothing else: "@", "/" and "!" in it mean
// nothing. A long paste becomes a chip; when the same text is pasted again, its chip
// is replaced by the text. The note says what was dropped, "" if nothing was.
func (c *Composer) Paste(text string) (note string) {
	text, dropped := sanitise(text)
	if dropped > 0 {
		note = "1 control character dropped from the paste"
		if dropped > 1 {
			note = fmt.Sprintf("%d control characters dropped from the paste", dropped)
		}
	}
	if text == "" {
		return note
	}
	c.begin(opOther)
	if !long(text) {
		c.insertPasted(text)
		return note
	}
	for id, stored := range c.chips {
		if stored == text && c.expandChip(id) {
			return note
		}
	}
	c.insertPasted(chipMark(c.newChip(text)))
	return note
}

func (c *Composer) insertPasted(text string) {
	first := c.cur == place{}
	c.replace(c.cur, c.cur, text, opOther)
	if first {
		c.head = endOf(place{}, text)
		c.undos[len(c.undos)-1].after.head = c.head
	}
}

func long(text string) bool {
	return lineCount(text) >= chipLines || len(text) >= chipChars && utf8.RuneCountInString(text) >= chipChars
}

// Expand replaces the chip at the caret, or the one right before it, by its text, and
// reports whether there was one.
func (c *Composer) Expand() bool {
	c.begin(opOther)
	line, col := c.lines[c.cur.row], c.cur.col
	switch {
	case col < len(line) && line[col] == chipOpen:
		return c.expandChip(chipID(line[col:chipEnd(line, col)]))
	case col > 0 && line[col-1] == chipClose:
		return c.expandChip(chipID(line[prevStart(line, col):col]))
	}
	return false
}

func lineCount(text string) int {
	n := strings.Count(text, "\n")
	if !strings.HasSuffix(text, "\n") {
		n++
	}
	return n
}

// expandChip replaces a chip in the text, and reports whether it stands there.
func (c *Composer) expandChip(id int) bool {
	mark := chipMark(id)
	for row, line := range c.lines {
		if col := strings.Index(line, mark); col >= 0 {
			from, to := place{row, col}, place{row, col + len(mark)}
			first, head := from == place{}, c.head
			c.replace(from, to, c.chips[id], opOther)
			if first && head != (place{}) {
				c.head = c.cur
				c.undos[len(c.undos)-1].after.head = c.head
			}
			return true
		}
	}
	return false
}

func chipMark(id int) string { return "\xff" + strconv.Itoa(id) + "\xfe" }

func chipID(mark string) int {
	id, _ := strconv.Atoi(mark[1 : len(mark)-1])
	return id
}

// chipEnd is the end of the mark that begins at byte i.
func chipEnd(line string, i int) int {
	return i + strings.IndexByte(line[i:], chipClose) + 1
}

func (c *Composer) newChip(text string) int {
	id := 1
	for n := range c.chips {
		id = max(id, n+1)
	}
	c.chips[id] = text
	return id
}

// dropChips forgets the chips that cannot come back by a yank.
func (c *Composer) dropChips() {
	for id := range c.chips {
		if !slices.ContainsFunc(c.kills.texts, func(s string) bool { return strings.Contains(s, chipMark(id)) }) {
			delete(c.chips, id)
		}
	}
}

// chipLabel is what a chip shows.
func (c *Composer) chipLabel(mark string) string {
	id := chipID(mark)
	text := c.chips[id]
	if n := lineCount(text); n > 1 {
		return fmt.Sprintf("[Pasted %d · %d lines]", id, n)
	}
	return fmt.Sprintf("[Pasted %d · %d characters]", id, utf8.RuneCountInString(text))
}

// expand is text with what stands behind its chips.
func (c *Composer) expand(text string) string {
	if strings.IndexByte(text, chipOpen) < 0 {
		return text
	}
	var b strings.Builder
	for _, p := range c.parts(text) {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (c *Composer) parts(text string) []Part {
	var parts []Part
	for text != "" {
		i := strings.IndexByte(text, chipOpen)
		if i != 0 {
			if i < 0 {
				i = len(text)
			}
			parts, text = append(parts, Part{Text: text[:i]}), text[i:]
			continue
		}
		end := chipEnd(text, 0)
		parts, text = append(parts, Part{Text: c.chips[chipID(text[:end])], Chip: true}), text[end:]
	}
	return parts
}
