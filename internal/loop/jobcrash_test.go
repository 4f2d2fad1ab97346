package loop

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// handedOverLife is a session in which a steer made a job of a command, whose end began
// a turn by itself.
func handedOverLife(t *testing.T) *yard {
	t.Helper()
	y := newYard(t, []play{call("bash", bashArgs("test", ""), "alone", `{}`), say("heard"), say("it failed")})
	y.send("go")
	p := y.process(1)
	y.write(p, "begin\n")
	y.steer("what now")
	time.Sleep(steerGrace)
	y.idle()
	y.write(p, "end\n")
	p.End(1, 0)
	must(t, y.WhenQuiet(t.Context()))
	return y
}

// TestB02CrashAfterEveryLineOfAHandover: whatever the moment, the job has one end, the
// next life sends nothing by itself, and the model is told.
func TestB02CrashAfterEveryLineOfAHandover(t *testing.T) {
	t.Parallel()
	var whole logFile
	synctest.Test(t, func(t *testing.T) {
		y := handedOverLife(t)
		must(t, y.log.Sync())
		whole = y.file()
		expect(t, "jobs", len(of[session.JobSettled](y.fixture)), 1)
	})
	lines := bytes.SplitAfter(whole.bytes, []byte{'\n'})
	for n := 2; n < len(lines); n++ { // the header and an event at least
		if bytes.Contains(lines[n-1], []byte(`"job/settled"`)) {
			continue // the note of it is in the same write
		}
		t.Run(fmt.Sprint("after line ", n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				again, _ := logFile{whole.path, slices.Concat(lines[:n]...)}.open(t, []play{say("fine")})
				expect(t, "running", again.Running(), false)
				again.prompt("go on")
				expect(t, "the turn", again.lastEnd().Kind, session.Completed)
				again.sent(0)
				checkFates(t, again)
				started, settled := of[session.JobStarted](again), of[session.JobSettled](again)
				expect(t, "one end for each start", len(settled), len(started))
				told := slices.ContainsFunc(again.model.request(0).Messages, func(m *llm.Message) bool {
					return m.Source.Form == session.FormJob
				})
				expect(t, "the model is told of a job", told, len(settled) > 0)
			})
		})
	}
}
