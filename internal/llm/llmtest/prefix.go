package llmtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// PrefixStable reports the first request that does not extend the one before it:
// its message array must begin with the bytes of the earlier array's messages, and
// its tools must be the same bytes. Providers cache by such prefixes, so a break
// costs money. It is for one session without compaction or change of model; nil for
// fewer than two requests.
func (s *Server) PrefixStable() error {
	bodies := s.Requests()
	for i := 1; i < len(bodies); i++ {
		if err := extends(bodies[i-1], bodies[i]); err != nil {
			return fmt.Errorf("request %d does not extend request %d: %w", i+1, i, err)
		}
	}
	return nil
}

func extends(before, after []byte) error {
	old, err := prefixOf(before)
	if err != nil {
		return err
	}
	now, err := prefixOf(after)
	if err != nil {
		return err
	}
	if !bytes.Equal(old.Tools, now.Tools) {
		return fmt.Errorf("tools changed at byte %d", firstDifference(old.Tools, now.Tools))
	}
	stem := bytes.TrimRight(old.Array, "] \t\r\n")
	if bytes.HasPrefix(now.Array, stem) {
		return nil
	}
	return difference(old.Array, now.Array)
}

// difference names the first message that is not as it was.
func difference(before, after json.RawMessage) error {
	var old, now []json.RawMessage
	if err := errors.Join(json.Unmarshal(before, &old), json.Unmarshal(after, &now)); err != nil {
		return fmt.Errorf("messages are no array: %w", err)
	}
	for i, m := range old {
		if i == len(now) {
			return fmt.Errorf("messages from %d on are gone", i)
		}
		if !bytes.Equal(m, now[i]) {
			at := firstDifference(m, now[i])
			return fmt.Errorf("message %d changed at byte %d: %q is now %q", i, at, around(m, at), around(now[i], at))
		}
	}
	return fmt.Errorf("the bytes between messages changed at byte %d", firstDifference(before, after))
}

type prefix struct {
	Array json.RawMessage `json:"messages"`
	Tools json.RawMessage
}

func prefixOf(body []byte) (p prefix, err error) {
	if err = json.Unmarshal(body, &p); err != nil {
		return p, fmt.Errorf("not a request: %w", err)
	}
	return p, nil
}

// firstDifference is the length of the common prefix.
func firstDifference(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// contextBytes is how much of a changed message is shown on each side.
const contextBytes = 40

func around(b []byte, at int) []byte { return b[max(0, at-contextBytes):min(len(b), at+contextBytes)] }
