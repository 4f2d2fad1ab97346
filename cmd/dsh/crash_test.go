//go:build crashtest

package main

import (
	"fmt"
	"sync"
	"testing"

	"dsh/internal/session"
)

// The crash matrix: a scripted user and a scripted model play a session, and dsh
// kills itself before or after the write of an event; then a new process resumes
// it. See crash_play_test.go for one such life, crash_judge_test.go for what must
// hold after it.

// crashWorkers is how many lives run at once: they wait for the disk half the time.
const crashWorkers = 4

// minPoints is what a matrix must reach to prove anything.
const minPoints = 80

// TestCrashMatrix kills the play before and after the write of every event.
func TestCrashMatrix(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	whole := s.whole(t)
	m := &matrix{}
	inParallel(2*len(whole), func(i int) {
		m.point(s, crash{[]string{"before", "after"}[i%2], i / 2}, typeAt(whole, i/2))
	})
	m.report(t)
	m.covers(t, crashUnknownDone, crashUnknownNotDone, crashNotStarted, crashRequeued, crashHeld, crashPartial, crashNothing, crashDropped, crashRunning, crashJob, crashTold)
}

// TestCrashHandover does so with a play in which a running command becomes a job.
func TestCrashHandover(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.handover = true
	whole := s.whole(t)
	seqOf(t, whole, session.TypeJobStarted, 1)
	m := &matrix{}
	inParallel(2*len(whole), func(i int) {
		m.point(s, crash{[]string{"before", "after"}[i%2], i / 2}, typeAt(whole, i/2))
	})
	m.report(t)
	m.covers(t, crashJob, crashTold)
}

// TestCrashWhileResuming kills the play at a few places, then what resumes it
// before and after the write of every event of its own, then resumes again.
func TestCrashWhileResuming(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	whole := s.whole(t)
	first := []crash{
		{"after", seqOf(t, whole, session.TypeInboxSpliced, 2)}, // the first claim: nothing entered
		{"before", seqOf(t, whole, session.TypeToolResult, 2)},  // reads ran
		{"before", seqOf(t, whole, session.TypeToolResult, 4)},  // the edit ran; a write did not, a steer and a follow-up wait
		{"after", seqOf(t, whole, session.TypeRetry, 1)},
		{"before", seqOf(t, whole, session.TypeInboxSpliced, 11)}, // the cancel's
		{"after", seqOfInput(t, whole, "Say when it ran.")},       // a command is in its middle, another waits
		{"after", seqOf(t, whole, session.TypeVerifyRun, 1)},      // a verification is under way
	}
	m := &matrix{}
	inParallel(len(first), func(i int) { m.resumes(s, first[i], typeAt(whole, first[i].seq)) })
	m.report(t)
}

// matrix counts what came of all points.
type matrix struct {
	mu                                       sync.Mutex
	points, resumed, lost, repeated, invalid int
	failures                                 []string
	seen                                     map[coverage]int
}

// point is one life: play until the crash, then resume.
func (m *matrix) point(s *scene, at crash, what session.Type) {
	l := s.newLife()
	defer l.remove()
	died, err := l.play(at)
	if err != nil || !died {
		m.add(fmt.Sprintf("%s (%s)", at, what), died, verdict{broken: errorText(err)})
		return
	}
	v := l.judgeCrash()
	if v.ok() {
		v.merge(l.resume(1))
	}
	m.add(fmt.Sprintf("%s (%s)", at, what), true, v)
}

// resumes are the lives that crash at one place of the play and then in the resume,
// at one place after another until it has no more.
func (m *matrix) resumes(s *scene, at crash, what session.Type) {
	for offset := 0; ; offset++ {
		reached := false
		for _, when := range []string{"before", "after"} {
			reached = m.resumePoint(s, at, what, when, offset) || reached
		}
		if !reached {
			return
		}
	}
}

func (m *matrix) resumePoint(s *scene, at crash, what session.Type, when string, offset int) (reached bool) {
	l := s.newLife()
	defer l.remove()
	died, err := l.play(at)
	name := fmt.Sprintf("%s (%s)", at, what)
	if err != nil || !died {
		m.add(name, false, verdict{broken: "the first crash did not happen. " + errorText(err)})
		return false
	}
	v := l.judgeCrash()
	second := crash{when, l.events() + offset}
	name += fmt.Sprintf(", then resumed and %s", second)
	if died, err = l.resumeUntil(1, second); err != nil || !died {
		m.add(name, died, verdict{broken: errorText(err)})
		return died
	}
	v.merge(l.judgeCrash())
	if v.ok() {
		v.merge(l.resume(2))
	}
	m.add(name, true, v)
	return true
}

// add counts a point; one that was not reached, without a fault, is none.
func (m *matrix) add(name string, reached bool, v verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !reached && v.ok() {
		return
	}
	m.points++
	m.lost += len(v.lost)
	m.repeated += len(v.repeated)
	m.invalid += len(v.invalid)
	if v.ok() {
		m.resumed++
	} else {
		m.failures = append(m.failures, name+": "+v.String())
	}
	if m.seen == nil {
		m.seen = map[coverage]int{}
	}
	for c := range v.seen {
		m.seen[c]++
	}
}

// report prints the matrix's line, and fails unless all is well.
func (m *matrix) report(t *testing.T) {
	t.Helper()
	fmt.Printf("%s: points: %d, resumed: %d, lost inputs: %d, repeated effects: %d, invalid requests: %d\n",
		t.Name(), m.points, m.resumed, m.lost, m.repeated, m.invalid)
	for _, f := range m.failures {
		t.Error(f)
	}
	if m.points < minPoints || m.resumed != m.points {
		t.Errorf("%d of %d points resumed, want all of at least %d", m.resumed, m.points, minPoints)
	}
}

// covers fails when the play never came into a state that it is meant to test.
func (m *matrix) covers(t *testing.T, states ...coverage) {
	t.Helper()
	for _, c := range states {
		if m.seen[c] == 0 {
			t.Errorf("no point crashed with %s: the play does not test it any more", c)
		}
	}
	t.Logf("states that were met: %v", m.seen)
}

func inParallel(n int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range crashWorkers {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

func typeAt(events []session.Event, seq int) session.Type { return events[seq].Type }

// seqOf is the seq of the nth event of a type, from 1.
func seqOf(t *testing.T, events []session.Event, want session.Type, n int) int {
	t.Helper()
	for i := range events {
		if events[i].Type == want {
			if n--; n == 0 {
				return events[i].Seq
			}
		}
	}
	t.Fatalf("the play has too few %s events", want)
	return 0
}

// seqOfInput is the seq of the event that takes an input.
func seqOfInput(t *testing.T, whole []session.Event, text string) int {
	t.Helper()
	for i := range whole {
		if p, is := whole[i].Data.(session.InboxSpliced); is && len(p.Inserted) > 0 && p.Inserted[0].PlainText() == text {
			return whole[i].Seq
		}
	}
	t.Fatalf("the play has no input %q", text)
	return 0
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
