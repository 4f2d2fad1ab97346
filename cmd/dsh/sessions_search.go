package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

// defaultHits is what a screen shows: the newest sessions are mostly meant.
const defaultHits = 20

func newSessionsSearchCommand(s streams) *cobra.Command {
	var here, asJSON bool
	limit := defaultHits
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "Find sessions by what was said: titles, prompts, answers, names of files",
		Long: `Find sessions by what was said: titles, prompts, answers, names of files.

A session is found when each WORD occurs in one of these, in any case. A WORD may have
spaces in it. Of each session the first text with the most of the words is shown.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 || strings.TrimSpace(strings.Join(args, "")) == "" {
				return usage(errors.New("search needs a word"))
			}
			if limit < 1 {
				return usage(errors.New("-n wants a number from 1"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			paths, folder, err := places(s)
			if err != nil {
				return err
			}
			if !here {
				folder = ""
			}
			return search(s, sessionsDir(paths), args, folder, limit, asJSON)
		},
	}
	cmd.Flags().BoolVar(&here, "here", false, "only those of this folder")
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object a line")
	cmd.Flags().IntVarP(&limit, "number", "n", defaultHits, "show at most this many sessions")
	return cmd
}

// search prints what it finds, and says what it could not look at.
func search(s streams, root string, words []string, folder string, limit int, asJSON bool) error {
	shown, unread := 0, 0
	for hit, err := range session.Search(root, words) {
		if hit.ID == "" && err != nil {
			return err
		}
		if err != nil {
			unread++
			continue
		}
		if folder != "" && hit.Cwd != folder {
			continue
		}
		if shown == limit {
			fmt.Fprintf(s.err, "dsh: these are the newest %d: -n shows more\n", limit)
			break
		}
		shown++
		if hit.Unread > 0 {
			unread++
		}
		if err := printHit(s, hit, asJSON); err != nil {
			return err
		}
	}
	if unread > 0 {
		fmt.Fprintf(s.err, "dsh: %s could not be read whole: dsh sessions list names what is damaged\n", plural(unread, "session"))
	}
	if shown == 0 {
		fmt.Fprintln(s.err, "dsh: no session has that")
	}
	return nil
}

func printHit(s streams, h session.Hit, asJSON bool) error {
	if asJSON {
		return writeJSON(s.out, map[string]any{"id": h.ID, "path": h.Path, "cwd": h.Cwd, "title": h.Title, "created": h.CreatedAt,
			"used": h.LastUse, "where": h.Where, "turn": h.Turn, "text": h.Text, "more": h.More})
	}
	where := h.Where
	if h.Turn > 0 {
		where += fmt.Sprintf(" of turn %d", h.Turn)
	}
	more := ""
	if h.More > 0 {
		more = fmt.Sprintf(" (and %d more)", h.More)
	}
	fmt.Fprintln(s.out, termtext.Line(strings.TrimRight(fmt.Sprintf("%-8s  %s  %s  %s", shortID(h.ID), when(h.LastUse), h.Cwd, h.Title), " ")))
	_, err := fmt.Fprintln(s.out, termtext.Line("          "+where+": "+h.Text+more))
	return err
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
