package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dsh/internal/config"
	"dsh/internal/session"
	"dsh/internal/termtext"
)

// settingsFile is the file that a writer of settings changes.
func settingsFile(s streams, project bool) (string, config.Paths, error) {
	paths, _, err := places(s)
	if err != nil {
		return "", paths, err
	}
	if project {
		return paths.ProjectConfig, paths, nil
	}
	if paths.UserConfig == "" {
		return "", paths, usage(errors.New("there is no place for your settings: set HOME or XDG_CONFIG_HOME"))
	}
	return paths.UserConfig, paths, nil
}

func newConfigSetCommand(s streams) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "set KEY VALUE...",
		Short: "Store a setting; lists take several values",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 2 {
				return usage(errors.New("config set needs a setting and its value: dsh config set model deepseek-pro"))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			file, paths, err := settingsFile(s, project)
			if err != nil {
				return err
			}
			if project && config.UserOnly(args[0]) {
				return usage(fmt.Errorf("%s counts in your own settings only: leave out --project", args[0]))
			}
			if err := checkRules(args[0], args[1:]); err != nil {
				return usage(err)
			}
			if err := config.Set(file, args[0], args[1:]); err != nil {
				return err
			}
			fmt.Fprintln(s.out, termtext.Line(fmt.Sprintf("%s is set in %s", args[0], file)))
			tellOverridden(s, paths, args[0], file)
			return nil
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "in the project's settings, not in yours")
	return cmd
}

// checkRules refuses permission rules with which dsh would not start.
func checkRules(name string, values []string) error {
	verdict, ok := map[string]session.Verdict{"permissions.allow": session.Allow, "permissions.deny": session.Deny}[name]
	if !ok {
		return nil
	}
	for _, text := range values {
		if _, err := parseRule(text, verdict, name); err != nil {
			return fmt.Errorf("%s: %w (each rule is a value of its own: dsh config set %s RULE RULE)", name, err, name)
		}
	}
	return nil
}

// tellOverridden says what keeps a setting that was just stored from counting.
func tellOverridden(s streams, paths config.Paths, name, file string) {
	settings, err := config.Load(paths, s.getenv, nil, false)
	if err != nil {
		fmt.Fprintln(s.err, "dsh: "+oneLine(err.Error()))
		return
	}
	for _, w := range settings.Warnings {
		fmt.Fprintln(s.err, "dsh: "+oneLine(w))
	}
	if o := settings.Origin(name); o.File != file && o.Layer != config.Default {
		fmt.Fprintln(s.err, "dsh: "+oneLine(fmt.Sprintf("%s says otherwise, and wins", o)))
	}
}

func newConfigUnsetCommand(s streams) *cobra.Command {
	var project bool
	cmd := &cobra.Command{
		Use:   "unset KEY",
		Short: "Take a setting out of the file",
		Args:  exactly(1, "config unset needs one setting: dsh config show lists them"),
		RunE: func(_ *cobra.Command, args []string) error {
			file, _, err := settingsFile(s, project)
			if err != nil {
				return err
			}
			was, err := config.Unset(file, args[0])
			if err != nil {
				return err
			}
			text := "%s is not set in %s any more"
			if !was {
				text = "%s was not set in %s"
			}
			_, err = fmt.Fprintln(s.out, termtext.Line(fmt.Sprintf(text, args[0], file)))
			return err
		},
	}
	cmd.Flags().BoolVar(&project, "project", false, "out of the project's settings, not of yours")
	return cmd
}
