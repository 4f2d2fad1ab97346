package config

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"
)

const (
	maxSteps    = 100_000 // a turn of more steps is a loop that nobody watches
	maxAttempts = 100
	maxVerify   = 20    // a model that has failed so often goes in circles
	minWindow   = 4_000 // tokens: below it, prompt and tools leave no room to work
	maxWindow   = 100_000_000
	maxEffort   = 16 // characters
)

// Permissions are the presets, the strictest first.
var permissions = []string{"read-only", "ask", "workspace", "full"}

// key is one setting that is a single value.
type key struct {
	name string
	env  string // the variable that sets it
	kind unstable.Kind
	set  func(*Settings, string) error
	get  func(*Settings) string

	// stricter reports whether a is stricter than b; nil where neither can be.
	stricter func(a, b *Settings) bool
}

var keys = []key{
	{"model", "DSH_MODEL", unstable.String,
		func(s *Settings, v string) error { s.Model = v; return printable(v) },
		func(s *Settings) string { return s.Model }, nil},
	{"effort", "DSH_EFFORT", unstable.String,
		func(s *Settings, v string) error { s.Effort = v; return effort(v) },
		func(s *Settings) string { return s.Effort }, nil},
	{"permission", "DSH_PERMISSION", unstable.String,
		func(s *Settings, v string) error { s.Permission = v; return permission(v) },
		func(s *Settings) string { return s.Permission },
		func(a, b *Settings) bool {
			return slices.Index(permissions, a.Permission) < slices.Index(permissions, b.Permission)
		}},
	{"max_steps", "DSH_MAX_STEPS", unstable.Integer,
		func(s *Settings, v string) error { return number(&s.MaxSteps, v, maxSteps) },
		func(s *Settings) string { return strconv.Itoa(s.MaxSteps) },
		func(a, b *Settings) bool { return a.MaxSteps < b.MaxSteps }},
	{"max_time", "DSH_MAX_TIME", unstable.String,
		func(s *Settings, v string) error { return duration(&s.MaxTime, v) },
		func(s *Settings) string { return s.MaxTime.String() },
		func(a, b *Settings) bool { return a.MaxTime > 0 && (b.MaxTime == 0 || a.MaxTime < b.MaxTime) }},
	{"context_window", "DSH_CONTEXT_WINDOW", unstable.Integer,
		func(s *Settings, v string) error { return window(&s.ContextWindow, v) },
		func(s *Settings) string { return strconv.Itoa(s.ContextWindow) }, nil},
	{"bash.handover", "", unstable.String,
		func(s *Settings, v string) error { s.Handover = v; return onOff(v) },
		func(s *Settings) string { return s.Handover }, nil},
	{"bash.auto_background", "", unstable.String,
		func(s *Settings, v string) error { return duration(&s.AutoBackground, v) },
		func(s *Settings) string { return s.AutoBackground.String() }, nil},
	{"retry.max_attempts", "", unstable.Integer,
		func(s *Settings, v string) error { return number(&s.RetryMaxAttempts, v, maxAttempts) },
		func(s *Settings) string { return strconv.Itoa(s.RetryMaxAttempts) }, nil},
	{"retry.max_wait", "", unstable.String,
		func(s *Settings, v string) error { return duration(&s.RetryMaxWait, v) },
		func(s *Settings) string { return s.RetryMaxWait.String() }, nil},

	// A command of a project's file runs code like a hook: not before trust.
	{keyVerify, "", unstable.String,
		func(s *Settings, v string) error { s.VerifyCommand = v; return command(v) },
		func(s *Settings) string { return s.VerifyCommand }, nil},
	{"verify.attempts", "", unstable.Integer,
		func(s *Settings, v string) error { return number(&s.VerifyAttempts, v, maxVerify) },
		func(s *Settings) string { return strconv.Itoa(s.VerifyAttempts) }, nil},
	{"verify.timeout", "", unstable.String,
		func(s *Settings, v string) error { return timeout(&s.VerifyTimeout, v) },
		func(s *Settings) string { return s.VerifyTimeout.String() }, nil},
}

// DefaultAutoBackground is how long a person at the screen waits for a command before
// the conversation goes on without it.
const DefaultAutoBackground = 30 * time.Second

// flagNames are the settings whose flag has another name.
var flagNames = map[string]string{"verify": keyVerify}

const (
	keyFallback = "fallback"
	keyVerify   = "verify.command"
	tableKeys   = "keys"
	keyAllow    = "permissions.allow"
	keyDeny     = "permissions.deny"
	keyDisabled = "tools.disabled"
)

func defaults() Settings {
	return Settings{
		Model:            "deepseek-flash",
		Permission:       "ask",
		MaxSteps:         200,
		Handover:         "on",
		AutoBackground:   DefaultAutoBackground,
		RetryMaxAttempts: 6,
		RetryMaxWait:     time.Minute,
		VerifyAttempts:   3,                // what a model has not repaired by then it does not understand
		VerifyTimeout:    10 * time.Minute, // a long test suite fits in
		Providers: map[string]Provider{
			"deepseek": {BaseURL: "https://api.deepseek.com", KeyEnv: "DEEPSEEK_API_KEY"},
			"openai":   {BaseURL: "https://api.openai.com/v1", KeyEnv: "OPENAI_API_KEY"},
		},
	}
}

// set puts one value into the settings. The error is the text of an Error.
func (s *Settings) set(e entry) error {
	if i := slices.IndexFunc(keys, func(k key) bool { return k.name == e.key }); i >= 0 {
		if e.kind != keys[i].kind {
			return fmt.Errorf("want %s", kindName(keys[i].kind))
		}
		return keys[i].set(s, e.text)
	}
	if action, ok := strings.CutPrefix(e.key, tableKeys+"."); ok {
		return s.setKeys(action, e)
	}
	if e.key == keyFallback {
		return s.setFallback(e)
	}
	if list, example := s.list(e.key); list != nil {
		if e.kind != unstable.Array {
			return fmt.Errorf("want a list such as [%q]", example)
		}
		*list = append(*list, e.list...)
		return nil
	}
	if name, field, ok := providerKey(e.key); ok {
		if e.kind != unstable.String {
			return fmt.Errorf("want %s", kindName(unstable.String))
		}
		return s.setProvider(name, field, e.text)
	}
	return fmt.Errorf("no such setting%s", suggest(e.key))
}

// list is where the items of a setting are collected from all places, and an example of
// one; nil if the setting is none of those.
func (s *Settings) list(key string) (list *[]RuleText, example string) {
	switch key {
	case keyAllow:
		return &s.Allow, "bash(go test:*)"
	case keyDeny:
		return &s.Deny, "bash(go test:*)"
	case keyDisabled:
		return &s.Disabled, "bash"
	}
	return nil, ""
}

// setKeys takes one key or a list. Which actions and keys there are is the screen's
// business.
func (s *Settings) setKeys(action string, e entry) error {
	var list []string
	switch e.kind {
	case unstable.String:
		list = []string{e.text}
	case unstable.Array:
		for _, item := range e.list {
			list = append(list, item.Text)
		}
	default:
		return fmt.Errorf(`want a key such as "ctrl+x", or a list of them`)
	}
	for _, k := range list {
		if err := printable(k); err != nil {
			return err
		}
	}
	if s.Keys == nil {
		s.Keys = map[string][]string{}
	}
	s.Keys[action] = list
	return nil
}

// setFallback replaces the list: the models of two files do not add up.
func (s *Settings) setFallback(e entry) error {
	if e.kind != unstable.Array {
		return fmt.Errorf(`want a list such as ["deepseek-pro", "openai/NAME"]`)
	}
	s.Fallback = nil
	for _, item := range e.list {
		if err := printable(item.Text); err != nil {
			return err
		}
		s.Fallback = append(s.Fallback, item.Text)
	}
	return nil
}

func (s *Settings) setProvider(name, field, v string) error {
	p, known := s.Providers[name]
	if !known {
		p.KeyEnv = variable(name, "API_KEY")
	}
	switch field {
	case "base_url":
		if err := baseURL(v); err != nil {
			return err
		}
		p.BaseURL = strings.TrimRight(v, "/")
	case "key_env":
		if v != "" && variable(v, "") != v {
			return fmt.Errorf("want the name of a variable, such as %s, never a key itself", variable(name, "API_KEY"))
		}
		p.KeyEnv = v
	}
	s.Providers[name] = p
	return nil
}

// providerKey splits provider.NAME.FIELD.
func providerKey(k string) (name, field string, ok bool) {
	parts := strings.Split(k, ".")
	if len(parts) != 3 || parts[0] != "provider" || parts[1] == "" || parts[1] != strings.ToLower(parts[1]) {
		return "", "", false
	}
	return parts[1], parts[2], parts[2] == "base_url" || parts[2] == "key_env"
}

// variable is the environment variable for a provider: my-host and API_KEY make
// MY_HOST_API_KEY.
func variable(name, what string) string {
	if what != "" {
		name += "_" + what
	}
	return strings.Map(func(c rune) rune {
		if c < unicode.MaxASCII && (unicode.IsLetter(c) || unicode.IsDigit(c)) {
			return unicode.ToUpper(c)
		}
		return '_'
	}, name)
}

func kindName(k unstable.Kind) string {
	if k == unstable.Integer {
		return "a whole number, without quotes"
	}
	return "a string in quotes"
}

func printable(v string) error {
	if v == "" || strings.IndexFunc(v, func(c rune) bool { return !unicode.IsPrint(c) }) >= 0 {
		return fmt.Errorf("%q is not a name: want printable text", v)
	}
	return nil
}

// effort takes any word: which ones there are is the model's business.
func effort(v string) error {
	if len(v) > maxEffort || strings.Trim(v, "abcdefghijklmnopqrstuvwxyz") != "" {
		return fmt.Errorf("%q is not an effort: use a word such as off, low, high or max", v)
	}
	return nil
}

func permission(v string) error {
	if !slices.Contains(permissions, v) {
		return fmt.Errorf("%q is not a preset: use one of %s", v, strings.Join(permissions, ", "))
	}
	return nil
}

func number(to *int, v string, limit int) error {
	n, err := strconv.ParseInt(v, 0, 32)
	if err != nil || n < 1 || n > int64(limit) {
		return fmt.Errorf("%q is out of range: want 1 to %d", v, limit)
	}
	*to = int(n)
	return nil
}

// window takes 0 too: the model's own.
func window(to *int, v string) error {
	n, err := strconv.ParseInt(v, 0, 32)
	if err != nil || n != 0 && (n < minWindow || n > maxWindow) {
		return fmt.Errorf("%q is no context window: want the model's tokens, %d to %d, or 0 for what is known about it", v, minWindow, maxWindow)
	}
	*to = int(n)
	return nil
}

func duration(to *time.Duration, v string) error {
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return fmt.Errorf(`%q is not a duration: want one such as "90s" or "30m"`, v)
	}
	*to = d
	return nil
}

func onOff(v string) error {
	if v != "on" && v != "off" {
		return fmt.Errorf(`want "on" or "off", not %q`, v)
	}
	return nil
}

// timeout is a duration that ends something: 0 would end it at once.
func timeout(to *time.Duration, v string) error {
	if err := duration(to, v); err != nil || *to > 0 {
		return err
	}
	return fmt.Errorf(`%q ends it at once: want a duration such as "10m"`, v)
}

// command is a line for a shell.
func command(v string) error {
	if strings.TrimSpace(v) == "" {
		return fmt.Errorf(`want a command, such as "go test ./..."`)
	}
	if !utf8.ValidString(v) {
		return fmt.Errorf("the command is not valid UTF-8, so the log cannot hold it")
	}
	if strings.IndexFunc(v, func(c rune) bool { return unicode.IsControl(c) && c != '\n' && c != '\t' }) >= 0 {
		return fmt.Errorf("the command %q holds a control character", v)
	}
	return nil
}

// baseURL refuses what would carry a secret into logs and messages; its errors do
// not repeat the value for the same reason.
func baseURL(v string) error {
	u, err := url.Parse(v)
	switch {
	case err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return fmt.Errorf("want a URL such as https://host/v1")
	case u.User != nil:
		return fmt.Errorf("the URL must not hold a user or password: keys come from the environment")
	case u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("the URL must end with its path, without ? or #")
	}
	return nil
}
