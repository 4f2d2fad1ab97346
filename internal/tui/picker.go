package tui

import (
	"fmt"
	"strings"

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
	search := "Search  " + p.search
	rows = append(rows, th.strong(termtext.Cut(termtext.Line(head), width)), termtext.Cut(termtext.Line(search), width))
	each := 1
	for _, it := range found {
		if it.detail != "" {
			each = 2
		}
	}
	room := max(1, (height-4)/each)
	first := max(0, min(p.chosen-room/2, len(found)-room))
	for i := first; i < min(first+room, len(found)); i++ {
		it, mark := found[i], "  "
		if i == p.chosen {
			mark = "❯ "
		}
		title := termtext.Cut(termtext.Line(mark+it.title), width)
		if i == p.chosen {
			title = th.strong(title)
		}
		if it.marked {
			title += th.ok(" ✓")
		}
		rows = append(rows, title)
		if each == 2 {
			rows = append(rows, th.secondary(termtext.Cut(termtext.Line("    "+it.detail), width)))
		}
	}
	if len(found) == 0 {
		rows = append(rows, th.secondary("  nothing matches"))
	}
	rows = append(rows, "", th.secondary(termtext.Cut(p.hint, width)))
	return rows, min(termtext.Width(search), width-1)
}
