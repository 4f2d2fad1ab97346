package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/llm"
)

// pipe answers with an event stream that the test writes. Inside a synctest bubble
// it blocks as a channel does.
func pipe() (respond roundTrip, w *io.PipeWriter, closed chan struct{}) {
	r, w := io.Pipe()
	closed = make(chan struct{})
	return func(req *http.Request) (*http.Response, error) {
		drain(req)
		body := &watchedPipe{PipeReader: r, closed: closed}
		context.AfterFunc(req.Context(), func() { w.CloseWithError(context.Cause(req.Context())) })
		return answer(200, "text/event-stream", body), nil
	}, w, closed
}

type watchedPipe struct {
	*io.PipeReader
	closed chan struct{}
}

func (p *watchedPipe) Close() error { close(p.closed); return p.PipeReader.Close() }

func TestF23SilenceEndsTheRequest(t *testing.T) {
	t.Parallel()
	t.Run("F23 after the first chunk", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			respond, w, closed := pipe()
			go func() { _, _ = io.WriteString(w, contentA) }()
			start := time.Now()
			o := run(t, newClient(t, "deepseek", respond), ask("hi"))
			if o.code() != llm.CodeTimeout || !strings.Contains(o.message(), "model.test sent nothing for 2m0s") || o.text() != "a" {
				t.Errorf("%s %q, text %q", o.code(), o.message(), o.text())
			}
			if waited := time.Since(start); waited != DefaultIdle {
				t.Errorf("it took %v", waited)
			}
			<-closed
		})
	})
	t.Run("F23 no headers", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
				drain(r)
				<-r.Context().Done()
				return nil, r.Context().Err()
			})
			if o := run(t, c, ask("hi")); o.code() != llm.CodeTimeout {
				t.Errorf("%s %q", o.code(), o.message())
			}
		})
	})
}

func TestF02KeepAlivesHoldTheRequestOpen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		respond, w, _ := pipe()
		go func() {
			for range 10 { // DeepSeek queues a request for up to ten minutes
				time.Sleep(time.Minute)
				_, _ = io.WriteString(w, ": keep-alive\n\n")
			}
			_, _ = io.WriteString(w, plain)
			w.Close()
		}()
		if o := run(t, newClient(t, "deepseek", respond), ask("hi")); o.text() != "a" || o.fin.Kind != llm.Stop {
			t.Errorf("finish %+v", o.fin)
		}
	})
}

func TestF02KeepAlivesAloneAreNoProgress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		respond, w, _ := pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			for {
				if _, err := io.WriteString(w, ": keep-alive\n\n"); err != nil {
					return
				}
				time.Sleep(time.Minute)
			}
		}()
		start := time.Now()
		o := run(t, newClient(t, "deepseek", respond), ask("hi"))
		if o.code() != llm.CodeTimeout || !strings.Contains(o.message(), "keep-alives") || time.Since(start) != DefaultProgress {
			t.Errorf("%s %q after %v", o.code(), o.message(), time.Since(start))
		}
		<-ended
	})
}

func TestF32CancelEndsTheStreamAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		respond, w, closed := pipe()
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			_, _ = io.WriteString(w, contentA)
			time.Sleep(time.Second)
			cancel()
		}()
		start := time.Now()
		o := runContext(t, ctx, newClient(t, "deepseek", respond), ask("hi"))
		if o.fin.Kind != llm.Aborted || o.code() != llm.CodeAborted || o.text() != "a" || time.Since(start) != time.Second {
			t.Errorf("finish %+v, text %q after %v", o.fin, o.text(), time.Since(start))
		}
		<-closed
	})
}

func TestLM09CancelledBeforeTheAnswer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
		drain(r)
		cancel()
		return nil, errors.New("thrown after the cancel")
	})
	if o := runContext(t, ctx, c, ask("hi")); o.fin.Kind != llm.Aborted || len(o.chunks) != 1 {
		t.Errorf("finish %+v, %d chunks", o.fin, len(o.chunks))
	}
}

func TestLM08OneFinishWhateverFails(t *testing.T) {
	t.Parallel()
	for name, respond := range map[string]roundTrip{
		"dispatch":  func(*http.Request) (*http.Response, error) { return nil, errors.New("thrown") },
		"iteration": func(r *http.Request) (*http.Response, error) { return stream(&failing{})(), nil },
	} {
		o := run(t, newClient(t, "deepseek", respond), ask("hi"))
		if o.fin.Kind != llm.Failed || len(o.chunks) != 1 || !strings.Contains(o.message(), "thrown") {
			t.Errorf("%s: %+v %q", name, o.fin, o.message())
		}
	}
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errors.New("thrown") }

func TestLeavingTheLoopEarlyClosesTheBody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // fails when a goroutine is left behind
		respond, w, closed := pipe()
		go func() { _, _ = io.WriteString(w, contentA) }()
		for range newClient(t, "deepseek", respond).Stream(t.Context(), ask("hi")) {
			break
		}
		<-closed
	})
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	addresses := map[string]bool{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		addresses[r.RemoteAddr] = true
		drain(r)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, plain)
	}))
	defer srv.Close()
	p, _ := ProfileNamed("lenient")
	c, err := New(Options{BaseURL: srv.URL, Profile: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for range 4 {
		run(t, c, ask("hi"))
	}
	if len(addresses) != 1 {
		t.Errorf("%d connections for 4 requests in a row", len(addresses))
	}
}

func TestAnUnfinishedConnectionDoesNotDelayTheEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		respond, w, closed := pipe()
		go func() { _, _ = io.WriteString(w, plain) }() // and the connection stays open
		start := time.Now()
		if o := run(t, newClient(t, "deepseek", respond), ask("hi")); o.text() != "a" || time.Since(start) > lastCallFor {
			t.Errorf("text %q after %v", o.text(), time.Since(start))
		}
		<-closed
	})
}

func TestF31GzipIsReadAsItComes(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		drain(r)
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("gzip is not accepted")
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		zip := newGzip(w)
		zip.send(contentA)
		<-seen
		zip.send(ff("stop") + dd)
		zip.end()
	}))
	defer srv.Close()
	p, _ := ProfileNamed("lenient")
	c, err := New(Options{BaseURL: srv.URL, Profile: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var last llm.Chunk
	for chunk := range c.Stream(t.Context(), ask("hi")) {
		if chunk.Type == llm.TextDelta {
			close(seen) // the rest is sent only now: a delta that waits for the end would hang
		}
		last = chunk
	}
	if last.Reason == nil || last.Reason.Kind != llm.Stop {
		t.Errorf("ended with %+v", last)
	}
}

func TestF31OtherEncodingsAreAnError(t *testing.T) {
	t.Parallel()
	c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
		drain(r)
		return answer(200, "text/event-stream", strings.NewReader("\x00"), "Content-Encoding", "br"), nil
	})
	if o := run(t, c, ask("hi")); o.code() != llm.CodeMalformed || !strings.Contains(o.message(), "br") {
		t.Errorf("%s %q", o.code(), o.message())
	}
}

func TestF30TheKeyDoesNotFollowARedirect(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 307, 308} {
		requests := 0
		c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
			requests++
			drain(r)
			return answer(status, "", strings.NewReader(""), "Location", "https://elsewhere.test/v1"), nil
		})
		if o := run(t, c, ask("hi")); requests != 1 || o.code() != llm.CodeConfig || !strings.Contains(o.message(), "elsewhere.test") {
			t.Errorf("%d: %d requests, %s %q", status, requests, o.code(), o.message())
		}
	}
}

func TestF14ALineOf8MiBIsFine(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("x", 8<<20)
	o := run(t, newClient(t, "deepseek", serving(tt(`"index":0,"id":"c","function":{"name":"write","arguments":"{\"content\":\"`+big+`\"}"}`)+ff("tool_calls")+dd)), ask("hi"))
	if want := `write({"content":"` + big + `"})`; o.calls() != want {
		t.Errorf("%d bytes of calls, want %d", len(o.calls()), len(want))
	}
}

func TestF02CommentsDoNotAddUp(t *testing.T) {
	t.Parallel()
	f := framer{limit: 1 << 10, emit: func(string, []byte) {}}
	comment := []byte(": keep-alive\n\n:" + strings.Repeat("x", 1<<12))
	for range 500 {
		if err := f.feed(comment); err != nil {
			t.Fatal(err)
		}
	}
	if n := cap(f.line) + cap(f.data); n > 1<<10 {
		t.Errorf("the framer holds %d bytes after comments only", n)
	}
}

func TestHeadersOfARequest(t *testing.T) {
	t.Parallel()
	var got *http.Request
	c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
		got = r
		body := drain(r)
		if int64(len(body)) != r.ContentLength {
			t.Errorf("content length %d, body %d", r.ContentLength, len(body))
		}
		again, err := r.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		if second, _ := io.ReadAll(again); string(second) != string(body) {
			t.Error("GetBody gives other bytes")
		}
		return stream(strings.NewReader(plain))(), nil
	})
	run(t, c, ask("hi"))
	if got.Method != "POST" || got.URL.String() != "http://model.test/v1/chat/completions" || got.Header.Get("Authorization") != "Bearer "+testKey ||
		got.Header.Get("User-Agent") != "dsh/test" || got.Header.Get("Accept") != "text/event-stream" || got.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s %v", got.Method, got.URL, got.Header)
	}
}

// Not parallel: it measures the allocations of the whole process.
func TestA28MemoryStaysFlatOverKeepAlives(t *testing.T) {
	before := allocated()
	run(t, newClient(t, "deepseek", serving(": keep-alive\n\n"+plain)), ask("hi"))
	few := allocated() - before
	before = allocated()
	c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
		drain(r)
		return stream(io.MultiReader(&repeated{": keep-alive\n\n", 200_000}, strings.NewReader(plain)))(), nil
	})
	o := run(t, c, ask("hi"))
	if many := allocated() - before; o.text() != "a" || many > few+1<<20 {
		t.Errorf("200000 keep-alives allocate %d bytes, one %d; text %q", many, few, o.text())
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// repeated gives a text n times.
type repeated struct {
	text string
	n    int
}

func (r *repeated) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	if len(p) < len(r.text) {
		return 0, fmt.Errorf("a buffer of %d bytes", len(p))
	}
	r.n--
	return copy(p, r.text), nil
}
