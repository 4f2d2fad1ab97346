package loop

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/sandbox/sandboxtest"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// A jobRide is a session with jobs under random use: the model starts, hands over,
// reads, waits for, lists and stops; people steer, ask, move, interrupt and stop;
// processes write and end, some without obeying. All of it comes from the seed, but
// for the order of what happens at the same moment.
type jobRide struct {
	y    *yard
	seed uint64

	mu       sync.Mutex
	rolls    uint64
	accepted []string
	written  []string // marks, as the processes wrote them
}

const (
	jobRides   = 60
	jobRideOps = 15
)

func TestRandomUseOfJobs(t *testing.T) {
	for seed := range uint64(jobRides) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := &jobRide{seed: seed}
				plays := make([]play, 400)
				for i := range plays {
					plays[i] = r.play
				}
				r.y = newYard(t, plays, func(b *tools.BashOptions, o *Options) {
					b.Auto, o.JobLimit = 2*time.Second, 4
					o.Handover = seed%5 > 0
				})
				r.y.starter.Dying = time.Duration(seed%3) * 100 * time.Millisecond
				r.run(t)
				r.judge(t)
			})
		})
	}
}

// calm is a ride in which nobody stops a turn: what a stopped call put out is not
// promised to the model.
func (r *jobRide) calm() bool { return r.seed%2 == 1 }

func (r *jobRide) roll() *rand.Rand {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rolls++
	return rand.New(rand.NewPCG(r.seed^0x10b, r.rolls))
}

func (r *jobRide) play(ctx context.Context, req *llm.Request, yield func(llm.Chunk) bool) {
	rng := r.roll()
	if linger(ctx, rng, 50) != nil {
		return
	}
	id := fmt.Sprintf(`{"job_id":"bash-%d"`, 1+rng.IntN(5))
	one := func() []string {
		switch n := rng.IntN(12); {
		case n < 3:
			return []string{"bash", bashArgs(fmt.Sprint("make ", rng.IntN(1000)), `,"run_in_background":true`)}
		case n < 6:
			return []string{"bash", bashArgs(fmt.Sprint("test ", rng.IntN(1000)), fmt.Sprintf(`,"timeoutMs":%d`, 500+rng.IntN(3000)))}
		case n < 7:
			return []string{"bash", bashArgs("cat big", "")}
		case n < 8:
			return []string{"job_output", id + `}`}
		case n < 10:
			return []string{"job_output", id + fmt.Sprintf(`,"wait":true,"timeout_ms":%d}`, 1+rng.IntN(2000))}
		case n < 11:
			return []string{"job_kill", id + `}`}
		}
		return []string{"job_list", `{}`}
	}
	if rng.IntN(3) == 0 {
		say("fine")(ctx, req, yield)
		return
	}
	var calls []string
	for range 1 + rng.IntN(3) {
		calls = append(calls, one()...)
	}
	call(calls...)(ctx, req, yield)
}

// run lets all of them do what they do, then ends what runs and waits for quiet.
func (r *jobRide) run(t *testing.T) {
	var wg sync.WaitGroup
	over := make(chan struct{})
	wg.Go(func() { r.processes(over) })
	var people sync.WaitGroup
	for i := range 2 {
		people.Go(func() {
			rng := rand.New(rand.NewPCG(r.seed, uint64(i)))
			for n := range jobRideOps {
				time.Sleep(time.Duration(rng.IntN(400)) * time.Millisecond)
				r.person(rng, fmt.Sprintf("<%d-%d>", i, n))
			}
		})
	}
	people.Wait()
	if r.seed%4 == 0 {
		must(t, r.y.Agent.Close(t.Context()))
	}
	must(t, r.y.WhenIdle(t.Context()))
	r.y.ended()
	close(over)
	wg.Wait()
}

func (r *jobRide) person(rng *rand.Rand, text string) {
	y := r.y
	accept := func(it session.QueueItem, err error) {
		must(y.t, err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.accepted = append(r.accepted, it.ID)
	}
	switch n := rng.IntN(14); {
	case n < 5:
		accept(y.Followup(text))
	case n < 9:
		accept(y.Steer(text))
	case n < 11:
		y.Background("")
	case n < 12:
		_ = y.StopJob(fmt.Sprint("bash-", 1+rng.IntN(4)), "enough") // it may not be there
	case r.calm():
		accept(y.Steer(text))
	case n < 13:
		must(y.t, y.Cancel(session.Cause{Kind: session.ByUser}, true))
	default:
		err := y.Maintenance(context.Background(), func(ctx context.Context) error { return linger(ctx, rng, 300) })
		_ = err // busy, or cancelled
	}
}

// processes writes what can be told apart into every process, and ends it some time.
func (r *jobRide) processes(over chan struct{}) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for began := 0; ; {
		for _, p := range r.y.starter.Started()[began:] {
			n := began
			began++
			wg.Go(func() { r.live(n, p) })
		}
		select {
		case <-over:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (r *jobRide) live(n int, p *sandboxtest.Process) {
	rng := rand.New(rand.NewPCG(r.seed^0xabc, uint64(n)))
	for i := range rng.IntN(6) {
		time.Sleep(time.Duration(rng.IntN(600)) * time.Millisecond)
		mark := fmt.Sprintf("<p%d.%d>", n, i)
		if _, err := fmt.Fprint(p, mark); err != nil {
			return // it was stopped
		}
		r.mu.Lock()
		r.written = append(r.written, mark)
		r.mu.Unlock()
	}
	time.Sleep(time.Duration(rng.IntN(1500)) * time.Millisecond)
	p.End(rng.IntN(2), 0)
}

// judge: every job that began has ended once, nobody waits or runs, every call has its
// result, no message is lost, and every
// byte of an output is in one result, or can still be read.
func (r *jobRide) judge(t *testing.T) {
	y := r.y
	y.accountFor(r.accepted)
	ends := map[string]int{}
	for _, e := range of[session.JobSettled](y.fixture) {
		ends[e.ID]++
	}
	for _, j := range of[session.JobStarted](y.fixture) {
		if ends[j.ID] != 1 {
			t.Errorf("%s ended %d times", j.ID, ends[j.ID])
		}
	}
	for _, j := range y.Jobs() {
		if j.Status.Active() {
			t.Errorf("%s is %s", j.ID, j.Status)
		}
	}
	told := map[string]int{}
	for _, note := range y.notices() {
		told[strings.Fields(note)[2]]++
	}
	for id, n := range told {
		if n > 1 {
			t.Errorf("the end of %s was told %d times", id, n)
		}
	}
	var results strings.Builder
	for _, res := range of[session.ToolResult](y.fixture) {
		results.WriteString(resultText(&res.Message))
	}
	unread := strings.Join(y.notices(), "") + strings.Join(y.queued(), "")
	for _, j := range y.Jobs() {
		reading, err := y.jobs.Read(j.ID)
		must(t, err)
		unread += reading.Output
	}
	for _, mark := range r.written {
		if n := strings.Count(results.String(), mark); n > 1 {
			t.Errorf("results tell %s %d times", mark, n)
		} else if n == 0 && r.calm() && !strings.Contains(unread, mark) {
			t.Errorf("%s is lost", mark)
		}
	}
	if y.log.OpenStep().Step != 0 {
		t.Errorf("step %d is open", y.log.OpenStep().Step)
	}
}
