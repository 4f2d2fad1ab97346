package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestSetKeepsTheRestOfTheFile(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, old, key, value, want string }{
		{"an empty file", "", "model", "m", "model = \"m\"\n"},
		{"comments and order", "# mine\nmax_steps = 3 # few\n\nmodel = 'old' # why\n", "model", "new", "# mine\nmax_steps = 3 # few\n\nmodel = \"new\" # why\n"},
		{"another key at the top", "# mine\nmax_steps = 3 # few\n\n[retry]\nmax_wait = \"3s\"\n", "model", "m", "# mine\nmax_steps = 3 # few\nmodel = \"m\"\n\n[retry]\nmax_wait = \"3s\"\n"},
		{"no key before the first table", "[retry]\nmax_wait = \"3s\"", "model", "m", "model = \"m\"\n[retry]\nmax_wait = \"3s\""},
		{"another key of a table", "[retry] # patience\nmax_wait = \"3s\" # x\n\n[permissions]\ndeny = []\n", "retry.max_attempts", "2", "[retry] # patience\nmax_wait = \"3s\" # x\nmax_attempts = 2\n\n[permissions]\ndeny = []\n"},
		{"an empty table", "[retry]\n[permissions]\n", "retry.max_attempts", "2", "[retry]\nmax_attempts = 2\n[permissions]\n"},
		{"a new table", "model = 'm'", "retry.max_attempts", "2", "model = 'm'\n\n[retry]\nmax_attempts = 2\n"},
		{"dotted keys", "retry.max_wait = '3s'\nmodel = 'm'\n", "retry.max_attempts", "2", "retry.max_wait = '3s'\nmodel = 'm'\nretry.max_attempts = 2\n"},
		{"CRLF and a byte order mark", "\ufeff# mine\r\nmax_steps = 3\r\n", "model", "m", "\ufeff# mine\r\nmax_steps = 3\r\nmodel = \"m\"\r\n"},
		{"only a byte order mark", "\ufeff", "model", "m", "\ufeffmodel = \"m\"\n"},
		{"what dsh does not know", "later = { a = 1 }\n[future]\nx = [1,\n 2]\n", "model", "m", "later = { a = 1 }\nmodel = \"m\"\n[future]\nx = [1,\n 2]\n"},
		{"a list over several lines", "[permissions]\ndeny = [\n  'a', # one\n] # all\nallow = []\n", "permissions.deny", "b(x)", "[permissions]\ndeny = [\"b(x)\"] # all\nallow = []\n"},
		{"a value with quotes", "", "permissions.allow", `bash(echo "\a")`, "[permissions]\nallow = [\"bash(echo \\\"\\\\a\\\")\"]\n"},
	} {
		p := files(t, c.old, "")
		if err := Set(p.UserConfig, c.key, []string{c.value}); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := read(t, p.UserConfig); got != c.want {
			t.Errorf("%s: got\n%q want\n%q", c.name, got, c.want)
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestUnsetTakesOutTheWholeLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, key, want string }{
		{"# a\nmodel = 'm' # b\nmax_steps = 3\n", "model", "# a\nmax_steps = 3\n"},
		{"max_steps = 3\r\nmodel = 'm'", "model", "max_steps = 3\r\n"},
		{"[permissions]\ndeny = [\n 'a',\n]\nallow = []\n", "permissions.deny", "[permissions]\nallow = []\n"},
		{"max_stps = 3\nmodel = 'm'\n", "max_stps", "model = 'm'\n"}, // so that a mistake can be taken out
		{"model = 'm'\n", "effort", "model = 'm'\n"},
	} {
		p := files(t, c.old, "")
		was, err := Unset(p.UserConfig, c.key)
		if got := read(t, p.UserConfig); err != nil || got != c.want || was != (c.old != c.want) {
			t.Errorf("%q: %q, %v, %v", c.old, got, was, err)
		}
	}
}

func TestSetRefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ old, key, value, says string }{
		{"", "modle", "m", "did you mean model?"},
		{"", "max_steps", "many", "a whole number"},
		{"", "max_steps", "0", "1 to"},
		{"", "permission", "yolo", "read-only, ask"},
		{"", "provider.x.base_url", "https://u:p@x", "password"},
		{"retry = { max_wait = '3s' }\n", "retry.max_attempts", "2", "table in braces"},
		{"retry = { max_wait = '3s' }\n", "retry.max_wait", "2s", "table in braces"},
		{"[provider]\nx.key_env = 'A'\n", "provider.x.base_url", "https://x", "write it by hand"},
	} {
		p := files(t, c.old, "")
		err := Set(p.UserConfig, c.key, []string{c.value})
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%s = %s: %v", c.key, c.value, err)
		}
		if c.old != "" && read(t, p.UserConfig) != c.old {
			t.Errorf("%s: the file was changed", c.key)
		}
	}
	if err := Set(files(t, "", "").UserConfig, "model", []string{"a", "b"}); err == nil || !strings.Contains(err.Error(), "one value") {
		t.Error(err)
	}
}

// TestJ08 is about each kind of broken file: what reading says, and that nothing which
// saves a setting writes over it.
func TestJ08BrokenFilesAreNamedAndNeverOverwritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		reads      string // what reading says after the file's name, "" if it is a good file
		saved      string // what saving makes of it, "" if it refuses
	}{
		{"trailing comma", "model = 'a',\n", ":1:12: ", ""},
		{"comment", "# mine\nmodel = 'a' # x\n", "", "# mine\nmodel = 'a' # x\nmax_steps = 9\n"},
		{"byte order mark", "\ufeffmodel = 'a'\n", "", "\ufeffmodel = 'a'\nmax_steps = 9\n"},
		{"CRLF", "model = 'a'\r\n", "", "model = 'a'\r\nmax_steps = 9\r\n"},
		{"0 bytes", "", "", "max_steps = 9\n"},
		{"wrong type of another field", "model = 3\n", ":1: model: want a string in quotes", "model = 3\nmax_steps = 9\n"},
		{"unknown key", "modle = 'a'\n", ":1: modle: no such setting", "modle = 'a'\nmax_steps = 9\n"},
		{"duplicate keys", "model = 'a'\nmodel = 'b'\n", ":2:", ""},
		{"not closed", "[permissions]\ndeny = ['bash'\n", ":", ""},
		{"JSON", "{\"model\": \"a\"}\n", ":1:1: ", ""},
	} {
		p := files(t, "x", "")
		if err := errors.Join(os.WriteFile(p.UserConfig, []byte(c.text), 0o600), os.Chmod(p.UserConfig, 0o640)); err != nil {
			t.Fatal(err)
		}
		_, err := Load(p, env(), nil, false)
		var bad *Error
		switch {
		case c.reads == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.reads != "" && (!errors.As(err, &bad) || !strings.HasPrefix(err.Error(), p.UserConfig+c.reads)):
			t.Errorf("%s: %v; want %s", c.name, err, c.reads)
		}
		err = Set(p.UserConfig, "max_steps", []string{"9"})
		want := c.saved
		if want == "" {
			want = c.text
		}
		if got := read(t, p.UserConfig); got != want || (err == nil) != (c.saved != "") {
			t.Errorf("%s: saving made %q of it, %v", c.name, got, err)
		}
		if c.saved == "" {
			if err := SaveModel(p.UserConfig, "m", "custom", "https://x", true); err == nil || read(t, p.UserConfig) != c.text {
				t.Errorf("%s: the first run writes over it, %v", c.name, err)
			}
		}
		if info, _ := os.Stat(p.UserConfig); info.Mode().Perm() != 0o640 {
			t.Errorf("%s: the mode became %v", c.name, info.Mode())
		}
		alone(t, p.UserConfig)
	}
}

// alone wants no leftovers beside a file.
func alone(t *testing.T, path string) {
	t.Helper()
	if beside, _ := filepath.Glob(path + ".*"); len(beside) > 0 {
		t.Errorf("left beside it: %v", beside)
	}
}

func TestJ08WhatIsNoFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	link := filepath.Join(dir, "link.toml")
	if err := os.Symlink(filepath.Join(dir, "nowhere"), link); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "big.toml")
	if err := os.WriteFile(big, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	sub := filepath.Join(dir, "sub")
	if err := os.MkdirAll(sub, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{sub, big, link} {
		var bad *Error
		if err := Set(path, "model", []string{"m"}); !errors.As(err, &bad) || bad.File != path {
			t.Errorf("%s: %v", path, err)
		}
		if err := SaveKey(path, "deepseek", "sk-x"); !errors.As(err, &bad) || bad.File != path {
			t.Errorf("%s: %v", path, err)
		}
	}
	locked := filepath.Join(dir, "locked.toml")
	if err := os.WriteFile(locked, []byte("model = 'a'\n"), 0o000); err != nil {
		t.Fatal(err)
	}
	_, readErr := os.ReadFile(locked) // root reads everything
	if err := Set(locked, "max_steps", []string{"9"}); (err == nil) != (readErr == nil) {
		t.Errorf("a file that cannot be read (%v) is written: %v", readErr, err)
	}
	if info, err := os.Stat(locked); err != nil || info.Mode().Perm() != 0 {
		t.Errorf("%v, %v", info, err)
	}
	if err := Set("", "model", []string{"m"}); err == nil || !strings.Contains(err.Error(), "HOME") {
		t.Error(err)
	}
}

func TestWritersBesideEachOtherLoseNothing(t *testing.T) {
	t.Parallel()
	p := files(t, "# mine\n", "")
	p.Credentials = filepath.Join(filepath.Dir(p.UserConfig), credentialsName)
	names := []string{"deepseek", "openai", "a", "b", "c", "d", "e", "f"}
	var wg sync.WaitGroup
	for _, name := range names {
		wg.Go(func() {
			if err := SaveKey(p.Credentials, name, "sk-"+name); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if err := Set(p.UserConfig, "provider."+name+".base_url", []string{"https://" + name}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	l := load(t, p, env(), nil, false)
	if got := l.StoredNames(); len(got) != len(names) {
		t.Errorf("keys of %v", got)
	}
	for _, name := range names {
		if k, _, err := l.Key(name); err != nil || k != "sk-"+name || l.Providers[name].BaseURL != "https://"+name {
			t.Errorf("%s: %q, %+v, %v", name, k, l.Providers[name], err)
		}
	}
	alone(t, p.UserConfig)
	alone(t, p.Credentials)
}

func TestSetFollowsASymbolicLink(t *testing.T) {
	t.Parallel()
	p := files(t, "", "")
	real := filepath.Join(t.TempDir(), "dotfiles.toml")
	if err := os.WriteFile(real, []byte("model = 'a'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, p.UserConfig); err != nil {
		t.Fatal(err)
	}
	if err := Set(p.UserConfig, "model", []string{"b"}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(p.UserConfig)
	if err != nil || info.Mode()&os.ModeSymlink == 0 || read(t, real) != "model = \"b\"\n" {
		t.Errorf("%v, %v, %q", info, err, read(t, real))
	}
}

func TestCheckFileNamesEveryMistake(t *testing.T) {
	t.Parallel()
	p := files(t, "model = 3\nmodle = 'a'\nmax_steps = 5\n", "")
	n, wrong := CheckFile(p.UserConfig)
	if n != 3 || len(wrong) != 2 || !strings.HasPrefix(wrong[0].Error(), p.UserConfig+":1: model: ") || !strings.Contains(wrong[1].Error(), ":2: modle: no such setting: did you mean model?") {
		t.Errorf("%d, %v", n, wrong)
	}
	if n, wrong := CheckFile(p.ProjectConfig); n != 0 || wrong != nil {
		t.Errorf("no file: %d, %v", n, wrong)
	}
}

func FuzzSet(f *testing.F) {
	f.Add("# a\n[retry]\nmax_wait = '3s' # x\n[permissions]\ndeny = [\n 'a', # b\n]\n", "m\"\\\x01")
	f.Add("retry.max_wait = \"\"\"\na = 3\"\"\"\r\n", "é")
	f.Add("a = { b = 1 }\n'x y'.z = 2\n[[t]]\n[[t]]\nmodel = 3", "m")
	f.Fuzz(func(t *testing.T, text, value string) {
		for key, value := range map[string]string{"model": quote(value), "retry.max_attempts": "2", "permissions.deny": "['x']"} {
			changed, err := edit("f", []byte(text), key, value)
			if err != nil {
				continue
			}
			d, err := parseDocument("f", changed)
			if err != nil || d.index(key) < 0 {
				t.Fatalf("%q became %q: %v", text, changed, err)
			}
			p := d.found[d.index(key)]
			if got := string(changed[p.value:p.end]); got != value {
				t.Fatalf("%q became %q: %s is %s", text, changed, key, got)
			}
			before, _ := parseDocument("f", []byte(text))
			if want := len(before.found); len(d.found) != want && len(d.found) != want+1 {
				t.Fatalf("%q became %q", text, changed)
			}
		}
	})
}
