package tools

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/session"
)

// ending is a command that has ended, for the model and for people.
type ending struct {
	jobs.Result
	args bashArgs
	note string // about where it ran
	lost error
}

// noOutput stands for an output of nothing: providers refuse an empty text.
const noOutput = "(no output)"

// result is the output and then the marks, the exit's last. A command that failed is
// no failed call; one that was ended from outside is.
func (o *ending) result() Result {
	marks := o.marks()
	text := o.Output
	if text == "" {
		text = noOutput
	}
	if !strings.HasSuffix(text, "\n") && len(marks) > 0 {
		text += "\n"
	}
	text += strings.Join(marks, "\n")
	r := Result{Text: text, Meta: session.ResultMeta{Display: o.card()}}
	switch {
	case o.lost != nil:
		r.IsError, r.Code = true, ProcessLost
		r.Text = "Error: " + o.lost.Error() + ". What it did until then stands. Its output so far:\n" + text
	case o.Aborted:
		r.IsError, r.Code = true, Aborted
		r.Text = "Error: the command was ended before its end, and its output so far is below.\n" + text
	}
	return r
}

// marks are the lines after the output.
func (o *ending) marks() (marks []string) {
	add := func(format string, args ...any) {
		marks = append(marks, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " ")) // a mark is one line
	}
	if o.note != "" {
		add("%s", o.note)
	}
	if o.Omitted > 0 {
		add("[output truncated; full output: %s]", o.Where())
	}
	for _, mark := range leftMarks(&o.Result) {
		add("[%s]", mark)
	}
	if o.TimedOut {
		add("[timed out after %dms]", o.args.timeout().Milliseconds())
	}
	if o.Exit.Signal != 0 {
		add("[killed by signal: %s]", o.signal())
	} else if o.Exit.Code != 0 {
		add("[exit code: %d]", o.Exit.Code)
	}
	return marks
}

// leftMarks say what became of what a command left running.
func leftMarks(r *jobs.Result) (marks []string) {
	if r.Exit.Left > 0 {
		marks = append(marks, fmt.Sprintf("ended %s that it left running", processes(r.Exit.Left)))
	}
	if r.Exit.Orphans > 0 {
		marks = append(marks, processes(r.Exit.Orphans)+" could not be ended")
	}
	return marks
}

func processes(n int) string {
	if n == 1 {
		return "1 process"
	}
	return fmt.Sprintf("%d processes", n)
}

func (o *ending) signal() string { return jobs.SignalName(o.Exit) }

// card is what the log keeps for people beside the result.
func (o *ending) card() *session.Display {
	d := o.args.card()
	d.Target = headBytes(d.Target, maxTarget) // the arguments have all of it
	d.Command = &session.CommandBody{Description: d.Command.Description, Dir: d.Command.Dir, ExitCode: o.Exit.Code, Signal: o.signal(),
		TimedOut: o.TimedOut, Truncated: o.Omitted > 0, Artifact: o.Artifact}
	d.Facts = o.facts()
	return &d
}

// facts are for one line, the least important last.
func (o *ending) facts() (facts []string) {
	switch {
	case o.lost != nil:
		facts = append(facts, "lost")
	case o.Aborted:
		facts = append(facts, "stopped")
	case o.TimedOut:
		facts = append(facts, "timed out")
	case o.Exit.Signal != 0:
		facts = append(facts, "killed by "+o.signal())
	case o.Exit.Code != 0:
		facts = append(facts, fmt.Sprintf("exit %d", o.Exit.Code))
	}
	if o.Output == "" {
		facts = append(facts, "no output")
	}
	if took := o.Exit.Ended.Sub(o.Exit.Started); took >= time.Second && !o.Exit.Started.IsZero() {
		facts = append(facts, duration(took))
	}
	return facts
}

// duration is how long something took: 3.1s, 0:41.
func duration(d time.Duration) string {
	if d < 10*time.Second {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
}

// card is a command that has not run yet.
func (a *bashArgs) card() session.Display {
	return session.Display{Kind: session.ShowCommand, Verb: "Run", Target: a.Command,
		Command: &session.CommandBody{Description: a.Description, Dir: a.Workdir}}
}

// commandCard shows a command: what the log keeps of its end, with the output out of
// the result's text; or, of a foreign log, what the text alone tells.
func commandCard(a bashArgs, r *session.ToolResult) session.Display {
	d := a.card()
	if r == nil {
		return d
	}
	stored, ok := storedDisplay(r)
	switch {
	case ok && stored.Kind == session.ShowJob: // it has not ended
		d = stored
		d.Target, d.Text = a.Command, jobBody(resultText(r))
		return d
	case ok && stored.Command != nil:
		d.Facts, d.Command = stored.Facts, stored.Command
		d.Text = resultText(r)
		if c := d.Command; c.ExitCode != 0 || c.Signal != "" {
			d.Text = withoutLast(d.Text)
		}
	case failed(r):
		return withResult(d, r)
	default:
		d.Text = resultText(r)
		readEnd(&d)
	}
	if strings.TrimSuffix(d.Text, "\n") == noOutput {
		d.Text = ""
	}
	return d
}

// jobBody is what a result has beside the facts on the card: of a command that became a
// job, its output until then.
func jobBody(text string) string {
	if strings.HasPrefix(text, startedJob) {
		_, text, _ = strings.Cut(text, "\n")
		return text
	}
	if i := strings.LastIndex(text, stillRuns); i >= 0 {
		text = text[:i]
	}
	if strings.TrimSuffix(text, "\n") == noOutputYet {
		return ""
	}
	return text
}

// withoutLast is a text without its last line.
func withoutLast(text string) string {
	return text[:strings.LastIndexByte(strings.TrimSuffix(text, "\n"), '\n')+1]
}

// readEnd takes the exit marker off a text.
func readEnd(d *session.Display) {
	last := strings.TrimSuffix(d.Text[strings.LastIndexByte(strings.TrimSuffix(d.Text, "\n"), '\n')+1:], "\n")
	inner, ok := strings.CutSuffix(last, "]")
	if code, is := strings.CutPrefix(inner, "[exit code: "); is && ok {
		if n, err := strconv.Atoi(code); err == nil && n != 0 {
			d.Command.ExitCode, d.Facts = n, []string{"exit " + code}
			d.Text = withoutLast(d.Text)
		}
	} else if signal, is := strings.CutPrefix(inner, "[killed by signal: "); is && ok {
		d.Command.ExitCode, d.Command.Signal, d.Facts = -1, signal, []string{"killed by " + signal}
		d.Text = withoutLast(d.Text)
	}
}
