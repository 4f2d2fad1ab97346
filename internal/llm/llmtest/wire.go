package llmtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
)

// rawJSON is written as it is, valid or not.
type rawJSON string

type frame struct {
	ID      string         `json:"id"`
	Object  string         `json:"object"`
	Created int            `json:"created"`
	Model   string         `json:"model"`
	Choices []choice       `json:"choices"`
	Usage   map[string]any `json:"usage,omitempty"`
}

type choice struct {
	Index  int     `json:"index"`
	Delta  any     `json:"delta"`
	Finish *string `json:"finish_reason"`
}

// deltaMark stands for a raw delta until the frame around it is encoded.
const deltaMark = "\x02delta\x02"

func (p *player) frame() frame {
	return frame{ID: fmt.Sprintf("resp_%d", p.request.number), Object: "chat.completion.chunk", Created: 1, Model: p.request.model}
}

// chunk sends one choice; the first of a reply is preceded by one with the role. No
// finish is "".
func (p *player) chunk(delta any, finish string) error {
	if !p.opened {
		p.opened = true
		role := map[string]any{"role": "assistant", "content": ""}
		if p.server.script.dialect == DeepSeek {
			role = map[string]any{"role": "assistant", "content": nil, "reasoning_content": ""}
		}
		if err := p.chunk(role, ""); err != nil {
			return err
		}
	}
	c := choice{Delta: delta}
	if finish != "" {
		c.Finish = &finish
	}
	raw, isRaw := delta.(rawJSON)
	if isRaw {
		c.Delta = deltaMark
	}
	f := p.frame()
	f.Choices = []choice{c}
	data := encode(f)
	if isRaw {
		data = bytes.Replace(data, encode(deltaMark), []byte(raw), 1)
	}
	return p.event(string(data))
}

func (p *player) event(data string) error { return p.write("data: " + data + "\n\n") }

// write sends bytes at once, split if the reply says so.
func (p *player) write(text string) error {
	if !p.started {
		p.started = true
		if p.w.Header().Get("Content-Type") == "" {
			p.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		}
		p.w.WriteHeader(http.StatusOK)
	}
	size := p.reply.split
	if size == 0 {
		size = max(1, len(text))
	}
	flush := http.NewResponseController(p.w)
	for {
		n := min(size, len(text))
		if _, err := p.w.Write([]byte(text[:n])); err != nil {
			return errOver
		}
		if err := flush.Flush(); err != nil {
			return errOver
		}
		if text = text[n:]; text == "" {
			return nil
		}
	}
}

// wire is the usage as the dialect's servers send it.
func (u *usage) wire(dialect string) map[string]any {
	m := map[string]any{
		"prompt_tokens":             u.in,
		"completion_tokens":         u.out,
		"total_tokens":              u.in + u.out,
		"prompt_tokens_details":     map[string]any{"cached_tokens": u.cached},
		"completion_tokens_details": map[string]any{"reasoning_tokens": u.reasoning},
	}
	if dialect == DeepSeek {
		m["prompt_cache_hit_tokens"] = u.cached
		m["prompt_cache_miss_tokens"] = u.in - u.cached
	}
	return m
}

// encode is JSON with <, > and & as they are.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only maps, structs and strings of our own come here
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// apiError is a refusal in the dialect's shape.
func apiError(dialect, message, param string) []byte {
	e := map[string]any{"message": message, "type": "invalid_request_error", "param": nil, "code": nil}
	if dialect == DeepSeek {
		e["code"] = "invalid_request_error"
	} else if param != "" {
		e["param"] = param
	}
	return encode(map[string]any{"error": e})
}

func overflow(window int, q *request) string {
	prompt := len(q.body) / bytesPerToken
	return fmt.Sprintf("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
		window, q.window, prompt, q.window-prompt)
}
