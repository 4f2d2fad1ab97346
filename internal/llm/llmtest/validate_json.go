package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// object is the fields of a JSON object, each as it was sent.
type object map[string]json.RawMessage

func (o object) has(field string) bool { _, ok := o[field]; return ok }

// object reads one out of a valid document: at is its path, "" for the body itself;
// allowed nil allows any field.
func (c *checker) object(at string, raw json.RawMessage, allowed []string) (object, *refusal) {
	if kindOf(raw) != "map" {
		return nil, c.wrongType("", at, raw, "an object")
	}
	o := object{}
	parts := split(raw)
	for i := 0; i+1 < len(parts); i += 2 {
		name := unquote(parts[i])
		if o.has(name) {
			return nil, c.unreadable(at, fmt.Sprintf("duplicate field `%s`", name))
		}
		if allowed != nil && !slices.Contains(allowed, name) {
			return nil, c.unknownField(at, name, allowed)
		}
		o[name] = parts[i+1]
	}
	return o, nil
}

// known refuses fields that are not allowed.
func (c *checker) known(at string, o object, allowed []string) *refusal {
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(allowed, name) {
			return c.unknownField(at, name, allowed)
		}
	}
	return nil
}

func (c *checker) list(at string, raw json.RawMessage) ([]json.RawMessage, *refusal) {
	if kindOf(raw) != "sequence" {
		return nil, c.wrongType("", at, raw, "an array")
	}
	return split(raw), nil
}

// text is a field that must be there and be a string.
func (c *checker) text(o object, at, field string) (string, *refusal) {
	if !o.has(field) {
		return "", c.missing(at, field)
	}
	if kindOf(o[field]) != "string" {
		return "", c.wrongType(at, field, o[field], "a string")
	}
	return unquote(o[field]), nil
}

// boolean is a field that may be absent.
func (c *checker) boolean(o object, at, field string) (bool, *refusal) {
	if !o.has(field) {
		return false, nil
	}
	if kindOf(o[field]) != "boolean" {
		return false, c.wrongType(at, field, o[field], "a boolean")
	}
	return o[field][0] == 't', nil
}

func (c *checker) oneOf(o object, at, field string, known []string) (string, *refusal) {
	s, r := c.text(o, at, field)
	if r != nil || slices.Contains(known, s) {
		return s, r
	}
	path := join(at, field)
	if c.dialect == OpenAI {
		return s, &refusal{fmt.Sprintf("Invalid value: '%s'. Supported values are: '%s'.", s, strings.Join(known, "', '")), path}
	}
	return s, c.unreadable(path, fmt.Sprintf("unknown variant `%s`, expected one of `%s`", s, strings.Join(known, "`, `")))
}

func (c *checker) unreadable(at, why string) *refusal {
	if at != "" {
		why = at + ": " + why
	}
	return &refusal{"Failed to deserialize the JSON body into the target type: " + why, at}
}

func (c *checker) missing(at, field string) *refusal {
	if c.dialect == OpenAI {
		return &refusal{fmt.Sprintf("Missing required parameter: '%s'.", join(at, field)), join(at, field)}
	}
	return c.unreadable(at, fmt.Sprintf("missing field `%s`", field))
}

func (c *checker) unknownField(at, field string, known []string) *refusal {
	if c.dialect == OpenAI {
		return &refusal{"Unrecognized request argument supplied: " + join(at, field), join(at, field)}
	}
	return c.unreadable(at, fmt.Sprintf("unknown field `%s`, expected one of `%s`", field, strings.Join(known, "`, `")))
}

func (c *checker) wrongType(at, field string, raw json.RawMessage, want string) *refusal {
	path := join(at, field)
	if c.dialect == OpenAI {
		return &refusal{fmt.Sprintf("Invalid type for '%s': expected %s, but got %s instead.", path, want, kindOf(raw)), path}
	}
	return c.unreadable(path, fmt.Sprintf("invalid type: %s, expected %s", kindOf(raw), want))
}

func join(at, field string) string {
	if at == "" {
		return field
	}
	return at + "." + field
}

func kindOf(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "map"
	case '[':
		return "sequence"
	case '"':
		return "string"
	case 'n':
		return "null"
	case 't', 'f':
		return "boolean"
	}
	return "number"
}

// split cuts a valid object into its keys and values, a valid array into its values.
// It is by hand because every request of a session is looked at in full, and a
// decoder for each level takes several times as long.
func split(raw json.RawMessage) []json.RawMessage {
	var parts []json.RawMessage
	start, depth := 0, 0
	cut := func(end int) {
		if part := bytes.TrimSpace(raw[start:end]); len(part) > 0 { // none in {} and []
			parts = append(parts, part)
		}
		start = end + 1
	}
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth == 1 {
				start = i + 1
			}
		case '}', ']':
			if depth--; depth == 0 {
				cut(i)
			}
		case ',', ':':
			if depth == 1 {
				cut(i)
			}
		}
	}
	return parts
}

// unquote is the text of a valid JSON string.
func unquote(raw json.RawMessage) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // valid
	return s
}

// scanText refuses a document that is not JSON in UTF-8, and strings that cannot be
// text: NUL, and halves of surrogate pairs.
func scanText(doc []byte) *refusal {
	if !utf8.Valid(doc) {
		return &refusal{"Failed to parse the request body as JSON: invalid unicode code point: the body is not UTF-8", ""}
	}
	if !json.Valid(doc) {
		return &refusal{"Failed to parse the request body as JSON: " + syntaxError(doc), ""}
	}
	for i := 0; i < len(doc); i++ {
		if doc[i] != '\\' { // in valid JSON only strings have it
			continue
		}
		if i++; doc[i] != 'u' {
			continue
		}
		r := hexRune(doc[i+1 : i+5])
		i += 4
		if utf16.IsSurrogate(r) {
			if i+6 >= len(doc) || doc[i+1] != '\\' || doc[i+2] != 'u' ||
				utf16.DecodeRune(r, hexRune(doc[i+3:i+7])) == utf8.RuneError {
				return &refusal{fmt.Sprintf("Failed to parse the request body as JSON: lone surrogate in hex escape at byte %d", i), ""}
			}
			i += 6
		}
		if r == 0 {
			return &refusal{fmt.Sprintf("Failed to parse the request body as JSON: NUL in a string at byte %d", i), ""}
		}
	}
	return nil
}

func hexRune(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits), 16, 32) // valid JSON has four hex digits
	return rune(n)
}

func syntaxError(doc []byte) string {
	var v json.RawMessage
	if err := json.Unmarshal(doc, &v); err != nil {
		return err.Error()
	}
	return "not JSON"
}
