package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var aToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// The schemas of our tools are of the plainest kind, which every endpoint takes: a
// type on every property, one and not a list, items on arrays, no references.
func TestV17SchemasAreOfThePlainestKind(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	script := filepath.Join(home, "model.script")
	if err := os.WriteFile(script, []byte("== \ntext hi\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := streams{out: io.Discard, err: io.Discard, getenv: func(name string) string { return map[string]string{"HOME": home, "DSH_HOME": home}[name] }}
	e, err := openEngine(s, engineOptions{model: "script:" + script, dir: home, flags: map[string]bool{"model": true}})
	if err != nil {
		t.Fatal(err)
	}
	schemas := e.tools.Schemas()
	if err := e.close(); err != nil {
		t.Error(err)
	}
	if len(schemas) == 0 {
		t.Fatal("no tools")
	}
	for _, tool := range schemas {
		var schema map[string]any
		if err := json.Unmarshal(tool.Parameters, &schema); err != nil {
			t.Fatal(err)
		}
		if why := plainSchema(schema); why != "" || schema["type"] != "object" || !aToolName.MatchString(tool.Name) || tool.Description == "" {
			t.Errorf("%s: %s\n%s", tool.Name, why, tool.Parameters)
		}
	}
	for _, bad := range []string{`{}`, `{"type":["string","null"]}`, `{"type":"array"}`, `{"type":"object","properties":{"a":true}}`, `{"type":"object","properties":{"a":{"enum":["x"]}}}`,
		`{"type":"string","$ref":"#/x"}`, `{"type":"array","items":[{"type":"string"}]}`} {
		var schema map[string]any
		if err := json.Unmarshal([]byte(bad), &schema); err != nil || plainSchema(schema) == "" {
			t.Errorf("%s passes (%v)", bad, err)
		}
	}
}

// plainSchema is what some endpoint would refuse, "" if nothing.
func plainSchema(s map[string]any) string {
	kind, ok := s["type"].(string)
	if !ok {
		return fmt.Sprintf("the type is %v", s["type"])
	}
	for _, key := range []string{"$ref", "$defs", "definitions", "anyOf", "oneOf", "allOf", "not"} {
		if s[key] != nil {
			return "it has " + key
		}
	}
	if kind == "array" {
		items, ok := s["items"].(map[string]any)
		if !ok {
			return "an array without items"
		}
		return plainSchema(items)
	}
	properties, _ := s["properties"].(map[string]any)
	for name, p := range properties {
		property, ok := p.(map[string]any)
		if !ok {
			return name + " is no object"
		}
		if why := plainSchema(property); why != "" {
			return name + ": " + why
		}
	}
	return ""
}
