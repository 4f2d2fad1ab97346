package main

import (
	"context"
	"fmt"

	"dsh/internal/jobs"
	"dsh/internal/prompt"
)

// shell runs a line of the user's own. It needs no approval: who typed it allowed it.
// The model reads the line and its output with the next message, unless private. A
// ctx that ends ends the command.
func (e *engine) shell(ctx context.Context, line string, private bool) (output string, err error) {
	p, err := e.commands.table.Start(jobs.Command{Command: line, Dir: e.cwd, Env: e.children})
	if err != nil {
		return "", err
	}
	r, err := p.Wait(ctx)
	if err != nil {
		return "", err
	}
	output = r.Output
	switch {
	case r.Aborted:
		output = endLine(output) + "stopped"
	case r.Exit.Signal != 0:
		output = endLine(output) + fmt.Sprintf("ended by signal %d", r.Exit.Signal)
	case r.Exit.Code != 0:
		output = endLine(output) + fmt.Sprintf("exit %d", r.Exit.Code)
	}
	if !private {
		_, err = e.agent.Inject(prompt.ShellMessage(line, output))
	}
	return output, err
}

func endLine(text string) string {
	if text != "" && text[len(text)-1] != '\n' {
		return text + "\n"
	}
	return text
}
