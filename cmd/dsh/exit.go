package main

import (
	"errors"
	"strings"

	"dsh/internal/config"
	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// Exit codes. When several apply: signal > 2 > 1 > 3 > 5 > 4 > 0.
const (
	exitOK         = 0
	exitFailed     = 1
	exitUsage      = 2 // usage or configuration, a missing or refused key included
	exitLimit      = 3 // a budget or the output limit ended it
	exitRefused    = 4 // policy, a hook, a blocked prompt
	exitUnverified = 5
	exitSignal     = 128 // plus the signal's number
)

// exitError is an error with the code it ends with. A nil err says nothing more.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the caller's.
func usage(err error) error { return &exitError{exitUsage, err} }

// exitCode is the one place where errors become codes.
func exitCode(err error) int {
	var exit *exitError
	if errors.As(err, &exit) {
		return exit.code
	}
	var (
		setting   *config.Error
		key       *config.MissingKeyError
		notFound  *session.NotFoundError
		ambiguous *session.AmbiguousError
		outside   *session.OutsideError
		fork      *session.ForkError
		failure   *llm.Failure
	)
	switch {
	case errors.As(err, &setting), errors.As(err, &key), errors.As(err, &notFound), errors.As(err, &ambiguous),
		errors.As(err, &outside), errors.As(err, &fork):
		return exitUsage
	case errors.As(err, &failure) && configures(failure.Code):
		return exitUsage
	case strings.HasPrefix(err.Error(), "unknown flag"), strings.HasPrefix(err.Error(), "unknown command"),
		strings.Contains(err.Error(), "arg(s)"):
		return exitUsage // cobra's own, untyped
	}
	return exitFailed
}

// oneLine makes an error fit for a terminal: one line, nothing that could act on
// it.
func oneLine(text string) string { return termtext.Line(strings.TrimSpace(text)) }
