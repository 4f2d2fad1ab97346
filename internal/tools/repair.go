package tools

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
)

// maxShown bounds a wrong value that is quoted back, in bytes.
const maxShown = 80

// wrongType says what is wrong with the type of a value, "" if nothing is. A number
// in a string stays wrong: what is guessed once is guessed wrong the next time.
func (sh *shape) wrongType(v any) string {
	if len(sh.types) == 0 || slices.ContainsFunc(sh.types, func(t string) bool { return hasType(v, t) }) {
		return ""
	}
	wanted := make([]string, len(sh.types))
	for i, t := range sh.types {
		wanted[i] = article(t)
	}
	return "must be " + strings.Join(wanted, " or ") + ", is " + kindOf(v) + shown(v)
}

func hasType(v any, t string) bool {
	switch v := v.(type) {
	case nil:
		return t == "null"
	case bool:
		return t == "boolean"
	case string:
		return t == "string"
	case float64:
		return t == "number" || t == "integer" && v == math.Trunc(v)
	case []any:
		return t == "array"
	}
	return t == "object"
}

func article(t string) string {
	switch t {
	case "null":
		return t
	case "integer", "array", "object":
		return "an " + t
	}
	return "a " + t
}

// kindOf names what the look of a value may hide: "5" and 5.
func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "the string "
	case float64:
		return "the number "
	case []any:
		return "the array "
	case map[string]any:
		return "the object "
	}
	return ""
}

// shown is a value as the model wrote it, or its beginning.
func shown(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return "a value that cannot be shown"
	}
	if text := string(raw); len(text) > maxShown {
		return headBytes(text, maxShown) + "..."
	}
	return string(raw)
}

func shownList(values []any) string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = shown(v)
	}
	return strings.Join(list, ", ")
}

// misspelt names the property that was probably meant to be the missing one.
func (sh *shape) misspelt(missing string, given map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if sh.props[name] == nil && near(name, missing) {
			return ": rename " + shown(name) + ", which is no property"
		}
	}
	return ""
}

// near reports whether one name may be meant as another: the same but for case and
// signs, a short or a long form of it, or two letters away.
func near(a, b string) bool {
	a, b = letters(a), letters(b)
	if min(len(a), len(b)) < minNear {
		return a == b
	}
	return shortFor(a, b) || shortFor(b, a) || distance(a, b) <= min(2, len(b)/3)
}

// minNear is the length below which names are alike by accident.
const minNear = 3

// shortFor reports whether a has only letters of b, in their order: cmd and command.
func shortFor(a, b string) bool {
	for i := 0; a != "" && i < len(b); i++ {
		if a[0] == b[i] {
			a = a[1:]
		}
	}
	return a == ""
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, strings.ToLower(headBytes(s, maxName)))
}

// distance is how many letters must change between two names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// properties lists what a tool takes, for who got it wrong.
func (c *schemaCheck) properties() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(c.root.props)) {
		if slices.Contains(c.root.required, name) {
			name += " (required)"
		}
		list = append(list, name)
	}
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// suggest names the tool that an unknown name may mean.
func (r *Registry) suggest(name string) string {
	for _, known := range r.Names() {
		if near(name, known) {
			return " Did you mean " + known + "?"
		}
	}
	return ""
}
