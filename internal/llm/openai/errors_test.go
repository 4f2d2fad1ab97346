package openai

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"dsh/internal/llm"
)

// errorCase is an answer that is no success.
type errorCase struct {
	name    string
	status  int
	headers []string
	body    string
	code    llm.Code
	says    string
	final   bool
	waitMs  int64 // -1: none
}

func TestErrorAnswers(t *testing.T) {
	t.Parallel()
	const none = -1
	for _, e := range []errorCase{
		{"E01 bad key", 401, nil, `{"error":{"message":"Authentication Fails","type":"authentication_error","code":"invalid_request_error"}}`, llm.CodeAuth, "check DEEPSEEK_API_KEY", false, none},
		{"E02 no balance", 402, nil, `{"error":{"message":"Insufficient Balance"}}`, llm.CodeQuota, "Insufficient Balance", false, none},
		{"E03 429 without headers", 429, nil, `{}`, llm.CodeRateLimit, "Too Many Requests", false, none},
		{"E04 milliseconds win", 429, []string{"retry-after-ms", "250", "retry-after", "1"}, `{}`, llm.CodeRateLimit, "", false, 250},
		{"E05 seconds", 429, []string{"Retry-After", "7"}, `{}`, llm.CodeRateLimit, "", false, 7000},
		{"E06 a date", 503, []string{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT", "Date", "Wed, 21 Oct 2026 07:27:50 GMT"}, `{}`, llm.CodeServer, "", false, 10_000},
		{"E06 a date that is past", 503, []string{"Retry-After", "Wed, 21 Oct 2026 07:28:00 GMT", "Date", "Wed, 21 Oct 2026 07:29:00 GMT"}, `{}`, llm.CodeServer, "", false, none},
		{"E07 an hour", 429, []string{"Retry-After", "3600"}, `{}`, llm.CodeRateLimit, "", false, 3_600_000},
		{"E08 no number", 429, []string{"Retry-After", "abc"}, `{}`, llm.CodeRateLimit, "", false, none},
		{"E08 negative", 429, []string{"Retry-After", "-1"}, `{}`, llm.CodeRateLimit, "", false, none},
		{"E08 NaN", 429, []string{"Retry-After", "NaN"}, `{}`, llm.CodeRateLimit, "", false, none},
		{"E08 infinite", 429, []string{"Retry-After", "Inf"}, `{}`, llm.CodeRateLimit, "", false, none},
		{"E08 a fraction", 429, []string{"Retry-After", "1.5"}, `{}`, llm.CodeRateLimit, "", false, 1500},
		{"E09 OpenAI's quota", 429, nil, `{"error":{"message":"You exceeded your plan, see billing","code":"insufficient_quota"}}`, llm.CodeQuota, "", false, none},
		{"E09 a rate limit that speaks of billing", 429, nil, `{"error":{"message":"Rate limit reached. Please try again in 1m2.5s. See account/billing","code":"rate_limit_exceeded"}}`, llm.CodeRateLimit, "", false, 62_500},
		{"E10 Moonshot's quota", 429, nil, `{"error":{"type":"exceeded_current_quota_error","message":"m"}}`, llm.CodeQuota, "", false, none},
		{"E11 Moonshot is overloaded", 429, nil, `{"error":{"type":"engine_overloaded_error","message":"m"}}`, llm.CodeRateLimit, "", false, none},
		{"E12 Z.ai's quota", 429, nil, `{"error":{"code":"1113","message":"余额不足或无可用资源包,请充值。"}}`, llm.CodeQuota, "余额不足", false, none},
		{"E13 Z.ai's rate limit", 429, nil, `{"error":{"code":"1302","message":"m"}}`, llm.CodeRateLimit, "", false, none},
		{"E14 quota as 401", 401, nil, `{"type":"CreditsError","message":"Insufficient balance. Manage"}`, llm.CodeQuota, "", false, none},
		{"E15 not to be retried", 500, []string{"x-should-retry", "false"}, `{}`, llm.CodeServer, "", true, none},
		{"E15 to be retried", 400, []string{"x-should-retry", "true"}, `{"error":{"message":"odd"}}`, llm.CodeServer, "odd", false, none},
		{"E15 what is left of the limits", 429, []string{"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "2m59.56s", "x-ratelimit-remaining-requests", "5", "x-ratelimit-reset-requests", "9h"}, `{}`, llm.CodeRateLimit, "", false, 179_560},
		{"E15 a hint in the body", 429, nil, `[{"error":{"code":429,"message":"slow","details":[{"retryDelay":"36s"}]}}]`, llm.CodeRateLimit, "slow", false, 36_000},
		{"E20 a model that is not there", 404, nil, `{"error":"model 'x' not found"}`, llm.CodeConfig, `model.test has no model "deepseek-flash" (404): model 'x' not found`, false, none},
		{"E20 a path that is not there", 404, nil, `404 page not found`, llm.CodeConfig, "check the base URL http://model.test/v1", false, none},
		{"E21 FastAPI", 422, nil, `{"detail":[{"loc":["body","messages"],"msg":"field required","type":"missing"}]}`, llm.CodeInvalidRequest, "body.messages: field required", false, none},
		{"E22 flat", 400, nil, `{"object":"error","message":"too odd","type":"BadRequestError","code":400}`, llm.CodeInvalidRequest, "too odd", false, none},
		{"E23 a list", 400, nil, `[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`, llm.CodeInvalidRequest, "m", false, none},
		{"E24 HTML from a proxy", 502, []string{"Content-Type", "text/html"}, "<html><head><style>x{}</style></head><body><h1>502 Bad Gateway</h1>nginx insufficient quota</body></html>", llm.CodeServer, "502 Bad Gateway nginx", false, none},
		{"E25 too large, without a word", 413, nil, ``, llm.CodeContextOverflow, "Request Entity Too Large", false, none},
		{"E25 400 without a word", 400, nil, ``, llm.CodeInvalidRequest, "Bad Request", false, none},
		{"E26 message as a list", 400, nil, `{"error":{"message":["a","b"]}}`, llm.CodeInvalidRequest, "a: b", false, none},
		{"E27 odd codes", 400, nil, `{"error":{"message":"m","code":1.5,"param":{"x":1},"type":null}}`, llm.CodeInvalidRequest, "m", false, none},
		{"E28 overflow", 400, nil, `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 66343 tokens (62247 in the messages, 4096 in the completion)"}}`, llm.CodeContextOverflow, "65536", false, none},
		{"E29 llama.cpp's overflow", 400, nil, `{"error":{"code":400,"type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192,"message":"too long"}}`, llm.CodeContextOverflow, "too long", false, none},
		{"E31 content filter", 400, nil, `{"error":{"message":"m","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`, llm.CodeContentFilter, "m", false, none},
		{"E44 the model loads", 503, nil, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, llm.CodeServer, "Loading model; retry in 20s", false, 20_000},
		{"E44 the server says when it has loaded", 503, []string{"Retry-After", "3"}, `{"error":{"message":"Loading model"}}`, llm.CodeServer, "it asks to wait 3s", false, 3000},
		{"V34 a body too large for a proxy", 413, []string{"Content-Type", "text/html"}, `<html>413 Request Entity Too Large</html>`, llm.CodeContextOverflow, "413", false, none},
		{"E46 requests in flight", 402, []string{"Retry-After", "5"}, `{"error":{"message":"m","metadata":{"limit_source":"openrouter_in_flight_budget"}}}`, llm.CodeRateLimit, "", false, 5000},
		{"E46 402 with the provider's text", 402, nil, `{"error":{"code":402,"message":"Provider returned error","metadata":{"raw":"balance is zero"}}}`, llm.CodeQuota, "balance is zero", false, none},
		{"E47 timeout", 408, nil, `{}`, llm.CodeTimeout, "", false, none},
		{"E47 conflict", 409, nil, `{}`, llm.CodeServer, "", false, none},
		{"E47 too early", 425, nil, `{}`, llm.CodeServer, "", false, none},
		{"E47 overloaded", 529, nil, `{}`, llm.CodeServer, "", false, none},
		{"E48 not allowed here", 403, nil, `{"error":{"message":"region not allowed"}}`, llm.CodeAuth, "region not allowed", false, none},
		{"E48 a firewall", 403, []string{"Content-Type", "text/html"}, `<html>Access denied</html>`, llm.CodeAuth, "Access denied", false, none},
		{"E50 429 with tokens per minute", 429, nil, `{"error":{"message":"Request too large: maximum context length of the tier","code":"tokens"}}`, llm.CodeRateLimit, "", false, none},
	} {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
				drain(r)
				return answer(e.status, "application/json", strings.NewReader(e.body), e.headers...), nil
			})
			o := run(t, c, ask("hi"))
			f := o.fin.Failure
			if f == nil || o.fin.Kind != llm.Failed {
				t.Fatalf("finish %+v", o.fin)
			}
			if f.Code != e.code || f.Status != e.status || f.Final != e.final || !strings.Contains(f.Message, e.says) {
				t.Errorf("got %+v, want %+v", f, e)
			}
			got := int64(none)
			if f.Wordless != (e.body == "") {
				t.Errorf("wordless %v, with the body %q", f.Wordless, e.body)
			}
			if f.ProviderRetryAfterMs != nil {
				got = *f.ProviderRetryAfterMs
			}
			if got != e.waitMs {
				t.Errorf("wait %d ms, want %d", got, e.waitMs)
			}
			transient := map[llm.Code]bool{llm.CodeRateLimit: true, llm.CodeServer: true, llm.CodeTimeout: true}[e.code] && !e.final
			if f.Transient() != transient {
				t.Errorf("transient %v, want %v", f.Transient(), transient)
			}
		})
	}
}

func TestLLM07ErrorsInsideStreams(t *testing.T) {
	t.Parallel()
	runCases(t, []wireCase{
		{name: "E16 OpenRouter", stream: contentA + raw(`{"id":"g","error":{"code":502,"message":"Provider disconnected","metadata":{"error_type":"provider_unavailable"}},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}`) + dd, text: "a", code: llm.CodeServer, says: "model.test (502): Provider disconnected"},
		{name: "E17 vLLM", stream: ee(`{"message":"Internal server error","type":"InternalServerError","code":500}`), code: llm.CodeServer, says: "Internal server error"},
		{name: "E18 LM Studio", stream: "event: error\n" + raw(`{"error":{"message":"Compute error."},"message":"Compute error."}`), code: llm.CodeServer, says: "Compute error."},
		{name: "E18 event error, flat", stream: contentA + "event: error\n" + raw(`{"message":"boom"}`), text: "a", code: llm.CodeServer, says: "boom"},
		{name: "E18 event error, text", stream: "event: error\ndata: boom\n\n", code: llm.CodeServer, says: "boom"},
		{name: "E18 llama.cpp's error line", stream: contentA + "error: {\"code\":500,\"message\":\"boom\",\"type\":\"server_error\"}\n\n", text: "a", code: llm.CodeServer, says: "boom"},
		{name: "E19 spaces", stream: raw(`{ "error" : { "message":"x" } }`), code: llm.CodeServer, says: "x"},
		{name: "E20 a string", stream: raw(`{"error":"boom"}`), code: llm.CodeServer, says: "boom"},
		{name: "E22 flat in a body with 200", resp: whole("application/json", `{"object":"error","message":"bad","type":"BadRequestError"}`), code: llm.CodeInvalidRequest, says: "bad"},
		{name: "E23 a list with 200", resp: whole("application/json", `[{"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}}]`), code: llm.CodeInvalidRequest, says: "m"},
		{name: "E29 overflow with 200", resp: whole("application/json", `{"error":{"code":400,"type":"exceed_context_size_error","message":"too long"}}`), code: llm.CodeContextOverflow, says: "too long"},
		{name: "E30 silent overflow", stream: ff("stop") + uu(`"prompt_tokens":4096,"completion_tokens":0`) + dd, code: llm.CodeEmptyResponse, says: "context that the server has loaded", usage: "in 4096 out 0"},
		{name: "E32 no capacity", stream: contentA + ff("insufficient_system_resource") + dd, text: "a", code: llm.CodeServer, says: "capacity"},
		{name: "E33 content filter", stream: contentA + ff("content_filter") + dd, text: "a", code: llm.CodeContentFilter},
		{name: "E33 content filter beside a call", stream: tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`) + ff("content_filter") + dd, calls: "x({})", code: llm.CodeContentFilter},
		{name: "E34 length with text", stream: contentA + ff("length") + dd, text: "a", kind: llm.MaxTokens},
		{name: "E35 length with reasoning only", stream: cc(`{"reasoning_content":"A"}`) + ff("length") + dd, reasoning: "A", code: llm.CodeEmptyResponse, says: "lower the effort", more: func(t *testing.T, o outcome) {
			if o.fin.Failure.Transient() {
				t.Error("it would be sent again, to the same end")
			}
		}},
		{name: "E36 nothing at all", stream: ff("stop") + dd, code: llm.CodeEmptyResponse},
		{name: "E36 blanks only", stream: cc(`{"content":" \n"}`) + ff("stop") + dd, text: " \n", code: llm.CodeEmptyResponse},
		{name: "E37 reasoning only", stream: cc(`{"reasoning_content":"A"}`) + ff("stop") + dd, reasoning: "A", code: llm.CodeEmptyResponse, says: "reasoned"},
		{name: "E38 overflow", stream: contentA + ff("model_context_window_exceeded") + dd, text: "a", code: llm.CodeContextOverflow},
		{name: "E38 network", stream: contentA + ff("network_error") + dd, text: "a", code: llm.CodeServer},
		{name: "E38 sensitive", stream: contentA + ff("sensitive") + dd, text: "a", code: llm.CodeContentFilter},
		{name: "E39 unknown", stream: contentA + ff("banana") + dd, text: "a", code: llm.CodeUnknown, says: `"banana"`},
		{name: "E49 rate limit as the first event", stream: ee(`{"message":"Rate limit exceeded","type":"rate_limit_error"}`), code: llm.CodeRateLimit, says: "Rate limit exceeded"},
		{name: "E49 auth as the first event", stream: ee(`{"message":"no","type":"authentication_error"}`), code: llm.CodeAuth, says: "DEEPSEEK_API_KEY"},
	})
}

func TestE28EveryOverflowTextIsRecognised(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"This model's maximum context length is 4 tokens. However, your messages resulted in 5 tokens", "input exceeds the context window of this model",
		"Your request exceeded model token limit: 5 (requested: 6)", "Range of input length should be [1, 100]", "Prompt exceeds max length",
		"the request exceeds the available context size", "Trying to keep the first 9 tokens when context the overflows", "Context size has been exceeded",
		"Please reduce the length of the messages or completion.", "too large for model with 32768 maximum context length",
		"The input token count (9) exceeds the maximum number of tokens allowed", "maximum prompt length is 131072", "prompt is too long: 2 tokens > 1 maximum",
		"exceeds the limit of 128000", "context window exceeds limit", "input is too long for requested model", "Input too long: 9 input tokens, limit is 8",
	} {
		body := fmt.Sprintf(`{"error":{"message":%q}}`, text)
		if f := Classify(400, nil, []byte(body)); f.Code != llm.CodeContextOverflow {
			t.Errorf("%q is %s", text, f.Code)
		}
	}
	if f := Classify(400, nil, []byte(`{"error":{"code":"1261","message":"m"}}`)); f.Code != llm.CodeContextOverflow {
		t.Errorf("code 1261 is %s", f.Code)
	}
	if f := Classify(400, nil, []byte(`{"error":{"message":"you sent 1261 messages"}}`)); f.Code != llm.CodeInvalidRequest {
		t.Errorf("a number in the text is %s", f.Code)
	}
}

func TestE45TextsAreOneBoundedLineWithoutKeys(t *testing.T) {
	t.Parallel()
	body := `{"error":{"message":"\u001b[31mIncorrect\u001b[0m API key: ` + testKey + `\r\nor sk-another-key-123456\u202e \u001b]0;title\u0007` + strings.Repeat("长", 100<<10) + `"}}`
	c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
		drain(r)
		return answer(401, "application/json", strings.NewReader(body), "x-request-id", "id-7"), nil
	})
	f := run(t, c, ask("hi")).fin.Failure
	for _, bad := range []string{"\x1b", "\n", "\r", "\u202e", testKey, "another-key", "title", "\uFFFD"} {
		if strings.Contains(f.Message, bad) {
			t.Errorf("the message holds %q: %.200q", bad, f.Message)
		}
	}
	if len(f.Message) > 2*maxMessage || f.RequestID != "id-7" {
		t.Errorf("%d bytes, request id %q", len(f.Message), f.RequestID)
	}
	short := `{"error":{"message":"\u001b[31mIncorrect\u001b[0m key ` + testKey + `"}}`
	if got := oneLine(readError([]byte(short)).message, testKey); got != "Incorrect key [key]" {
		t.Errorf("got %q", got)
	}
}

// A key of a few letters cannot be told from text: taking it out would leave none.
func TestE45AShortKeyDoesNotMaskTheText(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"e": "the queue is overloaded", "queue": "the queue is overloaded", "is overloaded": "the queue [key]"} {
		if got := oneLine("the queue is overloaded", key); got != want {
			t.Errorf("key %q: %q", key, got)
		}
	}
}

func TestE07TheTextSaysHowLongToWait(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ header, body, says, not string }{
		{"3600", `{"error":{"message":"slow down"}}`, "slow down; it asks to wait 1h0m0s", ""},
		{"90", `{"error":{"message":"Please try again in 1m30s."}}`, "Please try again in 1m30s.", "asks to wait"},
		{"0", `{"error":{"message":"slow down"}}`, "slow down", "asks to wait"},
	} {
		c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
			drain(r)
			return answer(429, "application/json", strings.NewReader(tc.body), "Retry-After", tc.header), nil
		})
		if got := run(t, c, ask("hi")).message(); !strings.Contains(got, tc.says) || tc.not != "" && strings.Contains(got, tc.not) {
			t.Errorf("Retry-After %s: %q", tc.header, got)
		}
	}
}

func TestE45AnEndlessErrorBodyIsNotRead(t *testing.T) {
	t.Parallel()
	endless := &counting{}
	c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) { drain(r); return answer(500, "", endless), nil })
	if o := run(t, c, ask("hi")); o.code() != llm.CodeServer || endless.n > 2*maxErrorBody || !endless.closed {
		t.Errorf("%s after %d bytes, closed %v", o.code(), endless.n, endless.closed)
	}
}

// counting is a body that never ends.
type counting struct {
	n      int
	closed bool
}

func (c *counting) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	c.n += len(p)
	return len(p), nil
}

func (c *counting) Close() error { c.closed = true; return nil }

func TestF24NoConnection(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		err   error
		code  llm.Code
		says  string
		final bool
	}{
		{"refused", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, llm.CodeTransport, "model.test refused the connection", false},
		{"no host", &net.DNSError{Err: "no such host", Name: "model.test"}, llm.CodeTransport, "host model.test was not found", false},
		{"proxy", &net.OpError{Op: "proxyconnect", Err: errors.New("no route")}, llm.CodeTransport, "HTTPS_PROXY", false},
		{"certificate", x509.UnknownAuthorityError{}, llm.CodeTransport, "model.test is not trusted", true},
		{"dial timeout", &net.OpError{Op: "dial", Err: context.DeadlineExceeded}, llm.CodeTimeout, "model.test could not be reached", false},
		{"reset", syscall.ECONNRESET, llm.CodeStreamClosed, "model.test closed", false},
		{"anything", errors.New("odd"), llm.CodeTransport, "odd", false},
	} {
		c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) { drain(r); return nil, tc.err })
		o := run(t, c, ask("hi"))
		if f := o.fin.Failure; f == nil || f.Code != tc.code || !strings.Contains(f.Message, tc.says) || f.Final != tc.final {
			t.Errorf("%s: %+v", tc.name, f)
		}
	}
}

func TestF24RealSockets(t *testing.T) {
	t.Parallel()
	p, _ := ProfileNamed("lenient")
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = quiet
	secure.StartTLS()
	defer secure.Close()
	for url, want := range map[string]string{closed.URL: "refused the connection", secure.URL: "is not trusted"} {
		c, err := New(Options{BaseURL: url, Profile: p, Connect: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if o := run(t, c, ask("hi")); !strings.Contains(o.message(), want) || o.code() != llm.CodeTransport {
			t.Errorf("%s: %s %q", url, o.code(), o.message())
		}
		c.Close()
	}
}

func TestLLM18KeysThatCannotBeSentAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	for _, key := range []string{"sk-a\nb", "sk-ключ", "a b", "x\x00"} {
		_, err := New(Options{BaseURL: "http://x.test", Key: key, KeyName: "DEEPSEEK_API_KEY"})
		if !errors.Is(err, ErrCredential) || !strings.Contains(err.Error(), "DEEPSEEK_API_KEY") || strings.Contains(err.Error(), key) {
			t.Errorf("%q: %v", key, err)
		}
	}
	c, err := New(Options{BaseURL: "http://x.test/v1/", Key: "  sk-abc\n"})
	if err != nil || c.options.Key != "sk-abc" || c.options.BaseURL != "http://x.test/v1" {
		t.Errorf("%v, %+v", err, c)
	}
	for _, base := range []string{"", "x.test", "ftp://x.test", "http://", "http://x.test?a=b", "http://%zz"} {
		if _, err := New(Options{BaseURL: base}); err == nil {
			t.Errorf("base URL %q is accepted", base)
		}
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	var path, auth string
	c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
		path, auth = r.URL.Path, r.Header.Get("Authorization")
		return answer(200, "application/json", strings.NewReader(`{"object":"list","data":[{"id":"b","created":1.5},{"id":"a"},{"id":"b"},{}]}`)), nil
	})
	names, err := c.Models(t.Context())
	if err != nil || strings.Join(names, " ") != "a b" || path != "/v1/models" || auth != "Bearer "+testKey {
		t.Errorf("%v %v %s %s", names, err, path, auth)
	}
	c = newClient(t, "deepseek", func(*http.Request) (*http.Response, error) {
		return answer(401, "", strings.NewReader(`{"error":{"message":"no"}}`)), nil
	})
	var f *llm.Failure
	if _, err := c.Models(t.Context()); !errors.As(err, &f) || f.Code != llm.CodeAuth || !strings.Contains(f.Message, "DEEPSEEK_API_KEY") {
		t.Errorf("%v", err)
	}
	c = newClient(t, "deepseek", func(*http.Request) (*http.Response, error) {
		return answer(200, "text/html", io.NopCloser(strings.NewReader("<html>"))), nil
	})
	if _, err := c.Models(t.Context()); !errors.As(err, &f) || f.Code != llm.CodeConfig || !strings.Contains(f.Message, "base URL") {
		t.Errorf("%v", err)
	}
}
