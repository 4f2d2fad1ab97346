package llmtest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxIDOpenAI is the longest call id in bytes that OpenAI takes back.
const maxIDOpenAI = 40

var roles = map[string][]string{
	DeepSeek: {"system", "user", "assistant", "tool"},
	OpenAI:   {"system", "developer", "user", "assistant", "tool"},
}

var messageFields = map[string][]string{
	"system":    {"role", "content"},
	"developer": {"role", "content"},
	"user":      {"role", "content"},
	"assistant": {"role", "content", "tool_calls"},
	"tool":      {"role", "content", "tool_call_id"},
}

const unanswered = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. (insufficient tool messages following tool_calls message)"

// messages checks each message and, between them, that every call is answered at
// once, in order, and once.
func (c *checker) messages(top object) *refusal {
	if !top.has("messages") {
		return c.missing("", "messages")
	}
	list, r := c.list("messages", top["messages"])
	if r != nil {
		return r
	}
	if len(list) == 0 {
		return &refusal{"Empty input messages", "messages"}
	}
	var pending []string // ids of calls without a result
	role := ""
	for i, raw := range list {
		at := fmt.Sprintf("messages[%d]", i)
		m, r := c.message(at, i, raw)
		if r != nil {
			return r
		}
		role = m.role
		switch {
		case role == "tool":
			if pending, r = c.result(at, m, pending); r != nil {
				return r
			}
		case len(pending) > 0:
			return &refusal{unanswered, at}
		default:
			pending = m.calls
		}
	}
	if len(pending) > 0 {
		return &refusal{unanswered, "messages"}
	}
	if role != "user" && role != "tool" {
		return &refusal{fmt.Sprintf("The last message of the conversation must have role 'user' or 'tool', not '%s'", role), "messages"}
	}
	return nil
}

type checkedMessage struct {
	role   string
	calls  []string // ids
	callID string   // of a result
}

func (c *checker) message(at string, i int, raw json.RawMessage) (m checkedMessage, r *refusal) {
	o, r := c.object(at, raw, nil)
	if r != nil {
		return m, r
	}
	if m.role, r = c.oneOf(o, at, "role", roles[c.dialect]); r != nil {
		return m, r
	}
	fields := messageFields[m.role]
	if m.role == "assistant" && c.dialect == DeepSeek {
		fields = append(slices.Clone(fields), "reasoning_content")
	}
	if r := c.known(at, o, fields); r != nil {
		return m, r
	}
	if system := m.role == "system" || m.role == "developer"; system != (i == 0) {
		return m, &refusal{"System message must be at the beginning, and be the only one.", at}
	}
	switch m.role {
	case "assistant":
		m.calls, r = c.assistant(at, o)
	case "tool":
		if m.callID, r = c.text(o, at, "tool_call_id"); r == nil {
			r = c.filled(at, o, c.dialect == OpenAI)
		}
	case "user":
		r = c.filled(at, o, true)
	default:
		_, _, r = c.content(at, o, c.dialect == OpenAI)
	}
	return m, r
}

// result takes the answered call off the pending ones.
func (c *checker) result(at string, m checkedMessage, pending []string) ([]string, *refusal) {
	switch {
	case len(pending) == 0:
		return nil, &refusal{"Messages with role 'tool' must be a response to a preceding message with 'tool_calls'", at + ".role"}
	case slices.Contains(pending[1:], m.callID):
		return nil, &refusal{fmt.Sprintf("Tool messages must be in the order of the tool_calls: expected '%s', got '%s'", pending[0], m.callID), at + ".tool_call_id"}
	case pending[0] != m.callID:
		return nil, &refusal{unanswered, at + ".tool_call_id"}
	}
	return pending[1:], nil
}

func (c *checker) assistant(at string, o object) (ids []string, r *refusal) {
	if o.has("tool_calls") {
		if ids, r = c.toolCalls(at+".tool_calls", o["tool_calls"]); r != nil {
			return nil, r
		}
	}
	text := ""
	absent := !o.has("content") || kindOf(o["content"]) == "null"
	if c.dialect == DeepSeek || !absent {
		if text, _, r = c.content(at, o, c.dialect == OpenAI); r != nil {
			return nil, r
		}
	}
	if text == "" && len(ids) == 0 {
		return nil, &refusal{"Invalid assistant message: content or tool_calls must be set", at}
	}
	if o.has("reasoning_content") {
		_, r = c.text(o, at, "reasoning_content")
	} else if c.thinking {
		r = &refusal{"The `reasoning_content` in the thinking mode must be passed back to the API.", at}
	}
	return ids, r
}

// toolCalls returns the ids, which must be new to the whole request.
func (c *checker) toolCalls(at string, raw json.RawMessage) ([]string, *refusal) {
	list, r := c.list(at, raw)
	if r != nil {
		return nil, r
	}
	if len(list) == 0 {
		return nil, &refusal{fmt.Sprintf("[] is too short - '%s'", at), at}
	}
	var ids []string
	for i, raw := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		call, r := c.object(at, raw, []string{"id", "type", "function"})
		if r != nil {
			return nil, r
		}
		id, r := c.callID(at, call)
		if r != nil {
			return nil, r
		}
		if r := c.function(at, call); r != nil {
			return nil, r
		}
		ids = append(ids, id)
	}
	return ids, nil
}

func (c *checker) callID(at string, call object) (string, *refusal) {
	id, r := c.text(call, at, "id")
	switch {
	case r != nil:
		return "", r
	case id == "":
		return "", &refusal{fmt.Sprintf("Invalid '%s.id': empty string. Expected a string with minimum length 1", at), at + ".id"}
	case c.dialect == OpenAI && len(id) > maxIDOpenAI:
		return "", &refusal{fmt.Sprintf("Invalid '%s.id': string too long. Expected a string with maximum length %d", at, maxIDOpenAI), at + ".id"}
	case c.ids[id]:
		return "", &refusal{fmt.Sprintf("Duplicate value for 'tool_call_id' of %s in messages", id), at + ".id"}
	}
	c.ids[id] = true
	return id, nil
}

func (c *checker) function(at string, call object) *refusal {
	if _, r := c.oneOf(call, at, "type", []string{"function"}); r != nil {
		return r
	}
	if !call.has("function") {
		return c.missing(at, "function")
	}
	at = at + ".function"
	f, r := c.object(at, call["function"], []string{"name", "arguments"})
	if r != nil {
		return r
	}
	if _, r := c.toolName(at, f); r != nil {
		return r
	}
	args, r := c.text(f, at, "arguments")
	if r != nil {
		return r
	}
	if !json.Valid([]byte(args)) || kindOf(json.RawMessage(args)) != "map" {
		return &refusal{fmt.Sprintf("The \"function.arguments\" parameter must be a JSON object (%s)", at), at + ".arguments"}
	}
	if r := scanText([]byte(args)); r != nil {
		return &refusal{r.message + " (in " + at + ".arguments)", at + ".arguments"}
	}
	return nil
}

// content is the text of a message, and how many images it has: one string, or
// parts where they are taken.
func (c *checker) content(at string, o object, parts bool) (text string, images int, r *refusal) {
	if parts && kindOf(o["content"]) == "sequence" {
		return c.parts(at+".content", o["content"])
	}
	text, r = c.text(o, at, "content")
	return text, 0, r
}

// filled wants content that is not blank.
func (c *checker) filled(at string, o object, parts bool) *refusal {
	text, images, r := c.content(at, o, parts)
	if r == nil && images == 0 && strings.TrimSpace(text) == "" {
		return &refusal{fmt.Sprintf("Invalid '%s.content': the content must not be empty", at), at + ".content"}
	}
	return r
}

func (c *checker) parts(at string, raw json.RawMessage) (text string, images int, r *refusal) {
	list, r := c.list(at, raw)
	if r != nil {
		return "", 0, r
	}
	for i, raw := range list {
		at := fmt.Sprintf("%s[%d]", at, i)
		part, r := c.object(at, raw, []string{"type", "text", "image_url"})
		if r != nil {
			return "", 0, r
		}
		kind, r := c.oneOf(part, at, "type", []string{"text", "image_url"})
		if r != nil {
			return "", 0, r
		}
		if kind == "image_url" {
			images++
			r = c.image(at+".image_url", part["image_url"])
		} else {
			var s string
			s, r = c.text(part, at, "text")
			text += s
		}
		if r != nil {
			return "", 0, r
		}
	}
	return text, images, nil
}

func (c *checker) image(at string, raw json.RawMessage) *refusal {
	image, r := c.object(at, raw, []string{"url", "detail"})
	if r == nil {
		_, r = c.text(image, at, "url")
	}
	return r
}
