package main

import (
	"fmt"
	"slices"

	"dsh/internal/config"
	"dsh/internal/policy"
	"dsh/internal/tools"
)

// newTools are the tools that there are, without those that the settings take away.
func newTools(bash tools.BashOptions, disabled []config.RuleText) (*tools.Registry, error) {
	// A job that nobody could read is not offered.
	bash.Background = !slices.ContainsFunc(disabled, func(d config.RuleText) bool { return d.Text == "job_output" })
	all, err := enabled([]tools.Tool{
		tools.Bash(bash), tools.Read(), tools.Write(), tools.Edit(), tools.Glob(), tools.Grep(), tools.Todo(),
		tools.JobOutput(), tools.JobList(), tools.JobKill(),
	}, disabled)
	if err != nil {
		return nil, err
	}
	return tools.New(all...)
}

// enabled refuses a name that no tool has: it would take nothing away, which nobody
// would notice.
func enabled(all []tools.Tool, disabled []config.RuleText) ([]tools.Tool, error) {
	for _, d := range disabled {
		if err := policy.CheckTool(d.Text); err != nil {
			return nil, usage(fmt.Errorf("%s: tools.disabled: %w", d.Origin, err))
		}
		all = slices.DeleteFunc(all, func(t tools.Tool) bool { return t.Name() == d.Text })
	}
	return all, nil
}
