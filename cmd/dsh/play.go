//go:build crashtest

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/session"
)

// playLimit bounds a play: one that waits for what never comes must end by itself.
const playLimit = 30 * time.Second

// addHidden adds the commands that only the crash matrix needs.
func addHidden(root *cobra.Command, s streams) { root.AddCommand(newPlayCommand(s)) }

func newPlayCommand(s streams) *cobra.Command {
	var o engineOptions
	var journal string
	cmd := &cobra.Command{
		Use:    "__play FILE",
		Hidden: true,
		Short:  "Play a user against the agent",
		Long: `Play a user against the agent. The model must be a script (-m script:FILE).

Each line of FILE is what the user does next:

  prompt TEXT     send it, from idle
  followup TEXT   queue it for a turn of its own
  steer TEXT      queue it for the running turn's next step
  await WORD      wait until the model has streamed a text that contains it
  release NAME    let the model's script go on from a hold
  appears FILE    wait until a file is there
  make FILE       make an empty file
  background      have the running command go on as a job
  cancel          end the turn and empty the queues
  idle            wait until nothing runs

The journal says, in one write each, what the agent has accepted ("in TEXT"), and
before a cancel what that may drop ("drop TEXT").`,
		Args: exactly(1, "__play needs a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			lines, err := os.ReadFile(args[0])
			if err != nil {
				return usage(err)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), playLimit)
			defer cancel()
			return playAll(ctx, s, o, journal, string(lines))
		},
	}
	o.addFlags(cmd)
	cmd.Flags().StringVar(&journal, "journal", "", "append what was accepted to this file")
	return cmd
}

// playAll opens a session, does every line, and closes it. The model's script must
// then have served all its replies: otherwise the play was not the one that was
// meant.
func playAll(ctx context.Context, s streams, o engineOptions, journal, lines string) error {
	j, err := os.OpenFile(journal, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return usage(err)
	}
	defer j.Close()
	e, err := openEngine(s, o)
	if err != nil {
		return err
	}
	if e.script == nil {
		return errors.Join(usage(errors.New("__play needs a scripted model: -m script:FILE")), e.close())
	}
	u := &user{engine: e, reader: e.log.Reader(e.log.NextSeq()), journal: j}
	defer u.reader.Close()
	for line := range strings.Lines(lines) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if err := u.do(ctx, line); err != nil {
			return errors.Join(fmt.Errorf("play %q: %w", line, err), e.close())
		}
	}
	return errors.Join(e.agent.Err(), e.script.Done(), e.close())
}

// user is who is played.
type user struct {
	*engine
	reader  *session.Reader
	journal *os.File
}

func (u *user) do(ctx context.Context, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "prompt", "followup":
		_, err := u.agent.Followup(rest)
		return errors.Join(err, u.note(err == nil, "in", rest))
	case "steer":
		_, err := u.agent.Steer(rest)
		return errors.Join(err, u.note(err == nil, "in", rest))
	case "await":
		return u.await(ctx, rest)
	case "release":
		u.script.Release(rest)
		return nil
	case "appears":
		return u.appears(ctx, rest)
	case "background":
		if !u.agent.Background("") {
			return errors.New("nothing runs that could go on as a job")
		}
		return nil
	case "make":
		return os.WriteFile(filepath.Join(u.cwd, rest), nil, 0o600)
	case "cancel":
		for _, item := range u.agent.Queue() {
			if err := u.note(true, "drop", item.Text); err != nil {
				return err
			}
		}
		return u.agent.Cancel(session.Cause{Kind: session.ByUser}, false)
	case "idle":
		return u.agent.WhenIdle(ctx)
	case "quiet":
		return u.agent.WhenQuiet(ctx)
	}
	return usage(errors.New("unknown word"))
}

// note writes to the journal, with one write: what is there was accepted, or was
// about to be dropped, whenever the process died.
func (u *user) note(happened bool, what, text string) error {
	if !happened {
		return nil
	}
	_, err := u.journal.WriteString(what + " " + text + "\n")
	return err
}

func (u *user) await(ctx context.Context, word string) error {
	for {
		events := u.reader.Next()
		for i := range events {
			if p, ok := events[i].Data.(session.AssistantChunk); ok && strings.Contains(p.Chunk.Text, word) {
				return nil
			}
		}
		if len(events) > 0 {
			continue
		}
		select {
		case <-u.reader.Wake():
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// lookEvery is how often a file is looked for that a command makes.
const lookEvery = 2 * time.Millisecond

func (u *user) appears(ctx context.Context, name string) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		if _, err := os.Stat(filepath.Join(u.cwd, name)); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
