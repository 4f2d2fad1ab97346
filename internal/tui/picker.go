package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/termtext"
)

// item is one row of a picker.
type item struct {
	title, detail string
	value         string
	marked        bool // the one in force
}

// picker is a list with a search field: letters search, enter chooses.
type picker struct {
	title  string
	hint   string
	items  []item
	search string
	chosen int
	choose func(value string) // on the screen's goroutine
	scope  func() *picker     // another scope of the same list; nil: none
	// act does what session-rename and session-delete mean for the chosen item; nil:
	// nothing.
	act    func(action string, it item) tea.Cmd
	doomed string // the value of the item that is deleted when it is asked for again
	usual  string // the hint without a doomed item
	// letters does what a key means for the chosen item; nil: letters are searched for.
	letters func(action, value string)
}

// found are the items that hold every word of the search.
func (p *picker) found() []item {
	if p.search == "" {
		return p.items
	}
	var list []item
	words := strings.Fields(strings.ToLower(p.search))
	for _, it := range p.items {
		text := strings.ToLower(it.title + " " + it.detail)
		all := true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			list = append(list, it)
		}
	}
	return list
}

func (p *picker) move(by int) {
	p.chosen = min(max(p.chosen+by, 0), max(len(p.found())-1, 0))
}

func (p *picker) typed(text string) {
	p.search += text
	p.chosen = 0
}

func (p *picker) backspace() {
	if r := []rune(p.search); len(r) > 0 {
		p.search = string(r[:len(r)-1])
		p.chosen = 0
	}
}

// current is the chosen item; ok is false when nothing matches.
func (p *picker) current() (item, bool) {
	found := p.found()
	if p.chosen >= len(found) {
		return item{}, false
	}
	return found[p.chosen], true
}

// rows are the picker in a window of its own: at most height rows, the chosen one
// always among them. cursor is the column of the search field's end, in row 1.
func (p *picker) rows(width, height int, th theme) (rows []string, cursor int) {
	found := p.found()
	head := p.title
	if len(found) != len(p.items) {
		head += fmt.Sprintf(" · %d of %d", len(found), len(p.items))
	}
	rows = append(rows, th.strong(termtext.Cut(termtext.Line(head), width)))
	search := ""
	if p.letters == nil {
		search = "Search  " + termtext.Line(p.search)
	}
	rows = append(rows, termtext.Cut(search, width))
	cursor = min(termtext.Width(search), width-1)
	each := 1
	if height >= low && slices.ContainsFunc(found, func(it item) bool { return it.detail != "" }) {
		each = 2
	}
	room := max(1, (height-len(rows)-2)/each)
	first := max(0, min(p.chosen-room/2, len(found)-room))
	for i := first; i < min(first+room, len(found)); i++ {
		rows = append(rows, found[i].rows(i == p.chosen, each, width, th)...)
	}
	if len(found) == 0 {
		rows = append(rows, th.secondary(termtext.Cut("  nothing matches", width)))
	}
	if height < tiny {
		return rows[:min(len(rows), height)], cursor
	}
	return append(rows, "", th.secondary(fitHint(p.hint, width))), cursor
}

// rows are the item's title and, with two rows, its detail.
func (it *item) rows(current bool, n, width int, th theme) []string {
	mark := unchosen
	if current {
		mark = chosen
	}
	done := ""
	if it.marked {
		done = " ✓"
	}
	title := mark + firstLine(it.title, width-len(unchosen)-termtext.Width(done))
	if current {
		title = th.strong(title)
	}
	rows := []string{termtext.Cut(title+th.ok(done), width)}
	if n > 1 {
		rows = append(rows, th.secondary(termtext.Cut(termtext.Line("    "+it.detail), width)))
	}
	return rows
}

// listKey is a key in a picker.
func (m *model) listKey(action string, raw tea.KeyMsg) tea.Cmd {
	p := m.pick
	if action != "session-delete" && p.doomed != "" {
		p.doomed, p.hint = "", p.usual
	}
	switch action {
	case "session-rename", "session-delete":
		if it, ok := p.current(); ok && p.act != nil {
			return p.act(action, it)
		}
	case "up":
		p.move(-1)
	case "down":
		p.move(1)
	case "choose":
		if it, ok := p.current(); ok {
			m.pick = nil
			m.rearm(m.now())
			p.choose(it.value)
			cmd := m.next
			m.next = nil
			return cmd
		}
	case "close":
		m.pick = nil
		m.rearm(m.now())
	case "queue-remove", "queue-steer", "queue-earlier", "queue-later":
		if it, ok := p.current(); ok {
			p.letters(action, it.value)
		}
	case "scope":
		if p.scope != nil {
			if next := p.scope(); next != nil {
				m.pick = next
			}
		}
	case "repaint":
		m.t.Clear()
	case "suspend":
		return m.t.Suspend()
	default:
		switch {
		case p.letters != nil || raw.Alt:
		case raw.Type == tea.KeyBackspace:
			p.backspace()
		case raw.Type == tea.KeyRunes:
			p.typed(string(raw.Runes))
		case raw.Type == tea.KeySpace:
			p.typed(" ")
		}
	}
	return nil
}
