package loop

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dsh/internal/session"
	"dsh/internal/tools"
)

// handovers are the ways in which a running command becomes a job.
var handovers = []struct {
	id, why, text string
	cause         func(y *yard)
}{
	{"the user writes", session.HandoverSteer, "because the user wrote", func(y *yard) { y.steer("stop"); time.Sleep(steerGrace) }},
	{"the user presses the key", session.HandoverKey, "the user moved it", func(y *yard) { y.Background("c1") }},
	{"the timeout strikes", session.HandoverTimeout, "did not end within 60000ms", func(y *yard) { time.Sleep(time.Minute) }},
	{"it takes long", session.HandoverAuto, "did not end within 30s", func(y *yard) { time.Sleep(30 * time.Second) }},
}

func TestHandover(t *testing.T) {
	for _, h := range handovers {
		t.Run(h.id, func(t *testing.T) {
			works(t, []play{call("bash", bashArgs("test", `,"timeoutMs":60000`), "alone", `{}`, "probe", `{}`), say("heard"), output("bash-1", ""), say("done")},
				func(t *testing.T, y *yard) {
					y.send("go")
					p := y.process(1)
					y.write(p, "begin\n")
					h.cause(y)
					y.idle()
					has(t, "result", y.result("c1"), "begin\n[still running as job bash-1: ")
					has(t, "result", y.result("c1"), h.text)
					expect(t, "what came after it", y.codes(), "ok SUPERSEDED ok")
					has(t, "superseded", y.result("c2"), "bash-1")
					expect(t, "event", of[session.JobStarted](y.fixture)[0], session.JobStarted{ID: "bash-1", Kind: "bash", Label: "test", CallID: "c1", Handover: h.why})

					y.write(p, "end\n")
					p.End(0, 0)
					must(t, y.WhenQuiet(t.Context()))
					has(t, "not a byte is lost or told twice", y.notices()[0], "job_output:\nend")
					text, _ := y.PeekJob("bash-1", 0)
					expect(t, "for people", text, "begin\nend\n")
				}, func(b *tools.BashOptions, _ *Options) {
					if h.why == session.HandoverAuto {
						b.Auto = 30 * time.Second
					}
				})
		})
	}
}

// TestASteerIsReadAtOnce: the request after the hand-over has the user's words, and the
// command runs on.
func TestASteerIsReadAtOnce(t *testing.T) {
	works(t, []play{call("bash", bashArgs("test", "")), say("heard")}, func(t *testing.T, y *yard) {
		y.send("go")
		y.process(1)
		time.Sleep(10 * time.Second)
		begun := time.Now()
		y.steer("stop, roll back")
		y.idle()
		expect(t, "after", time.Since(begun), time.Duration(0))
		expect(t, "last words", tail(y.model.request(1), 1), "stop, roll back")
		expect(t, "status", y.Jobs()[0].Status, session.JobRunning)
	})
}

// TestASteerLetsAShortCommandEnd: one that ends within the grace is no job.
func TestASteerLetsAShortCommandEnd(t *testing.T) {
	works(t, []play{call("bash", bashArgs("ls", "")), say("heard")}, func(t *testing.T, y *yard) {
		y.send("go")
		p := y.process(1)
		y.steer("also this")
		time.Sleep(steerGrace / 2)
		p.End(0, 0)
		y.idle()
		expect(t, "jobs", len(y.Jobs()), 0)
		expect(t, "result", y.result("c1"), "(no output)")
	})
}

// TestASteerMovesEveryCommand, also those that may overlap.
func TestASteerMovesEveryCommand(t *testing.T) {
	works(t, []play{call("bash", bashArgs("ls -R /", ""), "bash", bashArgs("cat big", "")), say("heard")}, func(t *testing.T, y *yard) {
		y.send("go")
		y.process(2)
		y.steer("never mind")
		time.Sleep(steerGrace)
		y.idle()
		expect(t, "jobs", len(y.Jobs()), 2)
		expect(t, "last words", tail(y.model.request(1), 1), "never mind")
	})
}

// TestHandoverOff: nothing makes a command a job.
func TestHandoverOff(t *testing.T) {
	works(t, []play{call("bash", bashArgs("test", `,"timeoutMs":60000`)), say("heard")}, func(t *testing.T, y *yard) {
		y.send("go")
		p := y.process(1)
		y.steer("stop")
		if y.Background("") {
			t.Error("the key works")
		}
		time.Sleep(59 * time.Second)
		expect(t, "requests", y.model.count(), 1)
		time.Sleep(2 * time.Second)
		y.idle()
		expect(t, "jobs", len(y.Jobs()), 0)
		has(t, "result", y.result("c1"), "[timed out after 60000ms]\n[killed by signal: SIGTERM]")
		_ = p
	}, func(b *tools.BashOptions, o *Options) { b.KeepLate, o.Handover = false, false })
}

// TestAHandoverThatIsNotAdmitted leaves the command to the turn, and its timeout.
func TestAHandoverThatIsNotAdmitted(t *testing.T) {
	works(t, []play{background("serve"), call("bash", bashArgs("test", `,"timeoutMs":60000`)), say("heard")}, func(t *testing.T, y *yard) {
		y.send("go")
		y.process(2)
		y.steer("stop")
		time.Sleep(2 * time.Minute)
		y.idle()
		has(t, "result", y.outcomes(), "[timed out after 60000ms]")
		expect(t, "jobs", len(y.Jobs()), 1)
	}, func(_ *tools.BashOptions, o *Options) { o.JobLimit = 1 })
}

// TestRacesOfAHandover: whatever happens at once, the call has one result, the job one
// end, and every byte is in one of them.
func TestRacesOfAHandover(t *testing.T) {
	for i := range 60 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			works(t, []play{call("bash", bashArgs("test", ""), "alone", `{}`), say("heard"), say("again"), say("again")}, func(t *testing.T, y *yard) {
				y.send("go")
				p := y.process(1)
				y.write(p, "one ")
				time.Sleep(time.Second)
				done := make(chan bool)
				go func() { _, _ = p.Write([]byte("two")); p.End(0, 0); done <- true }()
				go func() { _, _ = y.Steer("stop"); done <- true }()
				if i%2 == 0 {
					go func() { _ = y.Interrupt(); done <- true }()
				} else {
					go func() { y.Background(""); done <- true }()
				}
				for range 3 {
					<-done
				}
				y.ended()
				if n := len(of[session.JobStarted](y.fixture)); n != len(of[session.JobSettled](y.fixture)) || n > 1 {
					t.Errorf("%d jobs began, %d ended", n, len(of[session.JobSettled](y.fixture)))
				}
				read := y.result("c1") + strings.Join(y.queued(), "") + strings.Join(y.notices(), "")
				stopped := strings.Contains(read, "the user interrupted") // what a stopped call put out is not promised
				if !stopped && (strings.Count(read, "one") != 1 || strings.Count(read, "two") != 1) {
					t.Errorf("the model reads %q", read)
				}
			})
		})
	}
}

// TestAHandoverSaysWhereTheCommandRuns: the note of a directory that is gone is given
// once, and this is the once.
func TestAHandoverSaysWhereTheCommandRuns(t *testing.T) {
	works(t, []play{call("bash", bashArgs("test", "")), say("heard")}, func(t *testing.T, y *yard) {
		y.send("go")
		y.process(1)
		y.Background("c1")
		y.idle()
		has(t, "result", y.result("c1"), "[the working directory /gone is gone: this ran in ")
	}, func(_ *tools.BashOptions, o *Options) { o.Cwd = "/gone" })
}
