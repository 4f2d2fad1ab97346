package loop

import (
	"context"
	"slices"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/policy"
	"dsh/internal/prompt"
	"dsh/internal/session"
	"dsh/internal/tools"
)

const (
	// maxNoticed is the longest output, in bytes, that a notice has in it: one that is
	// longer may not be wanted.
	maxNoticed = 4 << 10
	// settleTime is how long an idle agent waits after a job's end: jobs that end
	// together cost one step.
	settleTime = 100 * time.Millisecond
	// steerGrace is how long an exclusive call runs before a steer hands it over: what
	// ends by then is better read than heard of.
	steerGrace = 500 * time.Millisecond
)

// openJobs makes the agent's registry; the numbers go on after the log's.
func (a *Agent) openJobs() {
	a.jobs = jobs.NewRegistry(jobs.RegistryOptions{Past: a.log.Jobs(), Limit: a.o.JobLimit, Count: a.count, Look: a.o.Look,
		Hooks: jobs.Hooks{Started: a.jobStarted, Settled: a.jobSettled, Known: a.jobKnown}})
}

// Jobs are the jobs of the session, in the order of their starts.
func (a *Agent) Jobs() []session.JobInfo { return a.jobs.List() }

// PeekJob is the output of a job from byte from on, made safe, and the offset to go on
// from. It takes nothing away from the model; "" for an unknown job.
func (a *Agent) PeekJob(id string, from int64) (text string, next int64) {
	return a.jobs.Peek(id, from)
}

// StopJob is a person's stop. It returns at once; the model is told when the job has
// ended, by whom and why ("" if nobody said). An error says that there is no such job.
func (a *Agent) StopJob(id, why string) error {
	_, err := a.jobs.Kill(id, session.JobByUser, why)
	return err
}

// Background has a running command go on as a job; "" means every one that runs. It
// reports whether any was asked: what ends in that moment stays in the turn.
func (a *Agent) Background(callID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := false
	for _, s := range a.bodies {
		if (callID == "" || s.call.ID == callID) && s.info.Action.Class == policy.Exec && a.o.Handover {
			s.askYield(session.HandoverKey)
			asked = true
		}
	}
	return asked
}

// WhenQuiet waits until no activity is under way and no job will begin one. It returns
// an error only when ctx ends first.
func (a *Agent) WhenQuiet(ctx context.Context) error {
	for {
		if err := a.WhenIdle(ctx); err != nil {
			return err
		}
		active := a.jobs.Active()
		if len(active) == 0 || !a.mayBegin() {
			return a.WhenIdle(ctx) // the last one may have begun a turn
		}
		select {
		case <-active[0].Told():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// count is what the log says of changes.
func (a *Agent) count() jobs.Revision {
	changes, edits := a.log.Edited()
	return jobs.Revision{Changes: changes, Edits: edits}
}

func (a *Agent) jobStarted(p session.JobStarted) error {
	_, err := a.log.Append(session.Draft{Data: p})
	return err
}

// jobSettled logs the end of a job together with the note of it, in one write: a crash
// finds both or neither. An agent that is idle is woken, unless its last turn did not
// end well.
func (a *Agent) jobSettled(j *jobs.Job, end session.JobSettled) {
	note := notice(a.jobNotice(j))
	note.Source.Form = session.FormJob
	a.mu.Lock()
	defer a.mu.Unlock()
	drafts := []session.Draft{{Data: end}}
	tell := a.jobs.Tell(j)
	if tell {
		box := a.log.Inbox()
		drafts = append(drafts, session.Draft{Data: box.Insert(session.NextStep, atEnd, note)})
	}
	if _, err := a.log.Append(drafts...); err != nil {
		a.err = err
		return
	}
	if !tell {
		return
	}
	if a.notes == nil {
		a.notes = map[string]string{}
	}
	a.notes[j.ID()] = note.ID
	switch {
	case a.closed || a.log.Alone() >= session.MaxAlone:
	case a.act != nil:
		a.heard = a.heard || a.act.maintenance || a.act.closing || a.act.ctx.Err() != nil
	case a.mayBegin():
		a.startAfter(settleTime)
	}
}

// jobNotice is made of what the model has not read of the job.
func (a *Agent) jobNotice(j *jobs.Job) string {
	r := a.jobs.Unread(j)
	output, more := r.Output, r.Omitted > 0 || len(r.Output) > maxNoticed
	if more {
		output = ""
	}
	return a.o.RedactResult(prompt.JobNotice(r.ID, r.Kind, r.Label, r.State(), tools.EndMarks(&r), output, more))
}

// jobKnown takes back the note of a job whose end the model has read of meanwhile. If
// that fails the model is told twice.
func (a *Agent) jobKnown(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	note, ok := a.notes[id]
	if !ok {
		return
	}
	delete(a.notes, id)
	_, err := a.editLocked(func(box *session.Inbox) ([]session.InboxSpliced, bool, error) {
		p, ok := box.Remove(note)
		return []session.InboxSpliced{p}, ok, nil
	})
	if err != nil {
		a.err = err
	}
}

// addBody and removeBody tell Background what runs.
func (a *Agent) addBody(s *slot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bodies = append(a.bodies, s)
}

func (a *Agent) removeBody(s *slot) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.bodies = slices.DeleteFunc(a.bodies, func(o *slot) bool { return o == s })
}
