package llmtest

import (
	"encoding/json"
	"fmt"
	"regexp"
)

const (
	maxTools    = 128
	maxToolName = 64 // bytes
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (c *checker) tools(top object) *refusal {
	if !top.has("tools") {
		return nil
	}
	list, r := c.list("tools", top["tools"])
	switch {
	case r != nil:
		return r
	case len(list) == 0:
		return &refusal{"[] is too short - 'tools'", "tools"}
	case len(list) > maxTools:
		return &refusal{fmt.Sprintf("Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", maxTools, len(list)), "tools"}
	}
	names := map[string]bool{}
	for i, raw := range list {
		name, r := c.tool(fmt.Sprintf("tools[%d]", i), raw)
		if r != nil {
			return r
		}
		if names[name] {
			return &refusal{fmt.Sprintf("Tool names must be unique: %s", name), "tools"}
		}
		names[name] = true
	}
	return nil
}

func (c *checker) tool(at string, raw json.RawMessage) (name string, r *refusal) {
	t, r := c.object(at, raw, []string{"type", "function"})
	if r != nil {
		return "", r
	}
	if _, r := c.oneOf(t, at, "type", []string{"function"}); r != nil {
		return "", r
	}
	if !t.has("function") {
		return "", c.missing(at, "function")
	}
	at += ".function"
	f, r := c.object(at, t["function"], []string{"name", "description", "parameters", "strict"})
	if r != nil {
		return "", r
	}
	if name, r = c.toolName(at, f); r != nil {
		return "", r
	}
	if f.has("description") {
		if _, r := c.text(f, at, "description"); r != nil {
			return "", r
		}
	}
	return name, c.parameters(at, name, f)
}

// toolName is of a tool or of a call in the history: the rules are the same.
func (c *checker) toolName(at string, f object) (string, *refusal) {
	name, r := c.text(f, at, "name")
	switch {
	case r != nil:
		return "", r
	case len(name) > maxToolName:
		return "", &refusal{fmt.Sprintf("Invalid '%s.name': string too long. Expected a string with maximum length %d, but got a string with length %d instead.", at, maxToolName, len(name)), at + ".name"}
	case !toolName.MatchString(name):
		return "", &refusal{fmt.Sprintf("Invalid '%s.name': string does not match pattern. Expected a string that matches the pattern '%s'.", at, toolName), at + ".name"}
	}
	return name, nil
}

// parameters only looks at the top of the schema.
func (c *checker) parameters(at, name string, f object) *refusal {
	if !f.has("parameters") {
		return c.missing(at, "parameters")
	}
	var schema map[string]json.RawMessage
	if json.Unmarshal(f["parameters"], &schema) != nil || schema == nil {
		return c.wrongType(at, "parameters", f["parameters"], "an object")
	}
	if string(schema["type"]) != `"object"` {
		return &refusal{fmt.Sprintf("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"', got %s", name, orNone(schema["type"])), at + ".parameters"}
	}
	return nil
}

func orNone(raw json.RawMessage) string {
	if raw == nil {
		return "'type: \"None\"'"
	}
	return string(raw)
}

func (c *checker) toolChoice(top object) *refusal {
	switch {
	case !top.has("tool_choice"):
		return nil
	case c.thinking:
		return &refusal{"Thinking mode does not support this tool_choice", "tool_choice"}
	case !top.has("tools"):
		return &refusal{"'tool_choice' is only allowed when 'tools' are specified.", "tool_choice"}
	case kindOf(top["tool_choice"]) == "map":
		_, r := c.object("tool_choice", top["tool_choice"], []string{"type", "function"})
		return r
	}
	_, r := c.oneOf(top, "", "tool_choice", []string{"none", "auto", "required"})
	return r
}
