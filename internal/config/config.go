package config

import (
	"fmt"
	"time"
)

// Settings are the values in force.
type Settings struct {
	Model      string        // a name of DeepSeek's, PROVIDER/NAME, or script:FILE
	Fallback   []string      // models to go on with when the retries of a request are spent
	Effort     string        // of reasoning; "" is the provider's default, "off" is none
	Permission string        // the preset: read-only, ask, workspace, full
	MaxSteps   int           // of one turn
	MaxTime    time.Duration // of one turn; 0 is no limit

	ContextWindow int // tokens; 0 is what is known about the model

	RetryMaxAttempts int           // of one step, the first included
	RetryMaxWait     time.Duration // before one attempt, whoever asks for it

	Handover       string        // "on": a running command can become a job; "off"
	AutoBackground time.Duration // after which it does, where a person waits; 0 is never

	VerifyCommand  string        // that must exit 0 before a turn that changed something is done; "" is none
	VerifyAttempts int           // how often a failure of it is given back to the model
	VerifyTimeout  time.Duration // of one run

	Keys map[string][]string // of the screen: its action, and the keys that do it

	Providers map[string]Provider // by the name that stands before the slash in Model

	Allow []RuleText
	Deny  []RuleText

	Disabled []RuleText // names of tools that sessions do not have
}

// Provider is one endpoint that speaks OpenAI's chat completions.
type Provider struct {
	BaseURL string
	KeyEnv  string // the variable that holds the key; "" if the endpoint wants none
}

// RuleText is one item of a list such as those of [permissions], as it was written.
type RuleText struct {
	Text   string
	Origin Origin
}

// Layer is a place that settings come from; later ones win.
type Layer string

const (
	Default Layer = "default"
	User    Layer = "user"
	Project Layer = "project"
	Env     Layer = "env"
	Flag    Layer = "flag"
	Stored  Layer = "stored" // of keys only
)

// Origin says where a value comes from.
type Origin struct {
	Layer Layer
	File  string // user, project
	Line  int    // user, project; from 1
	Name  string // env: the variable; flag: with its dashes; stored: the file
}

func (o Origin) String() string {
	switch o.Layer {
	case User, Project:
		return fmt.Sprintf("%s:%d", o.File, o.Line)
	case Env, Flag, Stored:
		return o.Name
	}
	return string(Default)
}

// Error is a setting, or a file of settings, that dsh cannot use. It is one line and
// never holds a key.
type Error struct {
	File    string // "" outside files
	Line    int    // from 1; 0 for the whole file
	Column  int    // in bytes, from 1; 0 for the whole line
	Key     string // the setting, variable or flag; "" for the whole file
	Message string // what is wrong, and what to do
}

func (e *Error) Error() string {
	s := e.Message
	if e.Key != "" {
		s = e.Key + ": " + s
	}
	switch {
	case e.File != "" && e.Column > 0:
		return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, s)
	case e.File != "" && e.Line > 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, s)
	case e.File != "":
		return e.File + ": " + s
	}
	return s
}

// MissingKeyError says that no key for a provider was found.
type MissingKeyError struct {
	Provider string
	Variable string // what to export
}

func (e *MissingKeyError) Error() string {
	s := fmt.Sprintf("no API key for %s: export %s=... and run dsh again", e.Provider, e.Variable)
	if _, builtIn := defaults().Providers[e.Provider]; !builtIn {
		s += fmt.Sprintf(`, or set key_env = "" under [provider.%s] if it wants none`, e.Provider)
	}
	return s
}

// HomeError says that there is no place for dsh's own files.
type HomeError struct {
	Variable string
	Value    string
}

func (e *HomeError) Error() string {
	if e.Value == "" {
		return fmt.Sprintf("%s is not set, so dsh has no place for its sessions: set it, or set DSH_HOME to a directory", e.Variable)
	}
	return fmt.Sprintf("%s is %q, which is not an absolute path: set it to one", e.Variable, e.Value)
}
