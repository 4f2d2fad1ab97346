package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsh/internal/session"
)

// logFilter selects the events that dsh log prints. All that is asked for must hold.
type logFilter struct {
	types        []string // a type, or the part of it before a slash
	turn         int      // 0: any
	since, until place
	grep         *regexp.Regexp // in the stored line; nil: anything
	chunks       bool           // pieces of answers too
	last         int            // the last so many of them; 0: all

	flags struct {
		since, until, grep string
	}
	open int // the turn that the events now belong to; 0 between turns
}

// place is a seq, or a time in milliseconds since 1970; neither when not given.
type place struct {
	given bool
	seq   int // -1: it is a time
	time  int64
}

func (f *logFilter) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringSliceVar(&f.types, "type", nil, "only these types, such as tool/call, or tool for all of tool/...")
	flags.IntVar(&f.turn, "turn", 0, "only this turn")
	flags.StringVar(&f.flags.since, "since", "", "from this event's number, or this time (10:30, \"2026-05-04 10:30\", 2h ago as 2h)")
	flags.StringVar(&f.flags.until, "until", "", "up to this event's number, or this time")
	flags.StringVar(&f.flags.grep, "grep", "", "only events whose stored line matches this regular expression")
	flags.IntVarP(&f.last, "number", "n", 0, "only the last so many events")
	flags.BoolVar(&f.chunks, "chunks", false, "pieces of answers too (always with --json)")
}

// parse reads the flags' values.
func (f *logFilter) parse(cmd *cobra.Command, asJSON bool) (err error) {
	now := time.Now()
	if f.since, err = parsePlace(f.flags.since, now); err != nil {
		return usage(fmt.Errorf("--since: %w", err))
	}
	if f.until, err = parsePlace(f.flags.until, now); err != nil {
		return usage(fmt.Errorf("--until: %w", err))
	}
	if f.flags.grep != "" {
		if f.grep, err = regexp.Compile(f.flags.grep); err != nil {
			return usage(fmt.Errorf("--grep: %w", err))
		}
	}
	for flag, n := range map[string]int{"turn": f.turn, "number": f.last} {
		if cmd.Flags().Changed(flag) && n < 1 {
			return usage(fmt.Errorf("--%s wants a number from 1", flag))
		}
	}
	if cmd.Flags().Changed("type") && len(f.types) == 0 {
		f.types = []string{""}
	}
	for i, t := range f.types {
		if f.types[i] = strings.TrimSuffix(t, "/"); f.types[i] == "" {
			return usage(errors.New("--type wants the name of a type, such as tool/call"))
		}
		if err := checkType(f.types[i]); err != nil {
			return usage(err)
		}
	}
	f.chunks = f.chunks || asJSON || slices.Contains(f.types, string(session.TypeAssistantChunk))
	return nil
}

// timeForms are the ways to write a time; those without a date are of today.
var timeForms = []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02"}

func parsePlace(text string, now time.Time) (place, error) {
	if text == "" {
		return place{}, nil
	}
	if seq, err := strconv.Atoi(text); err == nil && seq >= 0 {
		return place{given: true, seq: seq}, nil
	}
	if ago, err := time.ParseDuration(text); err == nil && ago >= 0 {
		return place{true, -1, now.Add(-ago).UnixMilli()}, nil
	}
	for _, form := range timeForms {
		if t, err := time.ParseInLocation(form, text, now.Location()); err == nil {
			return place{true, -1, t.UnixMilli()}, nil
		}
	}
	for _, form := range []string{time.TimeOnly, "15:04"} {
		if t, err := time.ParseInLocation("2006-01-02 "+form, now.Format("2006-01-02 ")+text, now.Location()); err == nil {
			return place{true, -1, t.UnixMilli()}, nil
		}
	}
	return place{}, fmt.Errorf("%q is no event's number and no time (such as 10:30, 2026-05-04 or 2h)", text)
}

// wants reports whether an event is to be printed. It must see each event once, in
// order.
func (f *logFilter) wants(ev *session.Event) bool {
	turn := f.open
	switch p := ev.Data.(type) {
	case session.TurnStart:
		f.open, turn = p.Turn, p.Turn
	case session.TurnEnd:
		f.open = 0
	}
	switch {
	case ev.Type == session.TypeAssistantChunk && !f.chunks,
		f.turn > 0 && turn != f.turn,
		f.since.given && f.since.after(ev),
		f.past(ev),
		len(f.types) > 0 && !slices.ContainsFunc(f.types, func(t string) bool { return ofType(ev.Type, t) }):
		return false
	}
	if f.grep == nil {
		return true
	}
	line, err := ev.MarshalJSON()
	return err == nil && f.grep.Match(line)
}

// checkType refuses a type that dsh does not write: nothing would be of it. A log by
// another version may have more of them, which --grep finds.
func checkType(want string) error {
	var near, groups []string
	for _, t := range session.Types() {
		if ofType(t, want) {
			return nil
		}
		group, name, _ := strings.Cut(string(t), "/")
		if strings.Contains(string(t), want) || strings.Contains(want, name) {
			near = append(near, string(t))
		}
		if !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	if len(near) > 0 {
		return fmt.Errorf("--type: no event is of type %q: did you mean %s?", want, strings.Join(near, ", "))
	}
	return fmt.Errorf("--type: no event is of type %q: they begin with %s", want, strings.Join(groups, ", "))
}

func ofType(t session.Type, want string) bool {
	return string(t) == want || strings.HasPrefix(string(t), want+"/")
}

// after reports whether the place comes after an event.
func (p place) after(ev *session.Event) bool {
	if p.seq < 0 {
		return p.time > ev.Time
	}
	return p.seq > ev.Seq
}

// past reports whether nothing from this event on is wanted.
func (f *logFilter) past(ev *session.Event) bool {
	switch u := f.until; {
	case !u.given:
		return false
	case u.seq < 0:
		return ev.Time > u.time
	default:
		return ev.Seq > u.seq
	}
}
