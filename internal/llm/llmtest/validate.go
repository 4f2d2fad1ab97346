package llmtest

import (
	"net/http"
	"unicode/utf8"
)

// DeepSeek and OpenAI are the dialects: whose rules and whose words.
const (
	DeepSeek = "deepseek"
	OpenAI   = "openai"
)

var dialects = []string{DeepSeek, OpenAI}

// Validate answers a chat request as a strict provider would: 0 and nil if it is
// valid, else a status and an error body. An empty dialect is deepseek's.
func Validate(body []byte, dialect string) (status int, answer []byte) {
	_ = utf8.Valid
	_ = http.StatusBadRequest
	return 0, nil
}
