package config

import (
	"errors"
	"strings"
	"testing"
)

func TestRoute(t *testing.T) {
	t.Parallel()
	user := "[provider.local]\nbase_url = 'http://127.0.0.1:1/v1/'\n"
	for model, want := range map[string]string{
		"deepseek-flash":   "deepseek https://api.deepseek.com deepseek-flash",
		"openai/gpt-x":     "openai https://api.openai.com/v1 gpt-x",
		"local/meta/llama": "local http://127.0.0.1:1/v1 meta/llama",
		"script:a/b.jsonl": "script  a/b.jsonl",
		"nobody/x":         "",
		"openai/":          "",
	} {
		l := load(t, files(t, user, ""), env("DSH_MODEL="+model), nil, false)
		name, p, rest, err := l.Route()
		if got := name + " " + p.BaseURL + " " + rest; want != "" && (err != nil || got != want) {
			t.Errorf("%s: %q, %v", model, got, err)
		}
		var bad *Error
		if want == "" && (!errors.As(err, &bad) || bad.Key != "model") {
			t.Errorf("%s: %v", model, err)
		}
	}
}

func TestJ05KeyIsTrimmedOrRefusedWithoutBeingShown(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"sk-x", "sk-x\n", "sk-x\r", " sk-x ", "\"sk-x\"", "'sk-x'\n", "\ufeffsk-x", "\u00a0sk-x\t"} {
		k, origin, err := load(t, Paths{}, env("DEEPSEEK_API_KEY="+good), nil, false).Key("deepseek")
		if k != "sk-x" || err != nil || origin.String() != "DEEPSEEK_API_KEY" {
			t.Errorf("%q: %q, %v, %v", good, k, origin, err)
		}
	}
	for _, bad := range []string{"sk\nxyz", "sk xyz", "sk-\x00xyz", "sk-ключ", "sk-\x7fxyz", "sk\u200bxyz"} {
		_, _, err := load(t, Paths{}, env("DEEPSEEK_API_KEY="+bad), nil, false).Key("deepseek")
		var typed *Error
		if !errors.As(err, &typed) || typed.Key != "DEEPSEEK_API_KEY" || strings.Contains(err.Error(), "sk") || strings.Contains(err.Error(), "xyz") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestMissingKeyNamesItsVariable(t *testing.T) {
	t.Parallel()
	user := "[provider.my-host]\nbase_url = 'https://h'\n[provider.free]\nbase_url = 'http://127.0.0.1:1'\nkey_env = ''\n[provider.named]\nbase_url = 'https://n'\nkey_env = 'N_KEY'\n"
	l := load(t, files(t, user, ""), env("DEEPSEEK_API_KEY= \n"), nil, false)
	for provider, variable := range map[string]string{"deepseek": "DEEPSEEK_API_KEY", "openai": "OPENAI_API_KEY", "my-host": "MY_HOST_API_KEY", "named": "N_KEY"} {
		_, _, err := l.Key(provider)
		var missing *MissingKeyError
		if !errors.As(err, &missing) || missing.Variable != variable || !strings.Contains(err.Error(), "export "+variable) {
			t.Errorf("%s: %v", provider, err)
		}
	}
	if k, _, err := l.Key("free"); k != "" || err != nil {
		t.Errorf("a provider that wants no key: %q, %v", k, err)
	}
	if _, _, err := l.Key("nobody"); err == nil {
		t.Error("an unknown provider has a key")
	}
}

func TestShowNamesOriginsAndHidesKeys(t *testing.T) {
	t.Parallel()
	p := files(t, "max_steps = 7\n[permissions]\ndeny = ['bash(rm:*)']\n[provider.free]\nbase_url = 'http://127.0.0.1:1'\nkey_env = ''\n", "")
	const secret = "sk-0123456789abcdefWXYZ"
	l := load(t, p, env("DEEPSEEK_API_KEY="+secret, "OPENAI_API_KEY=short", "DSH_EFFORT=high"), nil, false)
	var sb strings.Builder
	if err := l.Show(&sb); err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, line := range strings.Split(sb.String(), "\n") {
		rows = append(rows, strings.Join(strings.Fields(line), " "))
	}
	for _, want := range []string{
		"model deepseek-flash default",
		"effort high DSH_EFFORT",
		"max_steps 7 " + p.UserConfig + ":1",
		`permissions.deny "bash(rm:*)" ` + p.UserConfig + ":3",
		"provider.deepseek key set (…WXYZ) DEEPSEEK_API_KEY",
		"provider.openai key set OPENAI_API_KEY",
		"provider.free key not wanted " + p.UserConfig + ":6",
		"retry.max_wait 1m0s default",
	} {
		if !strings.Contains("\n"+strings.Join(rows, "\n")+"\n", "\n"+want+"\n") {
			t.Errorf("no row %q in\n%s", want, sb.String())
		}
	}
	if strings.Contains(sb.String(), "cdefWXYZ") || strings.Contains(sb.String(), "short") {
		t.Errorf("a key is shown:\n%s", sb.String())
	}
}
