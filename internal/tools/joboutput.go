package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/policy"
	"dsh/internal/session"
)

const (
	// defaultWait is short: a model that waits does nothing else.
	defaultWait = 30 * time.Second
	// maxWait is the longest that a turn waits for a job, as for a command.
	maxWait = maxTimeout
)

var jobOutputSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{
"job_id":{"type":"string"},
"wait":{"type":"boolean","description":"until the job ends (default false)"},
"timeout_ms":{"type":"number","description":"longest wait; default %d, maximum %d"}},
"required":["job_id"]}`, defaultWait.Milliseconds(), maxWait.Milliseconds()))

type jobOutputTool struct{}

type jobOutputArgs struct {
	JobID     string   `json:"job_id"`
	Wait      bool     `json:"wait"`
	TimeoutMs *float64 `json:"timeout_ms"`
}

// JobOutput is the tool that reads what a job has put out since it was last read.
func JobOutput() Tool { return jobOutputTool{} }

func (jobOutputTool) Name() string { return "job_output" }

func (jobOutputTool) Description() string {
	return "Read what a background job has put out since the last read, and its status. Do other work meanwhile rather than polling; wait only when nothing else is left."
}

func (jobOutputTool) Schema() json.RawMessage { return jobOutputSchema }

func (jobOutputTool) Class() policy.Class { return policy.Control }

func (jobOutputTool) Concurrent(args json.RawMessage) bool {
	var a jobOutputArgs
	return decode(args, &a) == nil && !a.Wait
}

func (jobOutputTool) Action(_ Env, args json.RawMessage) (policy.Action, error) {
	a, err := jobOutputArgsOf(args)
	return policy.Action{Target: a.JobID}, err
}

func jobOutputArgsOf(args json.RawMessage) (a jobOutputArgs, err error) {
	if err := decode(args, &a); err != nil {
		return a, err
	}
	switch {
	case strings.TrimSpace(a.JobID) == "":
		return a, fail(InvalidArgs, "job_id is empty: job_list names the jobs")
	case a.TimeoutMs != nil && *a.TimeoutMs <= 0:
		return a, fail(InvalidArgs, "timeout_ms is %v: it must be more than 0", *a.TimeoutMs)
	}
	return a, nil
}

func (a *jobOutputArgs) timeout() time.Duration {
	if a.TimeoutMs == nil {
		return defaultWait
	}
	return max(time.Millisecond, time.Duration(min(*a.TimeoutMs, float64(maxWait.Milliseconds())))*time.Millisecond)
}

// Run waits, if it was asked to, and reads. The user's word ends the wait early; the
// end of the turn leaves the job alone.
func (jobOutputTool) Run(ctx context.Context, env Env, args json.RawMessage) (Result, error) {
	a, err := jobOutputArgsOf(args)
	if err != nil {
		return Result{}, err
	}
	if env.Jobs == nil {
		return Result{}, fail(JobsClosed, "there are no background jobs here")
	}
	if a.Wait {
		if err := env.Jobs.Wait(ctx, a.JobID, a.timeout(), env.Yield); err != nil {
			return Result{}, jobError(err)
		}
	}
	r, err := env.Jobs.Read(a.JobID)
	if err != nil {
		return Result{}, jobError(err)
	}
	// A read takes the output out of the job: it must reach the model.
	return Result{Text: JobText(&r), Stands: true,
		Meta: session.ResultMeta{Display: jobCard("Output of", a.JobID, r.Word())}}, nil
}

// noNewOutput stands for an output of nothing.
const noNewOutput = "(no new output)"

// readStatus begins the last line of a reading.
const readStatus = "[status: "

// JobText is a reading as the model gets it: the output, marks, and the status last,
// on a line of its own.
func JobText(r *jobs.Reading) string {
	var sb strings.Builder
	body := r.Output
	if body == "" {
		body = noNewOutput
	}
	sb.WriteString(withNewline(body))
	for _, mark := range jobMarks(r) {
		sb.WriteString("[" + strings.ReplaceAll(mark, "\n", " ") + "]\n")
	}
	sb.WriteString(readStatus + r.State() + "]")
	return sb.String()
}

func jobMarks(r *jobs.Reading) (marks []string) {
	if r.Omitted > 0 {
		marks = append(marks, "output truncated; full output: "+r.Saved.Where())
	}
	if r.Process == nil && !r.Status.Active() {
		gone := "it ended before dsh was started again: its output is not at hand"
		if r.Artifact != "" {
			gone = "it ended before dsh was started again; its full output: " + r.Artifact
		}
		marks = append(marks, gone)
	}
	return append(marks, EndMarks(r)...)
}

// EndMarks are what the model must know of the end of a job beside its status.
func EndMarks(r *jobs.Reading) (marks []string) {
	if r.Process != nil {
		marks = append(marks, leftMarks(r.Process)...)
	}
	if who := stoppedBy(&r.JobInfo); who != "" {
		marks = append(marks, who)
	}
	if len(r.Stale) > 0 {
		marks = append(marks, staleMark(r.Stale))
	}
	return marks
}

// stoppedBy says who had a job stopped, and why; "" if nobody did.
func stoppedBy(j *session.JobInfo) string {
	text := map[string]string{session.JobByUser: "the user stopped it", session.JobByModel: "stopped by job_kill",
		session.JobByDsh: "dsh stopped it"}[j.By]
	if text != "" && j.Reason != "" {
		text += ": " + headBytes(j.Reason, maxTarget)
	}
	return text
}

// staleMark names the files that changed while a job ran.
func staleMark(files []string) string {
	return "changed while it ran, by it or by others, so the result may be stale: " + strings.Join(files, ", ")
}

func withNewline(text string) string {
	if strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

func (jobOutputTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	return jobDisplay("Output of", args, r)
}

// jobDisplay is the card of a call about one job.
func jobDisplay(verb string, args json.RawMessage, r *session.ToolResult) session.Display {
	var a jobOutputArgs
	if decode(args, &a) != nil {
		return genericCard(verb, string(args), r)
	}
	d := session.Display{Kind: session.ShowJob, Verb: verb, Target: headBytes(a.JobID, maxTarget)}
	if stored, ok := storedDisplay(r); ok {
		d.Facts = stored.Facts
		d.Text = withoutStatus(resultText(r))
		return d
	}
	return withResult(d, r)
}

// withoutStatus is what a reading says beside the status, which the card has.
func withoutStatus(text string) string {
	if body := withoutLast(text); strings.HasPrefix(text[len(body):], readStatus) {
		text = body
	}
	if strings.TrimSuffix(text, "\n") == noNewOutput {
		return ""
	}
	return text
}
