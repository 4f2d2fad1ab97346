package loop

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// What follows are the extension points and the provider as functions, and the ways
// in which a disk fails.

type preStep func(b Batch) ([]*llm.Message, string, error)

func (p preStep) PreStep(_ context.Context, b Batch) ([]*llm.Message, string, error) { return p(b) }

func entering(p preStep) option {
	return func(o *Options) { o.Extensions.PreStep = append(o.Extensions.PreStep, p) }
}

type stopping func(s Stopping) (Ending, error)

func (p stopping) TurnStopping(_ context.Context, s Stopping) (Ending, error) { return p(s) }

func ending(p stopping) option {
	return func(o *Options) { o.Extensions.TurnStopping = append(o.Extensions.TurnStopping, p) }
}

type recovery func(f RequestFailure) (bool, error)

func (p recovery) RequestError(_ context.Context, f RequestFailure) (bool, error) { return p(f) }

func recovering(p recovery) option {
	return func(o *Options) { o.Extensions.RequestError = append(o.Extensions.RequestError, p) }
}

type hooks struct {
	before func(c Call) (string, error)
	after  func(c Call, r tools.Result) (tools.Result, error)
}

func (h hooks) Before(_ context.Context, c Call) (string, error) {
	if h.before == nil {
		return "", nil
	}
	return h.before(c)
}

func (h hooks) After(_ context.Context, c Call, r tools.Result) (tools.Result, error) {
	if h.after == nil {
		return r, nil
	}
	return h.after(c, r)
}

func hooking(h hooks) option {
	return func(o *Options) { o.Extensions.Tool = append(o.Extensions.Tool, h) }
}

// stream is a provider that does all by itself: it must call BeforeSend.
type stream func(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error]

func (s stream) Stream(ctx context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
	return s(ctx, r)
}

// provided puts a provider in the place of the fixture's.
func provided(m Model) option { return func(o *Options) { o.Route.Model = m } }

// chunks answers with exactly these, then with an error if there is one.
func chunks(err error, list ...llm.Chunk) stream {
	return func(_ context.Context, r *llm.Request) iter.Seq2[llm.Chunk, error] {
		return func(yield func(llm.Chunk, error) bool) {
			if err := r.BeforeSend(sentFor(r)); err != nil {
				yield(llm.Chunk{}, err)
				return
			}
			for _, c := range list {
				if !yield(c, nil) {
					return
				}
			}
			if err != nil {
				yield(llm.Chunk{}, err)
			}
		}
	}
}

func sentFor(r *llm.Request) llm.Sent {
	return llm.Sent{Messages: len(r.Messages), Bytes: 1, SHA256: strings.Repeat("0", 64), Profile: "test", Wire: 1, Repairs: []string{}}
}

// then answers as p does, after doing something.
func then(do func(), p play) play {
	return func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool) {
		do()
		p(ctx, r, yield)
	}
}

// cut says text and ends at the output limit.
func cut(list ...llm.Chunk) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		for _, c := range append(slices.Clone(list), finish(llm.MaxTokens)) {
			yield(c)
		}
	}
}

func delta(index int, id, name, args string) llm.Chunk {
	return llm.Chunk{Type: llm.ToolCallDelta, Index: index, ID: id, Name: name, HasName: true, ArgumentsDelta: args}
}

// note is a message of dsh itself; it has no id yet.
func note(text string) llm.Message {
	return llm.Message{Role: llm.User, Content: []llm.Block{llm.TextBlock(text)},
		Source: llm.Source{Kind: llm.FromPlugin, Plugin: "test", Form: "notice"}}
}

// bubble runs a test in parallel with others, in a time of its own.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// must fails the test for an error that no part of it expects.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// pluck makes the log's barriers fail from now on, while its writes go on, until the
// returned function puts the file back.
func (f *fixture) pluck() (putBack func()) {
	f.t.Helper()
	away := f.log.Path() + ".away"
	must(f.t, os.Rename(f.log.Path(), away))
	return func() { must(f.t, os.Rename(away, f.log.Path())) }
}

// died is the session as a process that dies now leaves it, opened again. What the
// fixture does from here on is another world.
func (f *fixture) died(plays []play, opts ...option) *fixture {
	f.t.Helper()
	next, _ := f.crash(plays, opts...)
	return next
}

// texts are the plain texts of what the model reads, tool results included.
func texts(r *llm.Request) []string {
	var list []string
	for _, m := range r.Messages {
		text := m.PlainText()
		for _, b := range m.Content {
			for _, inner := range b.Content {
				text += inner.Text
			}
		}
		list = append(list, string(m.Role)+":"+text)
	}
	return list
}

// queued are the texts that wait, next-step first.
func (f *fixture) queued() []string {
	var list []string
	for _, it := range f.Queue() {
		list = append(list, it.Text)
	}
	return list
}

func (f *fixture) steer(text string) {
	f.t.Helper()
	_, err := f.Steer(text)
	must(f.t, err)
}

func (f *fixture) inject(text string) {
	f.t.Helper()
	_, err := f.Inject(note(text))
	must(f.t, err)
}

// ends are the outcomes of all turns, in order.
func (f *fixture) ends() string {
	f.t.Helper()
	var list []string
	for _, e := range of[session.TurnEnd](f) {
		word := string(e.Reason.Kind)
		if c := e.Reason.Cause; c != nil {
			word += "{" + string(c.Kind) + "," + c.Reason + "}"
		}
		list = append(list, word)
	}
	return strings.Join(list, " ")
}

// failure is the failure of the last turn; its zero value if there is none.
func (f *fixture) failure() llm.Failure {
	f.t.Helper()
	if failure := f.lastEnd().Failure; failure != nil {
		return *failure
	}
	return llm.Failure{}
}

var errTest = errors.New("it broke")

func has(t *testing.T, what, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("%s has no %q:\n%s", what, part, text)
	}
}

// statuses records what OnStatus hears.
type statuses struct{ heard []bool }

func (s *statuses) option(o *Options) {
	o.OnStatus = func(running bool) { s.heard = append(s.heard, running) }
}

func (s *statuses) String() string { return fmt.Sprint(s.heard) }

// raw is the log's file.
func (f *fixture) raw() string {
	f.t.Helper()
	raw, err := os.ReadFile(f.log.Path())
	must(f.t, err)
	return string(raw)
}
