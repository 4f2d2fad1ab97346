package openai

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dsh/internal/llm"
)

// plainHandler answers everything with a short stream, and keeps the last request.
type plainHandler struct {
	mu   sync.Mutex
	last *http.Request
	n    int
}

func (h *plainHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	drain(r)
	h.mu.Lock()
	h.last, h.n = r, h.n+1
	h.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, plain)
}

func (h *plainHandler) seen() (*http.Request, int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, h.n
}

func realClient(t *testing.T, o Options) *Client {
	t.Helper()
	o.Profile, _ = ProfileNamed("lenient")
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestBaseURLsAndKeysAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	h := &plainHandler{}
	srv := httptest.NewServer(h)
	defer srv.Close()
	for written, path := range map[string]string{
		"": "/chat/completions", "/": "/chat/completions", "/v1": "/v1/chat/completions", "/v1/": "/v1/chat/completions", "/v1//": "/v1/chat/completions",
		"/v1 \n": "/v1/chat/completions", "/v1/chat/completions": "/v1/chat/completions", "/v1/chat/completions/": "/v1/chat/completions", "/api/paas/v4": "/api/paas/v4/chat/completions",
	} {
		o := run(t, realClient(t, Options{BaseURL: srv.URL + written, Key: "\n sk-abc\t "}), ask("hi"))
		r, _ := h.seen()
		if o.text() != "a" || r.URL.Path != path || r.Header.Get("Authorization") != "Bearer sk-abc" {
			t.Errorf("%q: %s %s, %q, %q", written, r.Method, r.URL.Path, r.Header.Get("Authorization"), o.message())
		}
	}
}

func TestE20ABaseURLWithoutV1IsExplained(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.Handle("/v1/", &plainHandler{})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	o := run(t, realClient(t, Options{BaseURL: srv.URL}), ask("hi"))
	if o.code() != llm.CodeConfig || !strings.HasSuffix(o.message(), "check the base URL "+srv.URL+": most end in /v1") {
		t.Errorf("%s %q", o.code(), o.message())
	}
	if o := run(t, realClient(t, Options{BaseURL: srv.URL + "/v2"}), ask("hi")); strings.Contains(o.message(), "most end") {
		t.Errorf("%q", o.message())
	}
}

func TestF30NoRequestFollowsARedirect(t *testing.T) {
	t.Parallel()
	elsewhere := &plainHandler{}
	other := httptest.NewServer(elsewhere)
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			drain(r)
			http.Redirect(w, r, other.URL+"/v1", status)
		}))
		c := realClient(t, Options{BaseURL: srv.URL, Key: testKey})
		if o := run(t, c, ask("hi")); o.code() != llm.CodeConfig || !strings.Contains(o.message(), "redirects to "+strings.TrimPrefix(other.URL, "http://")) {
			t.Errorf("%d: %s %q", status, o.code(), o.message())
		}
		if _, err := c.Models(t.Context()); err == nil {
			t.Errorf("%d: the list of models was redirected", status)
		}
		srv.Close()
	}
	if _, n := elsewhere.seen(); n != 0 {
		t.Errorf("%d requests came to the other host", n)
	}
}

func TestF25AStreamResetByHTTP2IsRetryable(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		drain(r)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, contentA)
		w.(http.Flusher).Flush()
		if r.ProtoMajor != 2 {
			t.Errorf("the protocol is %s", r.Proto)
		}
		panic(http.ErrAbortHandler)
	}))
	srv.EnableHTTP2 = true
	srv.Config.ErrorLog = quiet
	srv.StartTLS()
	defer srv.Close()
	o := run(t, realClient(t, Options{BaseURL: srv.URL, Transport: srv.Client().Transport}), ask("hi"))
	if f := o.fin.Failure; f == nil || !f.Transient() || f.Code != llm.CodeTransport && f.Code != llm.CodeStreamClosed || o.text() != "a" {
		t.Errorf("%+v, text %q", o.fin.Failure, o.text())
	}
}

// A server that takes connections and never speaks.
func TestF24AConnectionThatDoesNotComeUpEndsInTime(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	o := run(t, realClient(t, Options{BaseURL: "https://" + l.Addr().String(), Connect: 50 * time.Millisecond}), ask("hi"))
	if o.code() != llm.CodeTimeout || !strings.Contains(o.message(), "could not be reached in time; check the network and the base URL") {
		t.Errorf("%s %q", o.code(), o.message())
	}
}

// connectProxy is a proxy for TLS that brings every host to one address, unless it
// refuses. It records what it was asked.
type connectProxy struct {
	to     string
	refuse bool
	n      atomic.Int64

	mu   sync.Mutex
	said string
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.n.Add(1)
	p.mu.Lock()
	p.said += fmt.Sprintf("%s %s auth %q key %q\n", r.Method, r.Host, r.Header.Get("Proxy-Authorization"), r.Header.Get("Authorization"))
	p.mu.Unlock()
	if p.refuse {
		http.Error(w, "not you", http.StatusProxyAuthRequired)
		return
	}
	up, err := net.Dial("tcp", p.to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer up.Close()
	down, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	_, _ = io.WriteString(down, "HTTP/1.1 200 OK\r\n\r\n")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(up, io.MultiReader(io.LimitReader(rw, int64(rw.Reader.Buffered())), down))
		_ = up.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(down, up)
	_ = down.Close()
	<-ended
}

// What the environment says of certificates and proxies is read once by a process, so
// that each of these asks in one of its own.
func TestCertificatesAndProxiesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	h := &plainHandler{}
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = quiet
	srv.StartTLS()
	defer srv.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	open, shut := &connectProxy{to: srv.Listener.Addr().String()}, &connectProxy{refuse: true}
	openURL, shutURL := httptest.NewServer(open), httptest.NewServer(shut)
	defer openURL.Close()
	defer shutURL.Close()
	through := func(u string) string { return "HTTPS_PROXY=" + strings.Replace(u, "http://", "http://user:SECRET@", 1) }
	for _, tc := range []struct {
		name, url, says string
		env             []string
	}{
		{"a certificate of nobody", srv.URL, "is not trusted", nil},
		{"a certificate of the user's authority", srv.URL, "text a", []string{"SSL_CERT_FILE=" + ca}},
		{"for another host", strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), "is not trusted", []string{"SSL_CERT_FILE=" + ca}},
		{"through a proxy", "https://example.com/v1", "text a", []string{"SSL_CERT_FILE=" + ca, through(openURL.URL)}},
		{"through a proxy that refuses", "https://example.com/v1", "Proxy Authentication Required", []string{"SSL_CERT_FILE=" + ca, through(shutURL.URL)}},
		{"past the proxy", srv.URL, "text a", []string{"SSL_CERT_FILE=" + ca, "HTTPS_PROXY=http://127.0.0.1:1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append([]string{"ASK_URL=" + tc.url}, tc.env...)
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), tc.says) || strings.Contains(string(out), "SECRET") || strings.Contains(string(out), testKey) {
				t.Errorf("%v, want %q:\n%s", err, tc.says, out)
			}
		})
	}
	open.mu.Lock()
	defer open.mu.Unlock()
	if want := "CONNECT example.com:443 auth \"Basic dXNlcjpTRUNSRVQ=\" key \"\"\n"; open.said != want {
		t.Errorf("the proxy was told\n%swant\n%s", open.said, want)
	}
	if _, n := h.seen(); n != 3 || shut.n.Load() != 1 {
		t.Errorf("%d requests came through, %d to the proxy that refuses", n, shut.n.Load())
	}
}

// TestMain is also the other process: it asks what the environment names.
func TestMain(m *testing.M) {
	base := os.Getenv("ASK_URL")
	if base == "" {
		os.Exit(m.Run())
	}
	profile, _ := ProfileNamed("lenient")
	c, err := New(Options{BaseURL: base, Key: testKey, Profile: profile, Connect: 5 * time.Second})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for chunk, err := range c.Stream(context.Background(), ask("hi")) {
		switch {
		case err != nil:
			fmt.Println("error", err)
		case chunk.Type == llm.TextDelta:
			fmt.Println("text", chunk.Text)
		case chunk.Type == llm.FinishChunk && chunk.Reason.Failure != nil:
			fmt.Println("failure", chunk.Reason.Failure.Message)
		}
	}
	c.Close()
}
