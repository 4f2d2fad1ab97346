package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"dsh/internal/policy"
	"dsh/internal/session"
)

// maxListedJobs bounds job_list: the newest are named, the active ones always.
const maxListedJobs = 50

type jobListTool struct{}

// JobList is the tool that names the jobs.
func JobList() Tool { return jobListTool{} }

func (jobListTool) Name() string { return "job_list" }

func (jobListTool) Description() string {
	return "List the background jobs of this session with their status."
}

func (jobListTool) Schema() json.RawMessage {
	return json.RawMessage(`{"type":"object","properties":{}}`)
}

func (jobListTool) Class() policy.Class { return policy.Control }

func (jobListTool) Concurrent(json.RawMessage) bool { return true }

func (jobListTool) Action(Env, json.RawMessage) (policy.Action, error) {
	return policy.Action{}, nil
}

func (jobListTool) Run(_ context.Context, env Env, _ json.RawMessage) (Result, error) {
	if env.Jobs == nil {
		return Result{}, fail(JobsClosed, "there are no background jobs here")
	}
	list := env.Jobs.List()
	older := max(0, len(list)-maxListedJobs)
	var sb strings.Builder
	active := 0
	for i, j := range list {
		if j.Status.Active() {
			active++
		} else if i < older {
			continue
		}
		label := headBytes(strings.Join(strings.Fields(j.Label), " "), maxTarget)
		fmt.Fprintf(&sb, "%s [%s] %s — %s\n", j.ID, j.Kind, j.State(), label)
	}
	text := strings.TrimSuffix(sb.String(), "\n")
	if text == "" {
		text = "(no background jobs)"
	}
	return Result{Text: text, Meta: session.ResultMeta{
		Display: jobCard("List", "background jobs", plural(len(list), "job"), fmt.Sprintf("%d active", active))}}, nil
}

func (jobListTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	d := session.Display{Kind: session.ShowJob, Verb: "List", Target: "background jobs"}
	if stored, ok := storedDisplay(r); ok {
		d.Facts = stored.Facts
		d.Text = resultText(r)
		return d
	}
	return withResult(d, r)
}
