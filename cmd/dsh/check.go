package main

import (
	"dsh/internal/config"
	"dsh/internal/loop"
	"dsh/internal/session"
	"dsh/internal/verify"
)

// checks are what must agree before a turn ends: the verification command, if there
// is one. It runs as the session's commands do.
func (e *engine) checks(settings *config.Loaded, root string) []loop.TurnStopping {
	if e.verify = settings.VerifyCommand; e.verify == "" {
		return nil
	}
	return []loop.TurnStopping{verify.New(verify.Options{
		Command:  settings.VerifyCommand,
		Attempts: settings.VerifyAttempts,
		Timeout:  settings.VerifyTimeout,
		Jobs:     e.commands.table,
		Dir:      e.cwd,
		Root:     root,
		Env:      e.children,
		State:    e.log.State,
		Redact:   keyRedactor(settings),
	})}
}

// verifyJSON is what a run that has a verification command tells of it.
type verifyJSON struct {
	Command  string                `json:"command"`
	Attempts int                   `json:"attempts"`  // runs of the command
	Verdict  session.VerifyVerdict `json:"verdict"`   // of the last one; "none" without any
	ExitCode *int                  `json:"exit_code"` // null unless it ended by itself
	Changed  []string              `json:"changed"`
	Tests    []string              `json:"tests_changed"`
	Scripts  []string              `json:"scripts_changed"` // files that the command runs
}

// verification completes the result with the check of the run's last turn. Verified
// is null when there was nothing to check: the turn changed nothing, or never began.
func (t *tally) verification(command string, st session.State) {
	if command == "" {
		return
	}
	v := &verifyJSON{Command: command, Verdict: "none", Changed: []string{}, Tests: []string{}, Scripts: []string{}}
	t.result.Verify = v
	if t.end.Kind == "" {
		return
	}
	work := st.ThisTurn.Work
	v.Attempts = work.Checks
	if work.Open || work.Checks > 0 {
		passed := !work.Open
		t.result.Verified = &passed
	}
	if work.Checks == 0 || st.Verify == nil {
		if work.Open {
			v.Changed = append(v.Changed, work.Changed...)
		}
		return
	}
	run := st.Verify
	v.Command, v.Verdict = run.Command, run.Verdict
	v.Changed, v.Tests, v.Scripts = append(v.Changed, run.Changed...), append(v.Tests, run.TouchedTests...), append(v.Scripts, run.TouchedScripts...)
	if run.ExitCode >= 0 {
		v.ExitCode = &run.ExitCode
	}
}

// verifyLine tells how a check ended, "" for every other event. The last failure is
// left to the end of the turn.
func verifyLine(ev *session.Event) string {
	run, ok := ev.Data.(session.VerifyRun)
	if !ok || run.Verdict == session.VerifyRunning || run.Verdict.Fails() && run.Left == 0 {
		return ""
	}
	return "dsh: " + run.Summary()
}
