package tui

import (
	"strings"
)

// Composer is the text being written: an editor of many lines whose unit is the
// grapheme cluster. Long pastes stand in it as chips, one unit each. An operation
// costs what the line it changes costs, whatever the length of the text.
//
// Runes go to Type, pastes to Paste, operations to Edit by name, so that a keymap can
// bind them, or to Key by the keys of EditKeys. What a key means beyond editing is the
// caller's: see Action. A Composer is used by one goroutine.
type Composer struct {
	// ChipStyle and NoteStyle paint chips and the notes about rows out of sight. They
	// must not change widths. Nil leaves them plain.
	ChipStyle, NoteStyle func(string) string

	*buffer
	chips   map[int]string // what stands behind each chip, by number
	kills   killRing
	history *History
	browse  *browse // nil unless older messages are being looked at
	last    opKind
	typed   span // what the last operation typed, empty if it did something else
	top     int  // the first row in sight
}

// Part is a piece of a draft: text, or a paste that shows as a chip.
type Part struct {
	Text string `json:"text"`
	Chip bool   `json:"chip,omitempty"`
}

// Draft is all of a composer's text, for a file or for another composer.
type Draft struct {
	Parts   []Part `json:"parts"`
	Literal bool   `json:"literal,omitempty"` // see Composer.Literal
}

// NewComposer makes an empty composer. h is where older messages come from, or nil.
func NewComposer(h *History) *Composer {
	return &Composer{buffer: newBuffer(defaultWidth), chips: map[int]string{}, history: h}
}

// Text is the full text, with the pastes behind the chips.
func (c *Composer) Text() string { return c.expand(strings.Join(c.lines, "\n")) }

// Empty reports whether there is no text.
func (c *Composer) Empty() bool { return len(c.lines) == 1 && c.lines[0] == "" }

// Literal reports whether the text begins with something pasted: then a first "/" or
// "!" means nothing.
func (c *Composer) Literal() bool { return c.head != place{} }

// Draft is the text with its chips.
func (c *Composer) Draft() Draft {
	return Draft{Parts: c.parts(strings.Join(c.lines, "\n")), Literal: c.Literal()}
}

// SetDraft replaces everything by a draft, with the caret at its end. Undo does not go
// back beyond it.
func (c *Composer) SetDraft(d Draft) {
	c.Reset()
	var b strings.Builder
	for _, p := range d.Parts {
		text, _ := sanitise(p.Text)
		if p.Chip && text != "" {
			b.WriteString(chipMark(c.newChip(text)))
		} else {
			b.WriteString(text)
		}
	}
	c.start(b.String(), d.Literal)
}

// SetText replaces the text, as one operation that Undo takes back. The caret goes to
// the end. For what an external editor or a search gives back.
func (c *Composer) SetText(text string) {
	c.begin(opOther)
	text, _ = sanitise(text)
	c.replace(place{}, c.end(), text, opOther)
}

// Reset empties the composer after its text was sent: nothing of it can be undone, and
// looking at older messages ends. What was killed can still be yanked.
func (c *Composer) Reset() {
	c.begin(opOther)
	c.browse = nil
	c.buffer = newBuffer(c.rows.width)
	c.top = 0
	c.dropChips()
}

// Type inserts what was typed: one cluster, or several that an input method sent at
// once.
func (c *Composer) Type(text string) {
	text, _ = sanitise(text)
	if text == "" {
		return
	}
	c.begin(opType)
	from := c.cur
	c.replace(c.cur, c.cur, text, opType)
	if c.cur.row == from.row {
		c.typed = span{from, c.cur}
	}
}

// Newline inserts a line break.
func (c *Composer) Newline() {
	c.begin(opOther)
	c.replace(c.cur, c.cur, "\n", opOther)
}

// begin starts an operation: one of another kind ends what those before it built up.
func (c *Composer) begin(kind opKind) {
	if kind != opVertical {
		c.goal = -1
	}
	if kind != c.last {
		c.sealed = true
	}
	c.last = kind
	c.typed = span{}
}
