// Command dsh is a coding agent for the terminal.
//
// Holds: the commands (one file each), the wiring (engine.go), signals and exit
// codes. Never: logic that a package could own. Start reading here, then engine.go.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"dsh/internal/early"
	"dsh/internal/sandbox"
)

func main() {
	early.Restore()
	if err := sandbox.Harden(); err != nil {
		fmt.Fprintln(os.Stderr, "dsh: warning: the key in this process's environment can be read by commands: "+err.Error())
	}
	os.Exit(run(os.Args[1:], std()))
}

// streams is the outside world of a command.
type streams struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
}

func std() streams {
	return streams{in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv}
}

// run executes one command line and returns the exit code.
func run(args []string, s streams) int {
	out := &output{to: s.out}
	root := newRoot(s, out)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		err = out.err
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE):
		return exitSignal + int(syscall.SIGPIPE) // nobody reads on: no reason to complain
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(s.err, "dsh: "+oneLine(newSecrets(nil, os.Environ()).result(text)))
	}
	return exitCode(err)
}

// newRoot is the table of contents: every command is made here. Conversations write to
// s.out themselves, everything else writes to out.
func newRoot(s streams, out *output) *cobra.Command {
	var o engineOptions
	root := &cobra.Command{
		Use:   "dsh [flags] [\"PROMPT WITH SPACES\" | -- PROMPT...]",
		Short: "A coding agent for the terminal",
		Long: `A coding agent for the terminal.

Without a command, dsh is a conversation; a prompt may begin it.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := chatPrompt(cmd, args)
			if err != nil {
				return err
			}
			return talk(cmd.Context(), s, o, prompt)
		},
	}
	o.addFlags(root)
	root.Flags().BoolVar(&o.lines, "ax", false, "talk line by line: nothing is redrawn")
	root.SetIn(s.in)
	root.SetOut(out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(newRunCommand(s), newResumeCommand(s))
	reports := s
	reports.out = out
	root.AddCommand(
		newSessionsCommand(reports),
		newLogCommand(reports),
		newVerifyCommand(reports),
		newDemoCommand(reports),
		newModelsCommand(reports),
		newConfigCommand(reports),
		newLoginCommand(reports),
		newLogoutCommand(reports),
		newDoctorCommand(reports),
		newVersionCommand(reports),
	)
	root.AddCommand(newModelCommand(s))
	addHidden(root, s)
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "completion" { // cobra's own answers any word with its help
			cmd.Args = noCommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	return root
}

// nearMiss is how many letters of a command may be mistyped.
const nearMiss = 2

// noCommand answers a word that is no command: it is a mistake, not a prompt that
// costs money.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	cmd.SuggestionsMinimumDistance = nearMiss
	near := cmd.SuggestionsFor(args[0])
	switch {
	case len(near) > 0:
		text += fmt.Sprintf(": did you mean %q?", near[0])
	case cmd.HasParent():
		text += fmt.Sprintf(": %s --help lists those that there are", cmd.CommandPath())
	}
	if !cmd.HasParent() {
		text += ` (to send a prompt: dsh run "...")`
	}
	return usage(errors.New(text))
}

func newVersionCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(s.out, "dsh "+early.Version)
			return err
		},
	}
}
