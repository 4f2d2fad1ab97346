package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const trustName = "trust.json"

// trusted is what a person said of a project's settings, as they were then.
type trusted struct {
	SHA256 string `json:"sha256"` // of the settings, lower-case hex
	Yes    bool   `json:"yes"`
}

// maxSettings bounds the project's settings that a person can be asked about, in
// bytes.
const maxSettings = 1 << 20

// ProjectSettings is the text of the project's own settings; "" if it has none.
func (p Paths) ProjectSettings() (string, error) {
	if p.ProjectConfig == "" || p.ProjectConfig == p.UserConfig {
		return "", nil
	}
	info, err := os.Stat(p.ProjectConfig)
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxSettings) {
		err = fmt.Errorf("%s is no settings file", p.ProjectConfig)
	}
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(p.ProjectConfig)
	return string(data), err
}

// Trusted is what was said of these settings of the project before; known is false if
// nothing was, or if they are others now.
func (p Paths) Trusted(settings string) (yes, known bool, err error) {
	said, err := p.readTrust()
	t, ok := said[p.Project]
	known = ok && t.SHA256 == digest(settings)
	return known && t.Yes, known, err
}

// Trust remembers what a person says of these settings of the project.
func (p Paths) Trust(settings string, yes bool) error {
	return update(filepath.Join(p.Home, trustName), func([]byte) ([]byte, error) {
		said, err := p.readTrust()
		if err != nil {
			return nil, err
		}
		if said == nil {
			said = map[string]trusted{}
		}
		said[p.Project] = trusted{digest(settings), yes}
		data, err := json.MarshalIndent(said, "", "  ")
		return append(data, '\n'), err
	})
}

func (p Paths) readTrust() (said map[string]trusted, err error) {
	path := filepath.Join(p.Home, trustName)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &said)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read, remove it to be asked again: %w", path, err)
	}
	return said, nil
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
