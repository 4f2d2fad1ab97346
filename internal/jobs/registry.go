package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"dsh/internal/session"
)

// keptJobs is how many jobs keep their output in memory when they have ended: a session
// may start thousands. That of earlier ones is gone, unless it has an artifact.
const keptJobs = 100

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
	// Count is what dsh itself knows of the workspace, at once, and Look adds to it what
	// takes a while, bounded in time. Nil: nothing.
	Count func() Revision
	Look  func(context.Context, Revision) Revision
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
	if o.Count == nil {
		o.Count = func() Revision { return Revision{} }
	}
	if o.Look == nil {
		o.Look = func(_ context.Context, r Revision) Revision { return r }
	}
	r := &Registry{o: o, last: map[string]int{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	for _, info := range o.Past {
		r.last[info.Kind] = max(r.last[info.Kind], info.Number())
		r.jobs = append(r.jobs, pastJob(info))
	}
	return r
}

// watch owns a job until it is settled: record, waiters, event, notice.
func (r *Registry) watch(j *Job, counted Revision) {
	defer r.watchers.Done()
	began := r.lookAt(j, counted)
	result, err := j.proc.Wait(context.Background())
	now := r.o.Look(r.ctx, r.o.Count())
	r.mu.Lock()
	end := j.settle(result, err)
	end.Began, end.Revision, end.Stale = began.String(), now.String(), began.Changed(now)
	j.info.Stale = end.Stale
	j.reported = j.reported || j.waiters > 0
	r.mu.Unlock()
	close(j.settled)
	r.o.Hooks.Settled(j, end)
	close(j.told)
	r.release()
}

// release drops the outputs of jobs that ended, but for those of the last jobs.
func (r *Registry) release() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, j := range r.jobs[:max(0, len(r.jobs)-keptJobs)] {
		if j.proc != nil && !j.released && !j.info.Status.Active() {
			j.proc.out.release()
			j.released = true
		}
	}
}

// lookAt looks at the workspace at a job's start, while the command runs, so that its
// start does not wait. Nor does its end: what is not seen by then is not known.
func (r *Registry) lookAt(j *Job, counted Revision) Revision {
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	looked := make(chan Revision, 1)
	go func() { looked <- r.o.Look(ctx, counted) }()
	select {
	case began := <-looked:
		return began
	case <-j.proc.Done():
		cancel()
		return <-looked
	}
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
