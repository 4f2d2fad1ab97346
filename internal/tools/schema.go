package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

const (
	maxViolations   = 20  // listed in one result; the rest is counted
	maxViolationLen = 300 // bytes of one: the message may quote a whole value
)

// shape checks values against a schema and names everything that is wrong, where
// the library stops at the first: it is asked about each node on its own.
type shape struct {
	own      *jsonschema.Resolved // the node's keywords without those below; nil if they refer elsewhere
	types    []string             // none: any
	enum     []any
	props    map[string]*shape
	required []string
	items    *shape
	min, max *float64 // of a number; the library words them as fractions
	closed   bool     // no other properties
}

// schemaCheck is a tool's compiled schema.
type schemaCheck struct {
	whole *jsonschema.Resolved // has the last word
	root  *shape
}

// compileSchema refuses what is not a schema of objects. Unknown properties at the
// root are always accepted: models add them, and they do no harm.
func compileSchema(raw json.RawMessage) (*schemaCheck, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, fmt.Errorf("parse schema: %w", err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("schema has type %q, want object", s.Type)
	}
	s.AdditionalProperties, s.UnevaluatedProperties = nil, nil
	whole, err := s.CloneSchemas().Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve schema: %w", err)
	}
	return &schemaCheck{whole: whole, root: newShape(&s)}, nil
}

func newShape(s *jsonschema.Schema) *shape {
	if s == nil {
		return nil
	}
	own := *s
	own.Properties, own.Required, own.Items, own.AdditionalProperties = nil, nil, nil, nil
	own.Minimum, own.Maximum, own.Type, own.Types, own.Enum = nil, nil, "", nil, nil
	sh := &shape{props: map[string]*shape{}, required: s.Required, items: newShape(s.Items), min: s.Minimum, max: s.Maximum,
		types: s.Types, enum: s.Enum}
	if s.Type != "" {
		sh.types = []string{s.Type}
	}
	sh.own, _ = own.CloneSchemas().Resolve(nil) // fails on references, which whole judges
	sh.closed = isFalse(s.AdditionalProperties) && len(s.PatternProperties) == 0
	for name, p := range s.Properties {
		sh.props[name] = newShape(p)
	}
	return sh
}

// isFalse reports whether s is the schema that nothing satisfies.
func isFalse(s *jsonschema.Schema) bool {
	if s == nil {
		return false
	}
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}

// violations are all the ways in which args break the schema, sorted; none if they
// do not.
func (c *schemaCheck) violations(args map[string]any) []string {
	var found []string
	c.root.check("", args, &found)
	if len(found) == 0 {
		if err := c.whole.Validate(args); err != nil {
			found = append(found, violation("", err))
		}
	}
	if extra := len(found) - maxViolations; extra > 0 {
		found = append(found[:maxViolations], fmt.Sprintf("and %d more", extra))
	}
	return found
}

func (sh *shape) check(path string, v any, found *[]string) {
	if wrong := sh.wrongType(v); wrong != "" {
		*found = append(*found, path+": "+wrong)
		return // what else is wrong with it follows from that
	}
	if len(sh.enum) > 0 && !slices.ContainsFunc(sh.enum, func(e any) bool { return reflect.DeepEqual(e, v) }) {
		*found = append(*found, path+": is "+shown(v)+", must be one of "+shownList(sh.enum))
	}
	if sh.own != nil {
		if err := sh.own.Validate(v); err != nil {
			*found = append(*found, violation(path, err))
		}
	}
	switch v := v.(type) {
	case map[string]any:
		sh.checkObject(path, v, found)
	case []any:
		if sh.items == nil {
			return
		}
		for i, item := range v {
			sh.items.check(fmt.Sprintf("%s[%d]", path, i), item, found)
		}
	case float64:
		if sh.min != nil && v < *sh.min {
			*found = append(*found, fmt.Sprintf("%s: is %v, must be at least %v", path, v, *sh.min))
		}
		if sh.max != nil && v > *sh.max {
			*found = append(*found, fmt.Sprintf("%s: is %v, must be at most %v", path, v, *sh.max))
		}
	}
}

func (sh *shape) checkObject(path string, v map[string]any, found *[]string) {
	for _, name := range sh.required {
		if _, ok := v[name]; !ok {
			*found = append(*found, join(path, name)+": required, but missing"+sh.misspelt(name, v))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if p := sh.props[name]; p != nil {
			p.check(join(path, name), v[name], found)
		} else if sh.closed {
			*found = append(*found, join(path, headBytes(name, maxViolationLen))+": no such property, there are "+strings.Join(slices.Sorted(maps.Keys(sh.props)), ", "))
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func violation(path string, err error) string {
	text := strings.TrimPrefix(err.Error(), "validating root: ")
	text = strings.ReplaceAll(text, "<invalid reflect.Value>", "null") // the library's word for it
	if path != "" {
		text = path + ": " + text
	}
	if len(text) > maxViolationLen {
		text = headBytes(text, maxViolationLen/2) + "..." + tailBytes(text, maxViolationLen/2)
	}
	return text
}
