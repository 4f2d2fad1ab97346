package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
)

var deepseekHeader = llm.Header{Config: llm.Config{Provider: "deepseek", Model: "deepseek-flash"}}

func TestHistories(t *testing.T) {
	t.Parallel()
	hi, more := userSays("hi"), userSays("more")
	both := calls1(llm.TextBlock("ok"), callBlock("a", "x", "{}"), callBlock("b", "y", "{}"))
	bothWire := "a:ok a=x({}) b=y({})"
	long := strings.Repeat("i", 41)
	for _, h := range []struct {
		name     string
		messages []*llm.Message
		want     string
	}{
		{"V01 no result", []*llm.Message{hi, both, more}, "u:hi | " + bothWire + " | t(a):" + noResult + " | t(b):" + noResult + " | u:more"},
		{"V01 one of two results", []*llm.Message{hi, both, result("b", "B"), more}, "u:hi | " + bothWire + " | t(a):" + noResult + " | t(b):B | u:more"},
		{"V01 at the end", []*llm.Message{hi, both}, "u:hi | " + bothWire + " | t(a):" + noResult + " | t(b):" + noResult},
		{"V02 something between", []*llm.Message{hi, both, more, result("a", "A"), userSays("note"), result("b", "B")}, "u:hi | " + bothWire + " | t(a):A | t(b):B | u:more | u:note"},
		{"V02 text beside a result", []*llm.Message{hi, both, result("a", "A"), {Role: llm.User, Content: append([]llm.Block{llm.TextBlock("say")}, result("b", "B").Content...)}}, "u:hi | " + bothWire + " | t(a):A | t(b):B | u:say"},
		{"V03 a result without a call", []*llm.Message{hi, result("z", "Z"), says("s"), more, result("a", "A")}, "u:hi | a:s | u:more"},
		{"V04 reordered", []*llm.Message{hi, both, result("b", "B"), result("a", "A")}, "u:hi | " + bothWire + " | t(a):A | t(b):B"},
		{"V04 duplicated", []*llm.Message{hi, both, result("a", "A"), result("a", "A2"), result("b", "B"), result("b", "B2"), more}, "u:hi | " + bothWire + " | t(a):A | t(b):B | u:more"},
		{"V05 the same id across turns", []*llm.Message{hi, calls1(callBlock("bash:0", "x", "{}")), result("bash:0", "1"), calls1(callBlock("bash:0", "x", "{}")), result("bash:0", "2")}, "u:hi | a: bash:0=x({}) | t(bash:0):1 | a: bash:0_2=x({}) | t(bash:0_2):2"},
		{"V05 the same id in one turn", []*llm.Message{hi, calls1(callBlock("x", "p", "{}"), callBlock("x", "q", "{}")), result("x", "1"), result("x", "2")}, "u:hi | a: x=p({}) x_2=q({}) | t(x):1 | t(x_2):2"},
		{"V06 no id", []*llm.Message{hi, says("s"), calls1(callBlock("", "p", "{}"), callBlock("", "q", "{}")), result("", "1"), result("", "2")}, "u:hi | a:s | a: call_2_0=p({}) call_2_1=q({}) | t(call_2_0):1 | t(call_2_1):2"},
		{"V07 ids of other shapes", []*llm.Message{hi, calls1(callBlock(long, "p", "{}"), callBlock("a#2", "q", "{}")), result(long, "1"), result("a#2", "2")},
			fmt.Sprintf("u:hi | a: call_%s=p({}) call_%s=q({}) | t(call_%[1]s):1 | t(call_%[2]s):2", hash(long, 24), hash("a#2", 24))},
		{"V08 nothing but reasoning", []*llm.Message{hi, calls1(think1("hm")), {Role: llm.Assistant}, says(" \n"), more}, "u:hi | u:more"},
		{"V09 calls without text", []*llm.Message{hi, calls1(callBlock("a", "x", "{}")), result("a", "A")}, "u:hi | a: a=x({}) | t(a):A"},
		{"V10 several blocks", []*llm.Message{{Role: llm.User, Content: []llm.Block{llm.TextBlock("a"), llm.TextBlock("b")}}, calls1(llm.TextBlock("c"), llm.TextBlock("d")), more}, "u:a\nb | a:cd | u:more"},
		{"V11 an empty result", []*llm.Message{hi, calls1(callBlock("a", "x", "{}")), result("a", "")}, "u:hi | a: a=x({}) | t(a):(no output)"},
		{"V12 arguments that are no object", []*llm.Message{hi, calls1(callBlock("a", "x", `{"command": `), callBlock("b", "x", ""), callBlock("c", "x", "[]"), callBlock("d", "x", `{ "a" : 1 }`))},
			`u:hi | a: a=x({"_invalid_arguments":"{\"command\": "}) b=x({}) c=x({"_invalid_arguments":"[]"}) d=x({ "a" : 1 }) | t(a):` + noResult + " | t(b):" + noResult + " | t(c):" + noResult + " | t(d):" + noResult},
		{"V14 names of other shapes", []*llm.Message{hi, calls1(callBlock("a", "mcp.fs read", "{}"), callBlock("b", "", "{}"))},
			"u:hi | a: a=" + wireName("mcp.fs read") + "({}) b=" + wireName("") + "({}) | t(a):" + noResult + " | t(b):" + noResult},
		{"V20 other roles", []*llm.Message{{Role: "developer", Content: []llm.Block{llm.TextBlock("d")}}}, "u:d"},
		{"V23 the assistant is last", []*llm.Message{hi, says("half")}, "u:hi | a:half | u:Continue."},
		{"V24 blanks", []*llm.Message{hi, userSays(" \n"), {Role: llm.User}, more}, "u:hi | u:more"},
		{"V24 nothing", nil, "u:Continue."},
		{"V28 an image", []*llm.Message{{Role: llm.User, Content: []llm.Block{llm.TextBlock("look"), {Type: "image", Raw: json.RawMessage(`{"type":"image"}`)}}}}, "u:look\n[image omitted: the model reads text only]"},
		{"V29 NUL and invalid UTF-8", []*llm.Message{userSays("a\x00b\xffc"), calls1(llm.TextBlock("\x00d"), callBlock("a", "x", `{"a":"\u0000 \ud83d \ud83d\ude00 \\u0000"}`)), result("a", "\xc3")},
			"u:a\uFFFDb\uFFFDc | a:\uFFFDd a=x({\"a\":\"\\ufffd \\ufffd \\ud83d\\ude00 \\\\u0000\"}) | t(a):\uFFFD"},
		{"V35 what only answers have", []*llm.Message{hi, {Role: llm.Assistant, ID: "m1", Content: []llm.Block{llm.TextBlock("ok"), {Type: "annotations", Raw: json.RawMessage(`{"type":"annotations"}`)}, {Type: "audio", Raw: json.RawMessage(`{"type":"audio"}`)}}}, more}, "u:hi | a:ok | u:more"},
		{"V36 cut between a call and its result", []*llm.Message{userSays("summary"), result("a", "A"), result("b", "B"), says("ok"), more}, "u:summary | a:ok | u:more"},
		{"V36 cut behind the call", []*llm.Message{both, userSays("summary"), more}, bothWire + " | t(a):" + noResult + " | t(b):" + noResult + " | u:summary | u:more"},
		{"B02 killed between call and result", []*llm.Message{hi, both, result("a", "A"), result("a", "A"), more, says("s"), result("b", "late"), more}, "u:hi | " + bothWire + " | t(a):A | t(b):" + noResult + " | u:more | a:s | u:more"},
		{"B03 failed turns do not add up", []*llm.Message{hi, calls1(think1("1")), calls1(think1("2")), calls1(), more}, "u:hi | u:more"},
		{"B05 arguments as reported", []*llm.Message{hi, calls1(callBlock("a", "x", "not json"), callBlock("b", "x", `{"a":1}{"a":1}`), callBlock("c", "x", "\x00"), callBlock("d", "x", "null"))},
			`u:hi | a: a=x({"_invalid_arguments":"not json"}) b=x({"_invalid_arguments":"{\"a\":1}{\"a\":1}"}) c=x({"_invalid_arguments":"` + "\uFFFD" + `"}) d=x({"_invalid_arguments":"null"})` +
				" | t(a):" + noResult + " | t(b):" + noResult + " | t(c):" + noResult + " | t(d):" + noResult},
		{"B06 ids used again and again", []*llm.Message{hi, calls1(callBlock("bash:0", "x", "{}")), result("bash:0", "a"), calls1(callBlock("bash:0", "x", "{}")), result("bash:0", "b"), calls1(callBlock("x", "p", "{}"), callBlock("x", "q", "{}")), result("x", "c"), result("x", "d"), calls1(callBlock("", "r", "{}")), result("", "e")},
			"u:hi | a: bash:0=x({}) | t(bash:0):a | a: bash:0_2=x({}) | t(bash:0_2):b | a: x=p({}) x_2=q({}) | t(x):c | t(x_2):d | a: call_4_0=r({}) | t(call_4_0):e"},
	} {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			for _, p := range profiles {
				if got := brief(encoded(t, p.Name, deepseekHeader, h.messages...)); got != h.want {
					t.Errorf("%s\n got %s\nwant %s", p.Name, got, h.want)
				}
			}
		})
	}
}

func TestV12LongInvalidArgumentsAreCut(t *testing.T) {
	t.Parallel()
	args := wireArguments(strings.Repeat("长", maxInvalid))
	if !isObject(args) || len(args) > maxInvalid+100 || strings.Contains(args, "\uFFFD") {
		t.Errorf("%d bytes: %.60s", len(args), args)
	}
}

func TestV19OneSystemMessageFirst(t *testing.T) {
	t.Parallel()
	h := deepseekHeader
	h.System = "You\x00 are <dsh> & \"more\"\n"
	body := encoded(t, "deepseek", h, userSays("hi"), &llm.Message{Role: "system", Content: []llm.Block{llm.TextBlock("later")}})
	if want := "s:You\uFFFD are <dsh> & \"more\"\n | u:hi | u:later"; brief(body) != want {
		t.Errorf("got %q", brief(body))
	}
	if !strings.HasPrefix(body, `{"model":"deepseek-flash","messages":[{"role":"system","content":"You`+"\uFFFD"+` are <dsh> & \"more\"\n"}`) {
		t.Errorf("HTML is escaped, or the order differs: %s", body)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	tools := []llm.ToolSchema{{Name: "read", Description: "Reads <a> file", Parameters: json.RawMessage("{\n \"type\": \"object\", \"properties\": {\"p\": {\"type\":\"string\"}}}")}, {Name: "ls"}, {Name: "nil", Parameters: json.RawMessage("null")}, {Name: "none", Parameters: json.RawMessage("{}")}}
	toolsWire := `,"tools":[{"type":"function","function":{"name":"read","description":"Reads <a> file","parameters":{"type":"object","properties":{"p":{"type":"string"}}}}},` +
		`{"type":"function","function":{"name":"ls","description":"","parameters":{"type":"object","properties":{}}}},{"type":"function","function":{"name":"nil","description":"","parameters":{"type":"object","properties":{}}}},` +
		`{"type":"function","function":{"name":"none","description":"","parameters":{"type":"object","properties":{}}}}]`
	const head, stream = `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true`, `,"stream_options":{"include_usage":true}`
	for _, b := range []struct {
		name, profile, effort string
		maxTokens             int
		repairs               []string
		tools                 []llm.ToolSchema
		want                  string
	}{
		{"LLM-04 thinking off", "deepseek", "off", 0, nil, nil, head + stream + `,"thinking":{"type":"disabled"},"max_tokens":128000}`},
		{"E41 thinking never sends tool_choice", "deepseek", "high", 0, nil, tools, head + stream + `,"thinking":{"type":"enabled"},"reasoning_effort":"high","max_tokens":128000` + toolsWire + `}`},
		{"V18 empty schemas", "lenient", "", 0, nil, tools, head + stream + toolsWire + `}`},
		{"default effort", "deepseek", "", 9, nil, nil, head + stream + `,"thinking":{"type":"enabled"},"max_tokens":9}`},
		{"openai", "openai", "medium", 9, nil, nil, head + stream + `,"reasoning_effort":"medium","max_completion_tokens":9}`},
		{"openai off", "openai", "off", 0, nil, nil, head + stream + `,"reasoning_effort":"none"}`},
		{"lenient", "lenient", "xhigh", 9, nil, nil, head + stream + `,"reasoning_effort":"xhigh","max_tokens":9}`},
		{"lenient off", "lenient", "off", 0, nil, nil, head + stream + `}`},
		{"U10 learned", "lenient", "", 0, []string{repairStreamOptions}, nil, head + `}`},
		{"E42 learned", "deepseek", "", 0, []string{repairMaxTokens + "8192"}, nil, head + stream + `,"thinking":{"type":"enabled"},"max_tokens":8192}`},
		{"E42 a smaller limit stays", "deepseek", "", 9, []string{repairMaxTokens + "8192"}, nil, head + stream + `,"thinking":{"type":"enabled"},"max_tokens":9}`},
		{"E43 learned", "lenient", "", 9, []string{repairTokensField}, nil, head + stream + `,"max_completion_tokens":9}`},
	} {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			p, _ := ProfileNamed(b.profile)
			h := llm.Header{Config: llm.Config{Model: "m", MaxTokens: b.maxTokens, ReasoningEffort: b.effort}, Tools: b.tools}
			body, n, err := NewEncoder(p).Body(&llm.Request{Header: h, Messages: []*llm.Message{userSays("hi")}}, b.repairs)
			if err != nil || string(body) != b.want || n != 1 {
				t.Errorf("%v, %d messages\n got %s\nwant %s", err, n, body, b.want)
			}
			if why := checkBody(body, false); why != "" {
				t.Error(why)
			}
		})
	}
}

func TestEffortsOfDeepSeek(t *testing.T) {
	t.Parallel()
	p, _ := ProfileNamed("deepseek")
	for level, want := range map[string]string{"minimal": "low", "low": "low", "medium": "high", "high": "high", "xhigh": "high", "max": "max", "ultra": "max", "new": "new", "": "", "off": ""} {
		if got := p.effort(level); got != want {
			t.Errorf("%q is sent as %q, want %q", level, got, want)
		}
	}
}

func TestProfileFor(t *testing.T) {
	t.Parallel()
	for _, tc := range [][3]string{
		{"deepseek", "", "deepseek"}, {"openai", "", "openai"}, {"other", "", "lenient"},
		{"deepseek", "https://api.deepseek.com/v1", "deepseek"}, {"mine", "https://api.deepseek.com", "deepseek"}, {"mine", "https://api.openai.com/v1", "openai"},
		{"deepseek", "http://127.0.0.1:8000/v1", "lenient"}, {"deepseek", "https://deepseek.com.evil.test", "lenient"}, {"openai", "https://notopenai.com", "lenient"},
	} {
		if got := ProfileFor(tc[0], tc[1]).Name; got != tc[2] {
			t.Errorf("ProfileFor(%q, %q) = %s, want %s", tc[0], tc[1], got, tc[2])
		}
	}
	if _, ok := ProfileNamed("nobody"); ok {
		t.Error("a profile called nobody")
	}
}

func TestV15ToolsThatNoEndpointTakes(t *testing.T) {
	t.Parallel()
	p, _ := ProfileNamed("deepseek")
	many := make([]llm.ToolSchema, maxTools+1)
	for i := range many {
		many[i].Name = fmt.Sprint("t", i)
	}
	for name, h := range map[string]llm.Header{
		"129 tools":      {Tools: many},
		"twice":          {Tools: []llm.ToolSchema{{Name: "a"}, {Name: "a"}}},
		"broken schema":  {Tools: []llm.ToolSchema{{Name: "a", Parameters: json.RawMessage("{")}}},
		"LM15 negative":  {Config: llm.Config{MaxTokens: -1}},
		"array a schema": {Tools: []llm.ToolSchema{{Name: "a", Parameters: json.RawMessage("[]")}}},
	} {
		e := NewEncoder(p)
		if _, _, err := e.Body(&llm.Request{Header: h}, nil); err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, _, err := e.Body(&llm.Request{Header: deepseekHeader}, nil); err != nil {
			t.Errorf("%s: the encoder is broken afterwards: %v", name, err)
		}
	}
}

func TestV25ReasoningIsReplayed(t *testing.T) {
	t.Parallel()
	model := func(provider, name string, blocks ...llm.Block) *llm.Message {
		return &llm.Message{Role: llm.Assistant, Content: blocks, Source: llm.Source{Kind: llm.FromModel, Provider: provider, Model: name}}
	}
	history := []*llm.Message{
		userSays("hi"),
		model("deepseek", "deepseek-flash", think1(" verbatim \n"), callBlock("a", "x", "{}")), result("a", "A"), // LLM-01
		model("deepseek", "deepseek-flash", llm.TextBlock("none")),
		model("deepseek", "deepseek-v4-pro", think1("foreign"), llm.TextBlock("other model")),
		model("", "", think1("unknown"), llm.TextBlock("no source")), userSays("more"),
	}
	reasonings := func(profile, effort string, repairs ...string) string {
		p, _ := ProfileNamed(profile)
		h := deepseekHeader
		h.Config.ReasoningEffort = effort
		body, _, err := NewEncoder(p).Body(&llm.Request{Header: h, Messages: history}, repairs)
		if err != nil {
			t.Fatal(err)
		}
		var b checkedBody
		if err := json.Unmarshal(body, &b); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range b.Messages {
			if m.Reasoning != nil {
				got = append(got, *m.Reasoning)
			}
		}
		return fmt.Sprintf("%q", got)
	}
	for _, tc := range []struct {
		name, profile, effort, want string
		repairs                     []string
	}{
		{"LLM-01 thinking", "deepseek", "", `[" verbatim \n" "" "" "unknown"]`, nil},
		{"LLM-04 not thinking", "deepseek", "off", `[]`, nil},
		{"E40 placeholder", "deepseek", "high", `[" verbatim \n" " " " " "unknown"]`, []string{repairPlaceholder}},
		{"V27 others", "openai", "", `[]`, nil},
		{"V27 unknown endpoints", "lenient", "", `[]`, nil},
		{"V27 learned", "deepseek", "", `[]`, []string{repairNoReplay}},
		{"V26 of another model", "deepseek", "max", `[" verbatim \n" "" "" "unknown"]`, nil},
		{"E40 learned", "lenient", "", `[" verbatim \n" "" "" "unknown"]`, []string{repairReplay}},
	} {
		if got := reasonings(tc.profile, tc.effort, tc.repairs...); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

func TestLLM02LLM03V13EmptyContents(t *testing.T) {
	t.Parallel()
	body := encoded(t, "deepseek", deepseekHeader, userSays("hi"), calls1(callBlock("a", "x", "")), result("a", ""))
	for _, want := range []string{
		`{"role":"assistant","content":"","reasoning_content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]}`,
		`{"role":"tool","tool_call_id":"a","content":"(no output)"}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
}

func TestRequestsShareTheirPrefix(t *testing.T) {
	t.Parallel()
	p, _ := ProfileNamed("deepseek")
	e := NewEncoder(p)
	h := deepseekHeader
	h.System = "s"
	r := &llm.Request{Header: h}
	var before []byte
	for i := range 50 {
		id := fmt.Sprint("c", i%7)
		r.Messages = append(slices.Clone(r.Messages), userSays("do it"), calls1(think1("hm"), callBlock(id, "x", `{"a":1}`)), result(id, "done"), says("ok"), userSays("and"))
		body, _, err := e.Body(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		fresh, _, _ := NewEncoder(p).Body(r, nil) // RQ14: any process makes the same bytes of it
		if !bytes.Equal(body, fresh) {
			t.Fatalf("step %d: reused bytes differ\n%s\n%s", i, body, fresh)
		}
		if !bytes.HasPrefix(body, before) {
			t.Fatalf("step %d does not begin with the messages of the step before", i)
		}
		before = bytes.Clone(messagesOf(body))
	}
}

// messagesOf is the body up to the last message, without the end of the array.
func messagesOf(body []byte) []byte {
	return body[:bytes.LastIndex(body, []byte(`],"stream":true`))]
}

func TestTheEncoderStartsAnewWhenTheHistoryIsAnother(t *testing.T) {
	t.Parallel()
	p, _ := ProfileNamed("deepseek")
	e := NewEncoder(p)
	other := deepseekHeader
	other.System = "changed"
	a, b, c := userSays("a"), userSays("b"), userSays("c")
	for i, step := range []struct {
		h       llm.Header
		m       []*llm.Message
		repairs []string
	}{
		{deepseekHeader, []*llm.Message{a, b}, nil},
		{deepseekHeader, []*llm.Message{a, c}, nil},
		{deepseekHeader, []*llm.Message{c}, nil},
		{other, []*llm.Message{c, a}, nil},
		{other, []*llm.Message{c, a}, []string{repairStreamOptions}},
		{other, []*llm.Message{c, a, b}, []string{repairStreamOptions}},
	} {
		r := &llm.Request{Header: step.h, Messages: step.m}
		got, n, err := e.Body(r, step.repairs)
		want, m, _ := NewEncoder(p).Body(r, step.repairs)
		if err != nil || !bytes.Equal(got, want) || n != m {
			t.Errorf("step %d: %v\n got %s\nwant %s", i, err, got, want)
		}
	}
}

func TestABodyOnItsWayIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	p, _ := ProfileNamed("deepseek")
	e := NewEncoder(p)
	type sent struct {
		prefix, tail []byte
		digest       string
	}
	var all []sent
	r := &llm.Request{Header: deepseekHeader}
	for i := range 40 {
		r.Messages = append(r.Messages, userSays("hi"), calls1(callBlock(fmt.Sprint(i), "x", "{}"))) // the result is pending
		prefix, tail, _, err := e.parts(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sent{prefix, tail, digest(prefix, tail)})
		if i%9 == 8 {
			r.Messages = r.Messages[:1]
		}
	}
	for i, s := range all {
		if digest(s.prefix, s.tail) != s.digest {
			t.Errorf("the bytes of request %d have changed", i)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			p, _ := ProfileNamed("deepseek")
			history := make([]*llm.Message, n, n+1)
			for i := range history {
				history[i] = userSays(strings.Repeat("some words of a message ", 40))
			}
			last := userSays(strings.Repeat("the new message ", 40))
			e := NewEncoder(p)
			r := &llm.Request{Header: deepseekHeader, Messages: history}
			if _, _, err := e.Body(r, nil); err != nil {
				b.Fatal(err)
			}
			length, count, ids := len(e.prefix), e.count, e.norm
			r.Messages = append(history, last)
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := e.Body(r, nil); err != nil {
					b.Fatal(err)
				}
				e.prefix, e.count, e.norm, e.seen = e.prefix[:length], count, ids, e.seen[:n] // as before the new message
			}
		})
	}
}

func TestT24ASignatureGoesBackToItsModelOnly(t *testing.T) {
	t.Parallel()
	signed := callBlock("a", "x", "{}")
	signed.Extra = json.RawMessage(`{ "google": {"thought_signature": "S"} }`)
	m := calls1(signed)
	m.Source = llm.Source{Kind: llm.FromModel, Provider: "gemini", Model: "g"}
	const onWire = `"arguments":"{}"},"extra_content":{"google":{"thought_signature":"S"}}}]`
	for _, tc := range []struct {
		provider, model string
		want            bool
	}{{"gemini", "g", true}, {"gemini", "other", false}, {"deepseek", "g", false}} {
		h := llm.Header{Config: llm.Config{Provider: tc.provider, Model: tc.model}}
		body := encoded(t, "lenient", h, userSays("hi"), m, result("a", "A"))
		if strings.Contains(body, onWire) != tc.want || strings.Contains(body, "signature") != tc.want {
			t.Errorf("%s/%s: %s", tc.provider, tc.model, body)
		}
	}
}

func TestS08LM13ReasoningDetailsGoBackToTheirModelOnly(t *testing.T) {
	t.Parallel()
	m := calls1(callBlock("a", "x", "{}"))
	m.Source = llm.Source{Kind: llm.FromModel, Provider: "openrouter", Model: "c", Replay: json.RawMessage(`{"reasoning_details":[{"type":"reasoning.text", "text":"a<b","signature":"S"}]}`)}
	foreign := *m
	foreign.Source.Replay = json.RawMessage(`{"adapter":"x","state":[1]}`)
	const onWire = `"content":"","reasoning_details":[{"type":"reasoning.text","text":"a\u003cb","signature":"S"}],"tool_calls":[`
	for _, tc := range []struct {
		message         *llm.Message
		provider, model string
		want            bool
	}{{m, "openrouter", "c", true}, {m, "openrouter", "other", false}, {m, "deepseek", "c", false}, {&foreign, "openrouter", "c", false}} {
		h := llm.Header{Config: llm.Config{Provider: tc.provider, Model: tc.model}}
		body := encoded(t, "lenient", h, userSays("hi"), tc.message, result("a", "A"))
		if strings.Contains(body, onWire) != tc.want || strings.Contains(body, "reasoning_details") != tc.want {
			t.Errorf("%s/%s: %s", tc.provider, tc.model, body)
		}
	}
}
