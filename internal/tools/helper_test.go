package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// bench is a workspace with a registry and the memory of what was seen, as the
// loop folds it from results.
type bench struct {
	t   *testing.T
	dir string // a real path
	reg *Registry

	mu   sync.Mutex
	seen map[string]session.FileVersion
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	reg, err := New(Read(), Write(), Edit(), Glob(), Grep())
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t: t, dir: dir, reg: reg, seen: map[string]session.FileVersion{}}
}

// other is another agent in the same workspace: it has seen nothing.
func (b *bench) other() *bench {
	return &bench{t: b.t, dir: b.dir, reg: b.reg, seen: map[string]session.FileVersion{}}
}

func (b *bench) env() Env {
	return Env{Cwd: b.dir, CallID: "c1", Seen: func(path string) (session.FileVersion, bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		v, ok := b.seen[path]
		return v, ok
	}}
}

// args is a list of names and values.
func args(pairs ...any) string {
	object := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		object[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// call takes a call through the whole pipeline.
func (b *bench) call(name string, pairs ...any) Result {
	b.t.Helper()
	call, bad := b.reg.Prepare(name, args(pairs...))
	if bad != nil {
		return *bad
	}
	if _, bad = call.Action(b.env()); bad != nil {
		return *bad
	}
	return b.remember(call.Run(b.t.Context(), b.env()))
}

func (b *bench) remember(r Result) Result {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, v := range r.Meta.Seen {
		b.seen[v.Path] = v
	}
	return r
}

// must is call, for one that has to succeed.
func (b *bench) must(name string, pairs ...any) Result {
	b.t.Helper()
	r := b.call(name, pairs...)
	if r.IsError {
		b.t.Fatalf("%s %v: %s", name, pairs, r.Text)
	}
	return r
}

// fails is call, for one that has to fail with a code.
func (b *bench) fails(code, name string, pairs ...any) Result {
	b.t.Helper()
	r := b.call(name, pairs...)
	if !r.IsError || r.Code != code || !strings.HasPrefix(r.Text, "Error: ") {
		b.t.Fatalf("%s %v: got error=%v code=%q text=%q, want code %s", name, pairs, r.IsError, r.Code, r.Text, code)
	}
	return r
}

func (b *bench) path(name string) string { return filepath.Join(b.dir, name) }

func (b *bench) put(name, content string) string {
	b.t.Helper()
	path := b.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
	return path
}

// holds checks a file's bytes.
func (b *bench) holds(name, want string) {
	b.t.Helper()
	got, err := os.ReadFile(b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	if string(got) != want {
		b.t.Fatalf("%s holds %q, want %q", name, clip(string(got)), clip(want))
	}
}

// only checks which names the workspace holds: no temporary file is left behind.
func (b *bench) only(want ...string) {
	b.t.Helper()
	entries, err := os.ReadDir(b.dir)
	if err != nil {
		b.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.t.Fatalf("the workspace holds %q, want %q", got, want)
	}
}

// logged is a result as the log has it.
func logged(r Result) *session.ToolResult {
	blocks := r.Blocks
	if blocks == nil {
		blocks = []llm.Block{llm.TextBlock(r.Text)}
	}
	out := &session.ToolResult{Message: llm.Message{Role: llm.User, Content: []llm.Block{
		{Type: llm.ToolResult, ToolCallID: "c1", Content: blocks, IsError: r.IsError},
	}}}
	if r.IsError {
		out.Error = &session.ToolError{Name: "ToolError", Code: r.Code}
	}
	meta, err := json.Marshal(r.Meta)
	if err != nil {
		panic(err)
	}
	out.Meta = meta
	return out
}

func clip(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("text %q lacks %q", clip(text), part)
		}
	}
}
