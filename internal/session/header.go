package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// FormatVersion is the version of the log format that dsh reads and writes.
const FormatVersion = 0

// headerTag is the type of a log's first line.
const headerTag = "session"

// Header is the first line of a log. It never changes.
type Header struct {
	ID              string
	CreatedAt       int64  // milliseconds since 1970
	Cwd             string // absolute, or "" when the session has none
	ParentSession   string // of a fork, or of a sub-agent's session
	SeedLength      *int   // events at the log's start that come from the parent
	Origin          string // "subagent", or ""
	DelegationDepth *int
	AgentPreset     string

	// Extra are the keys that this version does not know, written back unchanged.
	Extra map[string]json.RawMessage
}

// NewerError says that a log was written by a newer dsh.
type NewerError struct {
	Path    string // set by whoever knows the file
	Version int
}

func (e *NewerError) Error() string {
	what := "this session"
	if e.Path != "" {
		what = e.Path
	}
	return fmt.Sprintf("%s was written by a newer dsh (format %d, this one reads %d): upgrade dsh to open it",
		what, e.Version, FormatVersion)
}

// headerJSON has the known keys in the order in which they are written.
type headerJSON struct {
	Type            string `json:"type"`
	Version         int    `json:"version"`
	ID              string `json:"id"`
	CreatedAt       int64  `json:"createdAt"`
	Cwd             string `json:"cwd,omitempty"`
	ParentSession   string `json:"parentSession,omitempty"`
	SeedLength      *int   `json:"seedLength,omitempty"`
	Origin          string `json:"origin,omitempty"`
	DelegationDepth *int   `json:"delegationDepth,omitempty"`
	AgentPreset     string `json:"agentPreset,omitempty"`
}

var headerKeys = []string{"type", "version", "id", "createdAt", "cwd", "parentSession", "seedLength", "origin",
	"delegationDepth", "agentPreset"}

// MarshalJSON writes the header as a log's first line, without the newline.
func (h Header) MarshalJSON() ([]byte, error) {
	if err := h.valid(); err != nil {
		return nil, err
	}
	e := encoder{}
	e.value(headerJSON{headerTag, FormatVersion, h.ID, h.CreatedAt, h.Cwd, h.ParentSession, h.SeedLength, h.Origin,
		h.DelegationDepth, h.AgentPreset})
	for _, key := range sortedKeys(h.Extra) {
		e.buf = e.buf[:len(e.buf)-1] // reopen the object
		e.lit(`,`).str(key).lit(`:`).raw(h.Extra[key]).lit(`}`)
	}
	return e.buf, e.err
}

// DecodeHeader reads a log's first line. The version is judged before anything
// else: a log of a newer dsh is a *NewerError even when its header has another
// shape. Every other error says what is damaged.
func DecodeHeader(line []byte) (Header, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(line, &keys); err != nil || keys == nil {
		return Header{}, errors.New("the first line is not a session header: not a JSON object")
	}
	var version int
	if raw, has := keys["version"]; !has || json.Unmarshal(raw, &version) != nil {
		return Header{}, errors.New("the first line is not a session header: it has no format version")
	}
	if version > FormatVersion {
		return Header{}, &NewerError{Version: version}
	}
	if version < FormatVersion {
		return Header{}, fmt.Errorf("format version %d is not supported, only %d", version, FormatVersion)
	}
	h, err := decodeHeaderKeys(line, keys)
	if err != nil {
		return Header{}, fmt.Errorf("bad session header: %w", err)
	}
	return h, nil
}

func decodeHeaderKeys(line []byte, keys map[string]json.RawMessage) (Header, error) {
	if string(keys["type"]) != `"`+headerTag+`"` {
		return Header{}, fmt.Errorf("type is not %q", headerTag)
	}
	for _, key := range []string{"createdAt", "seedLength", "delegationDepth"} {
		if strings.HasPrefix(string(keys[key]), "-") {
			return Header{}, fmt.Errorf("%s is negative", key)
		}
	}
	if at := string(keys["createdAt"]); at == "" || at == "null" {
		return Header{}, errors.New("createdAt is missing")
	}
	var j headerJSON
	if err := json.Unmarshal(line, &j); err != nil {
		return Header{}, err
	}
	for _, key := range headerKeys {
		delete(keys, key)
	}
	for key := range keys {
		for _, known := range headerKeys {
			if strings.EqualFold(key, known) {
				return Header{}, fmt.Errorf("key %q: did you mean %q?", key, known)
			}
		}
	}
	h := Header{ID: j.ID, CreatedAt: j.CreatedAt, Cwd: j.Cwd, ParentSession: j.ParentSession, SeedLength: j.SeedLength,
		Origin: j.Origin, DelegationDepth: j.DelegationDepth, AgentPreset: j.AgentPreset}
	if len(keys) > 0 {
		h.Extra = keys
	}
	return h, h.valid()
}

func (h Header) valid() error {
	switch {
	case h.ID == "":
		return errors.New("id is empty")
	case h.CreatedAt < 0:
		return errors.New("createdAt is negative")
	case h.Cwd != "" && !filepath.IsAbs(h.Cwd):
		return fmt.Errorf("cwd %q is not absolute", h.Cwd)
	case h.SeedLength != nil && *h.SeedLength < 0:
		return errors.New("seedLength is negative")
	case h.DelegationDepth != nil && *h.DelegationDepth < 0:
		return errors.New("delegationDepth is negative")
	case h.Origin != "" && h.Origin != "subagent":
		return fmt.Errorf("origin %q is unknown", h.Origin)
	}
	return nil
}

// seed is the number of events that the log inherited from its parent.
func (h Header) seed() int {
	if h.SeedLength == nil {
		return 0
	}
	return *h.SeedLength
}

func sortedKeys[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}
