package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMessage bounds an error text for the screen and the log.
const maxMessage = 300

// errorBody is what can be read off the many shapes of error answers.
type errorBody struct {
	message string
	codes   string // "code=c type=t ..", as far as there are any
	status  int    // an HTTP status inside the body, 0 if there is none
	html    bool
}

// all is the text that patterns are matched against.
func (e errorBody) all() string { return e.codes + " " + e.message }

// readError finds message and codes in {"error":{..}}, {"error":"text"}, {"message"},
// {"detail":[..]}, [{"error":{..}}], or text.
func readError(body []byte) errorBody {
	body = bytes.TrimSpace(body)
	var v any
	if json.Unmarshal(body, &v) != nil {
		if m := cutMessage.FindSubmatch(body); m != nil { // JSON that was cut at maxErrorBody
			var text string
			if json.Unmarshal(append(append([]byte{'"'}, m[1]...), '"'), &text) == nil {
				return errorBody{message: text}
			}
		}
		return errorBody{message: string(body), html: bytes.HasPrefix(body, []byte("<"))}
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0]
	}
	var e errorBody
	var parts []string
	e.walk(v, 0, func(s string) {
		if s = strings.TrimSpace(s); s != "" && !strings.Contains(strings.Join(parts, "\n"), s) {
			parts = append(parts, s)
		}
	})
	e.message = strings.Join(parts, ": ")
	return e
}

var cutMessage = regexp.MustCompile(`"message"\s*:\s*"((?:[^"\\]|\\.)*)`)

// maxErrorDepth is how deep errors nest: error, metadata, details.
const maxErrorDepth = 5

func (e *errorBody) walk(v any, depth int, say func(string)) {
	if depth > maxErrorDepth {
		return
	}
	switch v := v.(type) {
	case string:
		say(v)
	case []any:
		for _, x := range v {
			e.walk(x, depth+1, say)
		}
	case map[string]any:
		e.fields(v, depth, say)
	}
}

func (e *errorBody) fields(m map[string]any, depth int, say func(string)) {
	for _, key := range []string{"code", "type", "status", "error_type", "limit_source"} {
		switch x := m[key].(type) {
		case string:
			e.codes += " " + key + "=" + x
		case float64:
			e.codes += fmt.Sprintf(" %s=%.0f", key, x)
			if key != "type" && x >= 400 && x < 600 {
				e.status = int(x)
			}
		}
	}
	if _, ok := m["failed_generation"]; ok {
		e.codes += " tool_use_failed" // what was generated is not for people
	}
	if inner, ok := m["innererror"].(map[string]any); ok {
		e.fields(inner, depth+1, func(string) {})
	}
	if loc, ok := m["loc"].([]any); ok && m["msg"] != nil {
		say(fmt.Sprintf("%s: %v", location(loc), m["msg"]))
		return
	}
	for _, key := range []string{"error", "message", "detail", "msg", "details", "metadata", "raw", "retryDelay"} {
		x, ok := m[key]
		if !ok {
			continue
		}
		if s, isText := x.(string); isText && key == "retryDelay" {
			say("retry in " + s)
			continue
		}
		e.walk(x, depth+1, say)
	}
}

func location(loc []any) string {
	var parts []string
	for _, l := range loc {
		parts = append(parts, fmt.Sprint(l))
	}
	return strings.Join(parts, ".")
}

var (
	escapeSequence = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])`)
	htmlNoise      = regexp.MustCompile(`(?is)<(script|style|head)\b.*?</(script|style|head)>|<[^>]*>`)
	keyLike        = regexp.MustCompile(`\b(sk|key|gsk|xai)-[A-Za-z0-9_-]{8,}|(?i)\bbearer\s+[\x21-\x7E]{8,}`)
)

const (
	masked    = "[key]" // replaces a key in text for people
	maskedKey = 8       // bytes of a key that can be told from other text; a shorter one is none
)

// oneLine makes text of an endpoint fit to show: one line, bounded, without control
// characters and without keys.
func oneLine(s, key string) string {
	if len(s) > maxErrorBody {
		s = s[:maxErrorBody]
	}
	s = escapeSequence.ReplaceAllString(strings.ToValidUTF8(s, "\uFFFD"), "")
	if strings.HasPrefix(strings.TrimSpace(s), "<") {
		s = htmlNoise.ReplaceAllString(s, " ")
	}
	if len(key) >= maskedKey {
		s = strings.ReplaceAll(s, key, masked)
	}
	s = keyLike.ReplaceAllString(s, masked)
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxMessage {
		cut := maxMessage
		for !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return s
}
