package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func env(pairs ...string) func(string) string {
	m := map[string]string{}
	for _, p := range pairs {
		k, v, _ := strings.Cut(p, "=")
		m[k] = v
	}
	return func(k string) string { return m[k] }
}

func TestF08HomeIsFoundOrNamed(t *testing.T) {
	t.Parallel()
	cwd := t.TempDir()
	for _, c := range []struct {
		name, home, config string // "" home: an error
		env                []string
	}{
		{"defaults", "/u/.local/state/dsh", "/u/.config/dsh/config.toml", []string{"HOME=/u"}},
		{"root as home", "/.local/state/dsh", "/.config/dsh/config.toml", []string{"HOME=/"}},
		{"DSH_HOME moves state only", "/d", "/u/.config/dsh/config.toml", []string{"HOME=/u", "DSH_HOME=/d/"}},
		{"DSH_HOME without HOME", "/d", "", []string{"DSH_HOME=/d"}},
		{"XDG", "/s/dsh", "/c/dsh/config.toml", []string{"HOME=/u", "XDG_STATE_HOME=/s", "XDG_CONFIG_HOME=/c"}},
		{"XDG without HOME", "/s/dsh", "", []string{"XDG_STATE_HOME=/s"}},
		{"relative XDG is ignored", "/u/.local/state/dsh", "/u/.config/dsh/config.toml", []string{"HOME=/u", "XDG_STATE_HOME=s", "XDG_CONFIG_HOME=./c"}},
		{"no HOME", "", "", nil},
		{"empty HOME", "", "", []string{"HOME="}},
		{"relative HOME", "", "", []string{"HOME=u"}},
		{"relative XDG without HOME", "", "", []string{"XDG_STATE_HOME=s"}},
		{"relative DSH_HOME", "", "", []string{"HOME=/u", "DSH_HOME=d"}},
	} {
		p, err := Resolve(env(c.env...), cwd)
		if c.home == "" {
			var bad *HomeError
			if !errors.As(err, &bad) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), bad.Variable) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil || p.Home != c.home || p.UserConfig != c.config {
			t.Errorf("%s: %+v, %v", c.name, p, err)
		}
		if want := strings.Replace(c.config, "config.toml", "AGENTS.md", 1); p.Instructions != want {
			t.Errorf("%s: instructions in %q, not %q", c.name, p.Instructions, want)
		}
	}
	if _, err := Resolve(env("HOME=/u"), "relative"); err == nil {
		t.Error("a relative working directory is accepted")
	}
	if left, err := os.ReadDir(cwd); err != nil || len(left) > 0 {
		t.Errorf("something was written to the working directory: %v, %v", left, err)
	}
}

func TestINS10ProjectRoot(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"home/.dsh", "home/.git", "home/repo/.git", "home/repo/a/.dsh", "home/repo/a/b", "home/repo/c", "home/plain/x"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(top, "home/worktree/d"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "home/worktree/.git"), []byte("gitdir: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(top, "home/repo"), filepath.Join(top, "link")); err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{
		"home/repo/a/b": "home/repo/a", "home/repo/c": "home/repo", "home/plain/x": "home/plain/x", "home": "home",
		"home/worktree/d": "home/worktree", "link/c": "home/repo", "link": "home/repo",
	} {
		p, err := Resolve(env("HOME="+filepath.Join(top, "home")), filepath.Join(top, cwd))
		if err != nil || p.Project != filepath.Join(top, want) || p.ProjectConfig != filepath.Join(top, want, ".dsh/config.toml") {
			t.Errorf("%s: %+v, %v", cwd, p, err)
		}
	}
}
