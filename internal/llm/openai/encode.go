package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"dsh/internal/llm"
)

// Encoder writes request bodies. It remembers the last one: while header and
// repairs stay the same and the messages only grow, the bytes of the earlier
// messages are used again, so that a request costs what is new in it, and its
// message array begins with the bytes of the one before. That keeps the endpoint's
// prefix cache warm. It is safe for concurrent use.
type Encoder struct {
	profile Profile

	mu      sync.Mutex
	header  llm.Header
	repairs []string
	seen    []*llm.Message
	norm    normaliser
	noEmpty bool   // no content key on calls without text
	count   int    // messages in prefix
	prefix  []byte // up to the last final message; written bytes are never changed, only appended to
	rest    []byte // what follows the message array
}

// NewEncoder makes an encoder for one profile.
func NewEncoder(p Profile) *Encoder { return &Encoder{profile: p} }

// Body is the request's body, and the number of messages in its array. The bytes
// depend on nothing but the profile, the request and the repairs. The slice is
// valid until the next call.
func (e *Encoder) Body(r *llm.Request, repairs []string) (body []byte, messages int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail, messages, err := e.advance(r, repairs)
	return append(e.prefix, tail...), messages, err
}

// Digest is the checksum that Sent carries: SHA-256 in lower-case hex.
func Digest(body []byte) string { return digest(body) }

func digest(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// parts is the body in two pieces. The bytes of prefix never change, also not by
// later calls: a transport may still read them. The tail is the caller's.
func (e *Encoder) parts(r *llm.Request, repairs []string) (prefix, tail []byte, messages int, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail, messages, err = e.advance(r, repairs)
	return slices.Clip(e.prefix), tail, messages, err
}

// advance brings prefix up to the request and makes what follows it.
func (e *Encoder) advance(r *llm.Request, repairs []string) (tail []byte, messages int, err error) {
	if !e.extends(r, repairs) {
		if err := e.reset(r.Header, repairs); err != nil {
			e.prefix = nil
			return nil, 0, err
		}
	}
	for _, m := range r.Messages[len(e.seen):] {
		for _, w := range e.norm.add(m) {
			e.prefix = e.append(e.prefix, e.count, w)
			e.count++
		}
	}
	e.seen = append(e.seen, r.Messages[len(e.seen):]...)
	messages = e.count
	for _, w := range e.norm.pending() {
		tail = e.append(tail, messages, w)
		messages++
	}
	return append(tail, e.rest...), messages, nil
}

func (e *Encoder) extends(r *llm.Request, repairs []string) bool {
	return e.prefix != nil && e.header.Equal(r.Header) && slices.Equal(e.repairs, repairs) &&
		len(r.Messages) >= len(e.seen) && slices.Equal(r.Messages[:len(e.seen)], e.seen)
}

// reset starts a new body. It takes new memory: the old may be on its way still.
func (e *Encoder) reset(h llm.Header, repairs []string) error {
	fix := parseRepairs(repairs)
	rest, err := e.settings(h, fix)
	if err != nil {
		return err
	}
	thinking := e.profile.Thinking && h.Config.ReasoningEffort != "off"
	e.norm = normaliser{config: h.Config, replay: thinking && !fix.noReplay || fix.replay, placeholder: fix.placeholder,
		shortIDs: fix.shortIDs, ids: map[string]bool{}, order: arranger{merge: fix.mergeUsers}}
	if fix.bridge {
		e.norm.order.bridge = e.norm.bridge()
	}
	e.noEmpty = fix.noEmptyContent
	e.header, e.repairs, e.seen, e.rest = h, slices.Clone(repairs), nil, rest
	e.header.Tools = slices.Clone(h.Tools)
	e.count = 0
	e.prefix = append([]byte(`{"model":`), appendString(nil, clean(h.Config.Model))...)
	e.prefix = append(e.prefix, `,"messages":[`...)
	if h.System != "" {
		e.prefix = e.append(e.prefix, 0, message{role: "system", content: clean(h.System)})
		e.count = 1
	}
	return nil
}

// append writes the message that has the given place in the array.
func (e *Encoder) append(b []byte, place int, m message) []byte {
	if place > 0 {
		b = append(b, ',')
	}
	b = append(b, `{"role":"`...)
	b = append(b, m.role...)
	b = append(b, '"')
	if m.role == "tool" {
		b = appendString(append(b, `,"tool_call_id":`...), m.callID)
	}
	if m.content != "" || len(m.calls) == 0 || !e.noEmpty {
		b = appendString(append(b, `,"content":`...), m.content)
	}
	if m.reasoning != nil {
		b = appendString(append(b, `,"reasoning_content":`...), *m.reasoning)
	}
	if m.details != "" {
		b = append(append(b, `,"reasoning_details":`...), m.details...)
	}
	for i, c := range m.calls {
		if i == 0 {
			b = append(b, `,"tool_calls":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"id":`...), c.id)
		b = appendString(append(b, `,"type":"function","function":{"name":`...), c.name)
		b = appendString(append(b, `,"arguments":`...), c.arguments)
		b = append(b, '}')
		if c.extra != "" {
			b = append(append(b, `,"extra_content":`...), c.extra...)
		}
		b = append(b, '}')
	}
	if len(m.calls) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}

// settings is everything after the messages. Fields that an endpoint may not know
// are sent only when its profile lists them: tool_choice and temperature never.
func (e *Encoder) settings(h llm.Header, fix repairs) ([]byte, error) {
	b := []byte(`],"stream":true`)
	if !fix.noStreamOptions {
		b = append(b, `,"stream_options":{"include_usage":true}`...)
	}
	switch {
	case !e.profile.Thinking || fix.noThinking:
	case h.Config.ReasoningEffort == "off":
		b = append(b, `,"thinking":{"type":"disabled"}`...)
	default:
		b = append(b, `,"thinking":{"type":"enabled"}`...)
	}
	if effort := e.profile.effort(h.Config.ReasoningEffort); effort != "" && !fix.noEffort {
		b = appendString(append(b, `,"reasoning_effort":`...), clean(effort))
	}
	if h.Config.MaxTokens < 0 {
		return nil, fmt.Errorf("max tokens %d: must be positive", h.Config.MaxTokens)
	}
	limit, field := fix.limit(e.profile, h.Config.MaxTokens)
	if limit > 0 {
		b = append(b, `,"`+field+`":`...)
		b = strconv.AppendInt(b, int64(limit), 10)
	}
	b, err := appendTools(b, h.Tools)
	return append(b, '}'), err
}

// appendTools writes the schemas in the order of the header.
func appendTools(b []byte, tools []llm.ToolSchema) ([]byte, error) {
	if len(tools) == 0 {
		return b, nil
	}
	if len(tools) > maxTools {
		return nil, fmt.Errorf("%d tools: endpoints take at most %d, disable some", len(tools), maxTools)
	}
	names := map[string]bool{}
	for i, t := range tools {
		name := wireName(clean(t.Name))
		if names[name] {
			return nil, fmt.Errorf("two tools are called %q: disable or rename one", name)
		}
		names[name] = true
		if i == 0 {
			b = append(b, `,"tools":[`...)
		} else {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"type":"function","function":{"name":`...), name)
		b = appendString(append(b, `,"description":`...), clean(t.Description))
		b = append(b, `,"parameters":`...)
		var err error
		if b, err = appendParameters(b, t.Parameters); err != nil {
			return nil, fmt.Errorf("schema of tool %q: %w", t.Name, err)
		}
		b = append(b, `}}`...)
	}
	return append(b, ']'), nil
}

// appendParameters writes a schema. A tool without parameters still needs an object.
func appendParameters(b []byte, raw json.RawMessage) ([]byte, error) {
	var fields map[string]json.RawMessage
	if len(raw) > 0 {
		if err := json.Unmarshal(raw, &fields); err != nil {
			return nil, err
		}
	}
	if len(fields) == 0 {
		return append(b, `{"type":"object","properties":{}}`...), nil
	}
	return compact(b, raw)
}
