package loop

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// The points of a turn where a test can take part.
type (
	atPreStep  func(ctx context.Context, b Batch) ([]*llm.Message, string, error)
	atFailure  func(ctx context.Context, f RequestFailure) (bool, error)
	atStopping func(ctx context.Context, s Stopping) (Ending, error)
	beforeCall func(ctx context.Context, c Call) (string, error)
)

func (f atPreStep) PreStep(ctx context.Context, b Batch) ([]*llm.Message, string, error) {
	return f(ctx, b)
}
func (f atFailure) RequestError(ctx context.Context, r RequestFailure) (bool, error) {
	return f(ctx, r)
}
func (f atStopping) TurnStopping(ctx context.Context, s Stopping) (Ending, error) { return f(ctx, s) }
func (f beforeCall) Before(ctx context.Context, c Call) (string, error)           { return f(ctx, c) }
func (f beforeCall) After(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
	return r, nil
}

func extended(with Extensions) option { return func(o *Options) { o.Extensions = with } }

func beforeStep(f atPreStep) option { return extended(Extensions{PreStep: []PreStep{f}}) }

func onStatus(f func(running bool)) option { return func(o *Options) { o.OnStatus = f } }

// stubborn yields the chunks, then ends only when told to: it ignores the cancel.
func stubborn(release <-chan struct{}, chunks ...llm.Chunk) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		for _, c := range chunks {
			yield(c)
		}
		<-release
	}
}

// blocked is a tool body that ends when its context does.
func blocked(ctx context.Context, _ string) (tools.Result, error) {
	<-ctx.Done()
	return tools.Result{}, ctx.Err()
}

// waits texts of the queue, a held one in brackets.
func (f *fixture) waits() string {
	var words []string
	for _, it := range f.Queue() {
		if it.Held {
			it.Text = "[" + it.Text + "]"
		}
		words = append(words, it.Text)
	}
	return strings.Join(words, " ")
}

// sent is what the model read in a request, one word a message; it fails the test
// when a provider would refuse the conversation.
func (f *fixture) sent(i int) string {
	f.t.Helper()
	if i >= f.model.count() {
		f.t.Fatalf("request %d was never sent: there were %d", i, f.model.count())
	}
	messages := f.model.request(i).Messages
	checkConversation(f.t, messages)
	var words []string
	for _, m := range messages {
		words = append(words, readAs(m))
	}
	return strings.Join(words, " ")
}

func readAs(m *llm.Message) string {
	var parts []string
	for _, b := range m.Content {
		switch b.Type {
		case llm.ToolCall:
			parts = append(parts, "call:"+b.ID)
		case llm.ToolResult:
			parts = append(parts, "result:"+b.ToolCallID)
		case llm.Reasoning:
			parts = append(parts, "thought:"+b.Text)
		default:
			parts = append(parts, b.Text)
		}
	}
	return string(m.Role) + "(" + strings.Join(parts, ",") + ")"
}

// checkConversation holds messages to what every provider demands: no empty
// assistant message, and after a message with calls exactly their results, each
// once, before anything else; no call id twice.
func checkConversation(t *testing.T, messages []*llm.Message) {
	t.Helper()
	open := map[string]bool{}
	ever := map[string]bool{}
	for i, m := range messages {
		results := 0
		for _, b := range m.Content {
			if b.Type != llm.ToolResult {
				continue
			}
			results++
			if !open[b.ToolCallID] {
				t.Errorf("message %d: result %q has no call before it, or is its second", i, b.ToolCallID)
			}
			delete(open, b.ToolCallID)
		}
		if results == 0 && len(open) > 0 {
			t.Errorf("message %d comes while calls %v have no result", i, open)
		}
		if m.Role != llm.Assistant {
			continue
		}
		if len(m.Content) == 0 {
			t.Errorf("message %d is an empty assistant message", i)
		}
		for _, c := range m.Calls() {
			if ever[c.ID] {
				t.Errorf("message %d uses the call id %q again", i, c.ID)
			}
			open[c.ID], ever[c.ID] = true, true
		}
	}
	if len(open) > 0 {
		t.Errorf("calls %v never got a result", open)
	}
}

// results are the code and the text of each tool result in the log, in order.
func (f *fixture) results() (codes []string, texts []string) {
	f.t.Helper()
	for _, r := range of[session.ToolResult](f) {
		code := "ok"
		if r.Error != nil {
			code = r.Error.Code
		}
		codes = append(codes, code)
		texts = append(texts, r.Message.Content[0].Content[0].Text)
	}
	return codes, texts
}

// crash goes on with what this moment's death of the process would leave. The first
// life runs on unharmed.
func (f *fixture) crash(plays []play, opts ...option) (*fixture, session.Opened) {
	f.t.Helper()
	return f.file().open(f.t, plays, opts...)
}

// logFile is a session's log, taken as it is at a moment.
type logFile struct {
	path  string // below the store's root
	bytes []byte
}

func (f *fixture) file() logFile {
	f.t.Helper()
	bytes, err := os.ReadFile(f.log.Path())
	if err != nil {
		f.t.Fatal(err)
	}
	rel, err := filepath.Rel(f.root, f.log.Path())
	if err != nil {
		f.t.Fatal(err)
	}
	return logFile{rel, bytes}
}

// open puts the file into a store of its own and attaches an agent to it.
func (l logFile) open(t *testing.T, plays []play, opts ...option) (*fixture, session.Opened) {
	t.Helper()
	root := filepath.Join(t.TempDir(), "sessions")
	path := filepath.Join(root, l.path)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, l.bytes, 0o600); err != nil {
		t.Fatal(err)
	}
	log, opened, err := session.Open(root, path)
	if err != nil {
		t.Fatal(err)
	}
	return attach(t, root, log, plays, opts...), opened
}

// passFlush lets the bubble's clock pass the time that a chunk may wait for the disk.
func passFlush() { <-time.After(time.Second) }

// mustContain fails unless the text holds every part.
func mustContain(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: %q does not say %q", what, text, p)
		}
	}
}
