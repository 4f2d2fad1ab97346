package tui

import (
	"strings"
	"time"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

// panelHeight is how many rows the panel may have.
func (m *model) panelHeight() int {
	if m.height < lowPanel {
		return smallPanel
	}
	return min(maxPanel, m.height/2)
}

// side reports whether list and output stand side by side.
func (m *model) side() bool { return m.width >= widePanel }

// listRoom is how many jobs are in sight, and how many rows of output under them.
func (p *jobsPanel) listRoom(m *model) (jobs, preview int) {
	room := m.panelHeight() - 2 // title and hint
	if m.side() {
		return min(len(p.list), room), room
	}
	if room <= maxPreview {
		return min(len(p.list), room), 0
	}
	jobs = min(len(p.list), room-1-maxPreview)
	return jobs, maxPreview
}

// window is the part of the list that is in sight, the chosen job in it.
func (p *jobsPanel) window(m *model) (from, to int) {
	n, _ := p.listRoom(m)
	from = max(0, min(p.chosen-n/2, len(p.list)-n))
	return from, from + n
}

// rows are the panel: a title, the list, the end of the chosen job's output, the keys.
func (p *jobsPanel) rows(m *model) []string {
	rows := []string{m.cut("  " + m.th.strong(m.jobsTitle()))}
	if m.side() {
		rows = append(rows, p.columns(m)...)
	} else {
		_, preview := p.listRoom(m)
		rows = append(rows, p.listRows(m, m.full())...)
		if preview > 0 && len(p.list) > 0 {
			head := "  -- " + p.current().ID + " "
			rows = append(rows, m.th.secondary(m.cut(head+strings.Repeat("-", max(0, min(m.full(), 68)-len(head))))))
			rows = append(rows, p.preview(m, preview, m.full())...)
		}
	}
	return append(rows, m.th.secondary(m.cut("  "+fitHint(m.jobsHint(), m.full()-2))))
}

// listRows is a row for each job in sight.
func (p *jobsPanel) listRows(m *model, width int) (rows []string) {
	if len(p.list) == 0 {
		return []string{m.th.secondary(m.cut("  none; " + m.keys.key("job-filter") + " shows others"))}
	}
	from, to := p.window(m)
	ids, words, labels := 0, 0, 0
	for i := from; i < to; i++ {
		ids, words = max(ids, len(p.list[i].ID)), max(words, len(p.list[i].Word()))
		labels = max(labels, termtext.Width(oneLine(p.list[i].Label)))
	}
	for i := from; i < to; i++ {
		j := &p.list[i]
		row := unchosen
		if i == p.chosen {
			row = chosen
		}
		row += pad(j.ID, ids) + "  " + pad(j.Word(), words) + " " + padLeft(jobTook(j, m.now()), 5) + "  "
		row = termtext.Cut(joinNote(row, oneLine(j.Label), p.note(j, m), labels+2, width), width)
		if i == p.chosen {
			row = m.th.strong(row)
		}
		rows = append(rows, row)
	}
	return rows
}

// note is what there is to say of a job at the end of its row.
func (p *jobsPanel) note(j *session.JobInfo, m *model) string {
	if who := j.Stopper(); who != "" {
		return who
	}
	switch {
	case j.Status == session.JobLost:
		return ""
	case !j.Status.Active():
		return bytesOf(j.Bytes)
	}
	if g := p.glances[j.ID]; g != nil && !m.side() {
		return termtext.Line(strings.Join(g.lines(1), ""))
	}
	return ""
}

// minLabel is how many columns of a label are shown before the note gives way, and
// minNote how many of a note are worth it.
const minLabel, minNote = 16, 8

// joinNote puts label and note behind a row's beginning; the note stands behind the
// column of labels where there is room for one.
func joinNote(row, label, note string, column, width int) string {
	room := width - termtext.Width(row)
	if note == "" || room < minLabel+minNote {
		return row + shorten(label, room)
	}
	left := max(min(column, room*3/5), minLabel)
	return row + pad(shorten(label, left-2), left) + shorten(note, room-left)
}

// columns is the list and, beside it, the chosen job: what it is, and the end of its
// output.
func (p *jobsPanel) columns(m *model) (rows []string) {
	_, room := p.listRoom(m)
	left := m.full()*2/5 + 4
	right := m.full() - left - 2
	list := p.listRows(m, left-1)
	detail := []string{shorten(p.describe(m, right), right), ""}
	detail = append(detail, p.preview(m, room-len(detail)-1, right)...)
	for len(detail) < room-1 {
		detail = append(detail, "")
	}
	detail = append(detail, shorten(p.following(), right))
	for i := range room {
		row := ""
		if i < len(list) {
			row = list[i]
		}
		row += strings.Repeat(" ", max(0, left-termtext.Width(row))) + m.th.secondary("│ "+detail[i])
		rows = append(rows, m.cut(strings.TrimRight(row, " ")))
	}
	return rows
}

// describe says what the chosen job is.
func (p *jobsPanel) describe(m *model, width int) string {
	j := p.current()
	if j.ID == "" {
		return ""
	}
	started := time.UnixMilli(j.Started).In(m.now().Location()).Format("15:04:05")
	head, tail := j.ID+" · ", " · started "+started
	return head + shorten(oneLine(j.Label), max(1, width-termtext.Width(head+tail))) + tail
}

func (p *jobsPanel) following() string {
	j := p.current()
	g := p.glances[j.ID]
	switch {
	case g == nil || j.Status == session.JobLost:
		return ""
	case j.Status.Active():
		return "following · " + bytesOf(g.next)
	case j.Artifact != "":
		return bytesOf(j.Bytes) + " · " + termtext.Line(j.Artifact)
	}
	return bytesOf(j.Bytes)
}

// preview is the end of the chosen job's output, in n rows of a width.
func (p *jobsPanel) preview(m *model, n, width int) (rows []string) {
	j := p.current()
	var lines []string
	if g := p.glances[j.ID]; g != nil {
		lines = g.lines(n)
	}
	if len(lines) == 0 && j.ID != "" {
		lines = []string{"(no output yet)"}
		switch {
		case j.Status == session.JobLost:
			lines = []string{"(its output is gone)"}
		case !j.Status.Active() && j.Bytes > 0 && j.Artifact != "":
			lines = []string{"its output is in " + j.Artifact}
		case !j.Status.Active() && j.Bytes > 0:
			lines = []string{"(its output ended with an earlier dsh)"}
		case !j.Status.Active():
			lines = []string{"(no output)"}
		}
	}
	for _, line := range lines {
		rows = append(rows, m.th.secondary("    "+shorten(termtext.Line(termtext.Expand(line)), width-4)))
	}
	for len(rows) < n {
		rows = append(rows, "")
	}
	return rows
}

// shorten is a line that fits, with a sign if something is missing.
func shorten(s string, width int) string {
	if termtext.Width(s) <= width {
		return s
	}
	if width <= 1 {
		return termtext.Cut(s, max(0, width))
	}
	return termtext.Cut(s, width-1) + "…"
}

func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-termtext.Width(s)))
}

func padLeft(s string, width int) string {
	return strings.Repeat(" ", max(0, width-termtext.Width(s))) + s
}
