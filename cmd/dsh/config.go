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
		Short: "Show and change the settings",
		Args:  noCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigPathCommand(s), newConfigShowCommand(s), newConfigSetCommand(s), newConfigUnsetCommand(s))
	return cmd
}

func newConfigPathCommand(s streams) *cobra.Command {
	return &cobra.Command{
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
			fmt.Fprintln(s.out, "keys:     "+orNone(paths.Credentials))
			_, err = fmt.Fprintln(s.out, "sessions: "+termtext.Line(sessionsDir(paths)))
			return err
		},
	}
}

func newConfigShowCommand(s streams) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
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
			if asJSON {
				return showJSON(s, settings, warnings)
			}
			for _, w := range warnings {
				fmt.Fprintln(s.err, "dsh: "+oneLine(w))
			}
			var text strings.Builder
			err = settings.Show(&text)
			_, writeErr := io.WriteString(s.out, termtext.Clean(text.String()))
			return errors.Join(err, writeErr)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	return cmd
}

// showJSON is the settings for a script. A layer says what kind of place from is.
func showJSON(s streams, settings *config.Loaded, warnings []string) error {
	type row struct {
		Name  string `json:"name"`
		Value string `json:"value"`
		Layer string `json:"layer"`
		From  string `json:"from"` // file:line, a variable, or "default"
	}
	rows := []row{}
	for _, r := range settings.Rows() {
		rows = append(rows, row{r.Name, r.Value, string(r.Origin.Layer), r.Origin.String()})
	}
	return writeJSON(s.out, map[string]any{"settings": rows, "warnings": append([]string{}, warnings...)})
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
