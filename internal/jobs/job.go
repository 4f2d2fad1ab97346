package jobs

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"dsh/internal/sandbox"
	"dsh/internal/session"
)

// Job is a process that nobody's turn waits for. Its fields belong to the Registry.
type Job struct {
	proc    *Process      // nil for a job of an earlier process
	settled chan struct{} // closed when the record is final
	told    chan struct{} // closed when the hooks have heard of it

	info     session.JobInfo
	result   Result
	cursor   int64 // the first byte that the model has not read
	waiters  int
	reported bool // the model knows of the end, or will
	released bool // its output is not in memory any more
}

func newJob(s Spec, p *Process) *Job {
	j := &Job{proc: p, cursor: s.Read, settled: make(chan struct{}), told: make(chan struct{})}
	j.info = session.JobInfo{Kind: s.Kind, Label: s.Label, CallID: s.CallID, Handover: s.Handover,
		Status: session.JobRunning, Started: p.Started.UnixMilli()}
	return j
}

// pastJob is a job that an earlier process has seen the end of.
func pastJob(info session.JobInfo) *Job {
	j := &Job{info: info, reported: true, settled: make(chan struct{}), told: make(chan struct{})}
	if info.Status.Active() { // a log that no resume has repaired
		j.info.Status = session.JobLost
	}
	close(j.settled)
	close(j.told)
	return j
}

// ID is the job's name.
func (j *Job) ID() string { return j.info.ID }

// Told is closed when the job has ended and its agent has been told so.
func (j *Job) Told() <-chan struct{} { return j.told }

// now is the job's record of this moment. The caller holds the registry's lock.
func (j *Job) now() session.JobInfo {
	info := j.info
	if j.proc != nil && info.Status.Active() {
		bytes, saved := j.proc.out.size()
		info.Bytes, info.Artifact = bytes, saved.Artifact
	}
	return info
}

// read takes what the model has not read. The caller holds the registry's lock.
func (j *Job) read() Reading {
	r := Reading{}
	if j.proc != nil {
		r.Output, r.Omitted, j.cursor = j.proc.out.kept(j.cursor)
		_, r.Saved = j.proc.out.size()
	}
	r.JobInfo = j.now()
	if j.proc != nil && !r.Status.Active() {
		r.Process = &j.result
	}
	return r
}

// stopping notes who has a job stopped; who said so first is remembered. The caller
// holds the registry's lock.
func (j *Job) stopping(by, reason string) {
	if j.info.Status == session.JobRunning {
		j.info.Status, j.info.By, j.info.Reason = session.JobStopping, by, reason
	}
}

// settle makes the record final; it is called once. The caller holds the registry's
// lock.
func (j *Job) settle(result Result, err error) session.JobSettled {
	j.result = result
	j.info.Status, j.info.Detail = outcome(result, err)
	j.info.Finished = time.Now().UnixMilli()
	j.info.Bytes, _ = j.proc.out.size()
	j.info.Artifact = result.Artifact
	return session.JobSettled{ID: j.info.ID, Status: j.info.Status, Detail: j.info.Detail, By: j.info.By,
		Reason: j.info.Reason, Bytes: j.info.Bytes, Artifact: j.info.Artifact}
}

// outcome: a signal, whoever sent it, killed the job; an exit code completed it,
// whatever it was.
func outcome(r Result, err error) (session.JobStatus, string) {
	switch {
	case errors.Is(err, sandbox.ErrLost):
		return session.JobFailed, err.Error()
	case err != nil:
		return session.JobFailed, err.Error()
	case r.Exit.Signal != 0:
		return session.JobKilled, "signal: " + SignalName(r.Exit)
	case r.Aborted:
		return session.JobKilled, fmt.Sprintf("exit code: %d", r.Exit.Code)
	}
	return session.JobCompleted, fmt.Sprintf("exit code: %d", r.Exit.Code)
}

// SignalName is the name of the signal that ended a command, "" if none did.
func SignalName(e sandbox.Exit) string {
	if e.Signal == 0 {
		return ""
	}
	if name := unix.SignalName(e.Signal); name != "" {
		return name
	}
	return strconv.Itoa(int(e.Signal))
}
