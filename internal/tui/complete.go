package tui

import (
	"slices"
	"strings"
)

// Completion is the popup that completes the word at the caret: "@" and a file, or "/"
// and a command at the start of the text. It opens when one of these is typed, never
// by what was pasted.
//
// The caller tells it of every operation on the composer by Update, and sends it the
// keys while it is Open.
type Completion struct {
	// Files are at most n files for a query, the best first; nil has none. A directory's
	// Text ends in "/". The note is the last row of the popup, such as "4 of 4, git
	// ls-files". It must answer at once.
	Files func(query string, n int) (items []Item, note string)
	// Commands are the commands there are, in the order of the menu.
	Commands func() []CommandHelp
	// SelectedStyle and DetailStyle paint the chosen row and what stands behind a name.
	// They must not change widths. Nil leaves them plain.
	SelectedStyle, DetailStyle func(string) string

	word  word
	open  bool
	items []Item
	note  string
	at    int // the chosen item
	top   int // the first one in sight
}

// Item is something to choose.
type Item struct {
	Text   string // what is inserted: a path, or a command with its "/"
	Detail string // what it is, in a few words
	Source string // where it comes from: "skill", "project"; "" for our own
}

// word is what the popup completes.
type word struct {
	at     span
	kind   wordKind
	query  string
	suffix string // a range of lines, such as ":40-90"
}

type wordKind uint8

const (
	noWord wordKind = iota
	fileWord
	commandWord
)

// maxItems is how many items the popup holds: more than anybody scrolls through.
const maxItems = 50

// Open reports whether the popup is on screen. It is not while nothing fits.
func (p *Completion) Open() bool { return p.open && len(p.items) > 0 }

// Close closes the popup and keeps the text. The same word does not open it again.
func (p *Completion) Close() { p.open = false }

// Update follows the composer after an operation, or after new files are known.
func (p *Completion) Update(c *Composer) {
	w := c.wordAtCaret()
	same := p.open && w.kind == p.word.kind && w.at.from == p.word.at.from
	if w.kind == noWord || !same && !c.justTyped(w.at.from) {
		p.open = false
		return
	}
	p.ask(w)
}

// Force opens the popup for the word at the caret, however it came there, and reports
// whether there is something to choose: for the key that completes.
func (p *Completion) Force(c *Composer) bool {
	w := c.wordAtCaret()
	if w.kind == noWord {
		return false
	}
	p.ask(w)
	return p.Open()
}

// ask fills the popup. The choice stays on its item while the query stays.
func (p *Completion) ask(w word) {
	var chosen string
	if p.open && p.word == w && p.at < len(p.items) {
		chosen = p.items[p.at].Text
	}
	p.open, p.word, p.items, p.note, p.at, p.top = true, w, nil, "", 0, 0
	switch {
	case w.kind == fileWord && p.Files != nil:
		p.items, p.note = p.Files(w.query, maxItems)
		p.items = slices.DeleteFunc(p.items, func(item Item) bool { // names that nobody can type
			text, _ := sanitise(item.Text)
			return text != item.Text || strings.Contains(text, "\n")
		})
	case w.kind == commandWord && p.Commands != nil:
		p.items = matchCommands(w.query, p.Commands())
	}
	for i, item := range p.items {
		if item.Text == chosen {
			p.at = i
		}
	}
}

// Move chooses another item, n further on; the ends meet.
func (p *Completion) Move(n int) {
	if size := len(p.items); size > 0 {
		p.at = ((p.at+n)%size + size) % size
	}
}

// Selected is the chosen item.
func (p *Completion) Selected() (Item, bool) {
	if !p.Open() {
		return Item{}, false
	}
	return p.items[p.at], true
}

// Accept puts the chosen item in place of the word, as one operation that Undo takes
// back, and closes the popup; a directory leaves it open for what is in it.
func (p *Completion) Accept(c *Composer) bool {
	item, ok := p.Selected()
	if !ok {
		return false
	}
	text, dir := item.Text, false
	if p.word.kind == fileWord {
		dir = strings.HasSuffix(text, "/")
		text = mention(text, p.word.suffix)
	} else if p.takesArgs(text) {
		text += " "
	}
	line := c.lines[p.word.at.to.row]
	if strings.HasSuffix(text, " ") && strings.HasPrefix(line[p.word.at.to.col:], " ") {
		text = text[:len(text)-1]
	}
	c.begin(opOther)
	c.replace(p.word.at.from, p.word.at.to, text, opOther)
	if p.open = dir; dir {
		p.Update(c)
	}
	return true
}

func (p *Completion) takesArgs(command string) bool {
	for _, h := range p.Commands() {
		if "/"+h.Name == command {
			return h.Args != ""
		}
	}
	return false
}

// justTyped reports whether the last operation typed what stands at a place.
func (c *Composer) justTyped(at place) bool {
	return !at.before(c.typed.from) && at.before(c.typed.to)
}
