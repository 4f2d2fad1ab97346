package transcript

import (
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// verified is a turn whose check fails, passes after the test was changed, and turns
// with the other verdicts.
func verified() *script {
	s := &script{now: 1000}
	run := func(attempt int, v session.VerifyVerdict) session.VerifyRun {
		return session.VerifyRun{Turn: s.turn, Attempt: attempt, Command: "go test ./...", Verdict: v, ExitCode: -1, DurationMs: 3140,
			Changed: []string{"internal/cart/expiry.go"}}
	}
	check := func(r session.VerifyRun) {
		s.add(session.StepEnd{Turn: s.turn, Step: s.step}, run(r.Attempt, session.VerifyRunning)).wait(3000).add(r)
	}
	s.prompt("fix the flaky test").answer(llm.TextBlock("It is fixed."))
	failed := run(1, session.VerifyFailed)
	failed.ExitCode, failed.Left, failed.Output = 1, 3, "--- FAIL: TestExpiry (0.01s)\n    expiry_test.go:33: cart expired early\nFAIL"
	check(failed)
	s.begin(note("verification", "The user's check of your work, `go test ./...`, failed with exit code 1.").Message)
	s.answer(llm.TextBlock("The test was wrong."))
	passed := run(2, session.VerifyPassed)
	passed.ExitCode, passed.Changed, passed.TouchedTests = 0, append(passed.Changed, "internal/cart/expiry_test.go"), []string{"internal/cart/expiry_test.go"}
	check(passed)
	s.add(session.TurnEnd{Turn: s.turn, Reason: completed})

	s.prompt("and now").answer(llm.TextBlock("Done."))
	passed = run(1, session.VerifyPassed)
	passed.ExitCode, passed.Output = 0, "ok"
	check(passed)
	s.add(session.TurnEnd{Turn: s.turn, Reason: completed})

	s.prompt("again").answer(llm.TextBlock("Done."))
	late := run(1, session.VerifyTimedOut)
	late.Problem, late.DurationMs, late.Commands = "did not end within 10m0s and was stopped", 600_000, true
	check(late)
	s.add(session.TurnEnd{Turn: s.turn, Reason: session.EndReason{Kind: session.Failed, Failure: &llm.Failure{Code: session.CodeUnverified,
		Message: "go test ./... did not end within 10m0s and was stopped, after 3 attempts to repair it"}}})

	s.prompt("once more").answer(llm.TextBlock("Done."))
	check(run(1, session.VerifySuperseded))
	s.begin(message("steer", "wait, use a fake clock")).answer(llm.TextBlock("I do."))
	check(run(2, session.VerifyCancelled))
	s.add(session.TurnEnd{Turn: s.turn, Reason: session.EndReason{Kind: session.Aborted, Cause: &session.Cause{Kind: session.ByUser}}})

	s.prompt("last").answer(llm.TextBlock("Done."))
	return s.add(session.StepEnd{Turn: s.turn, Step: s.step}, run(1, session.VerifyRunning))
}

func TestVerifications(t *testing.T) {
	t.Parallel()
	p := project(verified().events)
	screensOf(t, "verify", p, Options{Frame: 2})
	screensOf(t, "verify-expanded", p, Options{Frame: 2, Expanded: true})
}

// One that runs may still change, so it is not printed; its end settles it, and so does
// the end of the turn.
func TestAVerificationSettlesWithItsEnd(t *testing.T) {
	t.Parallel()
	s := verified()
	p := project(s.events)
	if p.Settled() != len(p.Blocks())-1 {
		t.Errorf("%d of %d blocks are settled while the check runs", p.Settled(), len(p.Blocks()))
	}
	s.add(session.TurnEnd{Turn: s.turn, Reason: session.EndReason{Kind: session.Interrupted}})
	p = project(s.events)
	last := p.Blocks()[len(p.Blocks())-2]
	if p.Settled() != len(p.Blocks()) || !strings.HasPrefix(last.Text, "Verification lost: go test") {
		t.Errorf("%d of %d blocks are settled, the check says %q", p.Settled(), len(p.Blocks()), last.Text)
	}
}
