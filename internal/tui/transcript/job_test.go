package transcript

import (
	"fmt"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// jobs is a session with jobs in every state in which one can end.
func jobs() *script {
	s := &script{now: 1000}
	server := call("c1", "bash", bash("npm run dev"))
	build := call("c2", "bash", bash("make lint 检查所有的源代码文件 && echo done"))
	slow := call("c3", "bash", bash("go test ./..."))
	skipped := call("c4", "bash", bash("go vet ./..."))
	card := func(target, fact string) *session.Display {
		return &session.Display{Kind: session.ShowJob, Verb: "Run", Target: target, Facts: []string{fact}}
	}
	s.prompt("start the server").answer(server, build, slow, skipped)
	for i, c := range []struct {
		id, label, why string
	}{{"bash-1", "npm run dev", ""}, {"bash-2", "make lint 检查所有的源代码文件 && echo done", ""}, {"bash-3", "go test ./...", session.HandoverKey}} {
		fact := "started " + c.id + " in the background"
		if c.why != "" {
			fact = "runs on as " + c.id
		}
		call := call(fmt.Sprint("c", i+1), "bash", bash(c.label))
		s.start(call).add(session.JobStarted{ID: c.id, Kind: "bash", Label: c.label, Handover: c.why}).result(call, "", "", card(c.label, fact))
	}
	s.result(skipped, "SUPERSEDED", "Error: this call was not started, because an earlier one of the same message became job bash-3", nil)
	s.wait(61_000).add(session.JobSettled{ID: "bash-1", Status: session.JobCompleted, Detail: "exit code: 0", Bytes: 812})
	s.add(note(session.FormJob, "<notice>\nBackground job bash-1 has ended.\n</notice>")).end(completed)
	s.add(session.JobSettled{ID: "bash-2", Status: session.JobCompleted, Detail: "exit code: 2", Bytes: 48_000, Artifact: "/tmp/bash-2.log"})
	s.turn, s.step = 2, 0
	s.add(session.TurnStart{Turn: 2}).begin().add(note(session.FormJob, "<notice>\nBackground job bash-2 has ended.\n</notice>")).end(completed)
	s.add(session.JobSettled{ID: "bash-3", Status: session.JobKilled, Detail: "signal: SIGTERM", By: session.JobByUser, Stale: []string{"a.go"}})
	s.turn = 3
	s.add(session.TurnStart{Turn: 3}).end(completed)
	for i, end := range []session.JobSettled{
		{Status: session.JobKilled, Detail: "signal: SIGSEGV"},
		{Status: session.JobKilled, Detail: "signal: SIGTERM", By: session.JobByModel},
		{Status: session.JobKilled, Detail: "signal: SIGTERM", By: session.JobByDsh},
		{Status: session.JobLost, Detail: "dsh ended before it did"},
	} {
		end.ID = fmt.Sprint("bash-", i+4)
		s.add(session.JobStarted{ID: end.ID, Kind: "bash", Label: "make e2e"}, end)
	}
	s.add(session.JobSettled{ID: "bash-9", Status: session.JobFailed}) // of which nobody has heard
	return s
}

// TestTMOCK07JobsInTheTranscript also mock-up 19: one line each.
func TestTMOCK07JobsInTheTranscript(t *testing.T) {
	t.Parallel()
	p := project(jobs().events)
	screensOf(t, "jobs", p, Options{})
	screensOf(t, "jobs-expanded", p, Options{Expanded: true})
	if len(p.jobs) != 0 {
		t.Errorf("%d jobs are remembered that have ended", len(p.jobs))
	}
}

// TestAJobsEndSaysWhatItBegins: a turn never seems to start from nothing.
func TestAJobsEndSaysWhatItBegins(t *testing.T) {
	t.Parallel()
	ended := session.JobSettled{ID: "bash-1", Status: session.JobCompleted, Detail: "exit code: 0"}
	byModel := session.JobSettled{ID: "bash-1", Status: session.JobKilled, By: session.JobByModel}
	for _, c := range []struct {
		name string
		end  session.JobSettled
		turn int // that ran since the user's, -1 while it runs
		want string
	}{
		{"while a turn runs", ended, -1, ""},
		{"while nothing runs", ended, 0, "dsh is looking at it"},
		{"that the model stopped", byModel, 0, ""},
		{"after one turn by itself", ended, 1, "dsh is looking at it"},
		{"after as many as there may be", ended, session.MaxAlone, "dsh waits for you: it went on by itself 3 times"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &script{now: 1000}
			s.prompt("go").answer(llm.TextBlock("Done."))
			if c.turn >= 0 {
				s.end(completed)
			}
			for range c.turn {
				s.turn, s.step = s.turn+1, 0
				s.add(session.TurnStart{Turn: s.turn}).end(completed)
			}
			p := project(s.add(c.end).events)
			last := p.Blocks()[len(p.Blocks())-1]
			if last.Kind != Job || last.Answer != c.want {
				t.Errorf("%q, want %q", last.Answer, c.want)
			}
		})
	}
}

// TestAJobsEndAfterAStop: the person who stopped the turn meant the work.
func TestAJobsEndAfterAStop(t *testing.T) {
	t.Parallel()
	ended := session.JobSettled{ID: "bash-1", Status: session.JobCompleted, Detail: "exit code: 0"}
	s := &script{now: 1000}
	s.prompt("go").end(session.EndReason{Kind: session.Aborted, Cause: &session.Cause{Kind: session.ByUser}})
	blocks := project(s.add(ended).events).Blocks()
	if got := blocks[len(blocks)-1].Answer; got != "dsh reads of it when you go on" {
		t.Errorf("%q", got)
	}
}

// TestAJobsLineIsSafe: a label is the model's, and may be anything.
func TestAJobsLineIsSafe(t *testing.T) {
	t.Parallel()
	s := &script{now: 1000}
	label := "echo \x1b[31m\x07 \u202e" + strings.Repeat("长", 4000)
	s.add(session.JobStarted{ID: "bash-1", Label: label}, session.JobSettled{ID: "bash-1", Status: session.JobCompleted, Detail: "exit code: 0\x1b[2J"})
	p := project(s.events)
	for width := 1; width < 130; width += 3 {
		rows := picture(p, Options{Width: width, Expanded: true})
		if width >= minWidth {
			checkRows(t, rows, width)
		}
		if text := plain(rows); strings.ContainsAny(text, "\x1b\x07\u202e") {
			t.Errorf("%q", text)
		}
	}
}
