package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// DeepSeek and OpenAI are the dialects: whose rules and whose words.
const (
	DeepSeek = "deepseek"
	OpenAI   = "openai"
)

var dialects = []string{DeepSeek, OpenAI}

// The largest max_tokens that each dialect takes.
const (
	maxTokensDeepSeek = 393216
	maxTokensOpenAI   = 128000
)

// maxUserID is the documented limit of user_id in bytes.
const maxUserID = 512

// Validate answers a chat request as a strict provider would: 0 and nil if it is
// valid, else 400 and an error body in the dialect's shape and words. An empty
// dialect is deepseek's.
//
// It is stricter than any one provider: it refuses what some provider is known to
// refuse and a careful client never sends, such as fields it does not know, a
// system message that is missing or not first, and an empty tool result.
func Validate(body []byte, dialect string) (status int, answer []byte) {
	if dialect == "" {
		dialect = DeepSeek
	}
	c := &checker{dialect: dialect, ids: map[string]bool{}}
	if !slices.Contains(dialects, dialect) {
		return http.StatusInternalServerError, apiError(DeepSeek, fmt.Sprintf("unknown dialect %q", dialect), "")
	}
	if r := c.request(body); r != nil {
		return http.StatusBadRequest, apiError(dialect, r.message, r.param)
	}
	return 0, nil
}

// checker is one validation.
type checker struct {
	dialect  string
	model    string
	thinking bool            // the answer will be made in thinking mode
	ids      map[string]bool // of all calls so far
}

// refusal is why a request is not served.
type refusal struct{ message, param string }

var topFields = map[string][]string{
	DeepSeek: {"model", "messages", "stream", "stream_options", "thinking", "reasoning_effort", "tools",
		"tool_choice", "max_tokens", "temperature", "top_p", "presence_penalty", "frequency_penalty",
		"response_format", "stop", "logprobs", "top_logprobs", "user_id"},
	OpenAI: {"model", "messages", "stream", "stream_options", "reasoning_effort", "tools",
		"tool_choice", "parallel_tool_calls", "max_tokens", "max_completion_tokens", "temperature", "top_p",
		"presence_penalty", "frequency_penalty", "response_format", "stop", "logprobs", "top_logprobs",
		"seed", "n", "user", "prompt_cache_key", "safety_identifier", "service_tier", "store", "metadata", "verbosity"},
}

var efforts = map[string][]string{
	DeepSeek: {"minimal", "low", "medium", "high", "xhigh", "max", "ultra"},
	OpenAI:   {"none", "minimal", "low", "medium", "high", "xhigh"},
}

func (c *checker) request(body []byte) *refusal {
	if r := scanText(body); r != nil {
		return r
	}
	top, r := c.object("", body, topFields[c.dialect])
	if r != nil {
		return r
	}
	if c.model, r = c.text(top, "", "model"); r != nil {
		return r
	}
	if c.model == "" {
		return &refusal{"you must provide a model parameter", "model"}
	}
	for _, check := range []func(object) *refusal{
		c.streaming, c.thinkingMode, c.maxTokens, c.sampling, c.userID, c.tools, c.toolChoice, c.messages,
	} {
		if r := check(top); r != nil {
			return r
		}
	}
	return nil
}

func (c *checker) streaming(top object) *refusal {
	stream, r := c.boolean(top, "", "stream")
	if r != nil || !top.has("stream_options") {
		return r
	}
	if !stream {
		return &refusal{"stream_options should be set along with stream = true", "stream_options"}
	}
	options, r := c.object("stream_options", top["stream_options"], []string{"include_usage"})
	if r != nil {
		return r
	}
	_, r = c.boolean(options, "stream_options", "include_usage")
	return r
}

// thinkingMode also finds out whether the request is in it: deepseek thinks unless
// told not to.
func (c *checker) thinkingMode(top object) *refusal {
	c.thinking = c.dialect == DeepSeek
	if top.has("thinking") {
		thinking, r := c.object("thinking", top["thinking"], []string{"type"})
		if r != nil {
			return r
		}
		kind, r := c.oneOf(thinking, "thinking", "type", []string{"enabled", "disabled"})
		if r != nil {
			return r
		}
		c.thinking = kind == "enabled"
	}
	if top.has("reasoning_effort") {
		_, r := c.oneOf(top, "", "reasoning_effort", efforts[c.dialect])
		return r
	}
	return nil
}

func (c *checker) maxTokens(top object) *refusal {
	limit := maxTokensDeepSeek
	if c.dialect == OpenAI {
		limit = maxTokensOpenAI
		if top.has("max_tokens") && reasoningModel(c.model) {
			return &refusal{"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.", "max_tokens"}
		}
	}
	for _, field := range []string{"max_tokens", "max_completion_tokens"} {
		if !top.has(field) {
			continue
		}
		var n int
		if json.Unmarshal(top[field], &n) != nil || n < 1 || n > limit {
			return &refusal{fmt.Sprintf("Invalid %s value, the valid range of %s is [1, %d]", field, field, limit), field}
		}
	}
	return nil
}

// reasoningModel tells OpenAI's models that take only max_completion_tokens.
func reasoningModel(model string) bool {
	model = strings.TrimPrefix(model, "openai/")
	return slices.ContainsFunc([]string{"o1", "o3", "o4", "gpt-5"}, func(p string) bool { return strings.HasPrefix(model, p) })
}

// sampling only looks at types: thinking models ignore the values.
func (c *checker) sampling(top object) *refusal {
	for _, field := range []string{"temperature", "top_p", "presence_penalty", "frequency_penalty"} {
		var n float64
		if top.has(field) && json.Unmarshal(top[field], &n) != nil {
			return c.wrongType("", field, top[field], "a number")
		}
	}
	return nil
}

func (c *checker) userID(top object) *refusal {
	if !top.has("user_id") {
		return nil
	}
	id, r := c.text(top, "", "user_id")
	if r == nil && (id == "" || len(id) > maxUserID) {
		return &refusal{fmt.Sprintf("user_id must have 1 to %d bytes", maxUserID), "user_id"}
	}
	return r
}
