package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// keyFile writes a file of keys.
func keyFile(t *testing.T, text string, mode os.FileMode) Paths {
	t.Helper()
	p := Paths{Credentials: filepath.Join(t.TempDir(), credentialsName)}
	if err := os.WriteFile(p.Credentials, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.Credentials, mode); err != nil { // whatever the umask
		t.Fatal(err)
	}
	return p
}

func TestE09KeysThatOthersCanReadAreRefused(t *testing.T) {
	t.Parallel()
	for mode, good := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: false, 0o604: false, 0o620: false, 0o610: false, 0o666: false} {
		p := keyFile(t, "deepseek = 'sk-SECRET'\n", mode)
		link := filepath.Join(t.TempDir(), "link.toml")
		if err := os.Symlink(p.Credentials, link); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{p.Credentials, link} {
			_, err := Load(Paths{Credentials: path}, env(), nil, false)
			saveErr := SaveKey(path, "openai", "sk-y")
			if good != (err == nil) || good != (saveErr == nil) {
				t.Errorf("%04o: %v, %v", mode, err, saveErr)
			}
			var bad *Error
			if !good && (!errors.As(err, &bad) || !strings.Contains(err.Error(), "chmod 600 "+path) || strings.Contains(err.Error(), "SECRET")) {
				t.Errorf("%04o: %v", mode, err)
			}
		}
		if info, _ := os.Stat(p.Credentials); info.Mode().Perm() != mode {
			t.Errorf("%04o became %v", mode, info.Mode())
		}
	}
}

func TestANewFileOfKeysIsTheUsersAlone(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a", "b", credentialsName)
	if err := SaveKey(path, "deepseek", "sk-x"); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", file, info.Mode(), err)
		}
	}
}

func TestSavingAndRemovingKeysKeepsTheRest(t *testing.T) {
	t.Parallel()
	p := keyFile(t, "\ufeff# work\r\ndeepseek = 'old' # mine\r\nother = 'sk-o'\r\n", 0o600)
	if err := SaveKey(p.Credentials, "deepseek", "sk-new"); err != nil {
		t.Fatal(err)
	}
	if was, err := RemoveKey(p.Credentials, "other"); !was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
	if got, want := read(t, p.Credentials), "\ufeff# work\r\ndeepseek = \"sk-new\" # mine\r\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if was, err := RemoveKey(p.Credentials, "other"); was || err != nil {
		t.Errorf("again: %v, %v", was, err)
	}
	if was, err := RemoveKey(filepath.Join(t.TempDir(), "none"), "other"); was || err != nil {
		t.Errorf("no file: %v, %v", was, err)
	}
}

func TestJ05StoredKeysAreTrimmed(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"deepseek = 'sk-x'", "\ufeffdeepseek = \"sk-x\\n\"\r\n", "deepseek = ' \"sk-x\" '\n", "deepseek = \"\"\"\nsk-x\n\"\"\"\n", "deepseek = \"\\uFEFFsk-x\"\n"} {
		k, origin, err := load(t, keyFile(t, text, 0o600), env(), nil, false).Key("deepseek")
		if k != "sk-x" || err != nil || origin.Layer != Stored {
			t.Errorf("%q: %q, %v, %v", text, k, origin, err)
		}
	}
	if l := load(t, keyFile(t, "deepseek = ' '\n", 0o600), env(), nil, false); l.Stored("deepseek") {
		t.Error("blanks are a stored key")
	}
}

func TestJ08BrokenKeyFilesAreNotQuotedAndNotOverwritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"sk-SECRET", "deepseek = sk-SECRET\n", "deepseek = 'sk-SECRET',\n", "deepseek = 'sk-SECRET'\ndeepseek = 'sk-SECRET2'\n", "[deepseek]\nkey = 'sk-SECRET'\n", "deepseek = ['sk-SECRET']\n", "deepseek = 3\n"} {
		p := keyFile(t, text, 0o600)
		_, err := Load(p, env(), nil, false)
		_, removeErr := RemoveKey(p.Credentials, "deepseek")
		for _, err := range []error{err, SaveKey(p.Credentials, "deepseek", "sk-NEW"), removeErr} {
			var bad *Error
			if !errors.As(err, &bad) || bad.File != p.Credentials || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%q: %v", text, err)
			}
		}
		if read(t, p.Credentials) != text {
			t.Errorf("%q was overwritten", text)
		}
	}
}
