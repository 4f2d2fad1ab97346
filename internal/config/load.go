package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Loaded are the settings with their origins. It is not changed after Load.
type Loaded struct {
	Settings
	Warnings []string // what was ignored, for the user to read; may quote file content

	origins map[string]Origin
	env     func(string) string
	stored  credentials
	keys    string // the file of stored
}

// Load reads the layers in their order: defaults, the user's file, the project's,
// the environment, the flags. flags holds what was given on the command line, by the
// name of the setting (max-steps or max_steps). Any bad value is an *Error.
//
// A project's file never sets providers: whoever wrote the checkout could send the
// user's key elsewhere. Unless trusted, it can only be stricter: a stricter
// permission, more deny rules, a lower limit. The rest of it is ignored with a
// warning.
func Load(p Paths, env func(string) string, flags map[string]string, trusted bool) (*Loaded, error) {
	l := &Loaded{Settings: defaults(), origins: map[string]Origin{}, env: env, keys: p.Credentials}
	var err error
	if l.stored, err = loadCredentials(p.Credentials); err != nil {
		return nil, err
	}
	if p.UserConfig != "" {
		if err := l.file(p.UserConfig, User, nil); err != nil {
			return nil, err
		}
	}
	if p.ProjectConfig != "" && p.ProjectConfig != p.UserConfig {
		if err := l.file(p.ProjectConfig, Project, func(e entry) string { return l.refuse(e, trusted) }); err != nil {
			return nil, err
		}
	}
	if err := l.environment(); err != nil {
		return nil, err
	}
	if err := l.flags(flags); err != nil {
		return nil, err
	}
	return l, l.check()
}

// Origin is where the value of a setting (by its name in a file) comes from.
func (l *Loaded) Origin(name string) Origin {
	if o, ok := l.origins[name]; ok {
		return o
	}
	return Origin{Layer: Default}
}

// file applies one file. refuse says why an entry is ignored, "" if it is not.
func (l *Loaded) file(path string, layer Layer, refuse func(entry) string) error {
	entries, err := readFile(path, layer)
	if err != nil {
		return err
	}
	for _, e := range entries {
		scratch := defaults() // an ignored value must be a good one all the same
		if err := scratch.set(e); err != nil {
			return &Error{File: path, Line: e.origin.Line, Key: e.key, Message: err.Error()}
		}
		if refuse != nil {
			if why := refuse(e); why != "" {
				l.Warnings = append(l.Warnings, fmt.Sprintf("%s: %s is ignored: %s", e.origin, e.key, why))
				continue
			}
		}
		if err := l.apply(e); err != nil {
			return err
		}
	}
	return nil
}

// refuse says why an entry of the project's file is ignored.
func (l *Loaded) refuse(e entry, trusted bool) string {
	if strings.HasPrefix(e.key, "provider.") { // and see UserOnly
		return "only your own settings may say where your key is sent"
	}
	if strings.HasPrefix(e.key, tableKeys+".") {
		return "only your own settings may change keys"
	}
	if trusted || e.key == keyDeny || e.key == keyDisabled {
		return ""
	}
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == e.key && k.stricter != nil })
	if i < 0 {
		return "the project is not trusted (--trust trusts it for one run)"
	}
	theirs := defaults()
	if err := theirs.set(e); err == nil && !keys[i].stricter(&l.Settings, &theirs) { // it was set before: it is good
		return ""
	}
	return fmt.Sprintf("the project is not trusted, so it cannot widen %s to %s (--trust trusts it for one run)", keys[i].get(&l.Settings), e.text)
}

func (l *Loaded) environment() error {
	for _, k := range keys {
		if k.env == "" {
			continue
		}
		if v := l.env(k.env); v != "" {
			if err := l.apply(entry{key: k.name, kind: k.kind, text: v, origin: Origin{Layer: Env, Name: k.env}}); err != nil {
				return err
			}
		}
	}
	for _, name := range l.ProviderNames() {
		env := variable(name, "BASE_URL")
		if v := l.env(env); v != "" {
			e := entry{key: "provider." + name + ".base_url", kind: unstable.String, text: v, origin: Origin{Layer: Env, Name: env}}
			if err := l.apply(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func (l *Loaded) flags(flags map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		origin := Origin{Layer: Flag, Name: "--" + strings.ReplaceAll(name, "_", "-")}
		setting := strings.ReplaceAll(name, "-", "_")
		if other, ok := flagNames[setting]; ok {
			setting = other
		}
		i := slices.IndexFunc(keys, func(k key) bool { return k.name == setting })
		if i < 0 {
			return &Error{Key: origin.Name, Message: "no such setting"}
		}
		if err := l.apply(entry{key: setting, kind: keys[i].kind, text: flags[name], origin: origin}); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loaded) apply(e entry) error {
	if err := l.set(e); err != nil {
		bad := &Error{File: e.origin.File, Line: e.origin.Line, Key: e.key, Message: err.Error()}
		if e.origin.Name != "" {
			bad.Key = e.origin.Name
		}
		return bad
	}
	l.origins[e.key] = e.origin
	return nil
}

// ProviderNames are the names of all providers, sorted.
func (l *Loaded) ProviderNames() []string { return slices.Sorted(maps.Keys(l.Providers)) }

// check looks at what only the sum of the layers can tell.
func (l *Loaded) check() error {
	for _, name := range l.ProviderNames() {
		if l.Providers[name].BaseURL == "" {
			o := l.Origin("provider." + name + ".key_env")
			return &Error{File: o.File, Line: o.Line, Key: "provider." + name, Message: "it has no base_url"}
		}
	}
	return nil
}

// PlainHTTP is what to tell the user before the provider's key is sent unencrypted; ""
// if it is not.
func (l *Loaded) PlainHTTP(provider string) string {
	p := l.Providers[provider]
	u, err := url.Parse(p.BaseURL)
	if err != nil || u.Scheme != "http" || p.KeyEnv == "" || u.Hostname() == "localhost" {
		return ""
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		return ""
	}
	o := l.Origin("provider." + provider + ".base_url")
	return fmt.Sprintf("%s: the key of %s is sent unencrypted to %s: use https", o, provider, u.Host)
}
