package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// inTime runs a test in a bubble of its own.
func inTime(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, test)
}

// stage is where the bodies of calls stand until the test lets them go.
type stage struct {
	mu      sync.Mutex
	inside  []string // the arguments of the bodies that have begun and not ended
	most    int      // how many were inside at once
	doors   map[string]chan tools.Result
	started []string
}

func newStage() *stage { return &stage{doors: map[string]chan tools.Result{}} }

// run is a body: it waits for its door, also when it is cancelled.
func (s *stage) run(_ context.Context, args string) (tools.Result, error) {
	door := s.door(args)
	s.mu.Lock()
	s.inside = append(s.inside, args)
	s.started = append(s.started, args)
	s.most = max(s.most, len(s.inside))
	s.mu.Unlock()
	r := <-door
	s.mu.Lock()
	s.inside = slices.DeleteFunc(s.inside, func(a string) bool { return a == args })
	s.mu.Unlock()
	return r, nil
}

func (s *stage) door(args string) chan tools.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doors[args] == nil {
		s.doors[args] = make(chan tools.Result, 1)
	}
	return s.doors[args]
}

// let ends the body of {"n":n} and waits until nothing moves.
func (s *stage) let(ns ...int) {
	for _, n := range ns {
		s.door(arg(n)) <- tools.Result{Text: fmt.Sprintf("result %d", n)}
		synctest.Wait()
	}
}

// now is who is inside once nothing moves, begun who ever was; sorted numbers.
func (s *stage) now() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return numbers(s.inside)
}

func (s *stage) begun() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return numbers(s.started)
}

func arg(n int) string { return fmt.Sprintf(`{"n":%d}`, n) }

func numbers(args []string) string {
	args = slices.SortedFunc(slices.Values(args), func(a, b string) int {
		return cmp.Or(len(a)-len(b), strings.Compare(a, b))
	})
	return strings.NewReplacer(`{"n":`, "", "}", "").Replace(strings.Join(args, " "))
}

// safe is a tool whose calls may overlap, and alone one whose calls may not.
func (s *stage) safe() *probe  { return &probe{name: "safe", safe: always, run: s.run} }
func (s *stage) alone() *probe { return &probe{name: "alone", run: s.run} }

// calls answers with calls to the tools, with arguments {"n":1}, {"n":2}, ...
func calls(names ...string) play {
	var pairs []string
	for i, name := range names {
		pairs = append(pairs, name, arg(i+1))
	}
	return call(pairs...)
}

func times(n int, name string) []string { return slices.Repeat([]string{name}, n) }

// around is a tool hook made of functions; nil does nothing.
type around struct {
	before func(ctx context.Context, c Call) (string, error)
	after  func(ctx context.Context, c Call, r tools.Result) (tools.Result, error)
}

func (h around) Before(ctx context.Context, c Call) (string, error) {
	if h.before == nil {
		return "", nil
	}
	return h.before(ctx, c)
}

func (h around) After(ctx context.Context, c Call, r tools.Result) (tools.Result, error) {
	if h.after == nil {
		return r, nil
	}
	return h.after(ctx, c, r)
}

func hooked(list ...around) option {
	return func(o *Options) {
		for _, h := range list {
			o.Extensions.Tool = append(o.Extensions.Tool, h)
		}
	}
}

// outcomes are the logged results: the call's id and its text.
func (f *fixture) outcomes() string {
	f.t.Helper()
	var list []string
	for _, r := range of[session.ToolResult](f) {
		list = append(list, r.Message.Source.CallID+": "+resultText(&r.Message))
	}
	return strings.Join(list, "\n")
}

// codes are the codes of the logged results, "ok" for a success.
func (f *fixture) codes() string {
	f.t.Helper()
	var list []string
	for _, r := range of[session.ToolResult](f) {
		switch {
		case r.Error == nil && !r.Message.Content[0].IsError:
			list = append(list, "ok")
		case r.Error == nil || !r.Message.Content[0].IsError:
			f.t.Errorf("a result is half an error: %+v", r)
		default:
			list = append(list, r.Error.Code)
		}
	}
	return strings.Join(list, " ")
}

func resultText(m *llm.Message) string {
	var text strings.Builder
	for _, b := range m.Content {
		for _, c := range b.Content {
			text.WriteString(c.Text)
		}
	}
	return text.String()
}

// paired fails unless every call of the message before the results has exactly one,
// in the same order, as providers demand.
func paired(t *testing.T, messages []*llm.Message) {
	t.Helper()
	var open []string
	for _, m := range messages {
		if m.Source.Kind == llm.FromTool {
			id := m.Content[0].ToolCallID
			if len(open) == 0 || open[0] != id {
				t.Errorf("the result of %s comes when %v are open", id, open)
				return
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			t.Errorf("a %s message comes while %v have no result", m.Role, open)
		}
		for _, c := range m.Calls() {
			open = append(open, c.ID)
		}
	}
}

// tail is the plain text of the last n messages of a request, without frames.
func tail(r *llm.Request, n int) string {
	var list []string
	for _, m := range r.Messages[len(r.Messages)-n:] {
		text := strings.NewReplacer("<notice>\n", "", "\n</notice>", "").Replace(m.PlainText())
		list = append(list, text)
	}
	return strings.Join(list, " | ")
}
