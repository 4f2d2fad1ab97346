package main

import (
	"context"
	"errors"
	"strings"

	"dsh/internal/config"
	"dsh/internal/early"
	"dsh/internal/llm"
	"dsh/internal/llm/openai"
	"dsh/internal/tui"
	"dsh/internal/tui/term"
)

// keyPage is where a person gets a key for the default model.
const keyPage = "https://platform.deepseek.com/api_keys"

// firstRun asks for the key that is missing. It reports whether there is one now.
func firstRun(ctx context.Context, s streams, o engineOptions, missing *config.MissingKeyError, t term.Options) (bool, error) {
	cwd, err := workingDir(o.dir)
	if err != nil {
		return false, err
	}
	paths, err := config.Resolve(s.getenv, cwd)
	if err != nil {
		return false, usage(err)
	}
	settings, err := config.Load(paths, s.getenv, o.settings(), o.trust)
	if err != nil {
		return false, err
	}
	provider := settings.Providers[missing.Provider]
	terminal, err := term.Open(t)
	if err != nil {
		return false, err
	}
	home := s.getenv("HOME")
	return tui.Setup(ctx, tui.SetupOptions{
		Terminal: terminal,
		Variable: missing.Variable,
		File:     short(paths.Credentials(), home),
		Config:   short(paths.UserConfig, home),
		KeyPage:  keyPage,
		Check: func(ctx context.Context, key string) ([]string, bool, error) {
			client, err := openai.New(openai.Options{BaseURL: provider.BaseURL, Key: key, KeyName: "the key",
				Profile: profileFor(missing.Provider, provider.BaseURL), UserAgent: "dsh/" + early.Version})
			if err != nil {
				return nil, true, err
			}
			models, err := client.Models(ctx)
			var failure *llm.Failure
			refused := errors.As(err, &failure) && failure.Code == llm.CodeAuth
			return models, refused, err
		},
		Save: func(key string) error { return config.SaveKey(paths, missing.Provider, key) },
	})
}

// short is a path under the user's directory by its short name.
func short(path, home string) string {
	if rest, ok := strings.CutPrefix(path, home+"/"); ok && home != "" {
		return "~/" + rest
	}
	return path
}
