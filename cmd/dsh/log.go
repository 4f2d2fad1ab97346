package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/session"
	"dsh/internal/termtext"
)

func newLogCommand(s streams) *cobra.Command {
	var asJSON, follow bool
	var filter logFilter
	cmd := &cobra.Command{
		Use:   "log ID|PATH",
		Short: "Print a session's events",
		Args:  exactly(1, "log needs a session: its id, a unique beginning of it, or a path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := filter.parse(cmd, asJSON); err != nil {
				return err
			}
			entry, err := namedSession(s, args[0])
			if err != nil {
				return err
			}
			snapshot, damage := session.Read(entry.Path)
			if snapshot == nil {
				return damage
			}
			p := logPrinter{s: s, filter: &filter, asJSON: asJSON}
			next, err := p.stored(snapshot)
			if err = cmp.Or(err, damage, damagedTail(snapshot)); err != nil || !follow || p.past {
				return err
			}
			return p.follow(cmd.Context(), snapshot.Path(), next)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "the stored lines, packed chunks one a line")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what another process writes")
	filter.addFlags(cmd)
	return cmd
}

// logPrinter prints the events that a filter wants.
type logPrinter struct {
	s      streams
	filter *logFilter
	asJSON bool
	kept   [][]byte // with a last: the lines so far, the oldest first
	past   bool     // all that was asked for has come
}

// stored prints what is there and returns the seq to go on with.
func (p *logPrinter) stored(snapshot *session.Snapshot) (next int, err error) {
	if !p.asJSON {
		if err := p.header(snapshot.Header(), nil); err != nil {
			return 0, err
		}
	}
	for line, ev := range p.records(snapshot) {
		if ev.Data == nil {
			err = p.header(snapshot.Header(), line)
		} else {
			next = ev.Seq + 1
			err = p.event(line, &ev)
		}
		if err != nil {
			return 0, err
		}
	}
	for _, line := range p.kept {
		if err := p.print(line); err != nil {
			return 0, err
		}
	}
	return next, snapshot.Err()
}

// records are the events that may be printed, with their lines where those are wanted.
func (p *logPrinter) records(snapshot *session.Snapshot) iter.Seq2[[]byte, session.Event] {
	if p.asJSON {
		return snapshot.Records()
	}
	events := snapshot.Outcomes()
	if p.filter.chunks {
		events = snapshot.Events()
	}
	return func(yield func([]byte, session.Event) bool) {
		for ev := range events {
			if !yield(nil, ev) {
				return
			}
		}
	}
}

// event prints a stored event that is wanted, or keeps it until it is among the last.
func (p *logPrinter) event(stored []byte, ev *session.Event) error {
	p.past = p.filter.past(ev)
	if !p.filter.wants(ev) {
		return nil
	}
	line, err := p.line(stored, ev)
	if err != nil {
		return err
	}
	n := p.filter.last
	if n == 0 {
		return p.print(line)
	}
	if p.kept = append(p.kept, line); len(p.kept) > n {
		p.kept = p.kept[1:]
	}
	return nil
}

func (p *logPrinter) header(h session.Header, stored []byte) error {
	if p.asJSON {
		return p.print(append(slices.Clip(stored), '\n'))
	}
	return p.print([]byte(termtext.Line(fmt.Sprintf("session %s in %s, %s", h.ID, h.Cwd, when(h.CreatedAt))) + "\n"))
}

// follow goes on until a signal ends the process, or the last event that was asked
// for has come: there is nothing to put in order.
func (p *logPrinter) follow(ctx context.Context, path string, next int) error {
	for ev, err := range session.Follow(ctx, path, next) {
		if err != nil {
			return err
		}
		if p.filter.past(&ev) {
			return nil
		}
		if !p.filter.wants(&ev) {
			continue
		}
		line, err := p.line(nil, &ev)
		if err == nil {
			err = p.print(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// line is an event as it is printed, newline included; stored is its line in the log,
// nil if that is not at hand.
func (p *logPrinter) line(stored []byte, ev *session.Event) ([]byte, error) {
	if !p.asJSON {
		clock := time.UnixMilli(ev.Time).Format(time.TimeOnly)
		line := fmt.Sprintf("%5d  %s  %-20s %s", ev.Seq, clock, ev.Type, describe(ev.Data))
		return []byte(termtext.Line(strings.TrimRight(line, " ")) + "\n"), nil
	}
	if stored == nil {
		var err error
		if stored, err = json.Marshal(ev); err != nil {
			return nil, err
		}
	}
	return append(slices.Clip(stored), '\n'), nil
}

func (p *logPrinter) print(line []byte) error {
	if p.asJSON {
		return writeJSONLine(p.s.out, line)
	}
	_, err := p.s.out.Write(line)
	return err
}
