package config

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTrustIsRememberedForTheSettingsThatWereSeen(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := Paths{Home: filepath.Join(dir, "state"), Project: dir, ProjectConfig: filepath.Join(dir, ".dsh", fileName)}
	if text, err := p.ProjectSettings(); text != "" || err != nil {
		t.Fatalf("no settings are %q, %v", text, err)
	}
	if err := os.MkdirAll(filepath.Dir(p.ProjectConfig), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.ProjectConfig, []byte("permission = \"full\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := p.ProjectSettings()
	if err != nil {
		t.Fatal(err)
	}
	if _, known, err := p.Trusted(text); known || err != nil {
		t.Fatalf("known before anybody said so, %v", err)
	}
	for _, say := range []bool{true, false} {
		if err := p.Trust(text, say); err != nil {
			t.Fatal(err)
		}
		if yes, known, err := p.Trusted(text); yes != say || !known || err != nil {
			t.Errorf("said %v: %v, %v, %v", say, yes, known, err)
		}
	}
	if err := p.Trust(text, true); err != nil {
		t.Fatal(err)
	}
	if yes, known, _ := p.Trusted(text + "max_steps = 1\n"); yes || known {
		t.Error("other settings are trusted too")
	}
	if err := os.WriteFile(filepath.Join(p.Home, trustName), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if yes, _, err := p.Trusted(text); yes || err == nil {
		t.Error("a damaged store trusts, or says nothing")
	}
}
