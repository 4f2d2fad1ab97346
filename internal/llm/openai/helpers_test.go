package openai

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// testKey is the key of every test client; no text may ever show it.
const testKey = "sk-test-0123456789abcdef"

// roundTrip is an in-memory transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer makes a response of the given bytes.
func answer(status int, contentType string, body io.Reader, headers ...string) *http.Response {
	h := http.Header{}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	rc, ok := body.(io.ReadCloser)
	if !ok {
		rc = io.NopCloser(body)
	}
	return &http.Response{StatusCode: status, Header: h, Body: rc, ContentLength: -1, ProtoMajor: 1, ProtoMinor: 1}
}

// newClient makes a client whose every request is answered by f.
func newClient(t testing.TB, profile string, f roundTrip) *Client {
	t.Helper()
	p, ok := ProfileNamed(profile)
	if !ok {
		t.Fatalf("no profile %q", profile)
	}
	c, err := New(Options{BaseURL: "http://model.test/v1", Key: testKey, KeyName: "DEEPSEEK_API_KEY", Profile: p, Transport: f, UserAgent: "dsh/test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serving answers every request with an event stream.
func serving(stream string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		drain(r)
		return answer(200, "text/event-stream", strings.NewReader(stream)), nil
	}
}

func drain(r *http.Request) []byte {
	if r.Body == nil {
		return nil
	}
	b, _ := io.ReadAll(r.Body)
	r.Body.Close()
	return b
}

// outcome is what a stream added up to.
type outcome struct {
	chunks []llm.Chunk
	blocks []llm.Block
	fin    llm.Finish
	usage  *llm.Usage
	err    error
}

func (o outcome) text() string {
	m := llm.Message{Content: o.blocks}
	return m.PlainText()
}

func (o outcome) reasoning() string {
	var sb strings.Builder
	for _, b := range o.blocks {
		if b.Type == llm.Reasoning {
			sb.WriteString(b.Text)
		}
	}
	return sb.String()
}

// calls is "name(arguments);name(arguments)".
func (o outcome) calls() string {
	var parts []string
	for _, b := range o.blocks {
		if b.Type == llm.ToolCall {
			parts = append(parts, b.Name+"("+b.Arguments+")")
		}
	}
	return strings.Join(parts, ";")
}

func (o outcome) code() llm.Code {
	if o.fin.Failure == nil {
		return ""
	}
	return o.fin.Failure.Code
}

func (o outcome) message() string {
	if o.fin.Failure == nil {
		return ""
	}
	return o.fin.Failure.Message
}

// run streams a request and checks what holds for every stream: the grammar of the
// chunks, and no key in any text.
func run(t testing.TB, c *Client, r *llm.Request) outcome {
	t.Helper()
	return runContext(t, context.Background(), c, r)
}

func runContext(t testing.TB, ctx context.Context, c *Client, r *llm.Request) outcome {
	t.Helper()
	var o outcome
	n := 0
	a := llm.NewAssembler(func() string { n++; return fmt.Sprintf("gen%d", n) }, nil)
	for chunk, err := range c.Stream(ctx, r) {
		if err != nil {
			o.err = err
			continue
		}
		if o.err != nil {
			t.Fatalf("chunk %+v after the error", chunk)
		}
		o.chunks = append(o.chunks, chunk)
		if err := a.Add(chunk); err != nil {
			t.Fatalf("the stream breaks the grammar: %v", err)
		}
	}
	if o.err == nil && (len(o.chunks) == 0 || o.chunks[len(o.chunks)-1].Type != llm.FinishChunk) {
		t.Fatalf("the stream did not end with a finish: %+v", o.chunks)
	}
	o.blocks, o.fin, o.usage = a.Done()
	checkBrackets(t, o)
	if raw, _ := json.Marshal(o.chunks); strings.Contains(string(raw), testKey) {
		t.Errorf("the key is in the chunks: %s", raw)
	}
	return o
}

// checkBrackets: each block opens once, and closes once when the stream succeeds.
func checkBrackets(t testing.TB, o outcome) {
	t.Helper()
	state := map[int]int{}
	for _, c := range o.chunks {
		switch c.Type {
		case llm.BlockStart:
			if state[c.Index] != 0 {
				t.Errorf("block %d starts twice", c.Index)
			}
			state[c.Index] = 1
		case llm.BlockEnd:
			if state[c.Index] != 1 {
				t.Errorf("block %d ends without being open", c.Index)
			}
			state[c.Index] = 2
		case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallDelta:
			if state[c.Index] != 1 {
				t.Errorf("delta for block %d, which is not open", c.Index)
			}
		}
	}
	for i, s := range state {
		if s != 2 && o.fin.Kind != llm.Failed && o.fin.Kind != llm.Aborted {
			t.Errorf("block %d is open at a successful end", i)
		}
	}
}

func ask(text string) *llm.Request {
	return &llm.Request{Header: llm.Header{Config: llm.Config{Provider: "deepseek", Model: "deepseek-flash"}}, Messages: []*llm.Message{userSays(text)}}
}

func userSays(text string) *llm.Message {
	return &llm.Message{Role: llm.User, Content: []llm.Block{llm.TextBlock(text)}, Source: llm.Source{Kind: llm.FromUser}}
}

// The macros of the wire tables.
func cc(delta string) string {
	return `data: {"id":"r1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
}
func ff(reason string) string {
	return `data: {"id":"r1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}]}` + "\n\n"
}
func uu(fields string) string {
	return `data: {"id":"r1","object":"chat.completion.chunk","choices":[],"usage":{` + fields + `}}` + "\n\n"
}
func ee(x string) string      { return `data: {"error":` + x + `}` + "\n\n" }
func tt(fields string) string { return cc(`{"tool_calls":[{` + fields + `}]}`) }
func raw(json string) string  { return "data: " + json + "\n\n" }

const dd = "data: [DONE]\n\n"

// quiet swallows what a test server logs about clients that leave.
var quiet = log.New(io.Discard, "", 0)

// zipper writes a gzip stream that can be read as far as it was sent.
type zipper struct {
	*gzip.Writer
	http.Flusher
}

func newGzip(w http.ResponseWriter) zipper { return zipper{gzip.NewWriter(w), w.(http.Flusher)} }

func (z zipper) send(s string) {
	_, _ = io.WriteString(z.Writer, s)
	_ = z.Writer.Flush()
	z.Flusher.Flush()
}

func (z zipper) end() { _ = z.Writer.Close() }
