package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
)

// Sizes of the panel.
const (
	maxPanel   = 12  // rows
	smallPanel = 5   // rows, in a low window
	lowPanel   = 16  // rows of a window below which the panel is small
	widePanel  = 120 // columns from which list and output stand side by side
	maxPreview = 4   // rows of output under the list
)

// jobsFilter is which jobs the panel lists.
type jobsFilter int

const (
	allJobs jobsFilter = iota
	runningJobs
	endedJobs
	jobsFilters
)

// jobsPanel lists the jobs and shows the end of the output of the chosen one. It has
// the keys while it is open.
type jobsPanel struct {
	list    []session.JobInfo // that the filter lets through
	filter  jobsFilter
	chosen  int
	stop    string // the job that x stops when it is pressed again
	till    time.Time
	glances map[string]*glance // of jobs in sight
}

// openJobs opens the panel, if there are jobs.
func (m *model) openJobs() bool {
	m.listJobs()
	if len(m.jobs) == 0 {
		return false
	}
	m.todoOpen = false
	m.popup.Close()
	m.panel = &jobsPanel{glances: map[string]*glance{}}
	m.panel.take(m)
	return true
}

func (m *model) showJobs() tea.Cmd {
	if !m.openJobs() {
		m.say(noJobs)
	}
	return m.startTick()
}

// take lists the model's jobs anew; the chosen job stays it.
func (p *jobsPanel) take(m *model) {
	id := p.current().ID
	p.list = nil
	for _, j := range m.jobs {
		if p.filter == allJobs || (p.filter == runningJobs) == j.Status.Active() {
			p.list = append(p.list, j)
		}
	}
	if i := slices.IndexFunc(p.list, func(j session.JobInfo) bool { return j.ID == id }); i >= 0 {
		p.chosen = i
	}
	p.move(m, 0)
}

// current is the chosen job, the zero JobInfo if there is none.
func (p *jobsPanel) current() session.JobInfo {
	if p.chosen >= len(p.list) {
		return session.JobInfo{}
	}
	return p.list[p.chosen]
}

func (p *jobsPanel) move(m *model, by int) {
	p.chosen = max(0, min(p.chosen+by, len(p.list)-1))
	p.look(m)
}

// look fetches what the jobs in sight have put out: it costs what the window has rows.
func (p *jobsPanel) look(m *model) {
	from, to := p.window(m)
	for id := range p.glances {
		if !slices.ContainsFunc(p.list[from:to], func(j session.JobInfo) bool { return j.ID == id }) {
			delete(p.glances, id)
		}
	}
	for i := from; i < to; i++ {
		j := &p.list[i]
		if !j.Status.Active() && i != p.chosen {
			continue // its row says how much it was
		}
		g := p.glances[j.ID]
		if g == nil {
			g = &glance{}
			p.glances[j.ID] = g
		}
		g.look(m.open.Agent.PeekJob, j.ID, j.Bytes, j.Status.Active())
	}
}

// follows reports whether something in the panel changes by itself.
func (p *jobsPanel) follows() bool { return len(p.list) > 0 && p.list[0].Status.Active() }

// jobsKey does what a key means in the panel.
func (m *model) jobsKey(action string, now time.Time) tea.Cmd {
	p := m.panel
	j := p.current()
	if action != "job-stop" {
		p.stop = ""
	}
	switch action {
	case "up":
		p.move(m, -1)
	case "down":
		p.move(m, 1)
	case "close":
		m.closePanel()
	case "job-filter":
		p.filter, p.chosen = (p.filter+1)%jobsFilters, 0
		p.take(m)
	case "repaint":
		m.t.Clear()
	case "suspend":
		return m.t.Suspend()
	case "transcript":
		m.openPager()
	case "job-output", "job-stop", "job-mention", "job-wait":
		if j.ID != "" {
			return m.jobKey(action, &j, now)
		}
	}
	return m.startTick()
}

// jobKey does what a key means for the chosen job.
func (m *model) jobKey(action string, j *session.JobInfo, now time.Time) tea.Cmd {
	switch action {
	case "job-output":
		m.pageJob(j)
	case "job-mention":
		m.closePanel()
		m.composer.Type("@" + j.ID + " ")
	case "job-wait":
		if !j.Status.Active() {
			return m.flash(j.ID + " has ended")
		}
		m.closePanel()
		m.composer.Type("When " + j.ID + " ends, ")
	case "job-stop":
		return m.stopJob(j, now)
	}
	return m.startTick()
}

// stopJob stops a job at the second press.
func (m *model) stopJob(j *session.JobInfo, now time.Time) tea.Cmd {
	p := m.panel
	switch {
	case !j.Status.Active():
		return m.flash(j.ID + " has ended")
	case p.stop != j.ID || now.After(p.till):
		p.stop, p.till = j.ID, now.Add(stopTwice)
		return m.flash(m.keys.key("job-stop") + " again stops " + j.ID)
	}
	p.stop = ""
	if err := m.open.Agent.StopJob(j.ID, ""); err != nil {
		return m.flash("not stopped: " + err.Error())
	}
	m.listJobs()
	return m.flash("stopping " + j.ID)
}

// stopTwice is how long the second press of a stop is waited for.
const stopTwice = 2 * time.Second

// closePanel gives the keys back to the composer.
func (m *model) closePanel() {
	m.panel = nil
	m.hint = ""
	m.rearm(m.now())
}

// jobsTitle is the first row of the panel.
func (m *model) jobsTitle() string {
	text := "Jobs · " + fmt.Sprintf("%d running · %d finished", m.active, len(m.jobs)-m.active)
	switch m.panel.filter {
	case runningJobs:
		text += " · running only"
	case endedJobs:
		text += " · finished only"
	}
	return text
}

// jobsHint says what the keys do.
func (m *model) jobsHint() string {
	if m.hint != "" {
		return m.hint
	}
	k := m.keys.key
	if m.width < 60 {
		return k("job-output") + " output · " + k("job-stop") + " stop · " + k("close") + " close · " + k("job-mention") + " ask"
	}
	parts := []string{k("job-output") + " full output", k("job-stop") + " stop", k("job-mention") + " ask dsh about it"}
	if m.width >= widePanel {
		parts = append(parts, k("job-wait")+` "when it ends, ..."`)
	}
	return strings.Join(append(parts, k("job-filter")+" filter", k("close")+" close"), " · ")
}
