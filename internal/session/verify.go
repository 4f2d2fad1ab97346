package session

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"dsh/internal/llm"
)

// CodeUnverified is the failure of a turn whose check did not pass.
const CodeUnverified llm.Code = "UNVERIFIED"

// VerifyRun (ours) is one run of the verification command at the end of a turn. It is
// written, and synced, before the command starts (Running), and again, with the same
// attempt, when it has ended. A turn that ends between the two ends the run: Lost.
type VerifyRun struct {
	Turn    int           `json:"turn"`
	Attempt int           `json:"attempt"` // from 1 within the turn
	Command string        `json:"command"`
	Verdict VerifyVerdict `json:"verdict"`

	// What is known when it begins.
	Changed        []string `json:"changed"`                  // files changed since a check passed; relative inside the session's directory
	ChangedMore    int      `json:"changedMore,omitempty"`    // files that Changed leaves out
	TouchedTests   []string `json:"touchedTests,omitempty"`   // those of them that are tests
	TouchedScripts []string `json:"touchedScripts,omitempty"` // those of them that the command names or takes its orders from
	Commands       bool     `json:"commands,omitempty"`       // commands ran that may have changed more
	Partial        bool     `json:"partial,omitempty"`        // the workspace is too large to look for all they changed

	// What is known when it has ended.
	ExitCode   int    `json:"exitCode"` // -1 unless it ended by itself
	DurationMs int64  `json:"durationMs,omitempty"`
	Problem    string `json:"problem,omitempty"` // why it is no plain exit
	Left       int    `json:"left,omitempty"`    // how often the model is still told of a failure
	Output     string `json:"output,omitempty"`  // its beginning and its end
	Artifact   string `json:"artifact,omitempty"`
}

// VerifyVerdict is what came of a run of the verification command.
type VerifyVerdict string

const (
	VerifyRunning    VerifyVerdict = "running"
	VerifyPassed     VerifyVerdict = "passed" // exit code 0
	VerifyFailed     VerifyVerdict = "failed" // another one
	VerifyTimedOut   VerifyVerdict = "timed-out"
	VerifyKilled     VerifyVerdict = "killed" // by a signal, or nobody saw its end
	VerifyNotStarted VerifyVerdict = "not-started"
	VerifyCancelled  VerifyVerdict = "cancelled"  // the turn was ended
	VerifySuperseded VerifyVerdict = "superseded" // the user said something: the turn goes on
	VerifyLost       VerifyVerdict = "lost"       // never written: what a fold makes of a run without an end
)

func (VerifyRun) Type() Type { return TypeVerifyRun }

// Fails reports whether the verdict counts as a failure of what the turn did.
func (v VerifyVerdict) Fails() bool {
	switch v {
	case VerifyFailed, VerifyTimedOut, VerifyKilled, VerifyNotStarted:
		return true
	}
	return false
}

// Touched reports whether what decides was itself changed.
func (p *VerifyRun) Touched() bool { return len(p.TouchedTests)+len(p.TouchedScripts) > 0 }

// Summary is a line for people, without its full stop.
func (p *VerifyRun) Summary() string {
	line := p.outcome()
	if p.Verdict.Fails() && p.Left > 0 {
		line += fmt.Sprintf("; the model is told, %s left", plural(p.Left, "attempt"))
	}
	if note := p.TouchedNote(); note != "" {
		line += "; " + note
	}
	return line
}

func (p *VerifyRun) outcome() string {
	command := p.line()
	took := span(time.Duration(p.DurationMs) * time.Millisecond)
	switch p.Verdict {
	case VerifyRunning:
		return "Verifying: " + command
	case VerifyPassed:
		return fmt.Sprintf("Verified: %s (%s)", command, took)
	case VerifyCancelled:
		return "Verification stopped with the turn: " + command
	case VerifySuperseded:
		return "Verification stopped, since you wrote: " + command
	case VerifyLost:
		return "Verification lost, dsh ended while it ran: " + command
	case VerifyTimedOut, VerifyNotStarted:
		return "Not verified: " + command + " " + p.Cause()
	}
	return fmt.Sprintf("Not verified: %s %s (%s)", command, p.Cause(), took)
}

// maxCommandLine bounds a command in a line, in bytes.
const maxCommandLine = 200

// line is the command as a piece of a line.
func (p *VerifyRun) line() string {
	text := strings.Join(strings.Fields(p.Command), " ")
	if len(text) > maxCommandLine {
		text = strings.ToValidUTF8(text[:maxCommandLine], "") + "…"
	}
	return text
}

// Cause says how a failed run ended, to go after its command.
func (p *VerifyRun) Cause() string {
	if p.Verdict == VerifyFailed {
		return fmt.Sprintf("failed with exit code %d", p.ExitCode)
	}
	return p.Problem
}

// TouchedNote names the tests and scripts that were changed; "" if there are none.
func (p *VerifyRun) TouchedNote() string {
	var notes []string
	if len(p.TouchedTests) > 0 {
		notes = append(notes, "tests were changed: "+strings.Join(p.TouchedTests, ", "))
	}
	if len(p.TouchedScripts) > 0 {
		notes = append(notes, "files of the check itself were changed: "+strings.Join(p.TouchedScripts, ", "))
	}
	return strings.Join(notes, "; ")
}

// Work is what a turn did that a check must see. What no check has passed since it
// changed stays listed in later turns; a turn that follows one that a crash cut off goes
// on with its work, and is checked for it.
type Work struct {
	Changed  []string // files that results changed, in the order of first change
	Commands bool     // a command ran that policy does not judge plainly read-only
	Open     bool     // something may have changed in this turn since a check passed
	Passed   bool     // nothing may have changed since a check passed, in whatever turn
	Since    int64    // when it began, milliseconds since 1970
	Checks   int      // runs of the command in this turn
	Failed   int      // those that count as failures

	known map[string]bool // Changed, to look up; not in copies
	late  int64           // after the turn, a job ended that may have changed something: when it began
}

// neverRan are the codes of results of calls that were allowed and did not run.
var neverRan = map[string]bool{CodeNotStarted: true, CodeNotRun: true, "LOG_NOT_DURABLE": true, "SPAWN_FAILED": true, "SUPERSEDED": true}

// begin is the work of the next turn.
func (w *Work) begin(last *EndReason, at int64) {
	next := Work{Passed: w.Passed, Since: at}
	if !w.Passed {
		next.Changed, next.known = w.Changed, w.known
	}
	if w.Open && last != nil && last.Kind == Interrupted {
		next.Open, next.Commands, next.Since = true, w.Commands, w.Since
	}
	if w.late > 0 {
		next.Open, next.Passed, next.Commands, next.Since = true, false, true, min(next.Since, w.late)
	}
	*w = next
}

// settled takes over the end of a job that is not plainly read-only: it went on after
// whatever check its call was part of. Between turns it counts for the next one.
func (w *Work) settled(j *JobInfo, turnOpen bool) {
	switch {
	case turnOpen:
		w.Open, w.Passed, w.Commands = true, false, true
		w.Since = min(w.Since, j.Started)
	case w.late == 0:
		w.late = j.Started
	default:
		w.late = min(w.late, j.Started)
	}
}

// ran takes over a call that was allowed with that effect and has its result.
func (w *Work) ran(effect Effect, code string) {
	switch {
	case effect == EffectChange && code == "":
		w.Open, w.Passed = true, false
	case effect == EffectUnknown && !neverRan[code]:
		w.Open, w.Passed, w.Commands = true, false, true
	}
}

func (w *Work) changed(path string) {
	w.Open, w.Passed = true, false
	if w.known[path] {
		return
	}
	if w.known == nil {
		w.known = map[string]bool{}
	}
	w.known[path] = true
	w.Changed = append(w.Changed, path)
}

func (w *Work) checked(v VerifyVerdict) {
	switch {
	case v == VerifyRunning:
		w.Checks++
	case v == VerifyPassed:
		w.Open, w.Passed = false, true
	case v.Fails():
		w.Failed++
	}
}

// checkVerify: a check belongs between the steps of a turn, and ends once.
func (o *order) checkVerify(p *VerifyRun) error {
	switch {
	case !o.turnOpen || o.stepOpen || p.Turn != o.turn:
		return fmt.Errorf("a verification of turn %d has no place here: %s", p.Turn, o.where())
	case p.Verdict == VerifyRunning && (o.checking || p.Attempt != o.checks+1):
		return fmt.Errorf("verification %d cannot begin after %d", p.Attempt, o.checks)
	case p.Verdict != VerifyRunning && (!o.checking || p.Attempt != o.checks):
		return fmt.Errorf("verification %d ends and does not run", p.Attempt)
	}
	return nil
}

func checkVerifyShape(p *VerifyRun) error {
	switch p.Verdict {
	case VerifyRunning, VerifyPassed, VerifyCancelled, VerifySuperseded:
	default:
		if !p.Verdict.Fails() {
			return fmt.Errorf("verdict %q is unknown", p.Verdict)
		}
	}
	if p.Command == "" {
		return errors.New("a verification has a command")
	}
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// span is a time that people read: 3.1s, 2m5s.
func span(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return d.Round(time.Second).String()
}
