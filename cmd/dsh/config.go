package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/config"
	"dsh/internal/llm"
	"dsh/internal/termtext"
)

func newConfigCommand(s streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Show the settings and where they come from",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(
		&cobra.Command{
			Use:   "path",
			Short: "Print the paths that dsh uses",
			Args:  cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				paths, _, err := places(s)
				if err != nil {
					return err
				}
				fmt.Fprintln(s.out, "settings: "+orNone(paths.UserConfig))
				fmt.Fprintln(s.out, "project:  "+orNone(paths.ProjectConfig))
				_, err = fmt.Fprintln(s.out, "sessions: "+termtext.Line(sessionsDir(paths)))
				return err
			},
		},
		&cobra.Command{
			Use:   "show",
			Short: "Print every setting with its value and origin",
			Args:  cobra.NoArgs,
			RunE: func(*cobra.Command, []string) error {
				paths, _, err := places(s)
				if err != nil {
					return err
				}
				settings, err := config.Load(paths, s.getenv, nil, false)
				if err != nil {
					return err
				}
				warnings := settings.Warnings
				if name, _, _, err := settings.Route(); err == nil && settings.PlainHTTP(name) != "" {
					warnings = append(warnings, settings.PlainHTTP(name))
				}
				for _, w := range warnings {
					fmt.Fprintln(s.err, "dsh: "+oneLine(w))
				}
				var text strings.Builder
				err = settings.Show(&text)
				_, writeErr := io.WriteString(s.out, termtext.Clean(text.String()))
				return errors.Join(err, writeErr)
			},
		})
	return cmd
}

func orNone(path string) string {
	if path == "" {
		return "none (set HOME or XDG_CONFIG_HOME)"
	}
	return termtext.Line(path)
}

func newModelsCommand(s streams) *cobra.Command {
	return &cobra.Command{
		Use:   "models",
		Short: "List the models that dsh knows",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, m := range llm.Models() {
				note := ""
				if m.Unverified {
					note = "  (unverified)"
				}
				if _, err := fmt.Fprintf(s.out, "%-28s  %9d tokens window  %7d output  %s%s\n", m.Provider+"/"+m.Name, m.Window, m.MaxOutput, priceText(m, time.Now()), note); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// priceText is what a million tokens cost at a time.
func priceText(m llm.ModelInfo, at time.Time) string {
	if m.Price == nil {
		return "price n/a"
	}
	usd := func(nano int64) string { return "$" + strconv.FormatFloat(float64(nano)/1000, 'f', -1, 64) }
	p := m.Price(at)
	text := fmt.Sprintf("%s in, %s cached, %s out a million", usd(p.Input), usd(p.CacheRead), usd(p.Output))
	if m.Provider != "deepseek" {
		return text
	}
	if llm.DeepSeekPeak(at) {
		return text + " now, at peak"
	}
	return text + " now, off peak"
}
