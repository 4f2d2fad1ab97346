package jobs

import (
	"context"
	"fmt"
	"time"

	"dsh/internal/session"
)

// Peek is the output of a job from byte from on, made safe, and the offset to go on
// from. It takes nothing away from the model. "" for an unknown job.
func (r *Registry) Peek(id string, from int64) (text string, next int64) {
	r.mu.Lock()
	j, err := r.find(id)
	r.mu.Unlock()
	if err != nil || j.proc == nil {
		return "", from
	}
	return j.proc.Peek(from)
}

// Reading is what the model gets of a job.
type Reading struct {
	session.JobInfo
	Output  string // since the last reading
	Omitted int64  // bytes of it that are only where Saved says
	Saved   Saved
	Process *Result // its end; nil while it runs, and of a job of an earlier process
}

// Unread is what the model has not read of a job, without counting it as read.
func (r *Registry) Unread(j *Job) Reading {
	r.mu.Lock()
	defer r.mu.Unlock()
	cursor := j.cursor
	defer func() { j.cursor = cursor }()
	return j.read()
}

// Read takes the output since the last Read. One that finds the job at its end tells
// the model so.
func (r *Registry) Read(id string) (Reading, error) {
	r.mu.Lock()
	j, err := r.find(id)
	if err != nil {
		r.mu.Unlock()
		return Reading{}, err
	}
	reading := j.read()
	known := !j.info.Status.Active()
	j.reported = j.reported || known
	r.mu.Unlock()
	if known {
		r.o.Hooks.Known(id)
	}
	return reading, nil
}

// Wait returns when a job has ended, after the timeout, or when early says so,
// whatever comes first; none of them is an error. If ctx is done first, its error is
// returned and the job goes on. Who waits when the job ends is told by that.
func (r *Registry) Wait(ctx context.Context, id string, timeout time.Duration, early <-chan string) error {
	if timeout <= 0 {
		return fmt.Errorf("a job is waited for more than 0 seconds, not %v", timeout)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	j, err := r.find(id)
	if err != nil || !j.info.Status.Active() {
		r.mu.Unlock()
		return err
	}
	j.waiters++
	r.mu.Unlock()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case <-j.settled:
	case <-timer.C:
	case <-early:
	case <-ctx.Done():
		err = ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	j.waiters--
	if !j.info.Status.Active() {
		return nil // its end was given to this waiter, whatever came in the same moment
	}
	return err
}
