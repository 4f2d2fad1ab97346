package config

import (
	"fmt"
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
			Message: fmt.Sprintf("%q names no known provider: use one of %s, or add [provider.%s] with a base_url to your settings", l.Model, strings.Join(l.providerNames(), ", "), name)}
	}
	return name, p, model, nil
}

// Key is the key for a provider, read now: from its variable, else from the file of
// credentials. Blanks, a byte order
// mark and quotes around it are dropped. It is "" without an error if the provider
// wants none. The error is a *MissingKeyError or an *Error, and never holds the value.
func (l *Loaded) Key(provider string) (string, Origin, error) {
	p, ok := l.Providers[provider]
	if !ok {
		return "", Origin{}, &Error{Key: "provider." + provider, Message: "no such provider"}
	}
	if p.KeyEnv == "" {
		return "", l.Origin("provider." + provider + ".key_env"), nil
	}
	origin := Origin{Layer: Env, Name: p.KeyEnv}
	k := trimKey(l.env(p.KeyEnv))
	if k == "" {
		c, err := readCredentials(l.credentials)
		if err != nil {
			return "", Origin{}, err
		}
		k, origin = trimKey(c.Keys[provider]), Origin{Layer: User, File: l.credentials, Name: credentialsName}
	}
	if k == "" {
		return "", Origin{}, &MissingKeyError{Provider: provider, Variable: p.KeyEnv}
	}
	for i := range len(k) {
		if k[i] < '!' || k[i] > '~' {
			return "", Origin{}, &Error{File: origin.File, Key: p.KeyEnv,
				Message: fmt.Sprintf("character %d of the key is a blank, a control character or not ASCII: set it again", i+1)}
		}
	}
	return k, origin, nil
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
