package tui

import (
	"unicode"
	"unicode/utf8"
)

// left is the place one unit before p, p itself at the start of the text.
func (b *buffer) left(p place) place {
	switch {
	case p.col > 0:
		return place{p.row, prevStart(b.lines[p.row], p.col)}
	case p.row > 0:
		return place{p.row - 1, len(b.lines[p.row-1])}
	}
	return p
}

// right is the place one unit after p, p itself at the end of the text.
func (b *buffer) right(p place) place {
	switch {
	case p.col < len(b.lines[p.row]):
		return place{p.row, nextEnd(b.lines[p.row], p.col)}
	case p.row < len(b.lines)-1:
		return place{p.row + 1, 0}
	}
	return p
}

// wordClass tells words apart: a word is a run of one class.
type wordClass uint8

const (
	classSpace wordClass = iota
	classPunct
	classWord
	classHan
	classHiragana
	classKatakana
	classChip
)

// class is that of the unit which begins at p; a line break is a space.
func (b *buffer) class(p place) wordClass {
	line := b.lines[p.row]
	if p.col == len(line) {
		return classSpace
	}
	if line[p.col] == chipOpen {
		return classChip
	}
	r, _ := utf8.DecodeRuneInString(line[p.col:])
	switch {
	case unicode.IsSpace(r):
		return classSpace
	case unicode.Is(unicode.Han, r):
		return classHan
	case unicode.Is(unicode.Hiragana, r):
		return classHiragana
	case unicode.Is(unicode.Katakana, r) || r == 'ー':
		return classKatakana
	case unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || r == '_':
		return classWord
	}
	return classPunct
}

// wordLeft is the start of the word before p: over spaces and punctuation, then over
// the word. A chip is a word.
func (b *buffer) wordLeft(p place) place {
	q := b.left(p)
	for q != p && b.class(q) <= classPunct {
		p, q = q, b.left(q)
	}
	if q == p {
		return q
	}
	class := b.class(q)
	for class != classChip {
		before := b.left(q)
		if before == q || b.class(before) != class {
			break
		}
		q = before
	}
	return q
}

// wordRight is the end of the word after p.
func (b *buffer) wordRight(p place) place {
	end := b.end()
	for p != end && b.class(p) <= classPunct {
		p = b.right(p)
	}
	if p == end {
		return p
	}
	class := b.class(p)
	p = b.right(p)
	for class != classChip && p != end && b.class(p) == class {
		p = b.right(p)
	}
	return p
}

func (c *Composer) move(to place) {
	c.begin(opOther)
	c.sealed = true
	c.cur = to
}

// Left moves the caret by one unit.
func (c *Composer) Left() { c.move(c.left(c.cur)) }

// Right moves the caret by one unit.
func (c *Composer) Right() { c.move(c.right(c.cur)) }

// WordLeft moves to the start of the word.
func (c *Composer) WordLeft() { c.move(c.wordLeft(c.cur)) }

// WordRight moves to the end of the word.
func (c *Composer) WordRight() { c.move(c.wordRight(c.cur)) }

// LineStart moves to the start of the line.
func (c *Composer) LineStart() { c.move(place{c.cur.row, 0}) }

// LineEnd moves to the end of the line.
func (c *Composer) LineEnd() { c.move(place{c.cur.row, len(c.lines[c.cur.row])}) }

// TextStart moves to the start of the text.
func (c *Composer) TextStart() { c.move(place{}) }

// TextEnd moves to the end of the text.
func (c *Composer) TextEnd() { c.move(c.end()) }

// DeleteBack deletes the unit before the caret: a cluster, a chip, a line break.
func (c *Composer) DeleteBack() {
	c.begin(opBack)
	c.replace(c.left(c.cur), c.cur, "", opBack)
}

// Delete deletes the unit at the caret.
func (c *Composer) Delete() {
	c.begin(opOther)
	c.replace(c.cur, c.right(c.cur), "", opOther)
}

// Undo takes back the last operation, and reports whether there was one.
func (c *Composer) Undo() bool {
	c.begin(opOther)
	return c.undo()
}

// Redo does again what was taken back.
func (c *Composer) Redo() bool {
	c.begin(opOther)
	return c.redo()
}
