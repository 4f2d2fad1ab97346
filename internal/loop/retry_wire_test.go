package loop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/llm/llmtest"
	"dsh/internal/llm/openai"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// scripted is a server that plays a script; what it missed or refused fails the test.
func scripted(t *testing.T, script string) *llmtest.Server {
	t.Helper()
	s, err := llmtest.Parse("script", strings.NewReader(script))
	if err != nil {
		t.Fatal(err)
	}
	server := llmtest.NewServer(s)
	t.Cleanup(func() {
		if err := server.Done(); err != nil {
			t.Error(err)
		}
		_ = server.Close()
	})
	return server
}

// dialing routes requests through the real client. A nil transport is the client's.
func dialing(t *testing.T, baseURL string, transport http.RoundTripper) option {
	t.Helper()
	profile, ok := openai.ProfileNamed("deepseek")
	if !ok {
		t.Fatal("no such profile")
	}
	client, err := openai.New(openai.Options{BaseURL: baseURL, Key: "sk-test", Profile: profile, Transport: transport, UserAgent: "dsh/test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return func(o *Options) {
		o.Route = Route{Model: client, Config: llm.Config{Provider: "deepseek", Model: "deepseek-flash"}}
	}
}

// wired plays a script over pipes, by the bubble's clock.
func wired(t *testing.T, script string, opts ...option) *fixture {
	t.Helper()
	server := scripted(t, script)
	return newFixture(t, nil, append([]option{dialing(t, llmtest.PipeURL, server.Pipe())}, opts...)...)
}

// retried is the failures that were retried: the code and the wait.
func (f *fixture) retried() string {
	f.t.Helper()
	var list []string
	for _, r := range of[session.Retry](f) {
		list = append(list, fmt.Sprintf("%s %dms", r.Failure.Code, r.DelayMs))
	}
	return strings.Join(list, ", ")
}

func (f *fixture) answers() string {
	f.t.Helper()
	var list []string
	for _, m := range of[session.AssistantMessage](f) {
		list = append(list, m.Message.PlainText())
	}
	return strings.Join(list, ", ")
}

func TestRetriesWithTheClient(t *testing.T) {
	for name, c := range map[string]struct {
		script  string
		retried string
		took    time.Duration
	}{
		"429 with Retry-After":        {"== \nstatus 429\nheader Retry-After: 7\n== \ntext ok\n", "RATE_LIMIT 7350ms", 7350 * time.Millisecond},
		"500 twice":                   {"== \nstatus 500\nrepeat 2\n== \ntext ok\n", "SERVER 800ms, SERVER 1600ms", 2400 * time.Millisecond},
		"stream cut":                  {"== \ntext half of it\ncut\n== \ntext ok\n", "STREAM_CLOSED 800ms", 800 * time.Millisecond},
		"RT17 stalled body":           {"== \ntext half of it\nhang\n== \ntext ok\n", "TIMEOUT 800ms", 120*time.Second + 800*time.Millisecond},
		"RT17 stalled from the start": {"== \nraw\nhang\n== \ntext ok\n", "TIMEOUT 800ms", 120*time.Second + 800*time.Millisecond},
		"RT02 empty answer":           {"== \n== \ntext ok\n", "EMPTY_RESPONSE 800ms", 800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				f := wired(t, c.script)
				begin := time.Now()
				f.prompt("go")
				expect(t, "retried", f.retried(), c.retried)
				expect(t, "took", time.Since(begin), c.took)
				expect(t, "answers", f.answers(), "ok")
				expect(t, "the turn", f.lastEnd().Kind, session.Completed)
			})
		})
	}
}

func TestClientsFinalRefusalIsNotRetried(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := wired(t, "== \nstatus 429\nheader Retry-After: 61\n")
		f.prompt("go")
		expect(t, "retried", f.retried(), "")
		expect(t, "the end", f.lastEnd().Failure.Code, llm.CodeRateLimit)
	})
}

// What A18 warns of, from the socket to the tool: the call was streamed whole, then
// the connection died.
func TestA18CutConnectionDoesNotRunACallTwice(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ran := 0
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			ran++
			return tools.Result{Text: "line written"}, nil
		}}
		f := wired(t, `
== cut inside
text Hello wor
call probe {"n":1}
cut
== the same again
expect results 0
text Hello world
call probe {"n":1}
== the end
expect results 1
text done
`, with(p))
		f.prompt("go")
		expect(t, "ran", ran, 1)
		expect(t, "retried", f.retried(), "STREAM_CLOSED 800ms")
		expect(t, "answers", f.answers(), "Hello world, done")
		expect(t, "calls", len(of[session.ToolCall](f)), 1)
	})
}

// down refuses connections until it has done so n times.
type down struct {
	http.RoundTripper
	n int
}

func (d *down) RoundTrip(r *http.Request) (*http.Response, error) {
	if d.n > 0 {
		d.n--
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	return d.RoundTripper.RoundTrip(r)
}

func TestRT16RefusedConnectionThenUp(t *testing.T) {
	inTime(t, func(t *testing.T) {
		server := scripted(t, "== \ntext ok\n")
		f := newFixture(t, nil, dialing(t, llmtest.PipeURL, &down{server.Pipe(), 2}))
		f.prompt("go")
		expect(t, "retried", f.retried(), "TRANSPORT 800ms, TRANSPORT 1600ms")
		expect(t, "answers", f.answers(), "ok")
	})
}

func TestRT14CancelWhileTheClientWaits(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := wired(t, "== \ntext half\nhang\n")
		begin := time.Now()
		f.send("go")
		time.Sleep(time.Second)
		f.cancel(true)
		f.idle()
		expect(t, "the turn ends at once", time.Since(begin), time.Second)
		expect(t, "retried", f.retried(), "")
		expect(t, "kept of it", f.answers(), "half")
	})
}

// quick makes waits that a test without a fake clock can afford.
func quick(o *Options) { o.Retry.Base, o.Retry.Cap = time.Millisecond, time.Millisecond }

func TestRetriesOverLoopback(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, retried string }{
		"429":        {"== \nstatus 429\nheader Retry-After-Ms: 2\n== \ntext ok\n", "RATE_LIMIT 2ms"},
		"stream cut": {"== \ntext half of it\ncut\n== \ntext ok\n", "STREAM_CLOSED 1ms"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := scripted(t, c.script)
			url, err := server.Listen()
			if err != nil {
				t.Fatal(err)
			}
			f := newFixture(t, nil, dialing(t, url, nil), quick)
			f.prompt("go")
			expect(t, "retried", f.retried(), c.retried)
			expect(t, "answers", f.answers(), "ok")
		})
	}
}

// The port is free when the first request comes, and served when it has failed.
func TestRT16RefusedOverLoopbackThenUp(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	server := scripted(t, "== \ntext ok\n")
	web := &http.Server{Handler: server}
	served := make(chan error, 1)
	up := recoverFunc(func(_ context.Context, f RequestFailure) (bool, error) {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return false, err
		}
		go func() { served <- web.Serve(l) }()
		return false, nil
	})
	f := newFixture(t, nil, dialing(t, "http://"+addr+"/v1", nil), quick, recovers(up))
	f.prompt("go")
	if err := web.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	expect(t, "retried", f.retried(), "TRANSPORT 1ms")
	expect(t, "answers", f.answers(), "ok")
}
