package main

import (
	"os"
	"strings"

	"dsh/internal/config"
	"dsh/internal/jobs"
)

// redactedKey stands where the user's key stood in a prompt. The log keeps it, so that
// a prompt that had a key is known for one when the session is continued.
const redactedKey = "[API key removed]"

// minKey is the length of a key that can be told from other text, in bytes.
const minKey = 8

// providerKeys are the keys of all providers that have one, and those that are stored
// and not in use.
func providerKeys(settings *config.Loaded) (keys []string) {
	for _, key := range settings.StoredKeys() {
		if len(key) >= minKey {
			keys = append(keys, key)
		}
	}
	for name := range settings.Providers {
		if key, _, err := settings.Key(name); err == nil && len(key) >= minKey {
			keys = append(keys, key)
		}
	}
	return keys
}

// commandEnv is the environment of commands: without any provider's key, under
// whatever name it stands.
func (e *engine) commandEnv(settings *config.Loaded) []string {
	names := map[string]bool{}
	for _, p := range settings.Providers {
		names[p.KeyEnv] = true
	}
	keys := providerKeys(settings)
	var parent []string
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if !names[name] && !containsAny(value, keys) {
			parent = append(parent, kv)
		}
	}
	own := []string{"DSH_HOME=" + e.home, "DSH_SESSION_ID=" + e.log.Header().ID, "DSH_SESSION_JSONL=" + e.log.Path()}
	return jobs.Environ(parent, append(own, e.env...)...)
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
