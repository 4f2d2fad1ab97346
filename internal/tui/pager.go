package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/term"
	"dsh/internal/tui/transcript"
)

// pager shows the whole session, or a page of text, in a window of its own. The
// session goes on meanwhile, and the pager follows it.
type pager struct {
	title   string
	list    *transcript.List
	items   func() int
	text    func(i int) string // the content of an item, for copying and the editor
	fold    func(open bool)    // nil: nothing folds
	open    bool
	finding bool   // the search field has the keys
	query   string // what is looked for
	note    string
	follow  func() bool // fetches what is new; false: nothing more comes. Nil: nothing does
}

// openPager shows the conversation.
func (m *model) openPager() {
	p := &pager{title: "Transcript", open: true}
	render := m.newRenderer()
	blocks := func() []transcript.Block { return m.project.Blocks() }
	p.list = transcript.NewList(func() int { return len(blocks()) }, func(i, width int) []string {
		return render.Rows(&blocks()[i], transcript.Options{Width: width, Expanded: p.open, Theme: m.look, Frame: m.spin})
	})
	p.items = func() int { return len(blocks()) }
	p.fold = func(open bool) { p.list.Keep(func() { p.open = open }) }
	p.text = func(i int) string { return blockText(&blocks()[i]) }
	m.pager = p
	m.pager.list.Resize(m.full(), m.pageHeight())
}

// page shows rows of text.
func (m *model) page(title string, rows []string) tea.Cmd {
	m.pager = &pager{title: title, items: func() int { return len(rows) }, text: func(i int) string { return rows[i] },
		list: transcript.NewList(func() int { return len(rows) }, func(i, width int) []string {
			return []string{termtext.Cut(rows[i], width)}
		})}
	m.pager.list.Resize(m.full(), m.pageHeight())
	m.pager.list.JumpTo(0, 0)
	return nil
}

func (m *model) pageHeight() int { return max(1, m.height-2) }

// frame is the pager's window: a title, the rows, the hint.
func (p *pager) frame(m *model) term.Frame {
	p.list.Resize(m.full(), m.pageHeight())
	head := fmt.Sprintf("%s · %.0f%%", p.title, p.list.Position()*100)
	if p.list.Following() {
		head = p.title + " · end"
	}
	if m.ask != nil {
		head += " · a question waits"
	}
	rows := append([]string{m.th.strong(termtext.Cut(head, m.full()))}, p.list.View()...)
	rows = rows[:max(1, min(len(rows), m.height-1))]
	cursor := term.Cursor{Hidden: true}
	hint := "/ find · n N next · e fold · y copy · v editor · q close"
	switch {
	case p.finding:
		hint = "/" + p.query
		cursor = term.Cursor{Row: len(rows), Col: min(termtext.Width(hint), m.full())}
	case p.note != "":
		hint = p.note
	}
	rows = append(rows, m.th.secondary(fitHint(termtext.Line(hint), m.full())))
	rows = rows[:min(len(rows), m.height)]
	cursor.Row = min(cursor.Row, len(rows)-1)
	return term.Frame{Rows: rows, Cursor: cursor, Alt: true}
}

// pagerKey moves, finds, copies.
func (m *model) pagerKey(action string, raw tea.KeyMsg) tea.Cmd {
	p := m.pager
	if p.finding {
		p.typeQuery(raw)
		return nil
	}
	p.note = ""
	page := max(1, m.pageHeight()-1)
	switch action {
	case "page-close":
		m.pager = nil
		m.rearm(m.now())
	case "page-up":
		p.list.ScrollBy(-page)
	case "page-down":
		p.list.ScrollBy(page)
	case "page-line-up":
		p.list.ScrollBy(-1)
	case "page-line-down":
		p.list.ScrollBy(1)
	case "page-top":
		p.list.JumpTo(0, 0)
	case "page-end":
		p.list.Follow()
	case "page-find":
		p.finding, p.query = true, ""
	case "page-next":
		p.find(false)
	case "page-previous":
		p.find(true)
	case "page-fold":
		if p.fold != nil {
			p.fold(!p.open)
		}
	case "page-copy":
		if err := m.t.Copy(p.top()); err != nil {
			p.note = "not copied: " + err.Error()
		} else {
			p.note = "sent to your terminal's clipboard; not confirmed"
		}
	case "page-editor":
		return m.edit(p.top(), nil)
	case "repaint":
		m.t.Clear()
	case "suspend":
		return m.t.Suspend()
	}
	return nil
}

// top is the content of the item at the top; "" if there is none.
func (p *pager) top() string {
	if item, _ := p.list.Top(); item < p.items() {
		return p.text(item)
	}
	return ""
}

func (p *pager) typeQuery(raw tea.KeyMsg) {
	switch raw.Type {
	case tea.KeyEsc, tea.KeyCtrlC:
		p.finding = false
	case tea.KeyEnter:
		p.finding = false
		p.find(false)
	case tea.KeyBackspace:
		if r := []rune(p.query); len(r) > 0 {
			p.query = string(r[:len(r)-1])
		}
	case tea.KeySpace:
		p.query += " "
	case tea.KeyRunes:
		p.query += string(raw.Runes)
	}
}

// find goes to the next row with the query, in whatever case.
func (p *pager) find(back bool) {
	if p.query == "" {
		return
	}
	want := strings.ToLower(p.query)
	item, row := p.list.Top()
	item, row, ok := p.list.Find(item, row, back, nil, func(row string) bool {
		return strings.Contains(strings.ToLower(termtext.Clean(row)), want)
	})
	if !ok {
		p.note = "no more " + p.query
		return
	}
	p.list.JumpTo(item, row)
}

// blockText is what copying a block gives: its content, not its picture.
func blockText(b *transcript.Block) string {
	if r := b.Result(); r != nil && len(r.Message.Content) > 0 {
		var parts []string
		for _, c := range r.Message.Content[0].Content {
			parts = append(parts, c.Text)
		}
		return strings.Join(parts, "")
	}
	return b.Text
}

// showDiff pages the changes of this session's calls.
func (m *model) showDiff() tea.Cmd {
	var rows []string
	for i := range m.project.Blocks() {
		b := &m.project.Blocks()[i]
		if b.Kind == transcript.Call && hasDiff(b) {
			o := m.options(true)
			o.Expanded = true
			rows = append(rows, m.render.Rows(b, o)...)
		}
	}
	if len(rows) == 0 {
		return m.flash("nothing was changed in this session")
	}
	return m.page("Changes of this session", clone(rows))
}

// hasDiff reports whether a call changed files and its card shows how.
func hasDiff(b *transcript.Block) bool {
	r := b.Result()
	if r == nil {
		return false
	}
	meta, ok := session.DecodeMeta(r.Meta)
	return ok && meta.Display != nil && len(meta.Display.Diffs) > 0
}
