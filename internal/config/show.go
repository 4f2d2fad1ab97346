package config

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Row is one setting in force, as it is shown. Of a key it says only whether there is
// one, and its last characters.
type Row struct {
	Name   string
	Value  string
	Origin Origin
}

// Rows are all settings in a fixed order. Lists have a row for each item.
func (l *Loaded) Rows() (rows []Row) {
	row := func(name, value string, o Origin) { rows = append(rows, Row{name, value, o}) }
	for _, k := range keys {
		row(k.name, k.get(&l.Settings), l.Origin(k.name))
	}
	for _, model := range l.Fallback {
		row(keyFallback, strconv.Quote(model), l.Origin(keyFallback))
	}
	for _, action := range slices.Sorted(maps.Keys(l.Keys)) {
		row(tableKeys+"."+action, fmt.Sprintf("%q", l.Keys[action]), l.Origin(tableKeys+"."+action))
	}
	for _, r := range l.Allow {
		row(keyAllow, strconv.Quote(r.Text), r.Origin)
	}
	for _, r := range l.Deny {
		row(keyDeny, strconv.Quote(r.Text), r.Origin)
	}
	for _, r := range l.Disabled {
		row(keyDisabled, strconv.Quote(r.Text), r.Origin)
	}
	for _, name := range l.ProviderNames() {
		prefix := "provider." + name
		row(prefix+".base_url", l.Providers[name].BaseURL, l.Origin(prefix+".base_url"))
		row(prefix+".key_env", l.Providers[name].KeyEnv, l.Origin(prefix+".key_env"))
		value, origin := l.masked(name)
		row(prefix+" key", value, origin)
	}
	return rows
}

// Show writes every setting with its value and origin, one a line.
func (l *Loaded) Show(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range l.Rows() {
		if r.Value == "" {
			r.Value = `""`
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", r.Name, r.Value, r.Origin)
	}
	return tw.Flush()
}

// shortKey is the length below which the last four characters would tell too much.
const shortKey = 16

func (l *Loaded) masked(provider string) (string, Origin) {
	k, origin, err := l.Key(provider)
	switch {
	case err != nil:
		return "not set or not usable", Origin{Layer: Env, Name: l.Providers[provider].KeyEnv}
	case k == "":
		return "not wanted", origin
	case len(k) < shortKey:
		return "set", origin
	}
	return "set (…" + k[len(k)-4:] + ")", origin
}

// CheckFile holds a file of settings against what dsh knows. It returns how many
// settings are in it, and everything that is wrong, each an *Error. A file that does
// not exist has none.
func CheckFile(path string) (settings int, wrong []error) {
	if path == "" {
		return 0, nil
	}
	entries, err := readFile(path, User)
	if err != nil {
		return 0, []error{err}
	}
	for _, e := range entries {
		scratch := defaults()
		if err := scratch.set(e); err != nil {
			wrong = append(wrong, &Error{File: path, Line: e.origin.Line, Key: e.key, Message: err.Error()})
		}
	}
	return len(entries), wrong
}

// UserOnly reports whether a setting is ignored in a project's file, trusted or not.
func UserOnly(name string) bool {
	return strings.HasPrefix(name, "provider.") || strings.HasPrefix(name, tableKeys+".")
}
