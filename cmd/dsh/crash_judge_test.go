//go:build crashtest

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dsh/internal/session"
	"dsh/internal/tools"
)

// verdict is what came of a point.
type verdict struct {
	broken   string   // it did not resume
	lost     []string // accepted inputs that are nowhere, or in two places
	repeated []string // effects that happened twice, or would
	invalid  []string // requests that were refused
	seen     map[coverage]bool
}

// coverage names a state that a crash left.
type coverage string

const (
	crashUnknownDone    coverage = "an effect without a result"
	crashUnknownNotDone coverage = "an allowed call without its effect"
	crashNotStarted     coverage = "a call that was not started"
	crashRequeued       coverage = "a claimed message that had not entered"
	crashHeld           coverage = "a message that waited"
	crashPartial        coverage = "a part of an answer"
	crashNothing        coverage = "nothing on disk"
	crashDropped        coverage = "messages that a cancel dropped"
	crashRunning        coverage = "a command in its middle"
	crashJob            coverage = "a job in its middle"
	crashTold           coverage = "the end of a job that the model had not read"
)

func (v *verdict) ok() bool {
	return v.broken == "" && len(v.lost)+len(v.repeated)+len(v.invalid) == 0
}

func (v *verdict) String() string {
	var parts []string
	for _, p := range []struct {
		what  string
		which []string
	}{{"lost inputs", v.lost}, {"repeated effects", v.repeated}, {"invalid requests", v.invalid}} {
		if len(p.which) > 0 {
			parts = append(parts, p.what+": "+strings.Join(p.which, ", "))
		}
	}
	if v.broken != "" {
		parts = append(parts, v.broken)
	}
	return strings.Join(parts, "; ")
}

func (v *verdict) merge(w verdict) {
	v.lost, v.repeated, v.invalid = append(v.lost, w.lost...), append(v.repeated, w.repeated...), append(v.invalid, w.invalid...)
	if v.broken == "" {
		v.broken = w.broken
	}
	for c := range w.seen {
		v.met(c)
	}
}

func (v *verdict) met(c coverage) {
	if v.seen == nil {
		v.seen = map[coverage]bool{}
	}
	v.seen[c] = true
}

// judgeCrash looks at what a crash left, before anything resumes it: what the model
// will be told of each call must be true.
func (l *life) judgeCrash() (v verdict) {
	l.judgeProcesses(&v)
	if l.log() == "" {
		v.met(crashNothing)
		l.judgeInputs(&v, &act{})
		return v
	}
	a, err := readAct(l.log())
	if err != nil {
		v.broken = err.Error()
		return v
	}
	l.judgeInputs(&v, a)
	l.judgeCalls(&v, a)
	for i := range a.closers {
		switch p := a.closers[i].Data.(type) {
		case session.AssistantMessage:
			v.met(crashPartial)
		case session.InboxHeld:
			v.met(crashHeld)
		case session.InboxSpliced:
			if len(p.Inserted) > 0 && p.Inserted[0].Source.Form != session.FormJob {
				v.met(crashRequeued)
			}
		case session.JobSettled:
			v.met(crashJob)
		}
	}
	if slices.ContainsFunc(a.pending, isJobNote) && !v.seen[crashJob] {
		v.met(crashTold)
	}
	return v
}

func isJobNote(item session.QueueItem) bool { return item.Source.Form == session.FormJob }

// judgeJobs: every job that began has one end in the log, and the model has been told
// of it once, or will be.
func judgeJobs(v *verdict, a *act) {
	begun, ended, told := map[string]int{}, map[string]int{}, map[string]int{}
	for i := range a.events {
		switch p := a.events[i].Data.(type) {
		case session.JobStarted:
			begun[p.ID]++
		case session.JobSettled:
			ended[p.ID]++
		case session.UserMessage:
			if p.Source.Form == session.FormJob {
				told[jobID.FindString(p.PlainText())]++
			}
		}
	}
	for _, item := range a.pending {
		if isJobNote(item) {
			told[jobID.FindString(item.Text)]++
		}
	}
	for id, n := range begun {
		if n != 1 || ended[id] != 1 || told[id] != 1 {
			v.broken = fmt.Sprintf("%s began %d times, ended %d times, and was told of %d times", id, n, ended[id], told[id])
		}
	}
	if len(ended) > len(begun) {
		v.broken = fmt.Sprintf("jobs ended that had not begun: %v", ended)
	}
}

var jobID = regexp.MustCompile(`bash-\d+`)

// judgeCalls compares results with effects: a success has one, a call that was not
// started has none, and nothing has two.
func (l *life) judgeCalls(v *verdict, a *act) {
	markers, err := l.markers()
	if err != nil {
		v.broken = err.Error()
		return
	}
	wanted := map[string]bool{} // markers that some result accounts for
	for _, c := range a.calls {
		if c.name == "read" {
			continue
		}
		for _, m := range marker.FindAllString(c.args, -1) {
			judgeMarker(v, c, m, markers[m] > 0)
			wanted[m] = c.code == ok || c.code == session.CodeUnknown || wanted[m]
		}
	}
	for m, n := range markers {
		if n > 1 {
			v.repeated = append(v.repeated, fmt.Sprintf("%s is there %d times", m, n))
		}
		if !wanted[m] {
			v.repeated = append(v.repeated, m+" is there, and no result says that it may be")
		}
	}
}

// judgeMarker compares what a call's result says with one effect of it.
func judgeMarker(v *verdict, c *call, m string, there bool) {
	switch c.code {
	case ok:
		if !there {
			v.broken = m + " is missing, and its call succeeded"
		}
	case session.CodeUnknown:
		v.met(map[bool]coverage{true: crashUnknownDone, false: crashUnknownNotDone}[there])
	case session.CodeNotStarted:
		v.met(crashNotStarted)
	case tools.Superseded: // its effect, if any, is accounted for by nothing
	default:
		v.broken = fmt.Sprintf("the call for %s ended as %q", m, c.code)
	}
}

// judgeProcesses: the command that ran has ended with dsh, and so has the job.
func (l *life) judgeProcesses(v *verdict) {
	if l.judgeProcess(v, "shell.pid") {
		trail, err := os.ReadFile(filepath.Join(l.work, "trail.txt"))
		if err == nil && !strings.Contains(string(trail), "marker-8") {
			v.met(crashRunning)
		}
	}
	l.judgeProcess(v, "job.pid")
}

// judgeProcess reports whether the process that a file names was there; it must have
// ended.
func (l *life) judgeProcess(v *verdict, file string) bool {
	pid, err := os.ReadFile(filepath.Join(l.work, file))
	n, bad := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil || bad != nil {
		return false // it did not come to that
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 1000 {
		if syscall.Kill(n, 0) == syscall.ESRCH {
			return true
		}
		<-tick.C
	}
	v.broken = fmt.Sprintf("process %d of %s runs on", n, file)
	return false
}

var marker = regexp.MustCompile(`marker-\d`)

// markers counts the traces of effects in the workspace.
func (l *life) markers() (map[string]int, error) {
	entries, err := os.ReadDir(l.work)
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(l.work, e.Name()))
		if err != nil {
			return nil, err
		}
		for _, m := range marker.FindAllString(string(content), -1) {
			count[m]++
		}
	}
	return count, nil
}

// judgeInputs accounts for every accepted input: it has entered a turn, or it waits,
// or the played cancel dropped it.
func (l *life) judgeInputs(v *verdict, a *act) {
	journal, err := os.ReadFile(l.journal)
	if err != nil && !os.IsNotExist(err) {
		v.broken = err.Error()
		return
	}
	dropped := map[string]bool{}
	for line := range strings.Lines(string(journal)) {
		if text, is := strings.CutPrefix(line, "drop "); is {
			dropped[strings.TrimSuffix(text, "\n")] = true
		}
	}
	for line := range strings.Lines(string(journal)) {
		text, is := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "in ")
		if !is {
			continue
		}
		entered, waiting := a.entered(text), a.waiting(text)
		if entered+waiting == 0 && dropped[text] && a.canceled() {
			v.met(crashDropped)
			continue
		}
		if entered+waiting != 1 {
			v.lost = append(v.lost, fmt.Sprintf("%q entered %d times and waits %d times", text, entered, waiting))
		}
	}
}

// canceled reports whether the log has a cancel of messages.
func (a *act) canceled() bool {
	for i := range a.events {
		if p, is := a.events[i].Data.(session.InboxSpliced); is && p.Outcome == session.OutcomeCanceled {
			return true
		}
	}
	return false
}

// resume continues the session in a new process, and judges all that is there then.
// Without a session there is nothing to resume, which is right if nothing was
// accepted.
func (l *life) resume(n int) (v verdict) {
	if l.log() == "" {
		return v
	}
	v, before, now := l.goOn(n)
	if now != nil {
		l.judgeInputs(&v, now)
		l.judgeCalls(&v, now)
		judgeAgain(&v, before, now)
		judgeHeld(&v, before, now)
		judgeJobs(&v, now)
	}
	return v
}

// goOn continues the session, and judges what its log alone can tell. It returns
// what the log said before and after, nil if it cannot be read.
func (l *life) goOn(n int) (v verdict, before, now *act) {
	before, err := readAct(l.log())
	if err == nil { // what is asked for again has nobody to wait for
		err = os.WriteFile(filepath.Join(l.work, "stop"), nil, 0o600)
	}
	if err == nil {
		_, err = l.resumeUntil(n, crash{})
	}
	if err == nil {
		err = l.verify()
	}
	v.broken = errorText(err)
	now, err = readAct(l.log())
	if before == nil || err != nil {
		v.broken += errorText(err)
		return v, nil, nil
	}
	if times := now.entered(goOn(n)); times != 1 {
		v.lost = append(v.lost, fmt.Sprintf("%q entered %d times", goOn(n), times))
	}
	judgeRequests(&v, now, len(before.events))
	return v, before, now
}

// judgeAgain: what was not started and was asked for again is done now.
func judgeAgain(v *verdict, before, now *act) {
	for _, c := range before.latest() {
		if c.code != session.CodeNotStarted {
			continue
		}
		done := slices.ContainsFunc(now.latest(), func(again *call) bool {
			return again.name == c.name && again.args == c.args && (again.code == ok || c.name == "read")
		})
		if !done {
			v.broken = fmt.Sprintf("%s %s was not started, and its second try did not succeed", c.name, c.args)
		}
	}
}

// judgeHeld: what waited before the resume waits still, until the user says so.
func judgeHeld(v *verdict, before, now *act) {
	for _, item := range before.pending {
		if isJobNote(item) {
			continue // it is for the model, and waits for nobody
		}
		still := slices.ContainsFunc(now.pending, func(q session.QueueItem) bool { return q.ID == item.ID && q.Held })
		if !still {
			v.broken = fmt.Sprintf("%q waited and is not held after the resume", item.Text)
		}
	}
}

// judgeRequests: nothing of what the resumed process sent was refused, or had to be
// mended.
func judgeRequests(v *verdict, a *act, from int) {
	for i := range a.events {
		ev := &a.events[i]
		switch p := ev.Data.(type) {
		case session.RequestSent:
			if len(p.Repairs) > 0 {
				v.invalid = append(v.invalid, fmt.Sprintf("request %d was mended: %v", ev.Seq, p.Repairs))
			}
		case session.Retry:
			if ev.Seq >= from {
				v.invalid = append(v.invalid, fmt.Sprintf("request before %d was refused: %s", ev.Seq, p.Failure.Message))
			}
		case session.TurnEnd:
			if p.Reason.Failure != nil {
				v.invalid = append(v.invalid, fmt.Sprintf("turn %d failed: %s", p.Turn, p.Reason.Failure.Message))
			}
		}
	}
}

// verify is dsh verify, in this process.
func (l *life) verify() error {
	var errs strings.Builder
	env := map[string]string{"HOME": l.dir, "DSH_HOME": l.home}
	code := run([]string{"verify", l.id()}, streams{in: strings.NewReader(""), out: io.Discard, err: &errs,
		getenv: func(name string) string { return env[name] }})
	if code != exitOK {
		return fmt.Errorf("dsh verify: exit %d: %s", code, errs.String())
	}
	return nil
}
