package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"dsh/internal/config"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

func newSessionsRenameCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "rename ID TITLE...",
		Short: "Give a session another title",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(errors.New("rename needs a session and its new title"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			paths, _, err := places(s)
			if err != nil {
				return err
			}
			title, err := cleanTitle(storedSecrets(s, paths), strings.Join(args[1:], " "))
			if err != nil {
				return usage(err)
			}
			entry, err := findSession(paths, args[0])
			if err != nil {
				return err
			}
			title, err = session.Rename(sessionsDir(paths), entry.Path, title)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "%s  %s\n", shortID(entry.ID), termtext.Line(title))
			return err
		},
	}
}

func newSessionsForkCommand(s streams) *cobra.Command {
	var at int
	cmd := &cobra.Command{
		Use:   "fork ID|PATH",
		Short: "Begin a new session with a part of another",
		Long: `Begin a new session with a part of another.

The new session has everything up to the end of a turn (of the last finished one
without --at); the other one stays as it is, and may be open. dsh sessions show --turns
lists the turns with their numbers.`,
		Args: exactly(1, "fork needs a session: its id, a unique beginning of it, or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if at < 1 && cmd.Flags().Changed("at") {
				return usage(errors.New("--at wants the number of a turn, from 1"))
			}
			paths, _, err := places(s)
			if err != nil {
				return err
			}
			entry, err := findSession(paths, args[0])
			if err != nil {
				return err
			}
			forked, err := session.Fork(sessionsDir(paths), entry.Path, at)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(s.out, "session %s: %s of %s (dsh resume %[1]s)\n", shortID(forked.Header.ID), upTo(forked.Turn), termtext.Line(shortID(entry.ID)))
			return err
		},
	}
	cmd.Flags().IntVar(&at, "at", 0, "the last turn that the new session has")
	return cmd
}

// upTo says how much of a session a copy has.
func upTo(turn int) string {
	switch turn {
	case 0:
		return "no turn"
	case 1:
		return "turn 1"
	}
	return fmt.Sprintf("turns 1 to %d", turn)
}

func newSessionsRepairCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "repair ID|PATH",
		Short: "Copy what can be read of a damaged session into a new one",
		Args:  exactly(1, "repair needs a session: its id, a unique beginning of it, or a path"),
		RunE: func(_ *cobra.Command, args []string) error {
			paths, cwd, err := places(s)
			if err != nil {
				return err
			}
			entry, err := findSession(paths, args[0])
			if err != nil {
				return err
			}
			r, err := session.Salvage(sessionsDir(paths), entry.Path, cwd)
			if errors.Is(err, session.ErrNotDamaged) {
				_, err = fmt.Fprintf(s.out, "session %s: %v\n", termtext.Line(shortID(entry.ID)), err)
				return err
			}
			if err != nil {
				return err
			}
			for _, loss := range r.Lost {
				fmt.Fprintln(s.out, termtext.Line(fmt.Sprintf("left out line %d: %v", loss.Line, loss.Cause)))
			}
			if r.More > 0 {
				fmt.Fprintf(s.out, "left out %s more\n", plural(r.More, "line"))
			}
			fmt.Fprintln(s.out, termtext.Line("unchanged: "+entry.Path))
			_, err = fmt.Fprintf(s.out, "session %s: %s, %s (dsh resume %[1]s)\n", shortID(r.Header.ID), plural(r.Events, "event"), upTo(r.Turns))
			return err
		},
	}
}

func newSessionsDeleteCommand(s streams) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use:   "delete ID...",
		Short: "Delete sessions: their logs and saved outputs",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage(errors.New("delete needs the ids of sessions, or unique beginnings of them"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			paths, _, err := places(s)
			if err != nil {
				return err
			}
			var list []session.Entry
			for _, name := range args {
				entry, err := findSession(paths, name)
				if err != nil {
					return err // before anything is deleted
				}
				if !slices.ContainsFunc(list, func(e session.Entry) bool { return e.Path == entry.Path }) {
					list = append(list, entry)
				}
			}
			root := sessionsDir(paths)
			if err := tellForks(s, root, list); err != nil {
				return err
			}
			if sure, err := confirm(s, list, yes); err != nil || !sure {
				return err
			}
			return deleteAll(s, root, list)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "delete without asking")
	return cmd
}

// tellForks names the sessions whose copied part refers to outputs that go.
func tellForks(s streams, root string, list []session.Entry) error {
	all, err := session.List(root)
	if err != nil {
		return err
	}
	for _, e := range list {
		if saved, _ := os.ReadDir(e.OutDir()); len(saved) == 0 {
			continue
		}
		for _, child := range all {
			goes := slices.ContainsFunc(list, func(e session.Entry) bool { return e.Path == child.Path })
			if child.Parent == e.ID && !goes {
				fmt.Fprintln(s.err, termtext.Line(fmt.Sprintf("dsh: session %s was copied from %s and stays; outputs that were saved before are deleted", shortID(child.ID), shortID(e.ID))))
			}
		}
	}
	return nil
}

// confirm asks a person; a script has to say so itself.
func confirm(s streams, list []session.Entry, yes bool) (bool, error) {
	if yes {
		return true, nil
	}
	if !isTerminal(s.in) || !isTerminal(s.err) {
		return false, usage(errors.New("nobody can be asked here: --yes deletes without asking"))
	}
	for _, e := range list {
		fmt.Fprintln(s.err, termtext.Line(strings.TrimRight(fmt.Sprintf("%-8s  %s  %s  %s", shortID(e.ID), when(e.LastUse), e.Cwd, e.Title), " ")))
	}
	fmt.Fprintf(s.err, "Delete %s for good? [y/N] ", plural(len(list), "session"))
	answer, _ := bufio.NewReader(s.in).ReadString('\n') // an end of the input is a no
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	_, err := fmt.Fprintln(s.err, "Nothing was deleted.")
	return false, err
}

func deleteAll(s streams, root string, list []session.Entry) error {
	var failed error
	for _, e := range list {
		if err := session.Delete(root, e.Path); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		fmt.Fprintln(s.out, "deleted "+termtext.Line(shortID(e.ID)))
	}
	return failed
}

// fork is the /fork of a conversation: args is the number of a turn, or nothing.
func (e *engine) fork(s streams, args string) (string, error) {
	turn := 0
	if args != "" {
		var err error
		if turn, err = strconv.Atoi(args); err != nil || turn < 1 {
			return "", errors.New("it takes the number of a turn, from 1")
		}
	}
	paths, _, err := places(s)
	if err != nil {
		return "", err
	}
	if e.log.LastTurn() == 0 {
		return "", &session.ForkError{Turn: turn}
	}
	forked, err := session.Fork(sessionsDir(paths), e.log.Path(), turn)
	if err != nil {
		return "", err
	}
	id := shortID(forked.Header.ID)
	return fmt.Sprintf("Session %s has %s of this one: dsh resume %s", id, upTo(forked.Turn), id), nil
}

// cleanTitle is a title as it is kept: without the user's secrets, as a prompt is.
func cleanTitle(hidden *secrets, title string) (string, error) {
	title, _ = hidden.prompt(title)
	return session.CleanTitle(title)
}

// storedSecrets are those of a command that opens no conversation. Settings that cannot
// be read leave the environment's.
func storedSecrets(s streams, paths config.Paths) *secrets {
	var keys []string
	if settings, err := config.Load(paths, s.getenv, nil, false); err == nil {
		keys = providerKeys(settings)
	}
	return newSecrets(keys, os.Environ())
}

// renameStored and deleteStored are for the screen's list of sessions.
func renameStored(paths config.Paths, hidden *secrets, id, title string) error {
	entry, err := findSession(paths, id)
	if err != nil {
		return err
	}
	if title, err = cleanTitle(hidden, title); err != nil {
		return err
	}
	_, err = session.Rename(sessionsDir(paths), entry.Path, title)
	return err
}

func deleteStored(paths config.Paths, id string) error {
	entry, err := findSession(paths, id)
	if err != nil {
		return err
	}
	return session.Delete(sessionsDir(paths), entry.Path)
}

// rename is the /rename of a conversation.
func (e *engine) rename(title string) error {
	title, err := cleanTitle(e.hidden, title)
	if err == nil {
		_, err = e.log.Append(session.Draft{Data: session.Title{Title: title}})
	}
	return err
}
