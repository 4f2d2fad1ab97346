package jobs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dsh/internal/session"
)

// Kill has a job stopped and returns at once; the job settles when it has ended. It
// reports how the job stood before. The model that stops a job is not told again; a
// person's stop it is told of.
func (r *Registry) Kill(id, by, reason string) (before session.JobInfo, err error) {
	r.mu.Lock()
	j, err := r.find(id)
	if err != nil {
		r.mu.Unlock()
		return before, err
	}
	before = j.now()
	active := before.Status.Active()
	if active {
		j.stopping(by, reason)
	}
	if by == session.JobByModel { // in the same breath: it may end before Stop returns
		j.reported = true
	}
	r.mu.Unlock()
	switch {
	case active:
		j.proc.Stop()
	case by == session.JobByModel:
		r.o.Hooks.Known(id)
	}
	return before, nil
}

// end stops a job, whatever it is doing.
func (r *Registry) end(j *Job, by, reason string) {
	r.mu.Lock()
	j.stopping(by, reason)
	r.mu.Unlock()
	j.proc.Stop()
}

// Close stops every job and waits until all are settled. If ctx is done before, their
// processes are killed, and it waits no longer than that takes: an error says how many
// are left then.
func (r *Registry) Close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	live := slices.DeleteFunc(slices.Clone(r.jobs), func(j *Job) bool { return !j.info.Status.Active() })
	r.mu.Unlock()
	r.stop()
	for _, j := range live {
		r.end(j, session.JobByDsh, "dsh was closed")
	}
	ended := make(chan struct{})
	go func() { r.watchers.Wait(); close(ended) }() // ends with the last job
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	for _, j := range live {
		j.proc.Kill()
	}
	select {
	case <-ended:
		return nil
	case <-time.After(killBound):
		return fmt.Errorf("%d jobs did not end after they were killed", len(r.Active()))
	}
}
