package tui

import (
	"strings"

	"dsh/internal/termtext"
)

// chosen marks the chosen row of a list, and unchosen the others.
const (
	chosen   = "❯ "
	unchosen = "  "
)

// Rows are the popup, at most maxRows rows of at most width columns, the note last.
// None if it is not open.
func (p *Completion) Rows(width, maxRows int) []string {
	if !p.Open() || maxRows <= 0 {
		return nil
	}
	room := maxRows
	if p.note != "" && maxRows > 1 {
		room--
	}
	p.top = max(min(p.top, p.at, len(p.items)-room), p.at-room+1, 0)
	items := p.items[p.top:min(p.top+room, len(p.items))]
	names := nameWidth(items, width)
	rows := make([]string, 0, maxRows)
	for i, item := range items {
		rows = append(rows, p.row(item, names, width, p.top+i == p.at))
	}
	if room < maxRows {
		rows = append(rows, paint(p.DetailStyle, termtext.Cut(unchosen+p.note, width)))
	}
	return rows
}

// nameGap is the least space behind the names.
const nameGap = 2

// nameWidth is the width of the column of names: that of the longest, but what stands
// behind them may have a third of the row.
func nameWidth(items []Item, width int) int {
	names, details := 0, 0
	for _, item := range items {
		names = max(names, termtext.Width(termtext.Line(item.Text)))
		details = max(details, termtext.Width(item.detail()))
	}
	room := width - len(unchosen)
	if details > 0 {
		room -= nameGap + min(details, room/3)
	}
	return max(min(names, room), 1)
}

// detail is what stands behind a name.
func (item Item) detail() string {
	detail, source := termtext.Line(item.Detail), termtext.Line(item.Source)
	if detail != "" && source != "" {
		detail += "  "
	}
	return detail + source
}

func (p *Completion) row(item Item, names, width int, selected bool) string {
	name := cutHead(termtext.Line(item.Text), names)
	pad := strings.Repeat(" ", names-termtext.Width(name)+nameGap)
	room := width - len(unchosen) - names - nameGap
	detail := termtext.Cut(item.detail(), room)
	if room <= 0 || detail == "" {
		pad, detail = "", ""
	}
	if selected {
		return paint(p.SelectedStyle, termtext.Cut(chosen+name+pad+detail, width))
	}
	if detail != "" {
		detail = paint(p.DetailStyle, detail)
	}
	return termtext.Cut(unchosen+name+pad+detail, width)
}

// cut stands for what was left out at the start of a path.
const cut = "..."

// cutHead is the end of a line that fits into width columns: of a path, the end is
// what tells files apart.
func cutHead(s string, width int) string {
	over := termtext.Width(s) - width
	if over <= 0 {
		return s
	}
	if width <= len(cut) {
		return termtext.Cut(s, width)
	}
	for over += len(cut); over > 0 && s != ""; {
		cluster, w, _ := termtext.Cluster(s)
		s, over = s[len(cluster):], over-w
	}
	return cut + s
}
