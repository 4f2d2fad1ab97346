package session

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func checkRun(attempt int, v VerifyVerdict) VerifyRun {
	return VerifyRun{Turn: 1, Attempt: attempt, Command: "make check", Verdict: v, Changed: []string{}}
}

func TestCheckOfAVerification(t *testing.T) {
	t.Parallel()
	runs := func() *script {
		return newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("done"))).log(StepEnd{1, 1}, checkRun(1, VerifyRunning))
	}
	log := func(p Payload) Draft { return Draft{Data: p} }
	newScript(t).refuse("has no place here: no turn is open", log(checkRun(1, VerifyRunning)))
	newScript(t).begin(1, "hi").refuse("has no place here: step 1.1 is open", log(checkRun(1, VerifyRunning)))
	newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("done"))).log(StepEnd{1, 1}).refuse("ends and does not run", log(checkRun(1, VerifyPassed)))
	runs().refuse("verification 2 cannot begin after 1", log(checkRun(2, VerifyRunning)))
	runs().refuse("verification 2 ends and does not run", log(checkRun(2, VerifyPassed)))
	runs().log(checkRun(1, VerifyFailed)).refuse("verification 3 cannot begin after 1", log(checkRun(3, VerifyRunning)))
	runs().log(checkRun(1, VerifyFailed)).refuse("ends and does not run", log(checkRun(1, VerifyFailed)))
	runs().refuse("verdict", log(checkRun(1, VerifyLost)))
	runs().refuse("has a command", log(VerifyRun{Turn: 1, Attempt: 1, Verdict: VerifyPassed}))
	other := checkRun(1, VerifyPassed)
	other.Turn = 2
	runs().refuse("a verification of turn 2", log(other))

	whole := runs().log(checkRun(1, VerifyFailed), checkRun(2, VerifyRunning), checkRun(2, VerifySuperseded), checkRun(3, VerifyRunning), checkRun(3, VerifyPassed), TurnEnd{1, EndReason{Kind: Completed}})
	if err := Check(whole.h, slices.Values(whole.evs)); err != nil {
		t.Error(err)
	}
}

// A crash between the two events of a run leaves a log that is closed like any other.
func TestAVerificationThatACrashCutOff(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("done"))).log(StepEnd{1, 1}, WorkspaceChanged{"/w/a", "c"}, checkRun(1, VerifyRunning))
	drafts := closers(s.f)
	s.add(drafts...)
	if st := s.f.state; st.Verify.Verdict != VerifyLost || st.LastEnd.Kind != Interrupted || !st.ThisTurn.Work.Open {
		t.Errorf("%+v, %+v", st.Verify, st.ThisTurn.Work)
	}
	if got := s.f.state.Verify.Summary(); !strings.Contains(got, "lost") {
		t.Error(got)
	}
	s.log(TurnStart{2})
	if w := s.f.state.ThisTurn.Work; !w.Open || w.Checks != 0 || fmt.Sprint(w.Changed) != "[/w/a]" {
		t.Errorf("the next turn begins with %+v", w)
	}
	next := checkRun(1, VerifyRunning)
	next.Turn = 2
	s.log(next)
	if err := Check(s.h, slices.Values(s.evs)); err != nil {
		t.Error(err)
	}
}

func TestWhatATurnDid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		verdict Verdict
		effect  Effect
		code    string // of the result; "" is a success
		want    Work
	}{
		"a read":                  {Allow, EffectRead, "", Work{}},
		"a write":                 {Allow, EffectChange, "", Work{Open: true}},
		"a write that failed":     {Allow, EffectChange, "FS_EDIT_NOT_FOUND", Work{}},
		"a write that was denied": {Deny, EffectChange, "DENIED", Work{}},
		"a command":               {Allow, EffectUnknown, "", Work{Open: true, Commands: true}},
		"a command cut short":     {Allow, EffectUnknown, CodeAborted, Work{Open: true, Commands: true}},
		"a command, end unknown":  {Allow, EffectUnknown, CodeUnknown, Work{Open: true, Commands: true}},
		"a plain command":         {Allow, EffectRead, "", Work{}},
		"a command denied":        {Deny, EffectUnknown, "DENIED", Work{}},
		"a command refused":       {Ask, EffectUnknown, "DENIED", Work{}},
		"a command not run":       {Allow, EffectUnknown, CodeNotRun, Work{}},
		"a command not started":   {Allow, EffectUnknown, "SPAWN_FAILED", Work{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("", "c1")))
			at := s.seq()
			s.log(call(1, 1, "c1"), PolicyDecision{CallID: "c1", Decision: c.verdict, Effect: c.effect})
			r := ToolResult{Turn: 1, Step: 1, Message: resultMsg("c1", "x")}
			if c.code != "" {
				r.Error = &ToolError{"E", c.code}
			}
			s.add(Visible(r, at))
			got := s.f.state.ThisTurn.Work
			got.Since = 0
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

// TestAJobsEndIsAChange also of a turn that did nothing else, unless the command only
// reads.
func TestAJobsEndIsAChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		effect Effect
		idle   bool // it ends between two turns
		want   bool
	}{
		"in a later turn":        {EffectUnknown, false, true},
		"between turns":          {EffectUnknown, true, true},
		"a reader in a turn":     {EffectRead, false, false},
		"a reader between turns": {EffectRead, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("", "c1")))
			at := s.seq()
			s.log(call(1, 1, "c1"), PolicyDecision{CallID: "c1", Decision: Allow, Effect: c.effect}, JobStarted{ID: "bash-1", Kind: "bash", Label: "make", CallID: "c1"})
			s.add(Visible(ToolResult{Turn: 1, Step: 1, Message: resultMsg("c1", "started")}, at))
			s.log(StepEnd{1, 1})
			began := s.f.state.Jobs[0].Started
			if c.effect != EffectRead {
				s.log(checkRun(1, VerifyRunning), checkRun(1, VerifyPassed))
			}
			end := JobSettled{ID: "bash-1", Status: JobCompleted}
			if c.idle {
				s.log(TurnEnd{1, EndReason{Kind: Completed}}, end, TurnStart{2})
			} else {
				s.log(TurnEnd{1, EndReason{Kind: Completed}}, TurnStart{2}, end)
			}
			w := s.f.state.ThisTurn.Work
			if w.Open != c.want || w.Commands != c.want || c.want && w.Passed {
				t.Errorf("%+v", w)
			}
			if c.want && w.Since > began {
				t.Errorf("what it wrote is looked for since %d, and it began at %d", w.Since, began)
			}
			s.log(VerifyRun{Turn: 2, Attempt: 1, Command: "x", Verdict: VerifyRunning}, VerifyRun{Turn: 2, Attempt: 1, Command: "x", Verdict: VerifyPassed}, TurnEnd{2, EndReason{Kind: Completed}}, TurnStart{3})
			if s.f.state.ThisTurn.Work.Open {
				t.Error("it counts twice")
			}
		})
	}
}

// What an unverified turn changed is still named by the check of a later one.
func TestUnprovenChangesStayListed(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("done"))).log(WorkspaceChanged{"/w/a_test.go", "c"}, StepEnd{1, 1})
	s.log(checkRun(1, VerifyRunning), checkRun(1, VerifyFailed), TurnEnd{1, EndReason{Kind: Completed}}, TurnStart{2})
	if w := s.f.state.ThisTurn.Work; w.Open || w.Failed != 0 || fmt.Sprint(w.Changed) != "[/w/a_test.go]" {
		t.Errorf("a turn that changed nothing yet: %+v", w)
	}
	s.log(WorkspaceChanged{"/w/b.go", "d"}, WorkspaceChanged{"/w/a_test.go", "e"})
	if w := s.f.state.ThisTurn.Work; !w.Open || fmt.Sprint(w.Changed) != "[/w/a_test.go /w/b.go]" {
		t.Errorf("%+v", w)
	}
	pass := []VerifyRun{checkRun(1, VerifyRunning), checkRun(1, VerifyPassed)}
	for _, run := range pass {
		run.Turn = 2
		s.log(run)
	}
	s.log(TurnEnd{2, EndReason{Kind: Completed}}, TurnStart{3})
	if w := s.f.state.ThisTurn.Work; w.Open || len(w.Changed) > 0 || !w.Passed {
		t.Errorf("after a pass: %+v", w)
	}
}

func TestAPassHoldsUntilTheNextChange(t *testing.T) {
	t.Parallel()
	s := newScript(t).begin(1, "hi").add(reply(1, 1, answerMsg("done"))).log(WorkspaceChanged{"/w/a", "c"}, StepEnd{1, 1})
	open := func(want bool, failed int) {
		t.Helper()
		if w := s.f.state.ThisTurn.Work; w.Open != want || w.Failed != failed {
			t.Errorf("%+v, want open %v, %d failed", w, want, failed)
		}
	}
	open(true, 0)
	s.log(checkRun(1, VerifyRunning), checkRun(1, VerifyFailed))
	open(true, 1)
	s.log(checkRun(2, VerifyRunning), checkRun(2, VerifySuperseded))
	open(true, 1)
	s.log(checkRun(3, VerifyRunning), checkRun(3, VerifyPassed))
	open(false, 1)
	s.log(WorkspaceChanged{"/w/a", "d"})
	open(true, 1)
	s.log(TurnEnd{1, EndReason{Kind: Completed}}, TurnStart{2})
	open(false, 0)
}
