package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"dsh/internal/llm"
	"dsh/internal/loop"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// result is what a run tells a script: every figure is folded from the log.
type result struct {
	Session  string            `json:"session"`
	Status   session.EndKind   `json:"status"`
	Text     string            `json:"text"`
	Steps    int               `json:"steps"`
	Usage    usageJSON         `json:"usage"`
	Cost     *float64          `json:"cost_usd"` // null when a price is unknown
	Refused  []session.Refusal `json:"refused"`
	Verified *bool             `json:"verified"`         // null: not asked for, or nothing to check
	Verify   *verifyJSON       `json:"verify,omitempty"` // absent: not asked for
	Jobs     []jobJSON         `json:"jobs"`
	Error    *errorJSON        `json:"error,omitempty"`
}

// jobJSON is a job that the run began, as it ended.
type jobJSON struct {
	ID     string            `json:"id"`
	Label  string            `json:"label"`
	Status session.JobStatus `json:"status"`
	Detail string            `json:"detail,omitempty"`
	By     string            `json:"stopped_by,omitempty"`
}

type usageJSON struct {
	Input     int `json:"input"`
	Output    int `json:"output"`
	CacheRead int `json:"cache_read"`
	Reasoning int `json:"reasoning"`

	Estimated *guessJSON `json:"estimated,omitempty"` // of requests that no provider counted; not in the numbers above
}

type guessJSON struct {
	Input  int `json:"input"`
	Output int `json:"output"`
}

func usageOf(s *session.Spending) usageJSON {
	u := s.Usage
	out := usageJSON{Input: u.InputTokens + count(u.CacheWriteTokens), Output: u.OutputTokens,
		CacheRead: count(u.CacheReadTokens), Reasoning: count(u.ReasoningTokens)}
	if s.Guess != (session.Guess{}) {
		out.Estimated = &guessJSON{s.Guess.Input, s.Guess.Output}
	}
	return out
}

type errorJSON struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// tally folds the events of one run into its result. Events of earlier runs of the
// session are not fed to it.
type tally struct {
	result  result
	charges session.Charges
	spent   session.Spending
	end     session.EndReason
	overdue time.Duration // that the jobs did not end in; 0: they did, or nobody waited
}

func newTally(id string) *tally {
	return &tally{result: result{Session: id, Status: session.Interrupted, Refused: []session.Refusal{}, Jobs: []jobJSON{}}}
}

func (t *tally) apply(ev *session.Event) {
	if c, ok := t.charges.Apply(ev); ok {
		t.spent.Add(c)
	}
	switch p := ev.Data.(type) {
	case session.StepStart:
		t.result.Steps++
	case session.AssistantMessage:
		if text := p.Message.PlainText(); text != "" {
			t.result.Text = text
		}
	case session.ToolResult:
		if meta, ok := session.DecodeMeta(p.Meta); ok && meta.Refused != nil && !ev.Replaces() {
			t.result.Refused = append(t.result.Refused, *meta.Refused)
		}
	case session.JobStarted:
		t.result.Jobs = append(t.result.Jobs, jobJSON{ID: p.ID, Label: p.Label, Status: session.JobRunning})
	case session.JobSettled:
		t.settled(&p)
	case session.TurnEnd:
		t.end = p.Reason
		t.result.Status = p.Reason.Kind
	}
}

func (t *tally) settled(p *session.JobSettled) {
	for i := range t.result.Jobs {
		if j := &t.result.Jobs[i]; j.ID == p.ID {
			j.Status, j.Detail, j.By = p.Status, p.Detail, p.By
		}
	}
}

// stopped names the jobs that the run's end stopped.
func (r *result) stopped() string {
	var list []string
	for _, j := range r.Jobs {
		if j.By == session.JobByDsh {
			list = append(list, j.ID+" ("+j.Label+")")
		}
	}
	return strings.Join(list, ", ")
}

// finish completes the result: err is what kept the run from going on, if not a
// turn's own end.
func (t *tally) finish(err error) result {
	r := t.result
	r.Usage = usageOf(&t.spent)
	if nano, known := t.spent.Bill.Total(); known {
		usd := float64(nano) / 1e9
		r.Cost = &usd
	}
	if err != nil {
		r.Status = session.Failed // whatever the turn came to: the log does not hold it
	}
	code, message := t.problem(err)
	if code != "" {
		r.Error = &errorJSON{Code: code, Message: message}
	}
	return r
}

// problem says in one line why the run is no success; "" if it is one.
func (t *tally) problem(err error) (code, message string) {
	switch {
	case err != nil:
		return string(loop.CodeLog), err.Error()
	case t.end.Failure != nil:
		return string(t.end.Failure.Code), t.end.Failure.Message
	case t.end.Cause != nil:
		return "ABORTED", causeText(t.end.Cause)
	case t.end.Kind == session.MaxTokens:
		return "MAX_TOKENS", "the answer hit the output limit"
	case t.end.Kind == session.Blocked:
		return "BLOCKED", "the prompt holds an API key of yours and was not sent: take the key out"
	}
	if t.overdue > 0 {
		return "ABORTED", fmt.Sprintf("budget: jobs did not end within %s (--max-time raises it)", t.overdue)
	}
	return "", ""
}

// causeText says why a turn was aborted; of a budget, with the flag that raises it.
func causeText(c *session.Cause) string {
	text := c.Error()
	for kind, flag := range map[string]string{"steps": "--max-steps", "time": "--max-time"} {
		if c.Kind == session.ByHook && strings.HasPrefix(c.Reason, "budget: "+kind+" ") {
			text += " (" + flag + " raises it)"
		}
	}
	return text
}

// code is the exit code that the run's end calls for; the highest ranking wins.
func (t *tally) code(err error) int {
	switch {
	case t.end.Failure != nil && configures(t.end.Failure.Code):
		return exitUsage
	case err != nil, t.end.Kind == session.Interrupted, t.end.Kind == "":
		return exitFailed
	case t.end.Failure != nil && t.end.Failure.Code == session.CodeUnverified:
		return exitUnverified
	case t.end.Kind == session.Failed:
		return exitFailed
	case t.end.Kind == session.MaxTokens, t.end.Kind == session.Aborted, t.overdue > 0:
		return exitLimit
	case t.end.Kind == session.Blocked, len(t.result.Refused) > 0:
		return exitRefused
	}
	return exitOK
}

// configures reports whether a failure is mended in the settings, not by trying
// again: a wrong address, a model that is not there, a key that is refused.
func configures(code llm.Code) bool { return code == llm.CodeConfig || code == llm.CodeAuth }

func count(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

func writeJSON(w io.Writer, v any) error {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return writeJSONLine(w, line.Bytes())
}

// writeJSONLine writes text that is JSON already: as it is, but on a terminal without
// anything that the terminal would obey.
func writeJSONLine(w io.Writer, line []byte) error {
	if isTerminal(w) {
		line = []byte(termtext.JSON(string(line)))
	}
	if _, err := w.Write(line); err != nil {
		return fmt.Errorf("write the result: %w", err)
	}
	return nil
}
