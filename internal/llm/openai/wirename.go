package openai

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What the strictest of the endpoints take.
const (
	maxCallID   = 40 // OpenAI, when an id is replayed
	shortID     = 9  // Mistral, exactly
	maxToolName = 64
	maxTools    = 128
	nameHash    = 8       // hex digits that keep shortened names apart
	maxInvalid  = 2 << 10 // bytes of invalid arguments that are quoted back to the model
)

var (
	idPattern    = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)
	shortPattern = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)
	namePattern  = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	notName      = regexp.MustCompile(`[^A-Za-z0-9_-]`)
)

// wireID is a pure function of the call's id, or of its place when it has none: the
// bytes of a message must not depend on what else is in the history.
func (n *normaliser) wireID(id string, i int) string {
	switch {
	case id == "":
		id = "call_" + strconv.Itoa(n.turns) + "_" + strconv.Itoa(i)
	case len(id) > maxCallID || !idPattern.MatchString(id):
		id = "call_" + hash(id, 24)
	}
	if n.shortIDs && !shortPattern.MatchString(id) {
		return hash(id, shortID)
	}
	return id
}

// freeID makes an id unique within the request.
func (n *normaliser) freeID(id string) string {
	free := id
	for i := 2; n.ids[free]; i++ {
		suffix := "_" + strconv.Itoa(i)
		free = id[:min(len(id), maxCallID-len(suffix))] + suffix
		if n.shortIDs {
			free = hash(free, shortID)
		}
	}
	n.ids[free] = true
	return free
}

// wireName is a tool's name as endpoints take it, the same for schemas and history.
func wireName(name string) string {
	if len(name) <= maxToolName && namePattern.MatchString(name) {
		return name
	}
	plain := notName.ReplaceAllString(name, "_")
	return plain[:min(len(plain), maxToolName-nameHash-1)] + "_" + hash(name, nameHash)
}

func hash(s string, digits int) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digits]
}

// wireArguments is the text of a JSON object, whatever the model sent: endpoints
// decode the arguments in a history and refuse every later request if they cannot.
// A valid object keeps its bytes.
func wireArguments(raw string) string {
	if strings.TrimSpace(raw) == "" {
		return "{}"
	}
	raw = clean(raw)
	if isObject(raw) {
		return cleanEscapes(raw)
	}
	if len(raw) > maxInvalid {
		raw = strings.ToValidUTF8(raw[:maxInvalid], "") + "..."
	}
	return `{"_invalid_arguments":` + string(appendString(nil, raw)) + `}`
}

func isObject(s string) bool {
	trimmed := strings.TrimLeft(s, " \t\r\n")
	return strings.HasPrefix(trimmed, "{") && json.Valid([]byte(s))
}

// clean makes text that every endpoint takes: valid UTF-8, no NUL. It replaces each
// invalid byte, as encoding/json does, so that a message makes the same bytes
// before and after it has been in the log.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = string([]rune(s))
	}
	if strings.IndexByte(s, 0) >= 0 {
		s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	}
	return s
}

// cleanEscapes does the same to the escapes inside a JSON text, where NUL and half
// surrogate pairs are legal but refused by endpoints that decode them.
func cleanEscapes(s string) string {
	if !strings.Contains(s, `\u`) {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			out = append(out, s[i])
			i++
			continue
		}
		r, isUnicode := escape(s[i:])
		next, paired := escape(s[min(i+6, len(s)):])
		switch {
		case !isUnicode:
			out = append(out, s[i:i+2]...) // valid JSON: something follows a backslash
			i += 2
		case utf16.IsSurrogate(r) && paired && utf16.DecodeRune(r, next) != '\uFFFD':
			out = append(out, s[i:i+12]...)
			i += 12
		case utf16.IsSurrogate(r) || r == 0:
			out = append(out, `\ufffd`...)
			i += 6
		default:
			out = append(out, s[i:i+6]...)
			i += 6
		}
	}
	return string(out)
}

// escape reads a \uXXXX at the start of s.
func escape(s string) (r rune, ok bool) {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(v), err == nil
}

// appendString appends s as a JSON string. It escapes no more than JSON asks for:
// HTML escapes would only cost tokens of the reader. s is valid UTF-8.
func appendString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[from:i]...)
		from = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
	return append(append(b, s[from:]...), '"')
}

// compact appends JSON without its insignificant whitespace, and with the escapes
// that encoding/json gives it in the log: read back, it makes the same bytes.
func compact(b []byte, raw []byte) ([]byte, error) {
	var plain bytes.Buffer
	if err := json.Compact(&plain, raw); err != nil {
		return b, err
	}
	var escaped bytes.Buffer
	json.HTMLEscape(&escaped, plain.Bytes())
	return append(b, clean(escaped.String())...), nil
}
