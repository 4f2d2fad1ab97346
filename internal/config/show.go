package config

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"text/tabwriter"
)

// Show writes every setting with its value and origin, one a line. Of a key it shows
// only whether it is set, and its last characters.
func (l *Loaded) Show(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, value string, o Origin) {
		if value == "" {
			value = `""`
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\n", name, value, o)
	}
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
	for _, name := range l.providerNames() {
		prefix := "provider." + name
		row(prefix+".base_url", l.Providers[name].BaseURL, l.Origin(prefix+".base_url"))
		row(prefix+".key_env", l.Providers[name].KeyEnv, l.Origin(prefix+".key_env"))
		value, origin := l.masked(name)
		row(prefix+" key", value, origin)
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
