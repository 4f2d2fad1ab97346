package config

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"dsh/internal/policy"
)

// files writes a user's and a project's file; an empty text writes none.
func files(t *testing.T, user, project string) Paths {
	t.Helper()
	dir := t.TempDir()
	p := Paths{Home: dir + "/state", UserConfig: dir + "/user.toml", Project: dir, ProjectConfig: dir + "/project.toml"}
	for path, text := range map[string]string{p.UserConfig: user, p.ProjectConfig: project} {
		if text != "" {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p
}

func load(t *testing.T, p Paths, e func(string) string, flags map[string]string, trusted bool) *Loaded {
	t.Helper()
	l, err := Load(p, e, flags, trusted)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestDefaultsWithoutFiles(t *testing.T) {
	t.Parallel()
	l := load(t, Paths{}, env(), nil, false)
	if !reflect.DeepEqual(l.Settings, defaults()) || len(l.Warnings) > 0 || l.Origin("model").String() != "default" {
		t.Errorf("%+v", l)
	}
}

func TestPermissionsAreThePresetsOfPolicy(t *testing.T) {
	t.Parallel()
	var presets []string
	for _, p := range policy.Presets() {
		presets = append(presets, string(p))
	}
	if !reflect.DeepEqual(presets, permissions) {
		t.Errorf("config knows %v, policy %v", permissions, presets)
	}
}

func TestEveryLayerWinsOverTheOneBefore(t *testing.T) {
	t.Parallel()
	p := files(t, `
model = "user"
effort = "low"
max_steps = 1
max_time = "1m"
[retry]
max_attempts = 2
max_wait = "5s"
`, `
model = "project"
effort = "high"
max_steps = 2
`)
	e := env("DSH_MODEL=env", "DSH_EFFORT=max", "DSH_PERMISSION=", "OPENAI_BASE_URL=https://gate.example/v1/")
	l := load(t, p, e, map[string]string{"model": "flag", "max-time": "2m"}, true)
	for name, want := range map[string]string{
		"model": "--model", "effort": "DSH_EFFORT", "max_steps": p.ProjectConfig + ":4", "max_time": "--max-time",
		"retry.max_attempts": p.UserConfig + ":7", "retry.max_wait": p.UserConfig + ":8", "permission": "default",
		"provider.openai.base_url": "OPENAI_BASE_URL", "provider.deepseek.base_url": "default",
	} {
		if got := l.Origin(name).String(); got != want {
			t.Errorf("%s comes from %s, want %s", name, got, want)
		}
	}
	s := l.Settings
	if s.Model != "flag" || s.Effort != "max" || s.MaxSteps != 2 || s.MaxTime != 2*time.Minute || s.RetryMaxAttempts != 2 || s.RetryMaxWait != 5*time.Second {
		t.Errorf("%+v", s)
	}
	if s.Providers["openai"].BaseURL != "https://gate.example/v1" || len(l.Warnings) > 0 {
		t.Errorf("%+v, %v", s.Providers, l.Warnings)
	}
}

func TestRulesAddUpWithTheirOrigins(t *testing.T) {
	t.Parallel()
	p := files(t, `permissions = { allow = ["bash(make)"], deny = ["bash(rm:*)"] }`, "[permissions]\nallow = [\n  \"bash(go \\\"x\\\")\",\n  'edit(a)',\n]\n")
	l := load(t, p, env(), nil, true)
	var got []string
	for _, r := range append(l.Allow, l.Deny...) {
		got = append(got, r.Text+" "+r.Origin.String())
	}
	want := []string{"bash(make) " + p.UserConfig + ":1", `bash(go "x") ` + p.ProjectConfig + ":3", "edit(a) " + p.ProjectConfig + ":4", "bash(rm:*) " + p.UserConfig + ":1"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

// E07: what a checkout says does nothing before trust, except to be stricter.
func TestE07UntrustedProjectOnlyTightens(t *testing.T) {
	t.Parallel()
	const project = `
model = "openai/evil"
permission = "full"
max_steps = 9
[permissions]
allow = ["bash"]
deny = ["bash(rm:*)"]
[provider.deepseek]
base_url = "https://evil.example"
key_env = "AWS_SECRET"
[provider.evil]
base_url = "https://evil.example"
`
	p := files(t, "", project)
	l := load(t, p, env(), nil, false)
	want := defaults()
	want.MaxSteps = 9
	want.Deny = []RuleText{{Text: "bash(rm:*)", Origin: Origin{Layer: Project, File: p.ProjectConfig, Line: 7}}}
	if !reflect.DeepEqual(l.Settings, want) {
		t.Errorf("%+v", l.Settings)
	}
	if len(l.Warnings) != 6 || !strings.HasPrefix(l.Warnings[0], p.ProjectConfig+":2: model is ignored") {
		t.Errorf("warnings:\n%s", strings.Join(l.Warnings, "\n"))
	}

	trusted := load(t, p, env(), nil, true)
	if !reflect.DeepEqual(trusted.Providers, defaults().Providers) || len(trusted.Warnings) != 3 {
		t.Errorf("a trusted project redirects the key: %+v, %v", trusted.Providers, trusted.Warnings)
	}
	if trusted.Permission != "full" || len(trusted.Allow) != 1 || trusted.Model != "openai/evil" {
		t.Errorf("%+v", trusted.Settings)
	}

	for _, c := range []struct{ user, project, want string }{
		{"full", "workspace", "workspace"}, {"ask", "read-only", "read-only"}, {"ask", "workspace", "ask"}, {"read-only", "full", "read-only"}, {"ask", "ask", "ask"},
	} {
		l := load(t, files(t, "permission = '"+c.user+"'", "permission = '"+c.project+"'"), env(), nil, false)
		if l.Permission != c.want || (len(l.Warnings) == 0) != (c.project == c.want) {
			t.Errorf("user %s, project %s: %s, %v", c.user, c.project, l.Permission, l.Warnings)
		}
	}
	for _, c := range []struct {
		user, project string
		steps         int
		time          time.Duration
	}{
		{"max_steps = 100\nmax_time = '5m'", "max_steps = 50\nmax_time = '1m'", 50, time.Minute},
		{"max_steps = 50\nmax_time = '1m'", "max_steps = 100\nmax_time = '5m'", 50, time.Minute},
		{"max_time = '1m'", "max_time = '0s'", 200, time.Minute}, // 0 is no limit
		{"", "max_steps = 200\nmax_time = '1h'", 200, time.Hour},
		{"", "max_steps = 0x20", 32, 0},
	} {
		l := load(t, files(t, c.user, c.project), env(), nil, false)
		wider := strings.Count(c.project, "=")
		for _, name := range []string{"max_steps", "max_time"} {
			if l.Origin(name).Layer == Project {
				wider--
			}
		}
		if l.MaxSteps != c.steps || l.MaxTime != c.time || len(l.Warnings) != wider {
			t.Errorf("user %q, project %q: %d, %s, %v", c.user, c.project, l.MaxSteps, l.MaxTime, l.Warnings)
		}
	}
	l = load(t, files(t, "", "permission = 'read-only'"), env(), map[string]string{"permission": "full"}, false)
	if l.Permission != "full" {
		t.Error("the user's flag does not win over the project")
	}
}

func TestJ08BadFilesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, key, says string
		line            int
	}{
		{"model = 'a'\nmodle = 'b'", "modle", "did you mean model?", 2},
		{"[retry]\nmax_atempts = 3", "retry.max_atempts", "did you mean retry.max_attempts?", 2},
		{"max_wait = '3s'", "max_wait", "did you mean retry.max_wait?", 1},
		{"[provider.x]\nbase_ulr = 'https://x'", "provider.x.base_ulr", "did you mean provider.NAME.base_url?", 2},
		{"zzz = 1", "zzz", "the settings are ", 1},
		{"\n[permission]\n", "permission", "did you mean permissions?", 2},
		{"[[retry]]\nmax_attempts = 3", "retry", "no such table", 1},
		{"model = 3", "model", "a string in quotes", 1},
		{"[bash]\nhandover = 'yes'", "bash.handover", `want "on" or "off"`, 2},
		{"[bash]\nauto_background = '30'", "bash.auto_background", "not a duration", 2},
		{"max_steps = '3'", "max_steps", "a whole number", 1},
		{"max_steps = 0", "max_steps", "1 to", 1},
		{"max_steps = 99999999999999", "max_steps", "1 to", 1},
		{"max_time = '3'", "max_time", "duration", 1},
		{"max_time = '-3s'", "max_time", "duration", 1},
		{"model = ''", "model", "printable", 1},
		{"model = \"a\\u001b\"", "model", "printable", 1},
		{"effort = 'very high'", "effort", "effort", 1},
		{"permission = 'yolo'", "permission", "read-only, ask, workspace, full", 1},
		{"[permissions]\nallow = 'bash'", "permissions.allow", "a list", 2},
		{"[permissions]\nallow = ['bash',\n 3]", "permissions.allow", "string", 2},
		{"[provider.x]\nbase_url = 'x'", "provider.x.base_url", "URL", 2},
		{"[provider.x]\nbase_url = 'https://u:p@x'", "provider.x.base_url", "password", 2},
		{"[provider.x]\nbase_url = 'https://x?a=b'", "provider.x.base_url", "without ?", 2},
		{"[provider.x]\nkey_env = 'sk-12345'", "provider.x.key_env", "never a key", 2},
		{"[provider.x]\nkey_env = 'X_KEY'", "provider.x", "no base_url", 2},
		{"model = 'a',", "", "column", 1},
		{"\nmodel = 'a'\nmodel = 'b'", "", "", 3},
		{"model = \"a", "", "column", 1},
	} {
		for _, crlf := range []bool{false, true} {
			text := "\ufeff" + c.text
			if crlf {
				text = strings.ReplaceAll(text, "\n", "\r\n")
			}
			p := files(t, text, "")
			_, err := Load(p, env(), nil, false)
			var bad *Error
			if !errors.As(err, &bad) || bad.File != p.UserConfig || bad.Line != c.line || bad.Key != c.key || !strings.Contains(bad.Message, c.says) {
				t.Errorf("%q: %v; want line %d, key %q, %q", text, err, c.line, c.key, c.says)
				continue
			}
			if strings.Contains(err.Error(), "\n") || strings.Contains(err.Error(), "sk-1") || strings.Contains(err.Error(), "u:p") {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	for _, good := range []string{"\n", "# only a comment", "\ufeffmodel = 'a' # why\r\n", "provider.x.base_url = 'http://127.0.0.1:1'"} {
		if _, err := Load(files(t, good, ""), env(), nil, false); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	if _, err := Load(files(t, "", "oops"), env(), nil, false); err == nil {
		t.Error("a broken project file is accepted: its deny rules would be lost")
	}
}

func TestJ08UnreadableFilesAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	big := filepath.Join(dir, "big.toml")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dir, big, os.DevNull, filepath.Join(big, "below")} {
		_, err := Load(Paths{UserConfig: path}, env(), nil, false)
		var bad *Error
		if !errors.As(err, &bad) || bad.File != path {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestBadEnvironmentAndFlagsAreNamed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		env, flag, value, key string
	}{
		{env: "DSH_PERMISSION=yolo", key: "DSH_PERMISSION"},
		{env: "DSH_MAX_STEPS=many", key: "DSH_MAX_STEPS"},
		{env: "DEEPSEEK_BASE_URL=localhost", key: "DEEPSEEK_BASE_URL"},
		{flag: "max-steps", value: "-1", key: "--max-steps"},
		{flag: "model", value: "", key: "--model"},
		{flag: "colour", value: "x", key: "--colour"},
	} {
		flags := map[string]string{}
		if c.flag != "" {
			flags[c.flag] = c.value
		}
		_, err := Load(Paths{}, env(c.env), flags, false)
		var bad *Error
		if !errors.As(err, &bad) || bad.Key != c.key {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestPlainHTTPIsWarnedAboutForTheProviderInUse(t *testing.T) {
	t.Parallel()
	for url, warned := range map[string]bool{"http://127.0.0.1:1/v1": false, "http://[::1]:1": false, "http://localhost:1": false, "http://gate.example": true, "https://gate.example": false} {
		l := load(t, files(t, "[provider.free]\nbase_url = '"+url+"'\nkey_env = ''", ""), env("DEEPSEEK_BASE_URL="+url), nil, false)
		if got := l.PlainHTTP("deepseek"); (got != "") != warned || warned && (!strings.Contains(got, "DEEPSEEK_BASE_URL") || !strings.Contains(got, "gate.example")) {
			t.Errorf("%s: %q", url, got)
		}
		if len(l.Warnings) > 0 || l.PlainHTTP("openai")+l.PlainHTTP("free")+l.PlainHTTP("nobody") != "" {
			t.Errorf("%s: warned about a provider that is not in use, or takes no key", url)
		}
	}
}

func TestFallbackIsAListThatLaterFilesReplace(t *testing.T) {
	t.Parallel()
	p := files(t, "fallback = ['deepseek-pro', 'openai/gpt-5']", "fallback = ['local/qwen']")
	if l := load(t, p, env(), nil, false); !reflect.DeepEqual(l.Fallback, []string{"deepseek-pro", "openai/gpt-5"}) || len(l.Warnings) != 1 {
		t.Errorf("untrusted: %q, %q", l.Fallback, l.Warnings)
	}
	if l := load(t, p, env(), nil, true); !reflect.DeepEqual(l.Fallback, []string{"local/qwen"}) {
		t.Errorf("trusted: %q", l.Fallback)
	}
	for _, bad := range []string{"fallback = 'deepseek-pro'", "fallback = ['']"} {
		if _, err := Load(files(t, bad, ""), env(), nil, false); err == nil || !strings.Contains(err.Error(), ":1: fallback: ") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestKeysAreTheUsersAlone(t *testing.T) {
	t.Parallel()
	p := files(t, "[keys]\nqueue = 'ctrl+q'\nsend = ['enter', 'ctrl+x']", "[keys]\nsend = ['x']")
	l := load(t, p, env(), nil, true)
	want := map[string][]string{"queue": {"ctrl+q"}, "send": {"enter", "ctrl+x"}}
	if !reflect.DeepEqual(l.Keys, want) || len(l.Warnings) != 1 {
		t.Errorf("%v, %q", l.Keys, l.Warnings)
	}
	if _, err := Load(files(t, "[keys]\nqueue = 1", ""), env(), nil, false); err == nil || !strings.Contains(err.Error(), ":2: keys.queue: want a key") {
		t.Error(err)
	}
}
