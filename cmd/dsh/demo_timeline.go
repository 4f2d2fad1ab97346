package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"dsh/internal/session"
)

// timeline is what the demonstration measures of one conversation, as a fold over its
// log: milliseconds since its first turn began. Nil is what has not happened.
type timeline struct {
	CommandStart      *int64 `json:"command_start"`
	QuestionSent      *int64 `json:"question_sent"`
	QuestionInRequest *int64 `json:"question_in_request"`
	Answer            *int64 `json:"answer"`
	CommandExit       *int64 `json:"command_exit"`
	ExitCode          *int64 `json:"exit_code_in_session"` // the model can read it from here on
	Report            *int64 `json:"report"`

	begin int64
	call  string // of the command
	job   string // that the command became
	asked bool   // the question is in the conversation
}

// What the demonstration's conversation is recognised by.
const (
	asyncCommand  = "go test"
	asyncQuestion = "Meanwhile: What did I change since the last commit?"
	asyncExit     = "exit code: 1"
)

// readTimeline folds the log at path.
func readTimeline(path string) (*timeline, error) {
	snapshot, err := session.Read(path)
	if err != nil {
		return nil, err
	}
	t := &timeline{}
	for ev := range snapshot.Events() {
		t.add(&ev)
	}
	return t, snapshot.Err()
}

// over says that there is nothing more to come.
func (t *timeline) over() bool { return t.Answer != nil && t.Report != nil }

func (t *timeline) add(ev *session.Event) {
	switch p := ev.Data.(type) {
	case session.TurnStart:
		if t.begin == 0 {
			t.begin = ev.Time
		}
	case session.ToolCall:
		if t.call == "" && strings.Contains(p.Arguments, asyncCommand) {
			t.call = p.CallID
			t.mark(&t.CommandStart, ev)
		}
	case session.InboxSpliced:
		for i := range p.Inserted {
			if p.Inserted[i].PlainText() == asyncQuestion {
				t.mark(&t.QuestionSent, ev)
			}
		}
	case session.RequestSent:
		if t.asked {
			t.mark(&t.QuestionInRequest, ev)
		}
	case session.UserMessage:
		t.asked = t.asked || p.PlainText() == asyncQuestion
		t.told(p.PlainText(), ev)
	case session.ToolResult:
		if p.Message.Source.CallID == t.call && t.job == "" {
			t.mark(&t.CommandExit, ev)
		}
		t.told(resultOf(&p), ev)
	case session.JobStarted:
		if p.CallID == t.call {
			t.job = p.ID
		}
	case session.JobSettled:
		if p.ID == t.job {
			t.mark(&t.CommandExit, ev)
		}
	case session.AssistantMessage:
		if p.Message.PlainText() == "" {
			return
		}
		if t.QuestionInRequest != nil {
			t.mark(&t.Answer, ev)
		}
		if t.ExitCode != nil {
			t.mark(&t.Report, ev)
		}
	}
}

// told notes the first text for the model that names the command's exit code.
func (t *timeline) told(text string, ev *session.Event) {
	if t.CommandExit != nil && strings.Contains(text, asyncExit) {
		t.mark(&t.ExitCode, ev)
	}
}

func (t *timeline) mark(at **int64, ev *session.Event) {
	if *at == nil {
		ms := ev.Time - t.begin
		*at = &ms
	}
}

func resultOf(r *session.ToolResult) string {
	var text strings.Builder
	for _, b := range r.Message.Content {
		for _, inner := range b.Content {
			text.WriteString(inner.Text)
		}
	}
	return text.String()
}

// showTimelines gets nothing but the two logs.
func showTimelines(w io.Writer, blockingLog, asyncLog string, asJSON bool) error {
	blocking, err := readTimeline(blockingLog)
	if err != nil {
		return err
	}
	async, err := readTimeline(asyncLog)
	if err != nil {
		return err
	}
	if asJSON {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(map[string]*timeline{"blocking": blocking, "async": async})
	}
	_, err = io.WriteString(w, timelineText(blocking, async))
	return err
}

func timelineText(blocking, async *timeline) string {
	var sb strings.Builder
	fmt.Fprintf(&sb, "\n%-28s%12s%12s\n", "measured in the logs", "blocking", "async")
	for _, row := range []struct {
		name string
		of   func(*timeline) *int64
	}{
		{"command started", func(t *timeline) *int64 { return t.CommandStart }},
		{"question sent", func(t *timeline) *int64 { return t.QuestionSent }},
		{"question in a request", func(t *timeline) *int64 { return t.QuestionInRequest }},
		{"answer", func(t *timeline) *int64 { return t.Answer }},
		{"command exit", func(t *timeline) *int64 { return t.CommandExit }},
		{"exit code in the session", func(t *timeline) *int64 { return t.ExitCode }},
		{"report", func(t *timeline) *int64 { return t.Report }},
	} {
		fmt.Fprintf(&sb, "%-28s%12s%12s\n", row.name, seconds(row.of(blocking)), seconds(row.of(async)))
	}
	end := max(last(blocking), last(async), 1)
	sb.WriteString("\n")
	for _, line := range []struct {
		name string
		t    *timeline
	}{{"blocking", blocking}, {"async", async}} {
		fmt.Fprintf(&sb, "%-10s%s  the command runs\n", line.name, bar(line.t.CommandStart, line.t.CommandExit, end, "[=]"))
		fmt.Fprintf(&sb, "%-10s%s  ? asked  ! answered\n", "", bar(line.t.QuestionSent, line.t.Answer, end, "?.!"))
	}
	sb.WriteString("\n")
	for _, line := range []struct {
		name string
		t    *timeline
	}{{"blocking", blocking}, {"async", async}} {
		sb.WriteString(line.name + ": " + line.t.verdict() + "\n")
	}
	return sb.String()
}

// verdict says what the figures mean.
func (t *timeline) verdict() string {
	if t.QuestionSent == nil || t.Answer == nil || t.CommandExit == nil {
		return "the conversation is not complete."
	}
	waited, before := *t.Answer-*t.QuestionSent, *t.CommandExit-*t.Answer
	if before > 0 {
		return fmt.Sprintf("the answer came %s after the question, %s before the command ended.", seconds(&waited), seconds(&before))
	}
	return fmt.Sprintf("the answer came %s after the question, when the command had ended.", seconds(&waited))
}

func seconds(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return fmt.Sprintf("%.2fs", float64(*ms)/1000)
}

func last(t *timeline) int64 {
	var end int64
	for _, at := range []*int64{t.CommandExit, t.Answer, t.Report} {
		if at != nil {
			end = max(end, *at)
		}
	}
	return end
}

// barWidth leaves room for what a bar means, in 80 columns.
const barWidth = 45

// bar draws the time from one moment to another with three marks: its beginning, its
// middle, its end.
func bar(from, to *int64, end int64, marks string) string {
	cells := []byte(strings.Repeat(" ", barWidth))
	if from == nil || to == nil {
		return string(cells)
	}
	a, b := int(*from*(barWidth-1)/end), int(*to*(barWidth-1)/end)
	b = max(b, min(a+1, barWidth-1))
	for i := a; i <= b; i++ {
		cells[i] = marks[1]
	}
	cells[a], cells[b] = marks[0], marks[2]
	return string(cells)
}
