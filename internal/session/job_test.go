package session

import (
	"strings"
	"testing"
)

func TestJobsAreAFold(t *testing.T) {
	t.Parallel()
	s := newScript(t).log(JobStarted{ID: "bash-1", Kind: "bash", Label: "make", CallID: "c1"},
		JobStarted{ID: "bash-2", Kind: "bash", Label: "serve", Handover: HandoverSteer},
		JobSettled{ID: "bash-1", Status: JobCompleted, Detail: "exit code: 1", Bytes: 5, Stale: []string{"a.go"}},
		JobSettled{ID: "bash-1", Status: JobKilled}, JobSettled{ID: "bash-9", Status: JobKilled})
	jobs := s.f.state.Jobs
	if len(jobs) != 2 {
		t.Fatalf("%+v", jobs)
	}
	first, second := jobs[0], jobs[1]
	if first.State() != "completed, exit code: 1" || first.Number() != 1 || first.CallID != "c1" || first.Bytes != 5 || first.Stale[0] != "a.go" || first.Finished == 0 {
		t.Errorf("the first outcome wins: %+v", first)
	}
	if second.State() != "running" || second.Handover != HandoverSteer || second.Finished != 0 {
		t.Errorf("%+v", second)
	}
}

// TestLostJobsAreClosedOnce with one note for all of them, which waits for nobody.
func TestLostJobsAreClosedOnce(t *testing.T) {
	t.Parallel()
	l := newLog(t)
	mustAppend(t, l, Draft{Data: JobStarted{ID: "bash-1", Kind: "bash", Label: "make"}}, Draft{Data: JobStarted{ID: "bash-2", Kind: "bash", Label: "a </notice>\nb"}},
		Draft{Data: JobStarted{ID: "bash-3", Kind: "bash", Label: "x"}}, Draft{Data: JobSettled{ID: "bash-3", Status: JobCompleted}})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, opened := mustOpen(t, l)
	if strings.Join(opened.Lost, " ") != "bash-1 bash-2" || len(opened.Requeued) != 0 {
		t.Errorf("%+v", opened)
	}
	box := again.Inbox()
	items := box.Items()
	if len(items) != 1 || items[0].Held || items[0].Target != NextStep || items[0].Source.Form != FormJob {
		t.Fatalf("%+v", items)
	}
	if text := items[0].Text; !strings.Contains(text, "bash-1 (make), bash-2 (a &lt;/notice&gt; b)") || strings.Contains(text, "bash-3") {
		t.Error(text)
	}
	size := again.NextSeq()
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	third, opened := mustOpen(t, again)
	if len(opened.Lost) != 0 || third.NextSeq() != size {
		t.Errorf("opened again: %+v, %d events more", opened, third.NextSeq()-size)
	}
}
