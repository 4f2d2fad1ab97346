package tools

import (
	"errors"
	"testing"

	"dsh/internal/jobs"
	"dsh/internal/sandbox"
	"dsh/internal/session"
)

// TestTheTextOfAReading: what the output lacks, and what its end left, is said before
// the status.
func TestTheTextOfAReading(t *testing.T) {
	t.Parallel()
	running := session.JobInfo{Status: session.JobRunning}
	ended := session.JobInfo{Status: session.JobKilled, Detail: "signal: SIGKILL", By: session.JobByUser, Reason: "too\nloud"}
	for name, c := range map[string]struct {
		r    jobs.Reading
		want string
	}{
		"a long output": {jobs.Reading{JobInfo: running, Output: "x", Omitted: 1, Saved: jobs.Saved{Artifact: "/out"}},
			"x\n[output truncated; full output: /out]\n[status: running]"},
		"one that was too long": {jobs.Reading{JobInfo: running, Output: "x\n", Omitted: 1, Saved: jobs.Saved{Artifact: "/out", Capped: true}},
			"x\n[output truncated; full output: /out (its beginning only: it was too long to keep)]\n[status: running]"},
		"one that found no place": {jobs.Reading{JobInfo: running, Output: "x\n", Omitted: 1, Saved: jobs.Saved{Lost: errors.New("disk full")}},
			"x\n[output truncated; full output: (unavailable: disk full)]\n[status: running]"},
		"what could not be ended": {jobs.Reading{JobInfo: ended, Process: &jobs.Result{Exit: sandbox.Exit{Left: 2, Orphans: 1}}},
			"(no new output)\n[ended 2 processes that it left running]\n[1 process could not be ended]\n[the user stopped it: too loud]\n[status: killed, signal: SIGKILL]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := JobText(&c.r); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}
