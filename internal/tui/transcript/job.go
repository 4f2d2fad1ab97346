package transcript

import (
	"fmt"
	"strings"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

// maxLabel bounds what is kept of a job's label: more than a row can show, in bytes.
const maxLabel = 1 << 10

// startJob remembers what the line of a job's end needs. Its card says that it began.
func (p *Projection) startJob(ev *session.Event, d *session.JobStarted) {
	if p.jobs == nil {
		p.jobs = map[string]session.JobInfo{}
	}
	p.jobs[d.ID] = session.JobInfo{ID: d.ID, Label: d.Label[:min(len(d.Label), maxLabel)], Started: ev.Time}
}

// settleJob is the line of a job's end. If nothing runs, dsh is about to look at it by
// itself, unless it has done that too often: then it says what it waits for.
func (p *Projection) settleJob(ev *session.Event, d *session.JobSettled) {
	j, known := p.jobs[d.ID]
	delete(p.jobs, d.ID)
	j.ID, j.Status, j.Detail, j.By = d.ID, d.Status, d.Detail, d.By
	b := Block{Kind: Job, Args: strings.Join(strings.Fields(j.Label), " ")}
	verb, word, state := jobWords(&j)
	b.State = state
	b.Text = j.ID + " " + verb
	if word != "" {
		b.Text += " · " + word
	}
	if known && j.Status != session.JobLost {
		b.Text += " · " + minutes(ev.Time-j.Started)
	}
	b.Answer = p.wakes(d)
	if d.Bytes > 0 {
		b.Name = Size(d.Bytes)
	}
	if d.Artifact != "" {
		b.Detail = "the whole output: " + d.Artifact
	}
	if len(d.Stale) > 0 {
		b.Detail = strings.TrimPrefix(b.Detail+"\nchanged meanwhile: "+strings.Join(d.Stale, ", "), "\n")
	}
	b.ID, b.Version = ID{Seq: ev.Seq}, ev.Seq
	if p.answering {
		p.ended = append(p.ended, b)
		return
	}
	p.push(b)
}

// jobWords says how a job ended: a verb, what there is to say about it, and how bad that
// is.
func jobWords(j *session.JobInfo) (verb, about string, state State) {
	switch word := j.Word(); {
	case j.Status == session.JobKilled && j.By != "":
		return "stopped " + j.Stopper(), "", Plain
	case j.Status == session.JobKilled:
		return "killed", word, Failed
	case j.Status == session.JobFailed:
		return "failed", j.Detail, Failed
	case j.Status == session.JobLost:
		return "lost", j.Detail, Warning
	case word != "exit 0":
		return "finished", word, Failed
	default:
		return "finished", word, Plain
	}
}

// answered puts the ends of jobs behind the answer during which they came, also where
// the answer was streamed: they would stand in the middle of its text.
func (p *Projection) answered() {
	p.answering = false
	for _, b := range p.ended {
		p.push(b)
	}
	p.ended = nil
}

// wakes says what the end of a job begins while nothing runs.
func (p *Projection) wakes(d *session.JobSettled) string {
	switch {
	case p.turnOpen || d.Status == session.JobLost || d.By != "" && d.By != session.JobByUser:
		return ""
	case p.stopped:
		return "dsh reads of it when you go on"
	case p.alone < session.MaxAlone:
		return "dsh is looking at it"
	}
	return fmt.Sprintf("dsh waits for you: it went on by itself %d times", session.MaxAlone)
}

// Size is a number of bytes for people: 812 B, 3.4 kB.
func Size(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1_000_000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}

// job is the line of a job's end: what became of it, what it was, what comes of that.
func (w *writer) job(b *Block) {
	style := w.t.Accent
	switch b.State {
	case Failed:
		style = w.t.Error
	case Warning:
		style = w.t.Attention
	}
	for i, row := range w.jobRows(b) {
		lead := "  "
		if i == 0 {
			lead = style.Paint(w.t.Glyphs.Job) + " "
		}
		w.line(lead + row)
	}
	if w.o.Expanded && b.Detail != "" {
		for _, row := range wrapped(b.Detail, min(w.o.Width, maxText)-4) {
			w.dim("    ", row)
		}
	}
}

// jobRows puts into one row what it can; what comes of the end has one of its own where
// there is no room.
func (w *writer) jobRows(b *Block) []string {
	dot := " " + w.t.Glyphs.Dot + " "
	width := w.o.Width - 2
	said := strings.ReplaceAll(termtext.Line(b.Text), " · ", dot)
	label := termtext.Line(b.Args)
	after, under := "", ""
	if b.Answer != "" {
		after = dot + b.Answer
	}
	if termtext.Width(said+after) > width {
		after, under = "", b.Answer
	}
	if room := width - termtext.Width(said+after+dot); label != "" && room >= minTarget {
		said += dot + w.cutEnd(label, room)
	}
	if b.Name != "" {
		more := dot + b.Name
		if !w.o.Expanded {
			more += dot + moreKey
		}
		if termtext.Width(said+after+more) <= width {
			after += more
		}
	}
	rows := wrapped(said+after, width)
	if under != "" {
		rows = append(rows, wrapped(under, width)...)
	}
	return rows
}
