package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"runtime"
	"slices"

	"github.com/pelletier/go-toml/v2"
)

// credentials are the stored keys by provider: one `NAME = "KEY"` a line.
type credentials map[string]string

// loadCredentials reads the file of keys; a file that does not exist has none, one that
// others can read is refused. Its errors name places and never quote what is there.
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
	if err := private(path); err != nil {
		return nil, err
	}
	return parseCredentials(path, data)
}

func parseCredentials(path string, data []byte) (credentials, error) {
	keys := credentials{}
	if err := toml.Unmarshal(bytes.TrimPrefix(data, bom), &keys); err != nil {
		e := &Error{File: path, Message: `want lines such as deepseek = "KEY"`}
		var at *toml.DecodeError
		if errors.As(err, &at) {
			e.Line, e.Column = at.Position()
		}
		return nil, e
	}
	return keys, nil
}

// private refuses a file of keys that others can read. Windows has no such bits.
func private(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&0o077 == 0 || runtime.GOOS == "windows" {
		return nil
	}
	return &Error{File: path, Message: fmt.Sprintf("others may use the keys in it (mode %04o), so dsh does not: chmod 600 %s", info.Mode().Perm(), path)}
}

// SaveKey stores the key of a provider in the file at path, which nobody else can
// read, and replaces the file in one step. What else is in it stays.
func SaveKey(path, provider, key string) error {
	return updateKeys(path, provider, quote(key))
}

// RemoveKey takes the key of a provider out of the file at path. It reports whether
// there was one.
func RemoveKey(path, provider string) (was bool, err error) {
	stored, err := loadCredentials(path)
	if _, was = stored[provider]; err != nil || !was {
		return false, err
	}
	return true, updateKeys(path, provider, "")
}

func updateKeys(path, provider, value string) error {
	return update(path, func(old []byte) ([]byte, error) {
		if err := private(path); err != nil {
			return nil, err
		}
		if _, err := parseCredentials(path, old); err != nil {
			return nil, err // that of edit could quote a key
		}
		return edit(path, old, provider, value)
	})
}

// StoredNames are the providers that have a stored key, sorted.
func (l *Loaded) StoredNames() []string { return slices.Sorted(maps.Keys(l.stored)) }

// Stored reports whether a provider has a stored key, used or not.
func (l *Loaded) Stored(provider string) bool { return trimKey(l.stored[provider]) != "" }
