package jobs

import (
	"fmt"
	"slices"
	"strings"

	"dsh/internal/session"
)

// Spec names a job.
type Spec struct {
	Kind     string // begins the id: bash
	Label    string // what people see: the command
	CallID   string // of the call that started it
	Handover string // why, of a command that the turn waited for: see session.HandoverSteer
	Read     int64  // bytes of its output that the model has read
}

// Start admits a job, starts its process and logs it. Nothing is started, and no
// number used, if it is not admitted: ErrTooMany, ErrClosed. What start returns as an
// error is returned as it is.
func (r *Registry) Start(s Spec, start func() (*Process, error)) (*Job, error) {
	if err := r.admit(s); err != nil {
		return nil, err
	}
	p, err := start()
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.starting--
		return nil, err
	}
	j, err := r.enter(s, p)
	if err != nil {
		p.Stop()
	}
	return j, err
}

// Adopt makes a job of a process that runs. If it is not admitted (see Start) the
// process is as it was.
func (r *Registry) Adopt(s Spec, p *Process) (*Job, error) {
	if err := r.admit(s); err != nil {
		return nil, err
	}
	return r.enter(s, p)
}

func (r *Registry) admit(s Spec) error {
	if strings.TrimSpace(s.Kind) == "" || strings.TrimSpace(s.Label) == "" {
		return fmt.Errorf("a job needs a kind and a label, not %q and %q", s.Kind, s.Label)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return ErrClosed
	}
	active := r.starting
	for _, j := range r.jobs {
		if j.info.Status.Active() {
			active++
		}
	}
	if active >= r.o.Limit {
		return fmt.Errorf("%w: %d of %d. Stop one with job_kill, or wait for one, and try again", ErrTooMany, active, r.o.Limit)
	}
	r.starting++
	return nil
}

// enter gives an admitted job its number, logs it, and watches it until its end.
func (r *Registry) enter(s Spec, p *Process) (*Job, error) {
	j, counted := newJob(s, p), r.o.Count()
	r.mu.Lock()
	r.starting--
	r.last[s.Kind]++
	j.info.ID = fmt.Sprintf("%s-%d", s.Kind, r.last[s.Kind])
	r.jobs = append(r.jobs, j)
	r.watchers.Add(1)
	closed := r.closed
	r.mu.Unlock()
	err := r.o.Hooks.Started(session.JobStarted{ID: j.info.ID, Kind: s.Kind, Label: s.Label, CallID: s.CallID, Handover: s.Handover})
	if err != nil {
		r.forget(j)
		return nil, fmt.Errorf("the job could not be logged: %w", err)
	}
	p.leave()
	go r.watch(j, counted)
	if closed {
		r.end(j, session.JobByDsh, "")
	}
	return j, nil
}

func (r *Registry) forget(j *Job) {
	defer r.watchers.Done()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.jobs = slices.DeleteFunc(r.jobs, func(o *Job) bool { return o == j })
	if n := j.info.Number(); r.last[j.info.Kind] == n {
		r.last[j.info.Kind] = n - 1
	}
}
