package session

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
)

func TestSE17HeadersAreValidated(t *testing.T) {
	t.Parallel()
	n, neg := 3, -1
	for what, h := range map[string]Header{
		"no id": {Cwd: "/w"}, "relative cwd": {ID: "s", Cwd: "w"}, "createdAt": {ID: "s", CreatedAt: -1},
		"seedLength": {ID: "s", SeedLength: &neg}, "delegationDepth": {ID: "s", DelegationDepth: &neg}, "origin": {ID: "s", Origin: "x"},
	} {
		if b, err := h.MarshalJSON(); err == nil {
			t.Errorf("%s: written as %s", what, b)
		}
		if Check(h, func(func(Event) bool) {}) == nil {
			t.Errorf("%s: passes Check", what)
		}
	}
	full := Header{ID: "s", CreatedAt: 12, Cwd: "/w <x>", ParentSession: "p", SeedLength: &n, Origin: "subagent", DelegationDepth: &n, AgentPreset: "a",
		Extra: map[string]json.RawMessage{"zeta": json.RawMessage(`{"a":[1.0]}`), "alpha": json.RawMessage(`"x"`)}}
	b, err := full.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"session","version":0,"id":"s","createdAt":12,"cwd":"/w <x>","parentSession":"p","seedLength":3,"origin":"subagent","delegationDepth":3,"agentPreset":"a","alpha":"x","zeta":{"a":[1.0]}}`
	if string(b) != want {
		t.Errorf("header is\n%s, want\n%s", b, want)
	}
	if got, err := DecodeHeader(b); err != nil || !reflect.DeepEqual(got, full) {
		t.Errorf("came back as %+v, %v", got, err)
	}
}

func TestJL04BadHeadersAreRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		``, `nonsense`, `null`, `[1]`, `"x"`, `{}`,
		`{"type":"session","id":"s","createdAt":1}`,
		`{"type":"session","version":"0","id":"s","createdAt":1}`,
		`{"type":"session","version":-1,"id":"s","createdAt":1}`,
		`{"type":"log","version":0,"id":"s","createdAt":1}`,
		`{"type":"session","version":0,"createdAt":1}`,
		`{"type":"session","version":0,"id":7,"createdAt":1}`,
		`{"type":"session","version":0,"id":"s"}`,
		`{"type":"session","version":0,"id":"s","createdAt":null}`,
		`{"type":"session","version":0,"id":"s","createdAt":-0}`,
		`{"type":"session","version":0,"id":"s","createdAt":1.5}`,
		`{"type":"session","version":0,"id":"s","createdAt":1,"cwd":"relative"}`,
		`{"type":"session","version":0,"id":"s","createdAt":1,"seedLength":-0}`,
		`{"type":"session","version":0,"id":"s","createdAt":1,"CWD":"/w"}`,
		`{"type":"session","version":0,"id":"s","createdAt":1} x`,
	} {
		h, err := DecodeHeader([]byte(line))
		var newer *NewerError
		if err == nil || errors.As(err, &newer) {
			t.Errorf("%s gave %+v, %v", line, h, err)
		}
	}
}

func TestJL05NewerHeadersSayUpgrade(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"version":1}`, `{"version":7,"type":["other"],"id":{"a":1},"createdAt":"x"}`} {
		_, err := DecodeHeader([]byte(line))
		var newer *NewerError
		if !errors.As(err, &newer) || newer.Version < 1 {
			t.Errorf("%s gave %v", line, err)
		}
	}
}
