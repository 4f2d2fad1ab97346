package tools

import (
	"context"
	"encoding/json"
	"strings"

	"dsh/internal/policy"
	"dsh/internal/session"
)

var jobKillSchema = json.RawMessage(`{"type":"object","properties":{
"job_id":{"type":"string"},
"reason":{"type":"string","description":"for the user"}},
"required":["job_id"]}`)

type jobKillTool struct{}

type jobKillArgs struct {
	JobID  string `json:"job_id"`
	Reason string `json:"reason"`
}

// JobKill is the tool that has a job stopped. It asks nobody: it ends only what the
// session itself began.
func JobKill() Tool { return jobKillTool{} }

func (jobKillTool) Name() string { return "job_kill" }

func (jobKillTool) Description() string {
	return "Stop a background job that is no longer needed, with everything it started. Returns at once; its output stays readable."
}

func (jobKillTool) Schema() json.RawMessage { return jobKillSchema }

func (jobKillTool) Class() policy.Class { return policy.Control }

func (jobKillTool) Concurrent(json.RawMessage) bool { return false }

func (jobKillTool) Action(_ Env, args json.RawMessage) (policy.Action, error) {
	a, err := jobKillArgsOf(args)
	return policy.Action{Target: a.JobID}, err
}

func jobKillArgsOf(args json.RawMessage) (a jobKillArgs, err error) {
	if err := decode(args, &a); err != nil {
		return a, err
	}
	if strings.TrimSpace(a.JobID) == "" {
		return a, fail(InvalidArgs, "job_id is empty: job_list names the jobs")
	}
	return a, nil
}

func (jobKillTool) Run(_ context.Context, env Env, args json.RawMessage) (Result, error) {
	a, err := jobKillArgsOf(args)
	if err != nil {
		return Result{}, err
	}
	if env.Jobs == nil {
		return Result{}, fail(JobsClosed, "there are no background jobs here")
	}
	before, err := env.Jobs.Kill(a.JobID, session.JobByModel, a.Reason)
	if err != nil {
		return Result{}, jobError(err)
	}
	text, fact := "job "+a.JobID+" was told to stop; job_output shows how it ended", "stopping"
	if !before.Status.Active() {
		text, fact = "job "+a.JobID+" had already finished\n[status: "+before.State()+"]", before.State()
	}
	return Result{Text: text, Stands: true, Meta: session.ResultMeta{Display: jobCard("Stop", a.JobID, fact)}}, nil
}

func (jobKillTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	return jobDisplay("Stop", args, r)
}
