package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"dsh/internal/export"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// exporters write a session in a format.
var exporters = map[string]func(io.Writer, *session.Snapshot, string, export.Present) error{
	"md": export.Markdown, "json": export.JSON,
}

func newSessionsExportCommand(s streams) *cobra.Command {
	var format, file string
	cmd := &cobra.Command{
		Use:   "export ID|PATH",
		Short: "Write a session as Markdown or JSON",
		Long: `Write a session as Markdown or JSON.

Markdown is for people: prompts, answers, calls with diffs and the ends of long outputs,
costs. JSON is for programs: {"format","version","session":{...},"items":[...]}, an item
for each prompt, note, answer, call, summary and end of a turn, in order; its fields are
named in internal/export/items.go. dsh log --json has the events themselves.`,
		Args: exactly(1, "export needs a session: its id, a unique beginning of it, or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if file != "" && !cmd.Flags().Changed("format") {
				format = formatOf(file)
			}
			if exporters[format] == nil {
				return usage(fmt.Errorf("the format %q is unknown: md or json", format))
			}
			entry, err := namedSession(s, args[0])
			if err != nil {
				return err
			}
			snapshot, damage := session.Read(entry.Path)
			if snapshot == nil {
				return damage
			}
			if file == "" {
				err = writeExport(s.out, snapshot, entry.Title, format)
			} else {
				err = exportFile(file, snapshot, entry.Title, format)
			}
			return errors.Join(err, damage) // what stands before the damage was written
		},
	}
	cmd.Flags().StringVar(&format, "format", "md", "md or json")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this new file; its ending names the format")
	return cmd
}

// formatOf is the format that a file's name asks for.
func formatOf(file string) string {
	if strings.EqualFold(filepath.Ext(file), ".json") {
		return "json"
	}
	return "md"
}

func writeExport(w io.Writer, snapshot *session.Snapshot, title, format string) error {
	registry, err := newTools(tools.BashOptions{}, nil)
	if err != nil {
		return err
	}
	return exporters[format](w, snapshot, title, registry.Present)
}

// exportFile writes a file that only the user can read, and never over another.
func exportFile(path string, snapshot *session.Snapshot, title, format string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s exists already: choose another name", path)
	}
	if err != nil {
		return err
	}
	err = writeExport(f, snapshot, title, format)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("export to %s: %w", path, err)
	}
	return nil
}

// export is the /export of a conversation: args is a file's name, or nothing.
func (e *engine) export(args string) (string, error) {
	h := e.log.Header()
	path := args
	if path == "" {
		path = "dsh-" + shortID(h.ID) + ".md"
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(e.cwd, path)
	}
	if e.log.NextSeq() == 0 {
		return "", errors.New("there is nothing to export yet")
	}
	snapshot, err := session.Read(e.log.Path())
	if err != nil {
		return "", err
	}
	if err := exportFile(path, snapshot, snapshot.State().Title, formatOf(path)); err != nil {
		return "", err
	}
	return "Written to " + path, nil
}
