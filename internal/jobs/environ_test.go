package jobs

import (
	"slices"
	"strings"
	"testing"
)

func TestBSH18SecretsAreNotInherited(t *testing.T) {
	t.Parallel()
	secret := []string{"API_KEY", "MY_TOKEN", "DB_PASSWORD", "CLIENT_SECRET", "DEEPSEEK_API_KEY", "openai_api_key", "PASSWD", "AWS_CREDENTIAL_FILE"}
	parent := []string{"PATH=/bin", "HOME=/h", "LANG=C.UTF-8", "SSH_AUTH_SOCK=/s"}
	for _, name := range secret {
		parent = append(parent, name+"=sk-test")
	}
	env := Environ(parent)
	if strings.Contains(strings.Join(env, "\n"), "sk-test") {
		t.Errorf("%q", env)
	}
	for _, kv := range parent[:4] {
		if !slices.Contains(env, kv) {
			t.Errorf("%s is lost", kv)
		}
	}
}

func TestD07ACommandSeesNoKey(t *testing.T) {
	t.Parallel()
	parent := append(environ(), "DEEPSEEK_API_KEY=sk-test", "OPENAI_API_KEY=sk-test")
	p := start(t, newTable(t, Options{}), Command{Command: `env; cat /proc/$PPID/environ | tr '\0' '\n'; set`, Env: Environ(parent)})
	if r := wait(t, p); strings.Contains(r.Output, "sk-test") || !strings.Contains(r.Output, "DSH_SHELL=1") {
		t.Error(r.Output)
	}
}

func TestBSH19TheEnvironmentIsPlain(t *testing.T) {
	t.Parallel()
	parent := append(environ(), "TERM=xterm-256color", "PAGER=less", "EDITOR=vi")
	env := Environ(parent, "DSH_SESSION_ID=abc", "DSH_HOME=/state")
	r := wait(t, start(t, newTable(t, Options{}), Command{Command: `env`, Env: env}))
	lines := strings.Split(r.Output, "\n")
	for _, want := range []string{"NO_COLOR=1", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0",
		"EDITOR=false", "VISUAL=false", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false",
		"DSH_SHELL=1", "DSH_SESSION_ID=abc", "DSH_HOME=/state"} {
		if !slices.Contains(lines, want) {
			t.Errorf("%s is missing", want)
		}
	}
}

// TestBSH20TheLogIsNamedBeforeItExists: extra values are passed as they are.
func TestBSH20TheLogIsNamedBeforeItExists(t *testing.T) {
	t.Parallel()
	const path = "/no/such/dir/session.jsonl"
	r := wait(t, start(t, newTable(t, Options{}), Command{Command: `echo "$DSH_SESSION_JSONL"`, Env: environ("DSH_SESSION_JSONL=" + path)}))
	if r.Output != path+"\n" {
		t.Errorf("%q", r.Output)
	}
}

func TestBSH21WhatDSHInheritedStaysWithIt(t *testing.T) {
	t.Parallel()
	env := Environ([]string{"DSH_SESSION_ID=outer", "DSH_ANYTHING=1", "dsh_x=1",
		"BASH_ENV=/e", "ENV=/e", "PROMPT_COMMAND=x", "SHELLOPTS=nounset", "BASHOPTS=x", "BASH_FUNC_ls%%=() { :; }", "GPG_TTY=/dev/pts/0",
		"TERM=a", "=broken", "broken", "A=1", "A=2"}, "DSH_SESSION_ID=inner")
	want := append([]string{"TERM=dumb", "A=2"}, fixed...)
	want = append(want, "DSH_SESSION_ID=inner")
	slices.Sort(env)
	slices.Sort(want)
	want = slices.Compact(want)
	if !slices.Equal(env, want) {
		t.Errorf("%q\nwant %q", env, want)
	}
}
