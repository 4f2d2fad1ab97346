package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"dsh/internal/config"
	"dsh/internal/termtext"
)

func newLogoutCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "logout [PROVIDER]",
		Short: "Remove a stored API key",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			paths, _, err := places(s)
			if err != nil {
				return err
			}
			settings, err := config.Load(paths, s.getenv, nil, false)
			if err != nil {
				return err
			}
			provider, _, _, err := settings.Route()
			if len(args) > 0 {
				provider, err = args[0], nil
			}
			if err != nil {
				return err
			}
			was, err := config.RemoveKey(paths.Credentials, provider)
			if err != nil {
				return err
			}
			if !was {
				return usage(fmt.Errorf("no key is stored for %s: dsh login --list shows those that are", provider))
			}
			fmt.Fprintln(s.out, termtext.Line(fmt.Sprintf("The key of %s is removed from %s.", provider, paths.Credentials)))
			if p := settings.Providers[provider]; p.KeyEnv != "" && s.getenv(p.KeyEnv) != "" {
				fmt.Fprintln(s.err, "dsh: "+oneLine(p.KeyEnv+" still holds a key, which is used"))
			}
			return nil
		},
	}
}

// listKeys prints which providers have a key, and from where. It shows no key.
func listKeys(s streams) error {
	paths, _, err := places(s)
	if err != nil {
		return err
	}
	settings, err := config.Load(paths, s.getenv, nil, false)
	if err != nil {
		return err
	}
	n := 0
	print := func(name, from, note string) {
		n++
		fmt.Fprintln(s.out, termtext.Line(fmt.Sprintf("%-12s  %s%s", name, from, note)))
	}
	for _, name := range settings.ProviderNames() {
		key, origin, err := settings.Key(name)
		switch {
		case err == nil && key == "":
			print(name, "wants no key", "")
		case err == nil:
			print(name, origin.String(), hidden(settings, name, origin))
		}
	}
	for _, name := range settings.StoredNames() {
		if _, known := settings.Providers[name]; !known {
			print(name, paths.Credentials, " (no provider of your settings has this name)")
		}
	}
	if n == 0 {
		fmt.Fprintln(s.err, "dsh: no provider has a key: dsh login stores one")
	}
	return nil
}

// hidden says that a stored key exists beside the one in use.
func hidden(settings *config.Loaded, provider string, used config.Origin) string {
	if used.Layer == config.Env && settings.Stored(provider) {
		return " (a stored one is not used)"
	}
	return ""
}
