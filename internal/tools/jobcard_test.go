package tools

import (
	"testing"

	"dsh/internal/session"
)

// TestCardsOfJobs: the body of a card does not repeat what its facts say.
func TestCardsOfJobs(t *testing.T) {
	t.Parallel()
	reg, err := New(Bash(BashOptions{Background: true}), JobOutput())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, args, result, want string }{
		{"job_output", args("job_id", "bash-1"), "one\ntwo\n[status: completed, exit code: 0]", "one\ntwo\n"},
		{"job_output", args("job_id", "bash-1"), "(no new output)\n[status: running]", ""},
		{"job_output", args("job_id", "bash-1"), "[the user stopped it]\n[status: killed, signal: SIGTERM]", "[the user stopped it]\n"},
		{"job_output", args("job_id", "bash-1"), "something else", "something else"},
		{"bash", args("command", "make"), "started background job bash-1", ""},
		{"bash", args("command", "make"), "started background job bash-1\nnote", "note"},
		{"bash", args("command", "make"), "one\n[still running as job bash-1: the user moved it to the background. More follows]", "one\n"},
		{"bash", args("command", "make"), "(no output yet)\n[still running as job bash-1: it was moved]", ""},
	} {
		r := Result{Text: c.result, Meta: session.ResultMeta{Display: jobCard("Run", "bash-1", "fact")}}
		d := reg.Present(c.name, c.args, logged(r))
		if d.Kind != session.ShowJob || d.Text != c.want || len(d.Facts) != 1 {
			t.Errorf("%q: %+v, want the text %q", c.result, d, c.want)
		}
	}
}
