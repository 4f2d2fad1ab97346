package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"
)

const credentialsName = "credentials.toml"

// maxCredentials bounds the file that is read, in bytes.
const maxCredentials = 1 << 20

// credentials is the file of keys, by provider.
type credentials struct {
	Keys map[string]string `toml:"keys"`
}

// Credentials is the file with the keys that dsh was given, beside the user's
// settings: "" if there is no place for it.
func (p Paths) Credentials() string {
	if p.UserConfig == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(p.UserConfig), credentialsName)
}

// readCredentials reads the file; one that is not there is empty. One that others may
// read is refused: a key in it is not secret any more.
func readCredentials(path string) (c credentials, err error) {
	if path == "" {
		return c, nil
	}
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return c, nil
	}
	bad := func(what string) error { return &Error{File: path, Message: what} }
	switch {
	case err != nil:
		return c, bad(err.Error())
	case info.Mode().Perm()&0o077 != 0:
		return c, bad(fmt.Sprintf("others may read it (%#o): chmod 600 it", info.Mode().Perm()))
	case !info.Mode().IsRegular() || info.Size() > maxCredentials:
		return c, bad("it is no file of keys")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return c, bad(err.Error())
	}
	if err := toml.Unmarshal(data, &c); err != nil {
		return credentials{}, bad(`it cannot be read: want [keys] with lines such as deepseek = "..."`) // the error would quote it
	}
	return c, nil
}

// SaveKey keeps the key of a provider in the file of credentials, which only the user
// can read. Keys of other providers stay.
func SaveKey(p Paths, provider, key string) error {
	path := p.Credentials()
	if path == "" {
		return errors.New("there is no place for it: set HOME or XDG_CONFIG_HOME")
	}
	c, err := readCredentials(path)
	if err != nil {
		return err
	}
	if c.Keys == nil {
		c.Keys = map[string]string{}
	}
	c.Keys[provider] = trimKey(key)
	data, err := toml.Marshal(c)
	if err != nil {
		return err
	}
	return writePrivate(path, data)
}
