package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// event is one payload of the stream. Its types take every spelling that was seen
// of a field: strict ones would lose the answer over a float.
type event struct {
	Error   json.RawMessage `json:"error"`
	Object  text            `json:"object"`
	Choices []choice        `json:"choices"`
	Usage   *usage          `json:"usage"`
	Groq    *struct {
		Usage *usage `json:"usage"`
	} `json:"x_groq"`
	Data json.RawMessage `json:"data"` // gateways wrap a whole answer
}

type choice struct {
	Index   number64 `json:"index"`
	Delta   *delta   `json:"delta"`
	Message *delta   `json:"message"` // a whole answer instead of a stream
	Finish  text     `json:"finish_reason"`
	Usage   *usage   `json:"usage"`
}

type delta struct {
	Content      text            `json:"content"`
	Reasoning    text            `json:"reasoning_content"`
	Reasoning2   text            `json:"reasoning"`         // vLLM, OpenRouter, Groq, Ollama
	Details      json.RawMessage `json:"reasoning_details"` // OpenRouter: to be sent back
	Refusal      text            `json:"refusal"`
	ToolCalls    []*toolCall     `json:"tool_calls"`
	FunctionCall *function       `json:"function_call"` // before tool_calls
}

type toolCall struct {
	Index    *number64       `json:"index"`
	ID       text            `json:"id"`
	Type     text            `json:"type"`
	Function *function       `json:"function"`
	Extra    json.RawMessage `json:"extra_content"` // Gemini: to be sent back
	function                 // flattened
}

type function struct {
	Name      text   `json:"name"`
	Arguments source `json:"arguments"`
}

type usage struct {
	Prompt       number64 `json:"prompt_tokens"`
	Completion   number64 `json:"completion_tokens"`
	CacheHit     number64 `json:"prompt_cache_hit_tokens"`
	CacheRead    number64 `json:"cache_read_input_tokens"`
	CacheCreated number64 `json:"cache_creation_input_tokens"`
	Cost         dollars  `json:"cost"` // OpenRouter
	PromptParts  *struct {
		Cached  number64 `json:"cached_tokens"`
		Written number64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionParts *struct {
		Reasoning number64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// number64 is a count: 12, 12.0, "12". Anything else, and a negative one, is 0.
type number64 struct {
	n   int
	set bool // the key was there, and no null
}

func (n *number64) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(bytes.Trim(b, `"`)), 64)
	if err == nil && f >= 0 && f < 1<<53 {
		n.n = int(f)
	}
	n.set = string(b) != "null"
	return nil
}

// dollars is an amount in nano-dollars; nil unless the key holds a plain number.
type dollars struct{ nano *int64 }

// maxDollars bounds what is taken for the price of one request.
const maxDollars = 1e6

func (d *dollars) UnmarshalJSON(b []byte) error {
	if f, err := strconv.ParseFloat(string(b), 64); err == nil && f >= 0 && f < maxDollars {
		nano := int64(math.Round(f * 1e9))
		d.nano = &nano
	}
	return nil
}

// text is a string, null, or a list of parts. What a part thinks is kept apart.
// Other values are nothing.
type text struct{ said, thought string }

func (t *text) UnmarshalJSON(b []byte) error {
	switch b[0] {
	case '"':
		return json.Unmarshal(b, &t.said)
	case '[':
		var parts []struct {
			Text     text `json:"text"`
			Thinking text `json:"thinking"`
		}
		if json.Unmarshal(b, &parts) != nil {
			return nil // a list of something else
		}
		for _, p := range parts {
			t.said += p.Text.said
			t.thought += p.Thinking.said
		}
	}
	return nil
}

// source is JSON text: a string holds it, any other value is it.
type source string

func (s *source) UnmarshalJSON(b []byte) error {
	switch {
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(s))
	case string(b) != "null":
		*s = source(b)
	}
	return nil
}

// isError reports whether the event carries an error: null and false are none.
func (e *event) isError() bool {
	return e.Object.said == "error" || len(e.Error) > 0 && string(e.Error) != "null" && string(e.Error) != "false"
}
