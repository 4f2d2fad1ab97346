package main

import (
	"strings"
	"testing"
)

func TestD07ValuesOfSecretVariables(t *testing.T) {
	t.Parallel()
	for kv, secret := range map[string]bool{
		"GITHUB_TOKEN=abcDEF0123456789": true, "db_password=correct horse 42": true, "MY_API_KEY=0123456789abcdef": true,
		"CLIENT_SECRET=AbcdefghijklM": true, "AWS_SECRET_ACCESS_KEY=a/b+c/d+e/f+g12": true, "KEYCLOAK_PW=abcDEF0123456789": true,
		"TOKEN=short1": false, "SSH_KEY=/home/me/.ssh/id_rsa_2": false, "KEYRING=~/keys/ring-2.kbx": false, "KEY_DIR=./some/where/42": false,
		"TOKEN_URL=https://host/oauth2/token": false, "KEYBOARD_LAYOUT=german-nodeadkeys": false, "MAX_TOKENS=1000000000000": false,
		"EDITOR=abcDEF0123456789": false, "TOKEN=": false, "TOKEN": false,
	} {
		_, value, _ := strings.Cut(kv, "=")
		s := newSecrets(nil, []string{kv})
		text := "x " + value + " y"
		if got := s.result(text) != text; got != secret {
			t.Errorf("%s: taken for a secret: %v", kv, got)
		}
	}
}

// A key that is both a provider's and a variable's is the provider's: it keeps a
// prompt from being sent, the value of another variable does not.
func TestD07PromptsLoseTheUsersOwnValuesOnly(t *testing.T) {
	t.Parallel()
	s := newSecrets([]string{"sk-own-01234567"}, []string{"DEEPSEEK_API_KEY=sk-own-01234567", "GH_TOKEN=abcDEF0123456789"})
	token := "ghp_" + strings.Repeat("aB3dE5", 6)
	for text, want := range map[string]struct {
		clean string
		found bool
	}{
		"use sk-own-01234567":  {"use [API key removed]", true},
		"[API key removed]":    {"[API key removed]", true},
		"use abcDEF0123456789": {"use [redacted: value of GH_TOKEN]", false},
		"use " + token:         {"use " + token, false},
		"[redacted: API key]":  {"[redacted: API key]", false},
	} {
		if clean, found := s.prompt(text); clean != want.clean || found != want.found {
			t.Errorf("%q became %q, %v", text, clean, found)
		}
	}
	if got := s.result("sk-own-01234567 " + token); got != "[redacted: API key] [redacted: GitHub token]" {
		t.Errorf("a result became %q", got)
	}
	next := s.answer()
	if got := next("a sk-own-", false) + next("01234567 "+token, true); got != "a [redacted: API key] "+token {
		t.Errorf("an answer became %q", got)
	}
}
