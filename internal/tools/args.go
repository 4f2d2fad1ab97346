package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

// maxQuoted bounds how much of broken arguments is quoted back, in bytes: enough to
// recognise them, not enough to pay for them twice.
const maxQuoted = 400

// parseArgs reads a call's arguments: a JSON object, or nothing, which is {}. Two
// habits of models are forgiven because they have one meaning only: raw control
// characters inside strings, and the same document sent several times over.
func parseArgs(raw string) (json.RawMessage, map[string]any, error) {
	text := strings.TrimSpace(raw)
	if text == "" {
		text = "{}"
	}
	if !utf8.ValidString(text) {
		return nil, nil, fmt.Errorf("the arguments are not valid UTF-8. Received: %s", quote(raw))
	}
	doc := []byte(text)
	if !json.Valid(doc) {
		doc = firstOfEqual(escapeControls(doc))
	}
	var value any
	if err := json.Unmarshal(doc, &value); err != nil {
		return nil, nil, fmt.Errorf("the arguments are not valid JSON: %w%s. Received: %s", err, position(err, len(doc)), quote(raw))
	}
	if half := loneSurrogate(doc); half != "" {
		return nil, nil, fmt.Errorf("the arguments hold half a character, %s: write the character itself", half)
	}
	object, ok := value.(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("the arguments must be a JSON object. Received: %s", quote(raw))
	}
	return doc, object, nil
}

// escapeControls writes control characters inside strings as escapes. One behind a
// backslash stays: what was meant there cannot be known.
func escapeControls(doc []byte) []byte {
	out := make([]byte, 0, len(doc)+16)
	inString, escaped := false, false
	for _, b := range doc {
		if inString && !escaped && b < ' ' {
			out = fmt.Appendf(out, `\u%04x`, b)
			continue
		}
		if b == '"' && !escaped {
			inString = !inString
		}
		escaped = inString && b == '\\' && !escaped
		out = append(out, b)
	}
	return out
}

// unicodeEscapes finds runs of them, and skips escaped backslashes. Compiled when
// needed, as every process pays for what is made at its start.
var unicodeEscapes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\\\\|(?:\\u[0-9a-fA-F]{4})+`)
})

// loneSurrogate finds an escape for half of a character. Decoding would put U+FFFD
// in its place, and a file would be written with it.
func loneSurrogate(doc []byte) string {
	if !bytes.Contains(doc, []byte(`\u`)) {
		return ""
	}
	for _, run := range unicodeEscapes().FindAll(doc, -1) {
		for len(run) >= 6 {
			var pair rune
			if len(run) >= 12 {
				pair = utf16.DecodeRune(hexRune(run[2:6]), hexRune(run[8:12]))
			}
			switch {
			case !utf16.IsSurrogate(hexRune(run[2:6])):
				run = run[6:]
			case pair != 0 && pair != utf8.RuneError:
				run = run[12:]
			default:
				return string(run[:6])
			}
		}
	}
	return ""
}

func hexRune(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits), 16, 16) // the expression matched digits
	return rune(n)
}

// firstOfEqual is the first of several equal documents, or doc itself.
func firstOfEqual(doc []byte) []byte {
	dec := json.NewDecoder(bytes.NewReader(doc))
	var first json.RawMessage
	if dec.Decode(&first) != nil {
		return doc
	}
	rest := bytes.TrimSpace(doc[dec.InputOffset():])
	for len(rest) > 0 {
		after, same := bytes.CutPrefix(rest, first)
		if !same {
			return doc
		}
		rest = bytes.TrimSpace(after)
	}
	return first
}

func position(err error, size int) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf(" (at byte %d of %d)", syntax.Offset, size)
	}
	return ""
}

func quote(raw string) string {
	if len(raw) <= maxQuoted {
		return fmt.Sprintf("%q", raw)
	}
	return fmt.Sprintf("%q... (%d bytes)", headBytes(raw, maxQuoted), len(raw))
}

// headBytes is the longest prefix of at most n bytes that ends between characters.
func headBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// tailBytes is the longest such suffix.
func tailBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	from := len(s) - n
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}
