package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"dsh/internal/llm"
)

// maxDepth bounds the nesting of a line's JSON, written or read: more is an error
// instead of a deep recursion. Tool arguments are strings, so real logs need less
// than 20.
const maxDepth = 500

// encoder appends JSON to buf. It exists because json.Marshal escapes HTML inside
// our own marshalers, replaces bytes that are not UTF-8 silently, and costs several
// times as much per chunk. The first error sticks.
type encoder struct {
	buf []byte
	err error
}

func (e *encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *encoder) lit(s string) *encoder {
	e.buf = append(e.buf, s...)
	return e
}

func (e *encoder) int(n int64) *encoder {
	e.buf = strconv.AppendInt(e.buf, n, 10)
	return e
}

const hexDigits = "0123456789abcdef"

// str appends a JSON string. Text that is not UTF-8 is an error: it would come back
// from the disk as another text.
func (e *encoder) str(s string) *encoder {
	e.buf = append(e.buf, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				e.fail(errors.New("text is not valid UTF-8"))
			}
			i += size
			continue
		}
		e.buf = append(e.buf, s[start:i]...)
		switch c {
		case '"', '\\':
			e.buf = append(e.buf, '\\', c)
		case '\n':
			e.buf = append(e.buf, '\\', 'n')
		case '\t':
			e.buf = append(e.buf, '\\', 't')
		case '\r':
			e.buf = append(e.buf, '\\', 'r')
		default:
			e.buf = append(e.buf, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i++
		start = i
	}
	e.buf = append(append(e.buf, s[start:]...), '"')
	return e
}

// raw appends JSON that came from elsewhere, byte for byte.
func (e *encoder) raw(r json.RawMessage) *encoder {
	switch {
	case !json.Valid(r) || !utf8.Valid(r):
		e.fail(errors.New("raw data is not valid JSON"))
	case bytes.IndexByte(r, '\n') >= 0:
		e.fail(errors.New("raw JSON holds a line break: compact it first"))
	case tooDeep(r):
		e.fail(errTooDeep)
	}
	e.buf = append(e.buf, r...)
	return e
}

// value appends a plain struct: one without marshalers and raw parts.
func (e *encoder) value(v any) *encoder {
	w := bytes.NewBuffer(e.buf)
	start := w.Len()
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		e.fail(err)
		return e
	}
	e.buf = bytes.TrimSuffix(w.Bytes(), []byte("\n"))
	if replaced(e.buf[start:]) {
		e.fail(errors.New("text is not valid UTF-8"))
	}
	return e
}

// replaced reports whether encoding/json wrote its escape for invalid UTF-8: it
// writes a genuine U+FFFD as it is.
func replaced(b []byte) bool {
	const escape = `\ufffd`
	for at := 0; ; {
		i := bytes.Index(b[at:], []byte(escape))
		if i < 0 {
			return false
		}
		at += i
		slashes := 0
		for at-1-slashes >= 0 && b[at-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		at += len(escape)
	}
}

func (e *encoder) message(m *llm.Message) *encoder {
	e.lit(`{"role":`).str(string(m.Role)).lit(`,"content":`).blocks(m.Content, 0)
	return e.lit(`,"source":`).source(m.Source).lit(`,"id":`).str(m.ID).lit(`}`)
}

func (e *encoder) messages(list []llm.Message) *encoder {
	e.lit(`[`)
	for i := range list {
		if i > 0 {
			e.lit(`,`)
		}
		e.message(&list[i])
	}
	return e.lit(`]`)
}

func (e *encoder) source(s llm.Source) *encoder {
	if len(s.Raw) > 0 {
		return e.raw(s.Raw)
	}
	e.lit(`{"kind":`).str(s.Kind)
	e.field("callId", s.CallID).field("plugin", s.Plugin).field("form", s.Form)
	e.field("provider", s.Provider).field("model", s.Model)
	if len(s.Replay) > 0 {
		e.lit(`,"replayState":`).raw(s.Replay)
	}
	return e.lit(`}`)
}

// field appends a further key of an object unless its value is empty.
func (e *encoder) field(key, s string) *encoder {
	if s == "" {
		return e
	}
	return e.lit(`,"`).lit(key).lit(`":`).str(s)
}

func (e *encoder) blocks(list []llm.Block, level int) *encoder {
	e.lit(`[`)
	for i := range list {
		if i > 0 {
			e.lit(`,`)
		}
		e.block(&list[i], level)
	}
	return e.lit(`]`)
}

func (e *encoder) block(b *llm.Block, level int) *encoder {
	if level > maxDepth/2-10 { // each level is an object and a list
		e.fail(errTooDeep)
		return e
	}
	switch b.Type {
	case llm.Text, llm.Reasoning:
		return e.lit(`{"type":"`).lit(string(b.Type)).lit(`","text":`).str(b.Text).lit(`}`)
	case llm.ToolCall:
		e.lit(`{"type":"tool-call","id":`).str(b.ID).lit(`,"name":`).str(b.Name)
		e.lit(`,"arguments":`).str(b.Arguments)
		if len(b.Extra) > 0 {
			e.lit(`,"extraContent":`).raw(b.Extra)
		}
		return e.lit(`}`)
	case llm.ToolResult:
		e.lit(`{"type":"tool-result","toolCallId":`).str(b.ToolCallID)
		e.lit(`,"content":`).blocks(b.Content, level+1)
		return e.lit(`,"isError":`).lit(strconv.FormatBool(b.IsError)).lit(`}`)
	}
	if len(b.Raw) == 0 {
		return e.lit(`{"type":`).str(string(b.Type)).lit(`}`)
	}
	return e.raw(b.Raw)
}

func (e *encoder) chunk(c *llm.Chunk) *encoder {
	e.lit(`{"type":`).str(string(c.Type))
	switch c.Type {
	case llm.BlockStart:
		e.lit(`,"index":`).int(int64(c.Index)).lit(`,"blockType":`).str(string(c.BlockType))
	case llm.TextDelta, llm.ReasoningDelta:
		e.lit(`,"index":`).int(int64(c.Index)).lit(`,"text":`).str(c.Text)
	case llm.ToolCallDelta:
		e.lit(`,"index":`).int(int64(c.Index)).lit(`,"id":`).str(c.ID)
		if c.HasName {
			e.lit(`,"name":`).str(c.Name)
		}
		e.lit(`,"argumentsDelta":`).str(c.ArgumentsDelta)
	case llm.BlockEnd:
		e.lit(`,"index":`).int(int64(c.Index)).lit(`,"block":`)
		if c.Block == nil {
			e.fail(errors.New("a block-end chunk has no block"))
			return e
		}
		e.block(c.Block, 0)
	case llm.UsageChunk:
		e.lit(`,"usage":`).value(c.Usage)
	case llm.FinishChunk:
		e.lit(`,"reason":`).value(c.Reason)
		if len(c.Replay) > 0 {
			e.lit(`,"replayState":`).raw(c.Replay)
		}
	default:
		e.fail(fmt.Errorf("chunk type %q is unknown", c.Type))
	}
	return e.lit(`}`)
}

func (e *encoder) ints(list []int) *encoder {
	e.lit(`[`)
	for i, n := range list {
		if i > 0 {
			e.lit(`,`)
		}
		e.int(int64(n))
	}
	return e.lit(`]`)
}

var errTooDeep = fmt.Errorf("the data is nested deeper than %d levels", maxDepth)

// tooDeep reports whether JSON text nests deeper than maxDepth.
func tooDeep(b []byte) bool {
	if bytes.Count(b, []byte("{"))+bytes.Count(b, []byte("[")) <= maxDepth {
		return false
	}
	deepest, now := 0, 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i = skipString(b, i)
		case '{', '[':
			now++
			deepest = max(deepest, now)
		case '}', ']':
			now--
		}
	}
	return deepest > maxDepth
}

// skipString returns the position of the quote that ends the string at b[i], or
// len(b) when it has none.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		end := bytes.IndexByte(b[i:], '"')
		if end < 0 {
			return len(b)
		}
		quote := i + end
		slashes := 0
		for quote-1-slashes >= i && b[quote-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return quote
		}
		i = quote + 1
	}
	return len(b)
}
