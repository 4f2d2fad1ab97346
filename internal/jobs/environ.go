package jobs

import "strings"

// secretWords mark, in a variable's name, what commands must not inherit.
var secretWords = []string{"KEY", "PASSWORD", "PASSWD", "SECRET", "TOKEN", "CREDENTIAL"}

// hazards change what a shell or a program does behind the command's back: rc files
// for non-interactive shells, options, the terminal of the person at dsh.
var hazards = map[string]bool{
	"BASH_ENV": true, "ENV": true, "PROMPT_COMMAND": true, "SHELLOPTS": true, "BASHOPTS": true, "GPG_TTY": true,
}

// fixed makes programs behave where nobody can answer: plain text, no pager, and
// editors that fail at once instead of waiting (or of accepting a rebase unread).
var fixed = []string{
	"NO_COLOR=1", "TERM=dumb", "PAGER=cat", "GIT_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0",
	"EDITOR=false", "VISUAL=false", "GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false",
	"DSH_SHELL=1",
}

// Environ makes the environment of commands from dsh's own: without secrets (by
// name), without DSH_* and what would change how a shell starts, with plain-text
// settings; then extra (KEY=VALUE, as they are), such as DSH_SESSION_ID,
// DSH_SESSION_JSONL and DSH_HOME. A later value replaces an earlier one.
func Environ(parent []string, extra ...string) []string {
	var env []string
	at := map[string]int{}
	set := func(kv string) {
		name, _, ok := strings.Cut(kv, "=")
		if i, seen := at[name]; seen {
			env[i] = kv
		} else if ok && name != "" {
			at[name] = len(env)
			env = append(env, kv)
		}
	}
	for _, kv := range parent {
		if name, _, _ := strings.Cut(kv, "="); inherited(name) {
			set(kv)
		}
	}
	for _, kv := range fixed {
		set(kv)
	}
	for _, kv := range extra {
		set(kv)
	}
	return env
}

func inherited(name string) bool {
	upper := strings.ToUpper(name)
	for _, word := range secretWords {
		if strings.Contains(upper, word) {
			return false
		}
	}
	return !hazards[name] && !strings.HasPrefix(upper, "DSH_") && !strings.HasPrefix(name, "BASH_FUNC_")
}
