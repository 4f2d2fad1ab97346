package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dsh/internal/audit"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

func newVerifyCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "verify ID|PATH",
		Short: "Check a session: its structure, and every request it says was sent",
		Args:  exactly(1, "verify needs a session: its id, a unique beginning of it, or a path"),
		RunE: func(_ *cobra.Command, args []string) error {
			entry, err := namedSession(s, args[0])
			if err != nil {
				return err
			}
			snapshot, damage := session.Read(entry.Path)
			if snapshot == nil {
				return damage
			}
			report, err := audit.Verify(snapshot)
			if err != nil {
				return err
			}
			return printReport(s, report, entry, snapshot, cmp.Or(damage, entry.Damaged, damagedTail(snapshot)))
		},
	}
}

// printReport prints what was found of the readable part of a log; damage is what is
// wrong with the rest, nil if nothing is.
func printReport(s streams, r audit.Report, entry session.Entry, snapshot *session.Snapshot, damage error) error {
	part := ""
	if damage != nil {
		part = " can be read"
	}
	fmt.Fprintf(s.out, "session %s: %d events, %d requests%s\n", termtext.Line(shortID(snapshot.Header().ID)), r.Events, r.Requests, part)
	if r.Torn {
		fmt.Fprintln(s.out, "the last record is half-written; resuming the session cuts it")
	}
	switch {
	case r.Open && entry.LockedBy > 0:
		fmt.Fprintln(s.out, "the last turn is open: the session is "+openIn(entry))
	case r.Open:
		fmt.Fprintln(s.out, "the last turn is open; resuming the session closes it")
	}
	if r.Unknown > 0 {
		fmt.Fprintf(s.out, "%d requests are of another encoder and cannot be derived here\n", r.Unknown)
	}
	var wrong error
	if r.Wrong != nil {
		wrong = r.Wrong
	}
	if err := errors.Join(damage, r.Structure, wrong); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "structure ok, %d of %d requests derived and equal\n", r.Derived, r.Requests)
	return nil
}

// damagedTail says what resuming the session will cut off, nil if that is no more than
// a crash explains.
func damagedTail(snapshot *session.Snapshot) error {
	tail := snapshot.Tail
	if !tail.Damaged() {
		return nil
	}
	return fmt.Errorf("line %d is damaged (%v), %s: resuming the session cuts that off and keeps it in a side file",
		tail.Line, tail.Cause, follows(tail.Follow))
}

func follows(n int) string {
	if n == 1 {
		return "1 record follows"
	}
	return fmt.Sprintf("%d records follow", n)
}
