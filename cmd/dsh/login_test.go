package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/term"

	"dsh/internal/config"
	"dsh/internal/llm"
)

// dialog plays a first run in a home of its own: typed are the keys, ended by ctrl+c.
func dialog(t *testing.T, home, typed string, local ...string) (screen string, err error) {
	t.Helper()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	paths, err := config.Resolve(env, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	settings, err := config.Load(paths, env, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	l := &login{
		t: term.NewTerminal(struct {
			io.Reader
			io.Writer
		}{strings.NewReader(typed + "\x03"), &out}, ""),
		paths: paths, settings: settings, local: local,
		models: func(_ context.Context, baseURL, key string) ([]string, error) {
			switch {
			case key == "sk-wrong-key":
				return nil, &llm.Failure{Code: llm.CodeAuth, Status: 401, Message: "no"}
			case key == "sk-offline-key":
				return nil, &llm.Failure{Code: llm.CodeTransport, Message: "no route to host"}
			case strings.Contains(baseURL, "nobody"):
				return nil, errors.New("connection refused")
			}
			return []string{"m-one", "m-two"}, nil
		},
	}
	err = l.firstRun(t.Context(), &config.MissingKeyError{Provider: "deepseek", Variable: "DEEPSEEK_API_KEY"})
	return out.String(), err
}

// reload is the settings of the next start.
func reload(t *testing.T, home string) *config.Loaded {
	t.Helper()
	env := func(name string) string { return map[string]string{"HOME": home}[name] }
	paths, err := config.Resolve(env, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	settings, err := config.Load(paths, env, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func TestFirstRunStoresAKeyThatIsAccepted(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	screen, err := dialog(t, home, "1\rsk-wrong-key\rhas a blank\r  \"sk-good-0123456789\" \r")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"This key is not accepted (401).", "character 4 of the key is a blank", "ok: m-one, m-two."} {
		if !strings.Contains(screen, want) {
			t.Errorf("the screen does not say %q:\n%s", want, screen)
		}
	}
	if strings.Contains(screen, "sk-") {
		t.Errorf("a key is on the screen:\n%s", screen)
	}
	key, origin, err := reload(t, home).Key("deepseek")
	if err != nil || key != "sk-good-0123456789" || origin.Layer != config.Stored {
		t.Errorf("%q from %v, %v", key, origin, err)
	}
	info, err := os.Stat(filepath.Join(home, ".config/dsh/credentials.toml"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

func TestFirstRunOffline(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	screen, err := dialog(t, home, "1\rsk-offline-key\r")
	if err != nil || !strings.Contains(screen, "It could not be tried: ") {
		t.Errorf("%v:\n%s", err, screen)
	}
	if key, _, err := reload(t, home).Key("deepseek"); err != nil || key != "sk-offline-key" {
		t.Errorf("%q, %v", key, err)
	}
}

func TestFirstRunOfAnEndpoint(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if _, err := dialog(t, home, "3\rhttp://nobody/v1\r\r3\rhttps://gate.example/v1\rsk-mine-0123456789\rm-none\rm-two\r"); err != nil {
		t.Fatal(err)
	}
	settings := reload(t, home)
	name, p, model, err := settings.Route()
	if err != nil || name != "custom" || p.BaseURL != "https://gate.example/v1" || model != "m-two" {
		t.Errorf("%s %+v %s, %v", name, p, model, err)
	}
	if key, _, err := settings.Key("custom"); err != nil || key != "sk-mine-0123456789" {
		t.Errorf("%q, %v", key, err)
	}
}

func TestFirstRunOfALocalServer(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, ".config/dsh"), 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(home, ".config/dsh/config.toml")
	if err := os.WriteFile(file, []byte("# mine\n[permissions]\ndeny = [\"bash\"]"), 0o600); err != nil {
		t.Fatal(err)
	}
	screen, err := dialog(t, home, "5\rm-one\r", "http://nobody:1/v1", "http://127.0.0.1:11434/v1")
	if err != nil || !strings.Contains(screen, "http://127.0.0.1:11434/v1: m-one, m-two") || strings.Contains(screen, "nobody") {
		t.Errorf("%v:\n%s", err, screen)
	}
	settings := reload(t, home)
	if key, _, err := settings.Key("local"); err != nil || key != "" || settings.Model != "local/m-one" || len(settings.Deny) != 1 {
		t.Errorf("%q, %v, %+v", key, err, settings.Settings)
	}
}

func TestFirstRunLeaves(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{"": "", "4\r": "", "1\r\r": "", "2\r": "no API key for deepseek"} {
		home := t.TempDir()
		if _, err := dialog(t, home, typed); err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", typed, err)
		}
		if left, _ := os.ReadDir(home); len(left) > 0 {
			t.Errorf("%q left %v", typed, left)
		}
	}
}
