package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/transcript"
)

// noJobs is what the list of jobs says when there are none.
const noJobs = "No jobs. Commands dsh starts in the background show up here."

// jobsChanged reports whether events changed the list of jobs.
func jobsChanged(events []session.Event) bool {
	return slices.ContainsFunc(events, func(ev session.Event) bool {
		switch ev.Data.(type) {
		case session.JobStarted, session.JobSettled:
			return true
		}
		return false
	})
}

// listJobs asks for the jobs: those that run in the order of their starts, then those
// that have ended, the last first.
func (m *model) listJobs() {
	m.jobs = m.open.Agent.Jobs()
	m.active = 0
	for i := range m.jobs {
		if m.jobs[i].Status.Active() {
			m.active++
		}
	}
	slices.SortStableFunc(m.jobs, func(a, b session.JobInfo) int {
		switch on := a.Status.Active(); {
		case on != b.Status.Active():
			if on {
				return -1
			}
			return 1
		case on:
			return 0
		}
		return int(b.Finished - a.Finished)
	})
	if m.panel != nil {
		m.panel.take(m)
	}
}

// toBackground has the running command go on as a job.
func (m *model) toBackground() tea.Cmd {
	if !m.open.Agent.Background("") {
		return m.flash("no command runs that could go on in the background")
	}
	return m.flash("goes on in the background")
}

// runsCommand reports whether a command runs that could become a job.
func (m *model) runsCommand() bool {
	if !m.open.Handover || !m.running {
		return false
	}
	for i, blocks := m.printed, m.project.Blocks(); i < len(blocks); i++ {
		if m.isCommand(&blocks[i]) {
			return true
		}
	}
	return false
}

// isCommand reports whether a block is a command that runs.
func (m *model) isCommand(b *transcript.Block) bool {
	return b.Kind == transcript.Call && b.State == transcript.Running && m.o.Present != nil &&
		m.o.Present(b.Name, b.Args, nil).Kind == session.ShowCommand
}

func (m *model) backgroundHint() string { return m.keys.key("background") + " to background" }

// follow fetches what the jobs in sight have put out since the last tick.
func (m *model) follow() {
	switch p := m.pager; {
	case p != nil && p.follow != nil:
		if !p.follow() {
			p.follow = nil
		}
	case p == nil && m.panel != nil && !m.asking():
		m.panel.look(m)
	}
}

// jobCount is the segment of the status line; "" while no job runs.
func jobCount(active, width int) string {
	switch {
	case active == 0:
		return ""
	case width < 60:
		return fmt.Sprintf("&%d", active)
	}
	return "& " + plural(active, "job")
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// jobTook is how long a job has run.
func jobTook(j *session.JobInfo, now time.Time) string {
	end := now.UnixMilli()
	if !j.Status.Active() {
		end = j.Finished
	}
	return clock(max(0, time.Duration(end-j.Started)*time.Millisecond))
}

// oneLine is a label on one line.
func oneLine(label string) string {
	return termtext.Line(strings.Join(strings.Fields(label[:min(len(label), maxShown)]), " "))
}

// maxShown is how much of a label or a line is looked at, in bytes: more than a row
// can hold.
const maxShown = 1 << 10

// bytesOf is how much a job has put out.
func bytesOf(n int64) string {
	if n == 0 {
		return "no output"
	}
	return transcript.Size(n)
}

// statusJobs are the lines of /status about jobs and the todo list.
func (m *model) statusJobs() (rows []string) {
	for i := range m.jobs {
		if i == maxStatusJobs {
			rows = append(rows, fmt.Sprintf("jobs         +%d more: /jobs", len(m.jobs)-i))
			break
		}
		j := &m.jobs[i]
		rows = append(rows, strings.TrimSpace("jobs         "+j.ID+" · "+j.Word()+" "+j.Stopper())+" · "+jobTook(j, m.now())+" · "+oneLine(j.Label))
	}
	if text := todoCount(m.progress.todos); text != "" {
		rows = append(rows, "todo         "+strings.TrimPrefix(text, "todo "))
	}
	return rows
}

// maxStatusJobs bounds what /status lists; the panel has them all.
const maxStatusJobs = 5
