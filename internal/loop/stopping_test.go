package loop

import (
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

func stopCheck(turn, attempt int, v session.VerifyVerdict) session.VerifyRun {
	return session.VerifyRun{Turn: turn, Attempt: attempt, Command: "make check", Verdict: v, Changed: []string{}}
}

// A steer ends the look of an extension, and the turn goes on with it; a followup and a
// note do not.
func TestSteerIsHeardWhileAnExtensionLooks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		looks := 0
		f = newFixture(t, []play{say("a"), say("b"), say("c")}, ending(func(s Stopping) (Ending, error) {
			if looks++; looks > 1 {
				return Ending{}, nil
			}
			f.send("later")
			f.inject("a note")
			select {
			case <-s.Steered:
				t.Error("a followup or a note counts as a steer")
			default:
			}
			f.steer("look here")
			<-s.Steered
			return Ending{}, nil
		}))
		f.prompt("go")
		expect(t, "looks", looks, 3)
		expect(t, "turns", f.ends(), "completed completed")
		expect(t, "the second request", texts(f.model.request(1)), "[user:go assistant:a user:a note user:look here]")
	})
}

// A check's events are in the log, in the driver's own folds, and on the disk.
func TestARecordedCheckIsSynced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, nil, ending(func(s Stopping) (Ending, error) {
			must(t, s.Record(stopCheck(1, 1, session.VerifyRunning)))
			snapshot, err := session.Read(f.log.Path())
			must(t, err)
			expect(t, "what a crash leaves", snapshot.State().Verify.Verdict, session.VerifyLost)
			must(t, s.Record(stopCheck(1, 1, session.VerifyPassed)))
			if err := s.Record(stopCheck(1, 5, session.VerifyPassed)); err == nil {
				t.Error("an end without a beginning was written")
			}
			return Ending{}, nil
		}))
		f.prompt("go")
		expect(t, "the end", f.ends(), "completed")
		expect(t, "known", f.log.State().Verify.Verdict, session.VerifyPassed)
	})
}

// What cannot be recorded is not done: the turn ends.
func TestACheckThatCannotBeRecordedEndsTheTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		var putBack func()
		f = newFixture(t, []play{say("a"), say("b")}, ending(func(s Stopping) (Ending, error) {
			if s.Turn > 1 {
				return Ending{}, nil
			}
			putBack = f.pluck()
			return Ending{}, s.Record(stopCheck(1, 1, session.VerifyRunning))
		}))
		f.send("go")
		f.idle()
		if f.Err() == nil {
			t.Error("nobody says that the log is not safe")
		}
		putBack()
	})
}

// An extension's failure and its input reach the model in the same turn.
func TestAFailedCheckGoesOnInTheSameTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := 0
		f := newFixture(t, []play{say("done"), say("done again")}, ending(func(Stopping) (Ending, error) {
			if asked++; asked == 1 {
				return Ending{Continue: []llm.Message{note("it fails")}}, nil
			}
			return Ending{Reason: &session.EndReason{Kind: session.Failed, Failure: &llm.Failure{Code: session.CodeUnverified, Message: "it still fails"}}}, nil
		}))
		f.prompt("go")
		expect(t, "the second request", texts(f.model.request(1)), "[user:go assistant:done user:it fails]")
		expect(t, "the end", f.failure().Code, session.CodeUnverified)
	})
}
