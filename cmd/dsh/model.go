package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"

	"dsh/internal/llm/llmtest"
)

// modelCommand is hidden: dsh starts itself with it to play a model in a process of
// its own.
const modelCommand = "__model"

func newModelCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:    modelCommand + " SCRIPT",
		Hidden: true,
		Args:   exactly(1, modelCommand+" needs a script"),
		RunE: func(_ *cobra.Command, args []string) error {
			script, err := llmtest.Load(args[0])
			if err != nil {
				return usage(err)
			}
			server := llmtest.NewServer(script)
			url, err := server.Listen()
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(s.out, url); err != nil {
				return err
			}
			_, _ = io.Copy(io.Discard, s.in) // until whoever started us is gone
			return server.Close()
		},
	}
}

// startModel runs this program again as the model's server and returns its URL. stop
// ends it and waits for it.
func startModel(ctx context.Context, script string) (url string, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return "", nil, err
	}
	cmd := exec.CommandContext(ctx, self, modelCommand, script)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	in, err := cmd.StdinPipe() // its end, also by our death, ends the model
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("start the scripted model: %w", err)
	}
	stop = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("the scripted model did not start: %s", strings.TrimSpace(problems.String()))
	}
	return strings.TrimSpace(line), stop, nil
}
