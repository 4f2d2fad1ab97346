package main

import (
	"fmt"
	"strings"
	"time"

	"dsh/internal/session"
)

// maxEndedJobs bounds what /jobs lists of the jobs that have ended: the last ones.
const maxEndedJobs = 20

// jobsText lists jobs in lines: those that run, then those that have ended.
func jobsText(jobs []session.JobInfo, now time.Time) string {
	if len(jobs) == 0 {
		return "No jobs. Commands dsh starts in the background show up here."
	}
	var running, ended []string
	for i := range jobs {
		if j := &jobs[i]; j.Status.Active() {
			running = append(running, jobText(j, now.UnixMilli()))
		} else {
			ended = append(ended, jobText(j, j.Finished))
		}
	}
	if hidden := len(ended) - maxEndedJobs; hidden > 0 {
		ended = append([]string{fmt.Sprintf("(%d earlier ones)", hidden)}, ended[hidden:]...)
	}
	return strings.Join(append(running, ended...), "\n")
}

func jobText(j *session.JobInfo, until int64) string {
	took := max(0, time.Duration(until-j.Started)*time.Millisecond).Round(time.Second)
	return fmt.Sprintf("%s  %s  %s  %s", j.ID, strings.TrimSpace(j.Word()+" "+j.Stopper()), took, shortTarget(j.Label))
}

// todoText lists the model's plan in lines.
func todoText(todos []session.Todo) string {
	if len(todos) == 0 {
		return "No todo list. dsh makes one for longer work."
	}
	var lines []string
	for _, t := range todos {
		lines = append(lines, t.Mark()+" "+shortTarget(t.Content))
	}
	return strings.Join(lines, "\n")
}

// stopJob stops a job; its end is a line of its own.
func (c *chat) stopJob(id string) {
	if id == "" {
		c.view.note("/stop needs the id of a job: /jobs lists them")
	} else if err := c.e.agent.StopJob(id, ""); err != nil {
		c.view.note("dsh: not stopped: " + err.Error())
	}
	if !c.busy() {
		c.view.prompt()
	}
}
