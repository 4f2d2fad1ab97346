package llmtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// client talks to one server by one way.
type client struct {
	t    *testing.T
	base string
	http *http.Client
}

// both runs a test over loopback and over pipes.
func both(t *testing.T, script string, test func(*client, *Server)) {
	t.Helper()
	t.Run("listen", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, script)
		base, err := s.Listen()
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{}
		t.Cleanup(transport.CloseIdleConnections)
		test(&client{t, base, &http.Client{Transport: transport}}, s)
	})
	t.Run("pipe", func(t *testing.T) {
		t.Parallel()
		s := newServer(t, script)
		test(pipeClient(t, s), s)
	})
}

func newServer(t *testing.T, script string) *Server {
	t.Helper()
	s := NewServer(mustParse(t, script))
	t.Cleanup(func() { s.Close() })
	return s
}

func pipeClient(t *testing.T, s *Server) *client {
	return &client{t, PipeURL, &http.Client{Transport: s.Pipe()}}
}

// post sends a body and reads the whole answer; err is of reading it.
func (c *client) post(body string) (status int, header http.Header, answer string, err error) {
	c.t.Helper()
	resp, err := c.http.Post(c.base+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header, string(data), err
}

// deltas are the frames of a stream, without what is the same in all.
func deltas(stream string) string {
	for _, same := range []string{
		`"object":"chat.completion.chunk","created":1,"model":"m","choices":[`,
		`{"index":0,"delta":`, `"data: "`,
	} {
		stream = strings.ReplaceAll(stream, same, "")
	}
	return strings.ReplaceAll(stream, `,"finish_reason":null}]}`, "")
}

var valid = asks(`"stream":true,"stream_options":{"include_usage":true}`, sys, hi)

const role = `data: {"id":"resp_1",{"content":null,"reasoning_content":"","role":"assistant"}` + "\n\n"

func d(delta string) string { return `data: {"id":"resp_1",` + delta + "\n\n" }

func fin(reason string) string {
	return `data: {"id":"resp_1",{},"finish_reason":"` + reason + `"}]}` + "\n\n"
}

const done = "data: [DONE]\n\n"

func TestRepliesStreamWhatTheyDirect(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, reply, want string }{
		{"nothing", "", fin("stop") + done},
		{"text by words", "text Hello big <world>", d(`{"content":"Hello "}`) + d(`{"content":"big "}`) + d(`{"content":"<world>"}`) + fin("stop") + done},
		{"text in chunks", "chunks 2\ntext 阴气渐重", d(`{"content":"阴气"}`) + d(`{"content":"渐重"}`) + fin("stop") + done},
		{"lines are not joined", "text a\ntext \"b\\n\"", d(`{"content":"a"}`) + d(`{"content":"b\n"}`) + fin("stop") + done},
		{"reasoning", "reasoning why\ntext x", d(`{"content":null,"reasoning_content":"why"}`) + d(`{"content":"x"}`) + fin("stop") + done},
		{"a call", `call read {"file_path":"a.txt"}`, d(`{"content":null,"tool_calls":[{"function":{"arguments":"","name":"read"},"id":"call_1","index":0,"type":"function"}]}`) +
			d(`{"content":null,"tool_calls":[{"function":{"arguments":"{\"file_pat"},"index":0}]}`) +
			d(`{"content":null,"tool_calls":[{"function":{"arguments":"h\":\"a.txt\"}"},"index":0}]}`) + fin("tool_calls") + done},
		{"two calls, one with an id", "call#x a\ncall b", d(`{"content":null,"tool_calls":[{"function":{"arguments":"","name":"a"},"id":"x","index":0,"type":"function"}]}`) +
			d(`{"content":null,"tool_calls":[{"function":{"arguments":"{}"},"index":0}]}`) +
			d(`{"content":null,"tool_calls":[{"function":{"arguments":"","name":"b"},"id":"call_1","index":1,"type":"function"}]}`) +
			d(`{"content":null,"tool_calls":[{"function":{"arguments":"{}"},"index":1}]}`) + fin("tool_calls") + done},
		{"finish", "text x\nfinish length", d(`{"content":"x"}`) + fin("length") + done},
		{"finish none", "text x\nfinish none", d(`{"content":"x"}`) + done},
		{"text after finish", "finish stop\ntext x", fin("stop") + d(`{"content":"x"}`) + done},
		{"usage", "usage in=100 out=20 cached=80 reasoning=5", fin("stop") +
			`data: {"id":"resp_1",],"usage":{"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":5},"prompt_cache_hit_tokens":80,"prompt_cache_miss_tokens":20,"prompt_tokens":100,"prompt_tokens_details":{"cached_tokens":80},"total_tokens":120}}` + "\n\n" + done},
		{"delta", `delta {"x": [1]}`, d(`{"x": [1]}`) + fin("stop") + done},
		{"data", `data {"error":"boom"}`, "data: {\"error\":\"boom\"}\n\n" + fin("stop") + done},
		{"done", "done", done},
		{"eof", "text x\nfinish stop\neof", d(`{"content":"x"}`) + fin("stop")},
		{"templates", "text {{n}} {{i}} {{results}} {{m}} {{repeat 3 ab}}", d(`{"content":"1 "}`) + d(`{"content":"1 "}`) + d(`{"content":"0 "}`) + d(`{"content":"{{m}} "}`) + d(`{"content":"ababab"}`) + fin("stop") + done},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			both(t, "== a\n"+c.reply, func(client *client, s *Server) {
				status, header, answer, err := client.post(valid)
				if err != nil || status != 200 || header.Get("Content-Type") != "text/event-stream; charset=utf-8" {
					t.Fatalf("%d %v %v", status, header, err)
				}
				want := c.want
				if c.name != "done" { // [DONE] alone opens nothing
					want = openingOf(want)
				}
				if got := deltas(answer); got != want {
					t.Errorf("got\n%swant\n%s", got, want)
				}
				if err := s.Done(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// openingOf puts the role before the first chunk, behind data that is not one.
func openingOf(stream string) string {
	if rest, ok := strings.CutPrefix(stream, "data: {\"error\":\"boom\"}\n\n"); ok {
		return "data: {\"error\":\"boom\"}\n\n" + role + rest
	}
	return role + stream
}

func TestRawIsSentByteForByte(t *testing.T) {
	t.Parallel()
	both(t, `== a
raw \xEF\xBB\xBFdata: {}\r\n\r\n{{repeat 3 : keep-alive\n\n}}
split 1
raw \xff\0\e\t\"\\end
`, func(c *client, _ *Server) {
		_, _, answer, err := c.post(valid)
		want := "\xEF\xBB\xBFdata: {}\r\n\r\n: keep-alive\n\n: keep-alive\n\n: keep-alive\n\n\xff\x00\x1b\t\"\\end"
		if err != nil || answer != want {
			t.Errorf("%q, %v\nwant %q", answer, err, want)
		}
	})
}

func TestErrorsCarryStatusHeaderAndBody(t *testing.T) {
	t.Parallel()
	both(t, `== busy
status 429
header Retry-After: 7
== own
status 502
header Content-Type: text/html
body <html>no</html>
== whole
body {"choices":[]}
`, func(c *client, s *Server) {
		status, header, answer, err := c.post(valid)
		if err != nil || status != 429 || header.Get("Retry-After") != "7" || !strings.Contains(answer, `{"error":{"code"`) {
			t.Errorf("%d %v %s %v", status, header, answer, err)
		}
		status, header, answer, err = c.post(valid)
		if err != nil || status != 502 || header.Get("Content-Type") != "text/html" || answer != "<html>no</html>" {
			t.Errorf("%d %v %s %v", status, header, answer, err)
		}
		status, header, answer, err = c.post(valid)
		if err != nil || status != 200 || header.Get("Content-Type") != "application/json" || answer != `{"choices":[]}` {
			t.Errorf("%d %v %s %v", status, header, answer, err)
		}
		if err := s.Done(); err != nil {
			t.Error(err)
		}
	})
}

func TestCutBreaksTheConnection(t *testing.T) {
	t.Parallel()
	both(t, "== a\ntext half\ncut", func(c *client, _ *Server) {
		_, _, answer, err := c.post(valid)
		if !errors.Is(err, io.ErrUnexpectedEOF) || deltas(answer) != role+d(`{"content":"half"}`) {
			t.Errorf("%v after %q", err, answer)
		}
	})
}

func TestUsageIsSentWhenAskedFor(t *testing.T) {
	t.Parallel()
	both(t, "usage in=1 out=1\n== a\nrepeat 2\n== b\nusage none", func(c *client, _ *Server) {
		for i, want := range []struct {
			body  string
			usage bool
		}{
			{valid, true},
			{asks(`"stream":true`, sys, hi), false},
			{valid, false},
		} {
			if _, _, answer, _ := c.post(want.body); strings.Contains(answer, "usage") != want.usage {
				t.Errorf("request %d: %s", i, answer)
			}
		}
	})
}

func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	both(t, "models a b\n== x\noptional", func(c *client, _ *Server) {
		resp, err := c.http.Get(c.base + "/models")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, _ := io.ReadAll(resp.Body)
		want := `{"data":[{"id":"a","object":"model","owned_by":"deepseek"},{"id":"b","object":"model","owned_by":"deepseek"}],"object":"list"}`
		if string(data) != want {
			t.Errorf("%s", data)
		}
		if resp, err = c.http.Get(c.base + "/else"); err != nil || resp.StatusCode != 404 {
			t.Errorf("%v %v", resp, err)
		}
		resp.Body.Close()
	})
}

func TestExhaustedScriptSaysSo(t *testing.T) {
	t.Parallel()
	both(t, "== only\ntext x", func(c *client, s *Server) {
		c.post(valid)
		status, header, answer, _ := c.post(valid)
		if status != 500 || header.Get("X-Should-Retry") != "false" || !strings.Contains(answer, "script test.txt is exhausted") {
			t.Errorf("%d %v %s", status, header, answer)
		}
		if err := s.Done(); err == nil || !strings.Contains(err.Error(), "exhausted: no reply is left for request 2") {
			t.Errorf("Done: %v", err)
		}
	})
}

func TestExpectFailureIsNamed(t *testing.T) {
	t.Parallel()
	both(t, "== first\nexpect \"hi\"\nexpect \"there\"", func(c *client, s *Server) {
		status, _, answer, _ := c.post(valid)
		if status != 400 || !strings.Contains(answer, `request 1 does not show: expect \"there\"`) {
			t.Errorf("%d %s", status, answer)
		}
		if err := s.Done(); err == nil || !strings.Contains(err.Error(), `test.txt:1: reply "first"`) {
			t.Errorf("Done: %v", err)
		}
	})
}

func TestRefusedRequestsUseNoReply(t *testing.T) {
	t.Parallel()
	both(t, "== a\ntext x", func(c *client, s *Server) {
		for _, body := range []string{asks("", sys), asks("", sys, hi)} {
			if status, _, answer, _ := c.post(body); status != 400 {
				t.Errorf("%d %s", status, answer)
			}
		}
		if status, _, _, _ := c.post(valid); status != 200 {
			t.Errorf("a valid request: %d", status)
		}
		err := s.Done()
		if err == nil || !strings.Contains(err.Error(), "request 1 refused: 400") || !strings.Contains(err.Error(), "only streams") {
			t.Errorf("Done: %v", err)
		}
		if n := len(s.Requests()); n != 3 {
			t.Errorf("%d requests, want 3 with the refused", n)
		}
	})
}

func TestLenientServesAnything(t *testing.T) {
	t.Parallel()
	both(t, "lenient\n== a", func(c *client, s *Server) {
		if status, _, _, _ := c.post("{"); status != 200 {
			t.Errorf("status %d", status)
		}
		if err := s.Done(); err != nil {
			t.Error(err)
		}
	})
}

func TestDialectChoosesRulesAndShape(t *testing.T) {
	t.Parallel()
	both(t, "dialect openai\n== a\nusage in=2 out=1", func(c *client, _ *Server) {
		_, _, answer, _ := c.post(asks(`"stream":true,"thinking":{}`, sys, hi))
		if want := `{"error":{"code":null,"message":"Unrecognized request argument supplied: thinking","param":"thinking","type":"invalid_request_error"}}`; answer != want {
			t.Errorf("%s", answer)
		}
		if _, _, answer, _ = c.post(valid); strings.Contains(answer, "prompt_cache_hit_tokens") || strings.Contains(answer, "reasoning_content") {
			t.Errorf("%s", answer)
		}
	})
}

func TestWindowAnswersOverflow(t *testing.T) {
	t.Parallel()
	both(t, "window 100\n== a", func(c *client, s *Server) {
		long := asks(`"stream":true,"max_tokens":10`, sys, `{"role":"user","content":"`+strings.Repeat("x", 1000)+`"}`)
		status, _, answer, _ := c.post(long)
		want := fmt.Sprintf("maximum context length is 100 tokens. However, you requested %d tokens (%d in the messages, 10 in the completion)", len(long)/4+10, len(long)/4)
		if status != 400 || !strings.Contains(answer, want) {
			t.Errorf("%d %s", status, answer)
		}
		c.post(valid)
		if err := s.Done(); err != nil { // overflowing is part of the play
			t.Error(err)
		}
	})
}

func TestMissingRepliesAreReported(t *testing.T) {
	t.Parallel()
	s := newServer(t, "== a\nrepeat 3\n== b\nloop\n== c\noptional")
	pipeClient(t, s).post(valid)
	err := s.Done()
	want := "test.txt:1: reply \"a\" served 1 of 3 requests\ntest.txt:3: reply \"b\" served 0 of 1 requests"
	if err == nil || err.Error() != want {
		t.Errorf("Done: %v\nwant %s", err, want)
	}
}

func TestLongTextsArriveWhole(t *testing.T) {
	t.Parallel()
	const size = 5_000_000
	both(t, "== one\ntext {{repeat 5000000 a}}\n== words\ntext {{repeat 500000 a }}\n== call\nchunks 1\ncall write {\"content\":\"{{repeat 5000000 b}}\"}", func(c *client, _ *Server) {
		_, _, answer, err := c.post(valid)
		if err != nil || strings.Count(answer, strings.Repeat("a", size)) != 1 || strings.Count(answer, `"content":"`) != 1 {
			t.Errorf("%d bytes, %v", len(answer), err)
		}
		_, _, answer, err = c.post(valid)
		if err != nil || strings.Count(answer, "a ") != size/10 || strings.Count(answer, `"content":"`) != maxPieces {
			t.Errorf("%d bytes in %d pieces, %v", len(answer), strings.Count(answer, `"content":"`), err)
		}
		if _, _, answer, err = c.post(valid); err != nil || !strings.Contains(answer, strings.Repeat("b", size)) {
			t.Errorf("%d bytes, %v", len(answer), err)
		}
	})
}

func TestTooLargeRequestIsRefused(t *testing.T) {
	t.Parallel()
	s := newServer(t, "lenient\n== a\noptional")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/chat/completions", io.LimitReader(blanks{}, maxBody+1)))
	if w.Code != 413 || len(s.Requests()) != 0 {
		t.Errorf("status %d, %d requests recorded", w.Code, len(s.Requests()))
	}
}

// blanks is an endless body.
type blanks struct{}

func (blanks) Read(p []byte) (int, error) { return len(p), nil }

func TestParallelRequestsAreServedOnceEach(t *testing.T) {
	t.Parallel()
	const requests = 40
	both(t, "== a\nrepeat 40\ncall read {\"i\":{{i}}}", func(c *client, s *Server) {
		answers := make([]string, requests)
		var wg sync.WaitGroup
		for i := range requests {
			wg.Go(func() { _, _, answers[i], _ = c.post(valid) })
		}
		wg.Wait()
		all := strings.Join(answers, "")
		for i := 1; i <= requests; i++ {
			if strings.Count(all, fmt.Sprintf(`"{\"i\":%d}"`, i)) != 1 || strings.Count(all, fmt.Sprintf(`"call_%d"`, i)) != 1 {
				t.Errorf("number %d was not served once", i)
			}
		}
		if err := s.Done(); err != nil {
			t.Error(err)
		}
		if len(s.Requests()) != requests {
			t.Errorf("%d requests recorded", len(s.Requests()))
		}
	})
}

func TestHangLastsUntilTheClientGoes(t *testing.T) {
	t.Parallel()
	both(t, "== a\ntext x\nhang", func(c *client, s *Server) {
		ctx, cancel := context.WithCancel(context.Background())
		req, _ := http.NewRequestWithContext(ctx, "POST", c.base+"/chat/completions", strings.NewReader(valid))
		resp, err := c.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		want := role + d(`{"content":"x"}`)
		buf := make([]byte, 4096)
		got := ""
		for deltas(got) != want {
			n, err := resp.Body.Read(buf)
			if err != nil {
				t.Fatalf("%v after %q", err, got)
			}
			got += string(buf[:n])
		}
		cancel()
		if _, err := io.ReadAll(resp.Body); !errors.Is(err, context.Canceled) {
			t.Errorf("after cancel: %v", err)
		}
		s.Close() // waits for the reply: it must have ended
	})
}

func TestCloseEndsReplies(t *testing.T) {
	t.Parallel()
	for _, wait := range []string{"hang", "pause 20h", "hold never", "delay 20h", "text x\npause 20h"} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(mustParse(t, "== a\n"+wait))
				c := pipeClient(t, s)
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					if _, _, answer, err := c.post(valid); err == nil {
						t.Errorf("a closed reply ended in good order: %s", answer)
					}
				}()
				synctest.Wait()
				s.Close()
				s.Close()
				<-ended
				if _, _, _, err := c.post(valid); err == nil {
					t.Error("a closed server answered")
				}
				if _, err := s.Listen(); err == nil {
					t.Error("a closed server listens")
				}
				if _, err := s.Pipe().RoundTrip(newRequest(t)); err == nil {
					t.Error("a closed server's new pipe answered")
				}
			})
		})
	}
}

func newRequest(t *testing.T) *http.Request {
	req, err := http.NewRequest("POST", PipeURL+"/chat/completions", strings.NewReader(valid))
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// TestWaitsFollowTheFakeClock also shows that everything behind Pipe ends: the
// bubble fails if a goroutine is left.
func TestWaitsFollowTheFakeClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reply string
		want  time.Duration
	}{
		{"text a b c", 0},
		{"delay 10s\ntext a b c", 10 * time.Second},
		{"delay 1h\nstatus 503", time.Hour},
		{"text a\npause 90s\ntext b", 90 * time.Second},
		{"pace 2s\ntext a b c", 6 * time.Second},
		{"pace 2s\nchunks 4\ncall read {\"abc\":1}", 8 * time.Second},
	} {
		t.Run(strings.ReplaceAll(c.reply, "\n", "; "), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(mustParse(t, "== a\nrepeat 2\n"+c.reply))
				defer s.Close()
				client := pipeClient(t, s)
				for range 2 { // the second on an idle connection
					start := time.Now()
					if _, _, _, err := client.post(valid); err != nil {
						t.Fatal(err)
					}
					if took := time.Since(start); took != c.want {
						t.Errorf("took %v, want %v", took, c.want)
					}
				}
			})
		})
	}
}

func TestHoldWaitsForRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(mustParse(t, "== a\nrepeat 2\ntext a\nhold gate\ntext b"))
		defer s.Close()
		c := pipeClient(t, s)
		ended := false
		go func() {
			c.post(valid)
			ended = true
		}()
		synctest.Wait()
		if ended {
			t.Error("the reply did not wait")
		}
		s.Release("gate")
		s.Release("gate")
		synctest.Wait()
		if !ended {
			t.Error("the reply did not go on")
		}
		if _, _, answer, _ := c.post(valid); !strings.Contains(answer, "DONE") {
			t.Errorf("a released gate holds again: %s", answer)
		}
	})
}

func TestHangEndsWithTheClientInABubble(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewServer(mustParse(t, "== a\nhang"))
		c := pipeClient(t, s)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, err := c.http.Do(newRequest(t).WithContext(ctx))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		synctest.Wait()
		s.Close()
	})
}
