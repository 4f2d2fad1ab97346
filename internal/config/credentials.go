package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

// credentials are the stored keys by provider: one `NAME = "KEY"` a line.
type credentials map[string]string

// loadCredentials reads the file of keys; a file that does not exist has none. Its
// errors name places and never quote what is there.
func loadCredentials(path string) (credentials, error) {
	if path == "" {
		return nil, nil
	}
	data, err := readSmall(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{File: path, Message: "cannot read the keys: " + err.Error()}
	}
	keys := credentials{}
	if err := toml.Unmarshal(data, &keys); err != nil {
		e := &Error{File: path, Message: `want lines such as deepseek = "KEY"`}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			e.Line, _ = at.Position()
		}
		return nil, e
	}
	return keys, nil
}

// SaveKey stores the key of a provider in the file at path, which nobody else can
// read, and replaces the file in one step. The other keys in it stay.
func SaveKey(path, provider, key string) error {
	if path == "" {
		return errors.New("there is no home directory to keep the key in: export it instead")
	}
	keys, err := loadCredentials(path)
	if err != nil {
		return err
	}
	if keys == nil {
		keys = credentials{}
	}
	keys[provider] = key
	data, err := toml.Marshal(keys)
	if err != nil {
		return fmt.Errorf("cannot store the key: %w", err)
	}
	return replace(path, data, 0o600)
}

// SaveModel makes model the user's in the settings file at path, which may not exist,
// and adds a provider of that name if endpoint is not "". Everything else in the file
// stays as it is. It is for files that name neither yet.
func SaveModel(path, model, provider, endpoint string, wantsKey bool) error {
	old, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the settings: %w", err)
	}
	var text bytes.Buffer
	fmt.Fprintf(&text, "model = %s\n", quote(model)) // before any table
	text.Write(bytes.TrimPrefix(old, []byte("\ufeff")))
	if endpoint != "" {
		if len(old) > 0 && !bytes.HasSuffix(old, []byte("\n")) {
			text.WriteByte('\n')
		}
		fmt.Fprintf(&text, "\n[provider.%s]\nbase_url = %s\n", provider, quote(endpoint))
		if !wantsKey {
			text.WriteString("key_env = \"\" # this endpoint wants no key\n")
		}
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return replace(path, text.Bytes(), mode)
}

// quote is a TOML string.
func quote(s string) string {
	raw, err := toml.Marshal(map[string]string{"k": s})
	if err != nil {
		return `""` // cannot be: every string has a form
	}
	_, value, _ := bytes.Cut(bytes.TrimSpace(raw), []byte("= "))
	return string(value)
}

// replace writes a file in one step, in a directory that is made for the user alone.
func replace(path string, data []byte, mode fs.FileMode) (err error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot store %s: %w", path, err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("cannot store %s: %w", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot store %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}

// readable says that others can read the keys, "" if they cannot.
func readable(path string) string {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 {
		return ""
	}
	return fmt.Sprintf("%s can be read by others: chmod 600 it", path)
}
