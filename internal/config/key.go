package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Route is where a model lives: the provider's name, the provider, and the model's
// own name there. A model without a slash is DeepSeek's. For script:FILE the provider
// is "script", without an endpoint, and the model is FILE.
func (l *Loaded) Route() (name string, p Provider, model string, err error) {
	if file, ok := strings.CutPrefix(l.Model, "script:"); ok {
		return "script", Provider{}, file, nil
	}
	name, model, ok := strings.Cut(l.Model, "/")
	if !ok {
		name, model = "deepseek", l.Model
	}
	p, known := l.Providers[name]
	if !known || model == "" {
		o := l.Origin("model")
		return "", Provider{}, "", &Error{File: o.File, Line: o.Line, Key: "model",
			Message: fmt.Sprintf("%q names no known provider: use one of %s, or add [provider.%s] with a base_url to your settings", l.Model, strings.Join(l.ProviderNames(), ", "), name)}
	}
	return name, p, model, nil
}

// Key is the key for a provider, from its variable as it is now, else the stored one.
// Blanks, a byte order mark and quotes around it are dropped. It is "" without an
// error if the provider wants none. The error is a *MissingKeyError or an *Error, and never holds the value.
func (l *Loaded) Key(provider string) (string, Origin, error) {
	p, ok := l.Providers[provider]
	if !ok {
		return "", Origin{}, &Error{Key: "provider." + provider, Message: "no such provider"}
	}
	if p.KeyEnv == "" {
		return "", l.Origin("provider." + provider + ".key_env"), nil
	}
	origin := Origin{Layer: Env, Name: p.KeyEnv}
	text := l.env(p.KeyEnv)
	if trimKey(text) == "" && l.stored[provider] != "" {
		text, origin = l.stored[provider], Origin{Layer: Stored, File: l.keys, Name: l.keys}
	}
	k, err := ParseKey(text)
	if err != nil {
		return "", Origin{}, &Error{Key: origin.Name, Message: err.Error() + ": set it again"}
	}
	if k == "" {
		return "", Origin{}, &MissingKeyError{Provider: provider, Variable: p.KeyEnv}
	}
	return k, origin, nil
}

// StoredKeys are the keys of the credentials file, also those that a variable beats.
func (l *Loaded) StoredKeys() []string { return slices.Sorted(maps.Values(l.stored)) }

// ParseKey is a key as it is sent, out of what a person pasted; "" if there is none.
// The error never holds it.
func ParseKey(text string) (string, error) {
	k := trimKey(text)
	for i := range len(k) {
		if k[i] < '!' || k[i] > '~' {
			return "", fmt.Errorf("character %d of the key is a blank, a control character or not ASCII", i+1)
		}
	}
	return k, nil
}

func trimKey(k string) string {
	const around = " \t\r\n\v\f\u00a0\u200b\ufeff"
	k = strings.Trim(k, around)
	for _, q := range []string{`"`, `'`} {
		if len(k) >= 2 && strings.HasPrefix(k, q) && strings.HasSuffix(k, q) {
			k = strings.Trim(k[1:len(k)-1], around)
		}
	}
	return k
}
