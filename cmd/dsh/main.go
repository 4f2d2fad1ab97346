// Command dsh is a coding agent for the terminal.
//
// Holds: the commands (one file each), the wiring (wire.go), signals and exit
// codes. Never: logic that a package could own. Start reading here, then wire.go.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"dsh/internal/early"
	"dsh/internal/sandbox"
)

func main() {
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
	root := newRoot(s)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	if err == nil {
		return exitOK
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(s.err, "dsh: "+oneLine(text))
	}
	return exitCode(err)
}

// newRoot is the table of contents: every command is made here.
func newRoot(s streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "dsh",
		Short:         "A coding agent for the terminal",
		SilenceErrors: true,
		SilenceUsage:  true,

		SuggestionsMinimumDistance: 2,

		Args: noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(
		newRunCommand(s),
		newSessionsCommand(s),
		newLogCommand(s),
		newVerifyCommand(s),
		newDemoCommand(s),
		newModelsCommand(s),
		newConfigCommand(s),
		newVersionCommand(s),
	)
	root.AddCommand(newModelCommand(s))
	addHidden(root, s)
	return root
}

// noCommand answers a word that is no command: it is a mistake, not a prompt that
// costs money.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	text := fmt.Sprintf("unknown command %q", args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		text += fmt.Sprintf(": did you mean %q?", near[0])
	}
	return usage(fmt.Errorf("%s (to send a prompt: dsh run \"...\")", text))
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
