package main

import (
	"regexp"
	"strings"

	"dsh/internal/jobs"
	"dsh/internal/redact"
)

// secrets keeps what is secret out of everything that dsh logs, sends and shows.
type secrets struct {
	keys  []string         // of all providers
	own   *redact.Redactor // the values that are the user's
	known *redact.Redactor // those, and whatever looks like a key
}

// newSecrets makes the filters for the keys of providers and what else the environment
// says is secret.
func newSecrets(keys, environ []string) *secrets {
	s := &secrets{keys: keys}
	var values []redact.Value
	for _, key := range s.keys {
		values = append(values, redact.Value{Kind: "API key", Text: key})
	}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if secretName.MatchString(name) && looksSecret(value) {
			values = append(values, redact.Value{Kind: "value of " + name, Text: value})
		}
	}
	s.own, s.known = redact.ValuesOnly(values), redact.New(values)
	return s
}

// secretName is a variable that holds a secret. Its name stands in the marker.
var secretName = regexp.MustCompile(`(?i)^[a-z0-9_]{0,50}(KEY|TOKEN|SECRET|PASSWORD)[a-z0-9_]{0,20}$`)

// minSecret is the length below which the value of such a variable may be a setting,
// in bytes.
const minSecret = 12

// looksSecret reports whether a variable's value may be a secret: what names a file,
// a socket or an address is none, nor is a word.
func looksSecret(value string) bool {
	if len(value) < minSecret || strings.HasPrefix(value, "/") || strings.HasPrefix(value, "~") || strings.HasPrefix(value, ".") {
		return false
	}
	if strings.Contains(value, "://") {
		return false // a password in it has a shape of its own
	}
	return strings.Trim(value, "abcdefghijklmnopqrstuvwxyz-_ ") != "" && strings.Trim(value, "0123456789.,-") != ""
}

// prompt is for what a person writes: only the user's own values are taken out, and a
// provider's key makes the prompt one that is not sent.
func (s *secrets) prompt(text string) (clean string, found bool) {
	clean = text
	for _, key := range s.keys {
		clean = strings.ReplaceAll(clean, key, redactedKey)
	}
	found = strings.Contains(clean, redactedKey)
	clean, _ = s.own.Text(clean)
	return clean, found
}

// result is for what comes from outside.
func (s *secrets) result(text string) string {
	clean, _ := s.known.Text(text)
	return clean
}

// answer is for what the model writes, which may hold examples of keys.
func (s *secrets) answer() func(piece string, end bool) string {
	stream := s.own.Stream()
	return func(piece string, end bool) string { return string(stream.Next([]byte(piece), end)) }
}

// output is for what a command writes.
func (s *secrets) output() jobs.Filter { return s.known.Stream().Next }
