package openai

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"dsh/internal/llm"
)

// rule gives a class to what an endpoint says. Words beat the status: gateways send
// 401 for an empty balance, 429 for a used-up plan, and 200 for everything.
type rule struct {
	code llm.Code
	says *regexp.Regexp
}

var rules = []rule{
	{llm.CodeRateLimit, regexp.MustCompile(`(?i)=rate_limit|=engine_overloaded|=130[235]\b`)}, // their texts speak of billing
	{llm.CodeToolFormat, regexp.MustCompile(`(?i)tool_use_failed`)},
	{llm.CodeContentFilter, regexp.MustCompile(`(?i)content_filter|ResponsibleAIPolicyViolation|Content Exists Risk`)},
	{llm.CodeQuota, regexp.MustCompile(`(?i)insufficient[_ ](quota|balance|credits?)|exceeded[_ ]current[_ ]quota|` +
		`quota (exceeded|exhausted)|credits? (exhausted|depleted)|\bbilling\b|=1113\b|余额不足|欠费|CreditsError`)},
	{llm.CodeRateLimit, regexp.MustCompile(`(?i)rate[_ ]?limit|too many requests`)},
}

// overflow is how endpoints say that the prompt is too long. A bare "too many
// tokens" is not in it: on 429 it means the tokens of a minute.
var overflow = regexp.MustCompile(`(?is)` + strings.Join([]string{
	`maximum context length`, `context_length_exceeded`, `exceeds the context window`,
	`exceeded model token limit`, `Range of input length should be`,
	`=1261\b`, `Prompt (exceeds max length|is too long|too long)`, `model_context_window_exceeded`,
	`exceed_context_size_error`, `exceeds the available context size`,
	`Trying to keep the first \d+ tokens`, `greater than the context length`, `Context size has been exceeded`,
	`reduce the length of the messages or completion`, `too large for model with \d+ maximum context length`,
	`input token count.*exceeds the maximum`, `maximum prompt length is`,
	`exceeds the limit of \d+`, `context window exceeds limit`, `input is too long for requested model`,
	`Input too long: \d+ input tokens`,
}, "|"))

// types are the classes of error types in answers whose status says nothing.
var types = []rule{
	{llm.CodeAuth, regexp.MustCompile(`(?i)authentication|invalid_api_key|permission`)},
	{llm.CodeInvalidRequest, regexp.MustCompile(`(?i)invalid_request|BadRequest|INVALID_ARGUMENT`)},
}

// loading is a local server that reads its model from the disk, which takes it a
// minute or two. loadingWait makes the usual number of attempts last as long.
var loading = regexp.MustCompile(`(?i)loading model|model is (still )?loading`)

const loadingWait = 20 * time.Second

// Classify names the class of an answer that is no success: from its words, then
// its headers, then its status. It is also used for errors inside a stream, whose
// status is 200. The message is one line without control characters or key-like
// words.
func Classify(status int, h http.Header, body []byte) *llm.Failure {
	e := readError(body)
	if status < 300 && e.status != 0 {
		status = e.status
	}
	f := &llm.Failure{Status: status, RequestID: requestID(h), Message: oneLine(e.message, "")}
	f.ProviderRetryAfterMs = retryAfter(h, e.message)
	f.Code = class(status, e, f.ProviderRetryAfterMs != nil)
	f.Wordless = status >= 300 && len(bytes.TrimSpace(body)) == 0
	if f.Message == "" {
		f.Message = http.StatusText(status)
	}
	if status == http.StatusServiceUnavailable && f.ProviderRetryAfterMs == nil && loading.MatchString(f.Message) {
		ms := loadingWait.Milliseconds()
		f.ProviderRetryAfterMs = &ms
		f.Message += fmt.Sprintf("; retry in %s", loadingWait)
	}
	switch strings.ToLower(h.Get("X-Should-Retry")) {
	case "false":
		f.Final = true
	case "true":
		if !f.Transient() {
			f.Code = llm.CodeServer
		}
	}
	return f
}

func class(status int, e errorBody, hasDelay bool) llm.Code {
	text := e.all()
	if e.html {
		text = "" // a web page's words mean nothing
	}
	if status == http.StatusRequestEntityTooLarge || status != http.StatusTooManyRequests && overflow.MatchString(text) {
		return llm.CodeContextOverflow
	}
	if status == http.StatusPaymentRequired {
		if hasDelay {
			return llm.CodeRateLimit // a budget for requests in flight, not the balance
		}
		return llm.CodeQuota
	}
	for _, r := range rules {
		if r.says.MatchString(text) {
			return r.code
		}
	}
	if status >= 300 {
		return statusClass(status)
	}
	for _, r := range types {
		if r.says.MatchString(e.codes) {
			return r.code
		}
	}
	return llm.CodeServer
}

func statusClass(status int) llm.Code {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return llm.CodeAuth
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return llm.CodeConfig
	case http.StatusTooManyRequests:
		return llm.CodeRateLimit
	case http.StatusRequestTimeout:
		return llm.CodeTimeout
	case http.StatusConflict, http.StatusTooEarly:
		return llm.CodeServer
	}
	switch {
	case status < 400:
		return llm.CodeConfig // a redirect: the key does not follow it
	case status < 500:
		return llm.CodeInvalidRequest
	}
	return llm.CodeServer
}

// requestID is what to quote to the provider.
func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "X-Ds-Trace-Id", "X-Deepseek-Request-Id", "X-Trace-Id", "X-Generation-Id"} {
		if id := h.Get(name); id != "" {
			return oneLine(id, "")
		}
	}
	return ""
}
