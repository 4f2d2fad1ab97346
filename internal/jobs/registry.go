package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dsh/internal/session"
)

// DefaultLimit is how many jobs of one agent may be active: more than that nobody
// follows, and a model that starts servers in a loop is stopped early.
const DefaultLimit = 10

// Hooks are what a Registry tells its agent, never under a lock, and for one job in
// this order: Started once, then Settled once.
type Hooks struct {
	// Started logs a new job. An error undoes the start.
	Started func(session.JobStarted) error
	// Settled hears of the end, after the job's waiters. The model must be told
	// unless Tell says otherwise.
	Settled func(j *Job, end session.JobSettled)
	// Known says that the model has read of the end of a job it was told of, or will
	// be: it need not be told again.
	Known func(id string)
}

// RegistryOptions are what a Registry needs.
type RegistryOptions struct {
	Past  []session.JobInfo // jobs of earlier processes: numbers go on after them
	Limit int               // of active jobs; 0: DefaultLimit
	Hooks Hooks             // all are required
	// Look is the state of the workspace, bounded in time; nil: nothing is known.
	Look func(context.Context) Revision
}

// Registry holds the jobs of one agent: no other can read, stop or list them. Its
// methods may be called from several goroutines.
type Registry struct {
	o    RegistryOptions
	ctx  context.Context // of looks at the workspace
	stop context.CancelFunc

	mu       sync.Mutex
	jobs     []*Job         // in the order of their starts
	last     map[string]int // the highest number of each kind
	starting int            // admitted, not started
	closed   bool
	watchers sync.WaitGroup
}

// Spec names a job.
type Spec struct {
	Kind     string // begins the id: bash
	Label    string // what people see: the command
	CallID   string // of the call that started it
	Handover string // why, of a command that the turn waited for: see session.HandoverSteer
	Read     int64  // bytes of its output that the model has read
}

// Errors of the registry, for callers to decide on.
var (
	ErrTooMany = errors.New("too many jobs are active")
	ErrUnknown = errors.New("there is no such job")
)

// NewRegistry makes a Registry.
func NewRegistry(o RegistryOptions) *Registry {
	if o.Limit == 0 {
		o.Limit = DefaultLimit
	}
	if o.Look == nil {
		o.Look = func(context.Context) Revision { return Revision{} }
	}
	r := &Registry{o: o, last: map[string]int{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	for _, info := range o.Past {
		r.last[info.Kind] = max(r.last[info.Kind], info.Number())
		r.jobs = append(r.jobs, pastJob(info))
	}
	return r
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
	j := newJob(s, p)
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
	go r.watch(j)
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

// watch owns a job until it is settled: record, waiters, event, notice.
func (r *Registry) watch(j *Job) {
	defer r.watchers.Done()
	began := r.o.Look(r.ctx) // while the command runs: its start does not wait
	result, err := j.proc.Wait(context.Background())
	now := r.o.Look(r.ctx)
	r.mu.Lock()
	end := j.settle(result, err)
	end.Began, end.Revision, end.Stale = began.String(), now.String(), began.Changed(now)
	j.info.Stale = end.Stale
	j.reported = j.reported || j.waiters > 0
	r.mu.Unlock()
	close(j.settled)
	r.o.Hooks.Settled(j, end)
	close(j.told)
}

// Tell reports whether the model has yet to be told of the end of a job, and counts
// it as told.
func (r *Registry) Tell(j *Job) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	tell := !j.reported
	j.reported = true
	return tell
}

// List are all jobs in the order of their starts, those of earlier processes first.
func (r *Registry) List() []session.JobInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]session.JobInfo, len(r.jobs))
	for i, j := range r.jobs {
		list[i] = j.now()
	}
	return list
}

// find is the job of an id. The caller holds r.mu.
func (r *Registry) find(id string) (*Job, error) {
	i := slices.IndexFunc(r.jobs, func(j *Job) bool { return j.info.ID == id })
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", ErrUnknown, id)
	}
	return r.jobs[i], nil
}

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
	Omitted int64  // bytes of it that are only in the artifact
	Process *Result
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
	r.mu.Unlock()
	if active {
		r.end(j, by, reason)
	}
	if by == session.JobByModel {
		r.mu.Lock()
		j.reported = true
		r.mu.Unlock()
		if !active {
			r.o.Hooks.Known(id)
		}
	}
	return before, nil
}

// end stops a job; who said so first is remembered.
func (r *Registry) end(j *Job, by, reason string) {
	r.mu.Lock()
	if j.info.Status == session.JobRunning {
		j.info.Status, j.info.By, j.info.Reason = session.JobStopping, by, reason
	}
	r.mu.Unlock()
	j.proc.Stop()
}

// Active are the jobs that have not been settled and told.
func (r *Registry) Active() []*Job {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*Job
	for _, j := range r.jobs {
		select {
		case <-j.told:
		default:
			list = append(list, j)
		}
	}
	return list
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
