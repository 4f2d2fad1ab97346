package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAKeyIsKeptForItsUserOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := Paths{UserConfig: filepath.Join(dir, "dsh", fileName)}
	if err := SaveKey(p, "deepseek", " sk-one\n"); err != nil {
		t.Fatal(err)
	}
	if err := SaveKey(p, "other", "sk-two"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(p.Credentials())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v", info.Mode(), err)
	}
	key := func(env map[string]string) (string, error) {
		l, err := Load(p, func(name string) string { return env[name] }, nil, false)
		if err != nil {
			t.Fatal(err)
		}
		key, _, err := l.Key("deepseek")
		return key, err
	}
	if k, err := key(nil); k != "sk-one" || err != nil {
		t.Errorf("got %q, %v", k, err)
	}
	if k, _ := key(map[string]string{"DEEPSEEK_API_KEY": "sk-env"}); k != "sk-env" {
		t.Errorf("the environment does not win: %q", k)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "dsh", "*")); err != nil || len(left) != 1 {
		t.Errorf("left are %q", left)
	}
	if err := os.Chmod(p.Credentials(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := key(nil); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others read: %v", err)
	}
	if err := os.WriteFile(p.Credentials(), []byte("sk-secret no toml"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.Credentials(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := key(nil); err == nil || strings.Contains(err.Error(), "sk-secret") {
		t.Errorf("a damaged file: %v", err)
	}
}
