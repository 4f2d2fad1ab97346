package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/policy"
)

// Registry is the set of tools of a session. It does not change after New, and is
// safe for concurrent use.
type Registry struct {
	tools  map[string]*entry
	sorted []*entry // by name: the order of the request's tool list
}

type entry struct {
	Tool
	schema json.RawMessage // compact
	check  *schemaCheck
}

// maxName is the longest name of a function that every provider accepts, in bytes.
const maxName = 64

func validName(name string) bool {
	return name != "" && len(name) <= maxName && strings.Trim(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}

// New makes a registry. It refuses a name that is taken or that providers reject,
// and a schema that is not a JSON Schema of objects.
func New(tools ...Tool) (*Registry, error) {
	r := &Registry{tools: map[string]*entry{}}
	for _, t := range tools {
		name := t.Name()
		if !validName(name) {
			return nil, fmt.Errorf("tool %q: a name is 1 to %d letters, digits, _ and -", name, maxName)
		}
		if r.tools[name] != nil {
			return nil, fmt.Errorf("tool %q is registered twice", name)
		}
		var schema bytes.Buffer
		if err := json.Compact(&schema, t.Schema()); err != nil {
			return nil, fmt.Errorf("tool %q: parse schema: %w", name, err)
		}
		check, err := compileSchema(schema.Bytes())
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", name, err)
		}
		e := &entry{Tool: t, schema: schema.Bytes(), check: check}
		r.tools[name] = e
		r.sorted = append(r.sorted, e)
	}
	slices.SortFunc(r.sorted, func(a, b *entry) int { return strings.Compare(a.Name(), b.Name()) })
	return r, nil
}

// Schemas are the tools as the model sees them, sorted by name. The caller owns the
// slice and everything in it; the bytes are the same on every call.
func (r *Registry) Schemas() []llm.ToolSchema {
	out := make([]llm.ToolSchema, len(r.sorted))
	for i, e := range r.sorted {
		out[i] = llm.ToolSchema{Name: e.Name(), Description: e.Description(), Parameters: bytes.Clone(e.schema)}
	}
	return out
}

// Names are the tools' names, sorted.
func (r *Registry) Names() []string {
	names := make([]string, len(r.sorted))
	for i, e := range r.sorted {
		names[i] = e.Name()
	}
	return names
}

// Reads reports whether a name is that of a tool without side effects.
func (r *Registry) Reads(name string) bool {
	e := r.find(name)
	return e != nil && e.Class() == policy.Read
}

// Concurrent reports whether a call may overlap others. Whatever is unclear may not:
// an unknown tool, invalid arguments, a tool that panics.
func (r *Registry) Concurrent(name, rawArgs string) (yes bool) {
	call, bad := r.Prepare(name, rawArgs)
	if bad != nil {
		return false
	}
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return call.tool.Concurrent(call.Args())
}

// Prepare looks a tool up and validates its arguments. It returns either a call that
// can run or the error result that the model gets instead.
func (r *Registry) Prepare(name, rawArgs string) (*Call, *Result) {
	e := r.find(name)
	if e == nil {
		return nil, errorResult(fail(UnknownTool, "there is no tool %q. The tools are: %s.",
			headBytes(name, maxQuoted), strings.Join(r.Names(), ", ")))
	}
	doc, object, err := parseArgs(rawArgs)
	if err != nil {
		return nil, errorResult(fail(InvalidArgs, "%s was not run: %v", e.Name(), err))
	}
	if wrong := e.check.violations(object); len(wrong) > 0 {
		return nil, errorResult(fail(InvalidArgs, "%s was not run, its arguments are invalid:\n- %s",
			e.Name(), strings.Join(wrong, "\n- ")))
	}
	return &Call{tool: e, args: doc}, nil
}

// find is exact, but for the one prefix that models put before names.
func (r *Registry) find(name string) *entry {
	if e := r.tools[name]; e != nil {
		return e
	}
	return r.tools[strings.TrimPrefix(name, "functions.")]
}
