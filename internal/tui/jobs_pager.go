package tui

import (
	"strings"

	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/transcript"
)

// maxPaged is how much of an output the pager gathers, in bytes, before it reads anew
// what is kept: its beginning and its end.
const maxPaged = 1 << 20

// pagerState is the room that the title leaves for the pager's place.
const pagerState = 30

// paged is the output of a job in the pager.
type paged struct {
	id    string
	next  int64
	size  int // bytes of the lines
	lines []string
}

// pageJob shows what a job has put out, and what it goes on to.
func (m *model) pageJob(j *session.JobInfo) {
	o := &paged{id: j.ID}
	o.read(m.open.Agent.PeekJob)
	p := &pager{title: j.ID + " · " + shorten(oneLine(j.Label), max(1, m.full()-len(j.ID)-pagerState))}
	p.items = func() int { return len(o.lines) }
	p.text = func(int) string { return strings.Join(o.lines, "\n") }
	p.list = transcript.NewList(p.items, func(i, width int) []string { return termtext.Fold(termtext.Line(termtext.Expand(o.lines[i])), width) })
	p.follow = func() bool {
		o.read(m.open.Agent.PeekJob)
		return m.jobActive(o.id)
	}
	switch {
	case len(o.lines) > 0 || j.Status.Active():
	case j.Artifact != "":
		o.lines = []string{"its output is in " + j.Artifact}
	case j.Status == session.JobLost:
		o.lines = []string{"(its output is gone)"}
	default:
		o.lines = []string{"(no output)"}
	}
	m.pager = p
	p.list.Resize(m.full(), m.pageHeight())
	p.list.Follow()
}

// read adds what is new. The last line may go on.
func (o *paged) read(peek func(id string, from int64) (string, int64)) {
	text, next := peek(o.id, o.next)
	if o.next = next; text == "" {
		return
	}
	if o.size += len(text); o.size > maxPaged {
		text, o.next = peek(o.id, 0)
		o.size, o.lines = len(text), nil
	}
	if n := len(o.lines); n > 0 {
		text = o.lines[n-1] + text
		o.lines = o.lines[:n-1]
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, "\r")
		o.lines = append(o.lines, line[strings.LastIndexByte(line, '\r')+1:])
	}
}

// jobActive reports whether a job has not ended.
func (m *model) jobActive(id string) bool {
	for i := range m.jobs {
		if m.jobs[i].ID == id {
			return m.jobs[i].Status.Active()
		}
	}
	return false
}
