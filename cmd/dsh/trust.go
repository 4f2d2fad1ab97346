package main

import (
	"context"
	"errors"
	"strings"

	"dsh/internal/config"
	"dsh/internal/termtext"
	"dsh/internal/tui"
	"dsh/internal/tui/term"
)

// errLeft says that the person left instead of answering.
var errLeft = errors.New("nothing was started: the question about this folder's settings was not answered")

// askTrust asks once about a folder that brings settings of its own, and remembers the
// answer for as long as they stay as they are. It reports whether they are trusted.
func askTrust(ctx context.Context, s streams, o engineOptions, t term.Options) (bool, error) {
	cwd, err := workingDir(o.dir)
	if err != nil {
		return false, err
	}
	paths, err := config.Resolve(s.getenv, cwd)
	if err != nil {
		return false, usage(err)
	}
	settings, err := paths.ProjectSettings()
	if err != nil || settings == "" {
		return false, nil // what cannot be read is for Load to report
	}
	yes, known, err := paths.Trusted(settings)
	if err != nil || known {
		return yes, err
	}
	terminal, err := term.Open(t)
	if err != nil {
		return false, err
	}
	text := []string{"This folder brings settings of its own, " + termtext.Home(paths.ProjectConfig, s.getenv("HOME")) + ":", ""}
	for line := range strings.Lines(settings) {
		text = append(text, "    "+strings.TrimRight(line, "\r\n"))
	}
	answer, err := tui.Choose(ctx, terminal, tui.Question{Text: text,
		Choices: []string{"Go on without them; what makes dsh stricter counts all the same", "Trust them"}})
	switch {
	case err != nil:
		return false, err
	case answer < 0:
		return false, usage(errLeft)
	}
	return answer == 1, paths.Trust(settings, answer == 1)
}
