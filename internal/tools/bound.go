package tools

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// maxInline bounds a result whose tool has no limit of its own; the whole of it
	// is kept in an artifact.
	maxInline = 50_000
	// maxResultBytes bounds any result, so that no tool can fill the context window
	// by accident. The largest on purpose is a full read with its line numbers.
	maxResultBytes = 128 << 10
	// maxMark is more than the line between head and tail takes, with its path.
	maxMark = 1_000
)

// clean makes text fit for the log and the request: NUL and broken UTF-8 become
// visible.
func clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, string(utf8.RuneError))
	}
	return strings.ReplaceAll(s, "\x00", "\u2400")
}

// clean takes the secrets out too: before a text is cut, where half of one would stay,
// and before it is kept.
func (e *Env) clean(s string) string {
	s = clean(s)
	if e.Redact != nil {
		s = e.Redact(s)
	}
	return s
}

// secretPart stands for a line that goes on with a secret.
const secretPart = "[redacted: part of a secret]"

// minPart is the length below which a line gives nothing of a secret away, in bytes.
const minPart = 8

// part is what to show of a line that is read without the text before it, of which it
// gets the end: the lines of a private key are known by their first. Only a line of one
// word can be such a part.
func (e *Env) part(before, line string) string {
	word := strings.TrimSpace(line)
	if e.Redact == nil || len(word) < minPart || strings.ContainsAny(word, " \t") {
		return line
	}
	if strings.HasSuffix(e.clean(before+strings.TrimRight(line, " \t\r")), word) {
		return line
	}
	return secretPart
}

// fit leaves the middle of a long text out and says where the whole is.
func fit(text, kind string, env Env) string {
	if len(text) <= maxInline {
		return text
	}
	where := "the full text could not be kept: narrow the call"
	if env.Save != nil {
		path, err := env.Save(kind, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return err
		})
		switch {
		case err != nil && path == "":
			where = fmt.Sprintf("the full text is unavailable (%v): narrow the call", err)
		case err != nil:
			where = fmt.Sprintf("its beginning is in %s (%v)", path, err)
		default:
			where = fmt.Sprintf("the full text is in %s: read it with offset and limit, or grep it", path)
		}
	}
	return cutMiddle(text, maxInline-maxMark, headBytes(where, maxMark-100))
}

// boundText is the last resort.
func boundText(s string) string {
	if len(s) <= maxResultBytes {
		return s
	}
	return cutMiddle(s, maxResultBytes, "")
}

// cutMiddle keeps n bytes, half of them from the end, and a line about the rest.
func cutMiddle(s string, n int, note string) string {
	head, tail := headBytes(s, n/2), tailBytes(s, n/2)
	if note != "" {
		note = "; " + note
	}
	return fmt.Sprintf("%s\n[%d bytes left out%s]\n%s", head, len(s)-len(head)-len(tail), note, tail)
}
