package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/config"
	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

func newSessionsCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sessions",
		Short: "List, search, fork, export, rename, delete and repair sessions",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newSessionsListCommand(s), newSessionsShowCommand(s), newSessionsSearchCommand(s), newSessionsForkCommand(s),
		newSessionsExportCommand(s), newSessionsRenameCommand(s), newSessionsDeleteCommand(s), newSessionsRepairCommand(s))
	return cmd
}

func newSessionsListCommand(s streams) *cobra.Command {
	var here, asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List sessions, the last used first",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			paths, cwd, err := places(s)
			if err != nil {
				return err
			}
			entries, err := session.List(sessionsDir(paths))
			if err != nil {
				return err
			}
			for _, e := range entries {
				if here && e.Cwd != cwd {
					continue
				}
				if err := printEntry(s, e, asJSON); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&here, "here", false, "only those of this folder")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	return cmd
}

func printEntry(s streams, e session.Entry, asJSON bool) error {
	newer := errors.As(e.Damaged, new(*session.NewerError))
	if asJSON {
		damaged := ""
		if e.Damaged != nil {
			damaged = e.Damaged.Error()
		}
		return writeJSON(s.out, map[string]any{"id": e.ID, "path": e.Path, "cwd": e.Cwd, "title": e.Title, "parent": e.Parent,
			"created": e.CreatedAt, "used": e.LastUse, "damaged": damaged, "newer": newer, "pid": e.LockedBy})
	}
	state := ""
	switch {
	case newer:
		state = "newer: upgrade dsh"
	case errors.As(e.Damaged, new(*session.DamagedError)):
		state = "damaged: " + e.Damaged.Error()
	case e.Damaged != nil:
		state = "unreadable: " + e.Damaged.Error()
	case e.LockedBy > 0:
		state = openIn(e)
	}
	line := fmt.Sprintf("%-8s  %s  %s  %s", shortID(e.ID), when(e.LastUse), e.Cwd, e.Title)
	if state != "" {
		line += "  [" + state + "]"
	}
	_, err := fmt.Fprintln(s.out, termtext.Line(strings.TrimRight(line, " ")))
	return err
}

func newSessionsShowCommand(s streams) *cobra.Command {
	var turns bool
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show what the system knows of a session",
		Args:  exactly(1, "show needs a session: its id, a unique beginning of it, or a path"),
		RunE: func(_ *cobra.Command, args []string) error {
			entry, err := namedSession(s, args[0])
			if err != nil {
				return err
			}
			snapshot, err := session.Read(entry.Path)
			if err != nil {
				return err
			}
			if turns {
				return showTurns(s, snapshot)
			}
			return showState(s, entry, snapshot)
		},
	}
	cmd.Flags().BoolVar(&turns, "turns", false, "its turns: number, begin, end, prompt")
	return cmd
}

// showTurns prints a line for each turn that has a prompt or has ended.
func showTurns(s streams, snapshot *session.Snapshot) error {
	var prompt string
	var began int64
	line := func(turn int, end string) {
		text := fmt.Sprintf("%4d  %s  %-11s  %s", turn, when(began), end, clip(firstOf(prompt)))
		fmt.Fprintln(s.out, termtext.Line(strings.TrimRight(text, " ")))
	}
	open := 0
	for ev := range snapshot.Outcomes() {
		switch p := ev.Data.(type) {
		case session.TurnStart:
			open, began, prompt = p.Turn, ev.Time, ""
		case session.UserMessage:
			if prompt == "" && p.Source.Kind == llm.FromUser {
				prompt = p.PlainText()
			}
		case session.TurnEnd:
			line(p.Turn, string(p.Reason.Kind))
			open = 0
		}
	}
	if open > 0 {
		line(open, "open")
	}
	return snapshot.Err()
}

// firstOf is the first line of a text that says something.
func firstOf(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

// openIn says who writes the session.
func openIn(e session.Entry) string { return fmt.Sprintf("open in process %d", e.LockedBy) }

func showState(s streams, entry session.Entry, snapshot *session.Snapshot) error {
	h, st := snapshot.Header(), snapshot.State()
	show := func(name, value string) {
		if value != "" {
			fmt.Fprintln(s.out, termtext.Line(fmt.Sprintf("%-9s %s", name, value)))
		}
	}
	show("session", h.ID)
	show("title", entry.Title)
	show("folder", h.Cwd)
	show("log", snapshot.Path())
	show("from", h.ParentSession)
	show("created", when(h.CreatedAt))
	show("used", when(st.LastTime))
	if st.Chosen != nil {
		show("model", modelName(st.Chosen.Config))
	}
	show("preset", st.Preset)
	show("turns", fmt.Sprintf("%d, %d steps, %d requests, %d calls", st.Turn, st.Steps, st.Requests, st.Calls))
	running := entry.LockedBy > 0
	if running {
		show("state", openIn(entry))
	}
	if st.LastEnd != nil && !(running && len(snapshot.Closers()) > 0) {
		show("last turn", endText(*st.LastEnd))
	}
	show("tokens", fmt.Sprintf("%s in, %d cached, %s out", st.Guess.In(st.Usage.InputTokens), count(st.Usage.CacheReadTokens), st.Guess.Out(st.Usage.OutputTokens)))
	show("cost", costText(&st))
	if share := st.InUse.Share(); share != "" {
		show("context", fmt.Sprintf("%s of %d tokens (%s)", st.InUse.Tokens(), st.InUse.Window, share))
	}
	showWork(show, &st, snapshot, running)
	return nil
}

// showWork is what the session has worked at and with.
func showWork(show func(name, value string), st *session.State, snapshot *session.Snapshot, running bool) {
	for _, f := range st.Instructions {
		show("told", "instructions "+instructionLine(f))
	}
	if st.Verify != nil {
		run := *st.Verify
		if running && len(snapshot.Closers()) > 0 && run.Verdict == session.VerifyLost {
			run.Verdict = session.VerifyRunning // its end has yet to come
		}
		show("check", run.Summary())
	}
	for _, line := range jobLines(st.Jobs, snapshot.Closers(), running) {
		show("job", line)
	}
	for _, t := range st.Todos {
		show("todo", t.Mark()+" "+t.Content)
	}
	for _, path := range st.Changed {
		show("changed", path)
	}
	for _, r := range st.Refused {
		show("refused", r.Tool+" "+r.Target+": "+r.Reason)
	}
	for _, item := range snapshot.Pending() {
		held := ""
		if item.Held {
			held = " (held)"
		}
		show("waiting", string(item.Target)+held+": "+item.Text)
	}
}

// maxShownJobs bounds the jobs that are shown: the last ones.
const maxShownJobs = 20

// jobLines are the jobs, a line each. Those of a session that is open run on if only
// closers would end them.
func jobLines(jobs []session.JobInfo, closers []session.Event, running bool) (lines []string) {
	if more := len(jobs) - maxShownJobs; more > 0 {
		lines, jobs = append(lines, fmt.Sprintf("(%d earlier ones)", more)), jobs[more:]
	}
	for _, j := range jobs {
		if running && slices.ContainsFunc(closers, func(ev session.Event) bool {
			end, ok := ev.Data.(session.JobSettled)
			return ok && end.ID == j.ID
		}) {
			j.Status, j.Detail = session.JobRunning, ""
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", j.ID, j.State(), strings.Join(strings.Fields(j.Label), " ")))
	}
	return lines
}

// costText is what the session cost, and its last turn.
func costText(st *session.State) string {
	b := st.Bill
	if b.Answers == 0 {
		return ""
	}
	text := b.String()
	if b.Unknown > 0 {
		text += fmt.Sprintf(" (%d of %d answers have no known price)", b.Unknown, b.Answers)
	}
	if st.Turn > 1 && st.ThisTurn.Bill.Answers > 0 {
		text += ", the last turn " + st.ThisTurn.Bill.String()
	}
	return text
}

// endText says how a turn ended, in a few words.
func endText(r session.EndReason) string {
	switch {
	case r.Cause != nil:
		return string(r.Kind) + ": " + causeText(r.Cause)
	case r.Failure != nil:
		return string(r.Kind) + ": " + r.Failure.Error()
	}
	return string(r.Kind)
}

// places are dsh's paths as seen from the working directory.
func places(s streams) (config.Paths, string, error) {
	cwd, err := workingDir("")
	if err != nil {
		return config.Paths{}, "", err
	}
	paths, err := config.Resolve(s.getenv, cwd)
	if err != nil {
		return config.Paths{}, "", usage(err)
	}
	return paths, cwd, nil
}

// namedSession finds the session that a person names.
func namedSession(s streams, what string) (session.Entry, error) {
	paths, _, err := places(s)
	if err != nil {
		return session.Entry{}, err
	}
	return findSession(paths, what)
}

// exactly wants n arguments and says what they are.
func exactly(n int, text string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usage(errors.New(text))
		}
		return nil
	}
}

func when(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).Format("2006-01-02 15:04:05")
}

// instructionLine is a file of instructions as the model was told of it.
func instructionLine(f session.Instruction) string {
	if f.Problem != "" {
		return f.Path + " not shown to the model: " + f.Problem
	}
	return fmt.Sprintf("%s (%d bytes)", f.Path, f.Bytes)
}
