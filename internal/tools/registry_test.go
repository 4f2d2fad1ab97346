package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// fake is a tool made of functions; those left out do nothing.
type fake struct {
	name       string
	schema     string
	concurrent func(json.RawMessage) bool
	action     func(Env, json.RawMessage) (policy.Action, error)
	run        func(context.Context, Env, json.RawMessage) (Result, error)
	display    func(json.RawMessage, *session.ToolResult) session.Display
}

func (f fake) Name() string        { return f.name }
func (f fake) Description() string { return "does " + f.name }
func (f fake) Schema() json.RawMessage {
	if f.schema == "" {
		return json.RawMessage(`{"type": "object"}`)
	}
	return json.RawMessage(f.schema)
}
func (f fake) Class() policy.Class { return policy.Control }
func (f fake) Concurrent(a json.RawMessage) bool {
	return f.concurrent != nil && f.concurrent(a)
}
func (f fake) Action(env Env, a json.RawMessage) (policy.Action, error) {
	if f.action == nil {
		return policy.Action{}, nil
	}
	return f.action(env, a)
}
func (f fake) Run(ctx context.Context, env Env, a json.RawMessage) (Result, error) {
	if f.run == nil {
		return Result{Text: "ok"}, nil
	}
	return f.run(ctx, env, a)
}
func (f fake) Display(a json.RawMessage, r *session.ToolResult) session.Display {
	if f.display == nil {
		return session.Display{Kind: session.ShowText, Verb: f.name}
	}
	return f.display(a, r)
}

func registry(t *testing.T, tools ...Tool) *Registry {
	t.Helper()
	r, err := New(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func prepared(t *testing.T, r *Registry, name, raw string) *Call {
	t.Helper()
	call, bad := r.Prepare(name, raw)
	if bad != nil {
		t.Fatal(bad.Text)
	}
	return call
}

// runs is the result of the one tool f.
func runs(t *testing.T, ctx context.Context, run func(context.Context, Env, json.RawMessage) (Result, error)) Result {
	t.Helper()
	return prepared(t, registry(t, fake{name: "f", run: run}), "f", "").Run(ctx, Env{})
}

func TestTR03NewRefusesWhatCannotBeOffered(t *testing.T) {
	t.Parallel()
	for name, tools := range map[string][]Tool{
		"twice the same name":  {fake{name: "a"}, fake{name: "a"}},
		"empty name":           {fake{name: ""}},
		"name with a dot":      {fake{name: "a.b"}},
		"name too long":        {fake{name: strings.Repeat("a", 65)}},
		"schema not JSON":      {fake{name: "a", schema: `{"type":`}},
		"schema not object":    {fake{name: "a", schema: `{"type":"string"}`}},
		"schema without type":  {fake{name: "a", schema: `{}`}},
		"schema is a list":     {fake{name: "a", schema: `[]`}},
		"bad pattern":          {fake{name: "a", schema: `{"type":"object","properties":{"x":{"type":"string","pattern":"("}}}`}},
		"reference to nothing": {fake{name: "a", schema: `{"type":"object","properties":{"x":{"$ref":"#/$defs/x"}}}`}},
	} {
		if _, err := New(tools...); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestTP01TM04SchemasAreNameDescriptionParameters(t *testing.T) {
	t.Parallel()
	reg := registry(t, Write(), Read(), Edit())
	schemas := reg.Schemas()
	raw, err := json.Marshal(schemas)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 3<<10 {
		t.Errorf("the schemas of three tools take %d bytes of every request", len(raw))
	}
	var fields []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		t.Fatal(err)
	}
	for _, f := range fields { // no classifier, no callbacks
		if len(f) != 3 || f["name"] == nil || f["description"] == nil || f["parameters"] == nil {
			t.Errorf("a schema has the fields %v", f)
		}
	}
	if got := fmt.Sprint(reg.Names()); got != "[edit read write]" {
		t.Errorf("names %s", got)
	}
	for i, s := range schemas {
		if s.Name != reg.Names()[i] {
			t.Errorf("schema %d is %s", i, s.Name)
		}
	}
	again, _ := json.Marshal(registry(t, Edit(), Write(), Read()).Schemas())
	if string(again) != string(raw) {
		t.Error("the bytes depend on the order of registration")
	}
}

func TestTP39SchemasAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"type":"object","properties":{"x":`, 60) + `{"type":"string"}` + strings.Repeat(`}}`, 60)
	reg := registry(t, fake{name: "a", schema: deep})
	before, _ := json.Marshal(reg.Schemas())
	mine := reg.Schemas()
	mine[0].Name = "changed"
	for i := range mine[0].Parameters {
		mine[0].Parameters[i] = 'x'
	}
	if after, _ := json.Marshal(reg.Schemas()); string(after) != string(before) {
		t.Errorf("got %s", after)
	}
	if reg.Names()[0] != "a" {
		t.Error("the name changed")
	}
}

func TestTP02NormalCall(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f", run: func(_ context.Context, env Env, a json.RawMessage) (Result, error) {
		return Result{Text: string(a) + env.Cwd, Meta: session.ResultMeta{Display: &session.Display{Kind: session.ShowText, Verb: "F"}}, Changed: []string{"/x"}, EndsTurn: true}, nil
	}})
	call := prepared(t, reg, "f", ` {"a": 1} `)
	if call.Name() != "f" || call.Class() != policy.Control || string(call.Args()) != `{"a": 1}` {
		t.Errorf("call %s %s %s", call.Name(), call.Class(), call.Args())
	}
	r := call.Run(t.Context(), Env{Cwd: "/w"})
	if r.IsError || r.Text != `{"a": 1}/w` || r.Meta.Display.Verb != "F" || r.Changed[0] != "/x" || !r.EndsTurn {
		t.Errorf("got %+v", r)
	}
}

func TestPIP01TP03T22UnknownTool(t *testing.T) {
	t.Parallel()
	reg := registry(t, Read(), Edit())
	call, bad := reg.Prepare("Read", "{}")
	if call != nil || bad == nil || !bad.IsError || bad.Code != UnknownTool {
		t.Fatalf("got %v, %+v", call, bad)
	}
	wantText(t, bad.Text, `Error: there is no tool "Read"`, "edit, read")
	if call := prepared(t, reg, "functions.read", args("file_path", "f")); call.Name() != "read" {
		t.Errorf("got %s", call.Name())
	}
}

func TestPIP02EmptyArgumentsAreAnObject(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f"})
	for _, raw := range []string{"", " \n", "{}"} {
		if got := string(prepared(t, reg, "f", raw).Args()); got != "{}" {
			t.Errorf("%q: %s", raw, got)
		}
	}
}

func TestPIP03T14T16B05ArgumentsThatAreNoObject(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f"})
	for raw, want := range map[string]string{
		`{"command": `:            `at byte 11 of 11`,
		`not json`:                `at byte 2 of 8`,
		`[]`:                      `must be a JSON object`,
		`"x"`:                     `must be a JSON object`,
		`null`:                    `must be a JSON object`,
		`{"a":1}{"a":2}`:          `at byte 8 of 14`,
		`{"a":1} trailing`:        `at byte 9 of 16`,
		"\x00":                    `\x00`,
		"{\"a\":\"\xff\"}":        `not valid UTF-8`,
		"{\"a\":\"x\\\n\"}":       `not valid JSON`,
		strings.Repeat("x", 9999): `... (9999 bytes)`,
	} {
		call, bad := reg.Prepare("f", raw)
		if call != nil || bad == nil || bad.Code != InvalidArgs || !bad.IsError {
			t.Errorf("%q: got %v, %+v", clip(raw), call, bad)
			continue
		}
		wantText(t, bad.Text, "Error: f was not run", "Received: ", want)
		if len(bad.Text) > 1000 {
			t.Errorf("%q: a text of %d bytes", clip(raw), len(bad.Text))
		}
	}
}

func TestT17RawControlCharactersInsideStrings(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f"})
	call := prepared(t, reg, "f", "{\"a\":\"x\n\ty\r\\n \\\" \x01\",\n\t\"b\":1}")
	var got struct{ A string }
	if err := json.Unmarshal(call.Args(), &got); err != nil || got.A != "x\n\ty\r\n \" \x01" {
		t.Errorf("%q, %v", got.A, err)
	}
}

// C02: what cannot be decoded whole is not written to a file as U+FFFD.
func TestC02HalfCharactersAreRefused(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f"})
	for _, raw := range []string{`{"a":"\ud83d"}`, `{"a":"x\ude00\ud83d"}`, `{"a":"\ud83d\ud83d\ude00"}`, `{"a":"\u0041\uDBFF\u0041"}`} {
		if _, bad := reg.Prepare("f", raw); bad == nil || bad.Code != InvalidArgs || !strings.Contains(bad.Text, "half a character") {
			t.Errorf("%s: got %+v", raw, bad)
		}
	}
	for raw, want := range map[string]string{`{"a":"\ud83d\ude00\u00e9"}`: "\U0001F600\u00e9", `{"a":"\\ud83d"}`: `\ud83d`, `{"a":"\ufffd"}`: "\ufffd", `{"a":"\\\ud83d\ude00"}`: "\\\U0001F600"} {
		var got struct{ A string }
		if err := json.Unmarshal(prepared(t, reg, "f", raw).Args(), &got); err != nil || got.A != want {
			t.Errorf("%s: %q, %v", raw, got.A, err)
		}
	}
}

func TestT18DuplicatedDocument(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f"})
	for _, raw := range []string{`{"a":1}{"a":1}`, "{\"a\":1}\n{\"a\":1} {\"a\":1} "} {
		if got := string(prepared(t, reg, "f", raw).Args()); got != `{"a":1}` {
			t.Errorf("%q: %s", raw, got)
		}
	}
}

const nested = `{"type":"object","additionalProperties":false,"required":["path","todos"],"properties":{
	"path":{"type":"string","minLength":1},
	"mode":{"type":"string","enum":["a","b"]},
	"count":{"type":"integer","minimum":1,"default":7},
	"todos":{"type":"array","maxItems":3,"items":{"type":"object","required":["content","status"],"additionalProperties":false,
		"properties":{"content":{"type":"string"},"status":{"enum":["open","done"]}}}},
	"ref":{"$ref":"#/$defs/small"}},
	"$defs":{"small":{"type":"integer","maximum":3}}}`

func TestTP42EveryViolationIsNamed(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f", schema: nested})
	bad := func(raw string) string {
		t.Helper()
		call, bad := reg.Prepare("f", raw)
		if call != nil || bad.Code != InvalidArgs {
			t.Fatalf("%s: got %v, %+v", raw, call, bad)
		}
		return bad.Text
	}
	wantText(t, bad(`{"mode":"c","count":0,"todos":[{"content":1,"status":"open"},{"status":"no","more":2},"x"]}`),
		"\n- path: required, but missing",
		"\n- mode: is \"c\", must be one of \"a\", \"b\"\n",
		"\n- count: is 0, must be at least 1",
		"\n- todos[0].content: must be a string, is the number 1\n",
		"\n- todos[1].content: required, but missing",
		"\n- todos[1].status: is \"no\", must be one of",
		"\n- todos[1].more: no such property, there are content, status\n",
		"\n- todos[2]: must be an object, is the string \"x\"\n")
	nulls := bad(`{"path":null,"mode":null,"count":null,"todos":[null,{"content":null,"status":null}],"ref":null}`)
	wantText(t, nulls, "\n- path: must be a string, is null", "\n- count: must be an integer, is null", "\n- todos[0]: must be an object, is null",
		"\n- todos[1].content: must be a string, is null", "\n- todos[1].status: is null, must be one of \"open\", \"done\"")
	wantText(t, bad(`{"path":"x","todos":[],"ref":null}`), "type: null has type \"null\", want \"integer\"")
	if strings.Contains(nulls, "reflect.Value") {
		t.Error(nulls)
	}
	wantText(t, bad(`{"path":"","todos":[{},{},{},{}]}`), "- path: minLength", "- todos: maxItems")
	wantText(t, bad(`{"path":"x","todos":[],"ref":4}`), "maximum") // only the whole schema can tell
	many := bad(`{"path":"x","todos":[` + strings.TrimSuffix(strings.Repeat(`1,`, 500), ",") + `]}`)
	if len(many) > 20<<10 {
		t.Errorf("a text of %d bytes", len(many))
	}
	wantText(t, many, "and 481 more")
	long := bad(`{"path":"x","todos":[],"mode":"` + strings.Repeat("y", 5000) + `"}`)
	if len(long) > 1000 {
		t.Errorf("a text of %d bytes", len(long))
	}
}

func TestPIP05UnknownRootPropertiesAreAccepted(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f", schema: nested})
	raw := `{"path":"x","todos":[],"extra":{"a":1}}`
	if got := string(prepared(t, reg, "f", raw).Args()); got != raw { // and defaults are not filled in
		t.Errorf("got %s", got)
	}
}

func TestTP48ValidationIsTotal(t *testing.T) {
	t.Parallel()
	reg := registry(t, fake{name: "f", schema: nested}, Read(), Write(), Edit())
	for _, raw := range []string{
		`{"path":null,"todos":null}`, `{"path":{},"todos":{"a":[]}}`, `{"path":1e400}`, `{"path":"x","todos":[null,[],{}]}`,
		`{"file_path":{"file_path":1}}`, `{"file_path":["x"],"content":{}}`, `{"FILE_PATH":7,"file_path":"x","content":"y"}`,
		strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), strings.Repeat("[", 20000),
	} {
		for _, name := range reg.Names() {
			if call, bad := reg.Prepare(name, raw); (call == nil) == (bad == nil) {
				t.Errorf("%s %q: got %v and %v", name, clip(raw), call, bad)
			} else if call != nil && name != "f" {
				if _, bad := call.Action(Env{Cwd: t.TempDir()}); bad == nil && strings.Contains(raw, "FILE") {
					t.Errorf("%s %q has an action", name, clip(raw))
				}
			}
			reg.Present(name, raw, nil)
			reg.Concurrent(name, raw)
		}
	}
}

func TestTM01TM03Concurrent(t *testing.T) {
	t.Parallel()
	reg := registry(t, Read(), Write(), Edit(),
		fake{name: "asks", concurrent: func(a json.RawMessage) bool { return string(a) == `{"safe":true}` }},
		fake{name: "panics", concurrent: func(json.RawMessage) bool { panic("no") }})
	for _, c := range []struct {
		name, raw string
		want      bool
	}{
		{"read", `{"file_path":"x"}`, true},
		{"functions.read", `{"file_path":"x"}`, true},
		{"read", `{"file_path":`, false},
		{"read", `{}`, false},
		{"write", `{"file_path":"x","content":""}`, false},
		{"edit", `{"file_path":"x","old_string":"a","new_string":"b"}`, false},
		{"asks", ` {"safe":true} `, true},
		{"asks", `{}`, false},
		{"panics", `{}`, false},
		{"unknown", `{}`, false},
	} {
		if got := reg.Concurrent(c.name, c.raw); got != c.want {
			t.Errorf("%s %s: %v", c.name, c.raw, got)
		}
	}
}

func TestPIP06TP38FailuresBecomeErrorResults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		run  func(context.Context, Env, json.RawMessage) (Result, error)
		text string
		code string
	}{
		"plain error": {func(context.Context, Env, json.RawMessage) (Result, error) { return Result{}, errors.New("no luck") }, "Error: no luck", ""},
		"typed error": {func(context.Context, Env, json.RawMessage) (Result, error) { return Result{}, fail("MINE", "why") }, "Error: why", "MINE"},
		"wrapped error": {func(context.Context, Env, json.RawMessage) (Result, error) {
			return Result{}, fmt.Errorf("while: %w", fail("MINE", "why"))
		}, "Error: while: why", "MINE"},
		"panic": {func(context.Context, Env, json.RawMessage) (Result, error) { panic("at the disco") }, "Error: f broke while it ran", Internal},
		"nil map write": {func(context.Context, Env, json.RawMessage) (Result, error) {
			none := func() map[string]int { return nil }
			none()["x"] = 1
			return Result{}, nil
		}, "Error: f broke", Internal},
	} {
		r := runs(t, t.Context(), c.run)
		if !r.IsError || r.Code != c.code || !strings.HasPrefix(r.Text, c.text) {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestTP38ActionFailuresBecomeErrorResults(t *testing.T) {
	t.Parallel()
	reg := registry(t,
		fake{name: "panics", action: func(Env, json.RawMessage) (policy.Action, error) { panic("no") }},
		fake{name: "fails", action: func(Env, json.RawMessage) (policy.Action, error) { return policy.Action{}, fail("MINE", "why") }},
		fake{name: "works", action: func(Env, json.RawMessage) (policy.Action, error) {
			return policy.Action{Tool: "other", Class: policy.Read, Target: "t"}, nil
		}})
	if _, bad := prepared(t, reg, "panics", "").Action(Env{}); bad == nil || bad.Code != Internal {
		t.Errorf("got %+v", bad)
	}
	if _, bad := prepared(t, reg, "fails", "").Action(Env{}); bad == nil || bad.Code != "MINE" || bad.Text != "Error: why" {
		t.Errorf("got %+v", bad)
	}
	a, bad := prepared(t, reg, "works", "").Action(Env{})
	if bad != nil || a.Tool != "works" || a.Class != policy.Control || a.Target != "t" { // a tool cannot speak for another
		t.Errorf("got %+v, %v", a, bad)
	}
}

func TestTP29TP33SuccessAfterCancelIsAborted(t *testing.T) {
	t.Parallel()
	note := []llm.Message{{Role: llm.User}}
	for _, changed := range [][]string{nil, {"/x"}} {
		ctx, cancel := context.WithCancel(t.Context())
		r := runs(t, ctx, func(context.Context, Env, json.RawMessage) (Result, error) {
			cancel() // and the body goes on regardless
			return Result{Text: "secret", Contexts: note, Changed: changed, Meta: session.ResultMeta{Seen: []session.FileVersion{{Path: "/x"}}}}, nil
		})
		if !r.IsError || r.Code != Aborted || strings.Contains(r.Text, "secret") || len(r.Contexts) != 1 {
			t.Errorf("got %+v", r)
		}
		if !slices.Equal(r.Changed, changed) || (len(r.Meta.Seen) == 1) != (changed != nil) {
			t.Errorf("changed %v, but seen %v", r.Changed, r.Meta.Seen)
		}
	}
}

func TestTP30FailureAfterCancelIsKept(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	if r := runs(t, ctx, func(context.Context, Env, json.RawMessage) (Result, error) {
		cancel()
		return Result{}, fail("MINE", "why")
	}); r.Code != "MINE" {
		t.Errorf("got %+v", r)
	}
	ctx, cancel = context.WithCancel(t.Context())
	if r := runs(t, ctx, func(context.Context, Env, json.RawMessage) (Result, error) {
		cancel()
		return Result{Text: "bad", IsError: true, Code: "MINE"}, nil
	}); r.Code != "MINE" || r.Text != "bad" {
		t.Errorf("got %+v", r)
	}
	ctx, cancel = context.WithCancel(t.Context())
	if r := runs(t, ctx, func(ctx context.Context, _ Env, _ json.RawMessage) (Result, error) {
		cancel()
		return Result{}, ctx.Err()
	}); r.Code != Aborted {
		t.Errorf("got %+v", r)
	}
}

func TestTP27CancelledBeforeTheBody(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := runs(t, ctx, func(context.Context, Env, json.RawMessage) (Result, error) {
		t.Error("the body ran")
		return Result{}, nil
	})
	if r.Code != Aborted {
		t.Errorf("got %+v", r)
	}
}

func TestTP45EveryoneSeesTheSameArguments(t *testing.T) {
	t.Parallel()
	const raw = `{"a":{"b":1}}`
	var seen []string
	spoil := func(a json.RawMessage) {
		seen = append(seen, string(a))
		for i := range a {
			a[i] = 'x'
		}
	}
	reg := registry(t, fake{name: "f",
		action: func(_ Env, a json.RawMessage) (policy.Action, error) { spoil(a); return policy.Action{}, nil },
		run:    func(_ context.Context, _ Env, a json.RawMessage) (Result, error) { spoil(a); return Result{}, nil }})
	call := prepared(t, reg, "f", raw)
	if _, bad := call.Action(Env{}); bad != nil {
		t.Fatal(bad.Text)
	}
	spoil(call.Args())
	call.Run(t.Context(), Env{})
	if string(call.Args()) != raw || fmt.Sprint(seen) != fmt.Sprint([]string{raw, raw, raw}) {
		t.Errorf("seen %q", seen)
	}
}

func TestPIP20D05ResultsAreBoundedAndClean(t *testing.T) {
	t.Parallel()
	r := runs(t, t.Context(), func(context.Context, Env, json.RawMessage) (Result, error) {
		return Result{Text: "head \u4e2d" + strings.Repeat("\u4e2d", maxResultBytes) + "\u4e2d tail", Blocks: []llm.Block{llm.TextBlock("a\x00b\xff")}}, nil
	})
	if len(r.Text) > maxResultBytes+100 || !strings.HasPrefix(r.Text, "head ") || !strings.HasSuffix(r.Text, " tail") || strings.ContainsRune(r.Text, '\ufffd') {
		t.Errorf("%d bytes: %s", len(r.Text), clip(r.Text))
	}
	wantText(t, r.Text, "bytes left out; ")
	if got := r.Blocks[0].Text; got != "a\u2400b\ufffd" {
		t.Errorf("got %q", got)
	}
	// The largest read is not cut a second time.
	b := newBench(t)
	b.put("f", strings.Repeat(strings.Repeat("y", 24)+"\n", 5000))
	full := b.must("read", "file_path", "f", "offset", 3000)
	if strings.Contains(full.Text, "left out") || !strings.HasSuffix(full.Text, "</content>") {
		t.Errorf("%d bytes: %s", len(full.Text), clip(full.Text))
	}
}

// metaOf is a result as somebody else might have logged it.
func metaOf(meta string) *session.ToolResult {
	r := logged(Result{Text: "<path>/x</path>\n<type>file</type>\n<content>\n1: hello\n\n(End of file - total 1 lines)\n</content>"})
	r.Meta = json.RawMessage(meta)
	return r
}

func TestPIP21TP44ForeignAndBrokenMeta(t *testing.T) {
	t.Parallel()
	reg := registry(t, Read(), Write(), Edit(), fake{name: "panics", display: func(json.RawMessage, *session.ToolResult) session.Display { panic("no") }})
	for _, meta := range []string{
		``, `null`, `7`, `"x"`, `[]`, `{`, `{"path":"/x","offset":1,"lines":[{"number":1,"text":"hello"}],"totalLines":1}`,
		`{"display":null}`, `{"display":7}`, `{"display":{}}`, `{"display":{"kind":"hologram","verb":"Read"}}`, `{"display":{"kind":"text"}}`,
		`{"display":{"kind":"diff","verb":"X","diffs":[{"hunks":7}]}}`, `{"seen":[{"path":"/x"}]}`, `{"display":{"kind":"diff","verb":"Write","diffs":[]}}`,
	} {
		for _, name := range []string{"read", "write", "edit", "panics", "unknown"} {
			for _, raw := range []string{``, `{`, `[]`, `{"file_path":7}`, `{"file_path":"f","offset":"x"}`, `{"file_path":"f"}`} {
				d := reg.Present(name, raw, metaOf(meta))
				if d.Kind == "" || d.Verb == "" {
					t.Errorf("%s %s %s: %+v", name, raw, meta, d)
				}
			}
		}
		d := reg.Present("read", `{"file_path":"f"}`, metaOf(meta))
		if !strings.Contains(meta, "diff") && (d.Verb != "Read" || d.Target != "f" || !strings.HasPrefix(d.Text, "1: hello")) {
			t.Errorf("%s: %+v", meta, d)
		}
	}
}

func TestPresentUnknownTool(t *testing.T) {
	t.Parallel()
	reg := registry(t)
	d := reg.Present("srv.tool", `{"b":2,"a":"x","c":[1]}`, nil)
	if d.Kind != session.ShowText || d.Verb != "srv.tool" || d.Target != "a=x b=2" {
		t.Errorf("got %+v", d)
	}
	d = reg.Present("srv.tool", `{}`, logged(Result{Text: "Error: first line\nsecond", IsError: true}))
	if fmt.Sprint(d.Facts) != "[first line]" || d.Text != "Error: first line\nsecond" {
		t.Errorf("got %+v", d)
	}
	// A display that was stored is shown, whoever made it.
	stored := Result{Meta: session.ResultMeta{Display: &session.Display{Kind: session.ShowTodo, Verb: "Todo"}}}
	if d = reg.Present("srv.tool", `{}`, logged(stored)); d.Kind != session.ShowTodo {
		t.Errorf("got %+v", d)
	}
}

// A rule that names a tool of ours must be taken.
func TestRulesCanNameEveryTool(t *testing.T) {
	t.Parallel()
	for _, tool := range []Tool{Bash(BashOptions{}), Read(), Write(), Edit()} {
		rule, err := policy.ParseRule(tool.Name(), session.Deny, "")
		if err == nil {
			err = rule.CheckTool()
		}
		if err != nil {
			t.Error(err)
		}
	}
}
