package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const (
	sys    = `{"role":"system","content":"s"}`
	hi     = `{"role":"user","content":"hi"}`
	call1  = `{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"p\":1}"}}`
	call2  = `{"id":"c2","type":"function","function":{"name":"read","arguments":"{}"}}`
	result = `{"role":"tool","tool_call_id":"c1","content":"r"}`
	said   = `{"role":"assistant","content":"yes","reasoning_content":""}`
	tool   = `{"type":"function","function":{"name":"read","description":"d","parameters":{"type":"object","properties":{}}}}`
)

// asks is a request with these fields beside model and messages.
func asks(fields string, messages ...string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"model":"m","messages":[` + strings.Join(messages, ",") + `]` + fields + `}`
}

func called(calls ...string) string {
	return `{"role":"assistant","content":"","reasoning_content":"","tool_calls":[` + strings.Join(calls, ",") + `]}`
}

// calledOpenAI has no reasoning and no content, as that dialect wants and allows.
func calledOpenAI(calls ...string) string {
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func callWith(id, name, args string) string {
	b, _ := json.Marshal(args) // a string
	return fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}`, id, name, b)
}

func toolNamed(name string) string { return strings.Replace(tool, "read", name, 1) }

func TestValidatorAcceptsWhatProvidersAccept(t *testing.T) {
	t.Parallel()
	image := `{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`
	for _, c := range []struct{ name, dialect, body string }{
		{"a first request", "", asks(`"stream":true,"stream_options":{"include_usage":true},"thinking":{"type":"enabled"},"reasoning_effort":"high","max_tokens":393216,"tools":[`+tool+`]`, sys, hi)},
		{"a finished turn", DeepSeek, asks("", sys, hi, called(call1), result, said, hi)},
		{"two calls and their results", DeepSeek, asks("", sys, hi, called(call1, call2), result, strings.Replace(result, "c1", "c2", 1))},
		{"two user messages", DeepSeek, asks("", sys, hi, hi)},
		{"sampling parameters in thinking mode", DeepSeek, asks(`"temperature":0.5,"top_p":1,"presence_penalty":0,"frequency_penalty":0`, sys, hi)},
		{"tool_choice without thinking", DeepSeek, asks(`"thinking":{"type":"disabled"},"tool_choice":"required","tools":[`+tool+`]`, sys, hi)},
		{"no reasoning without thinking", DeepSeek, asks(`"thinking":{"type":"disabled"}`, sys, hi, `{"role":"assistant","content":"x"}`, hi)},
		{"a named tool_choice", OpenAI, asks(`"tool_choice":{"type":"function","function":{"name":"read"}},"tools":[`+tool+`]`, sys, hi)},
		{"keys with escapes and blanks", DeepSeek, strings.Replace(asks("", sys, hi), `"model":`, ` "m\u006fdel" : `, 1)},
		{"an image", DeepSeek, asks("", sys, image)},
		{"backslash-u-zero as text", DeepSeek, asks("", sys, `{"role":"user","content":"a \\u0000 b"}`)},
		{"a surrogate pair", DeepSeek, asks("", sys, `{"role":"user","content":"\ud83d\ude00"}`)},
		{"128 tools", DeepSeek, asks(`"tools":[`+manyTools(128)+`]`, sys, hi)},
		{"a developer message", OpenAI, asks(`"max_completion_tokens":1`, `{"role":"developer","content":"s"}`, hi)},
		{"content null beside calls", OpenAI, asks("", sys, hi, calledOpenAI(call1), result)},
		{"parts in a tool message", OpenAI, asks("", sys, hi, calledOpenAI(call1), `{"role":"tool","tool_call_id":"c1","content":[{"type":"text","text":"r"}]}`)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if status, answer := Validate([]byte(c.body), c.dialect); status != 0 {
				t.Errorf("%d %s\nfor %s", status, answer, c.body)
			}
		})
	}
}

func manyTools(n int) string {
	var list []string
	for i := range n {
		list = append(list, toolNamed(fmt.Sprintf("t%d", i)))
	}
	return strings.Join(list, ",")
}

// TestValidatorRefuses has a line for every rule; the ids are those of the histories
// that the rules keep out.
func TestValidatorRefuses(t *testing.T) {
	t.Parallel()
	other := strings.Replace(result, "c1", "c2", 1)
	for _, c := range []struct{ name, dialect, body, want string }{
		{"V00 not JSON", "", `{"model":`, "parse the request body"},
		{"V00 not an object", "", `[]`, "invalid type: sequence, expected an object"},
		{"V00 field twice", "", `{"model":"m","model":"m"}`, "duplicate field `model`"},
		{"V00 no model", "", `{"messages":[` + hi + `]}`, "missing field `model`"},
		{"V00 empty model", "", `{"model":"","messages":[` + hi + `]}`, "provide a model"},
		{"V00 no messages", "", `{"model":"m"}`, "missing field `messages`"},
		{"V00 null messages", "", `{"model":"m","messages":null}`, "invalid type: null, expected an array"},
		{"V00 no message", "", asks(""), "Empty input messages"},
		{"V00 message is no object", "", asks("", `"x"`), "messages[0]: invalid type: string"},
		{"V00 no role", "", asks("", `{"content":"x"}`), "messages[0]: missing field `role`"},
		{"V00 unknown role", "", asks("", sys, `{"role":"function","content":"x"}`), "unknown variant `function`"},
		{"V01 call without a result", "", asks("", sys, hi, called(call1)), "must be followed by tool messages"},
		{"V01 one of two results missing", "", asks("", sys, hi, called(call1, call2), result), "insufficient tool messages"},
		{"V02 user between call and result", "", asks("", sys, hi, called(call1), hi, result), "insufficient tool messages"},
		{"V03 result of no call", "", asks("", sys, hi, result), "must be a response to a preceding message"},
		{"V03 result of another id", "", asks("", sys, hi, called(call1), other), "insufficient tool messages"},
		{"V04 results out of order", "", asks("", sys, hi, called(call1, call2), other, result), "in the order of the tool_calls"},
		{"V04 result twice", "", asks("", sys, hi, called(call1), result, result), "must be a response"},
		{"V05 id twice in a message", "", asks("", sys, hi, called(call1, call1), result, result), "Duplicate value for 'tool_call_id' of c1"},
		{"V05 id twice in a session", "", asks("", sys, hi, called(call1), result, called(call1), result), "Duplicate value"},
		{"V06 empty id", "", asks("", sys, hi, called(strings.Replace(call1, "c1", "", 1)), result), "minimum length 1"},
		{"V07 long id", OpenAI, asks("", sys, hi, calledOpenAI(callWith(strings.Repeat("x", 41), "read", "{}"))), "maximum length 40"},
		{"V08 neither content nor calls", "", asks("", sys, hi, `{"role":"assistant","content":"","reasoning_content":"r"}`, hi), "content or tool_calls must be set"},
		{"V08 neither, openai", OpenAI, asks("", sys, hi, `{"role":"assistant","content":null}`, hi), "content or tool_calls must be set"},
		{"V08 empty tool_calls", "", asks("", sys, hi, called(), hi), "[] is too short"},
		{"V09 content absent", "", asks("", sys, hi, strings.Replace(called(call1), `"content":"",`, "", 1), result), "messages[2]: missing field `content`"},
		{"V09 content null", "", asks("", sys, hi, strings.Replace(called(call1), `"content":""`, `"content":null`, 1), result), "messages[2].content: invalid type: null, expected a string"},
		{"V09 user content absent", OpenAI, asks("", sys, `{"role":"user"}`), "Missing required parameter: 'messages[1].content'"},
		{"V10 content as parts", "", asks("", `{"role":"system","content":[{"type":"text","text":"s"}]}`, hi), "invalid type: sequence, expected a string"},
		{"V10 tool content as parts", "", asks("", sys, hi, called(call1), `{"role":"tool","tool_call_id":"c1","content":[]}`), "invalid type: sequence"},
		{"V11 empty tool output", "", asks("", sys, hi, called(call1), strings.Replace(result, `"r"`, `""`, 1)), "must not be empty"},
		{"V12 arguments cut", "", asks("", sys, hi, called(callWith("c1", "read", `{"p":`)), result), "must be a JSON object"},
		{"V12 arguments empty", "", asks("", sys, hi, called(callWith("c1", "read", "")), result), "must be a JSON object"},
		{"V12 arguments null", "", asks("", sys, hi, called(callWith("c1", "read", "null")), result), "must be a JSON object"},
		{"V12 arguments twice", "", asks("", sys, hi, called(callWith("c1", "read", `{}{}`)), result), "must be a JSON object"},
		{"V12 arguments an object", "", asks("", sys, hi, called(`{"id":"c1","type":"function","function":{"name":"read","arguments":{}}}`), result), "invalid type: map, expected a string"},
		{"V13 no type", "", asks("", sys, hi, called(strings.Replace(call1, `"type":"function",`, "", 1)), result), "missing field `type`"},
		{"V13 another type", "", asks("", sys, hi, called(strings.Replace(call1, `"function",`, `"custom",`, 1)), result), "unknown variant `custom`"},
		{"V13 flattened call", "", asks("", sys, hi, called(`{"id":"c1","type":"function","name":"read","arguments":"{}"}`), result), "unknown field `name`"},
		{"V13 no function", "", asks("", sys, hi, called(`{"id":"c1","type":"function"}`), result), "missing field `function`"},
		{"V14 name of a called tool", "", asks("", sys, hi, called(callWith("c1", "fs.read", "{}")), result), "tool_calls[0].function.name': string does not match pattern"},
		{"V14 name of a tool", "", asks(`"tools":[`+tool+`,`+toolNamed("a b")+`]`, sys, hi), "Invalid 'tools[1].function.name': string does not match pattern"},
		{"V14 long name", "", asks(`"tools":[`+toolNamed(strings.Repeat("n", 65))+`]`, sys, hi), "maximum length 64"},
		{"V15 129 tools", "", asks(`"tools":[`+manyTools(129)+`]`, sys, hi), "maximum length 128"},
		{"V15 name twice", "", asks(`"tools":[`+tool+`,`+tool+`]`, sys, hi), "must be unique: read"},
		{"V15 no tool", "", asks(`"tools":[]`, sys, hi), "[] is too short - 'tools'"},
		{"V15 tools null", "", asks(`"tools":null`, sys, hi), "tools: invalid type: null"},
		{"V18 no parameters", "", asks(`"tools":[{"type":"function","function":{"name":"read"}}]`, sys, hi), "missing field `parameters`"},
		{"V18 parameters null", "", asks(`"tools":[{"type":"function","function":{"name":"read","parameters":null}}]`, sys, hi), "invalid type: null, expected an object"},
		{"V18 parameters empty", "", asks(`"tools":[{"type":"function","function":{"name":"read","parameters":{}}}]`, sys, hi), "type: \"None\""},
		{"V18 tool of another type", "", asks(`"tools":[{"type":"mcp","function":{"name":"read","parameters":{"type":"object"}}}]`, sys, hi), "unknown variant `mcp`"},
		{"V18 tool without function", "", asks(`"tools":[{"type":"function"}]`, sys, hi), "missing field `function`"},
		{"V18 description null", "", asks(`"tools":[{"type":"function","function":{"name":"read","description":null,"parameters":{"type":"object"}}}]`, sys, hi), "description: invalid type: null"},
		{"V18 unknown field of a tool", "", asks(`"tools":[{"type":"function","function":{"name":"read","x":1}}]`, sys, hi), "unknown field `x`"},
		{"V19 no system message", "", asks("", hi), "System message must be at the beginning"},
		{"V19 system message later", "", asks("", hi, sys, hi), "System message must be at the beginning"},
		{"V19 two system messages", "", asks("", sys, sys, hi), "be the only one"},
		{"V20 developer", "", asks("", `{"role":"developer","content":"s"}`, hi), "unknown variant `developer`, expected one of `system`, `user`, `assistant`, `tool`"},
		{"V23 assistant last", "", asks("", sys, hi, said), "last message"},
		{"V23 system last", "", asks("", sys), "last message"},
		{"V24 blank user content", "", asks("", sys, `{"role":"user","content":" \n"}`), "must not be empty"},
		{"V24 no parts", "", asks("", sys, `{"role":"user","content":[]}`), "must not be empty"},
		{"V25 reasoning missing", "", asks("", sys, hi, `{"role":"assistant","content":"x"}`, hi), "`reasoning_content` in the thinking mode must be passed back"},
		{"V25 reasoning missing beside calls", "", asks(`"thinking":{"type":"enabled"}`, sys, hi, calledOpenAI(call1), result), "invalid type: null"},
		{"V25 reasoning null", "", asks("", sys, hi, `{"role":"assistant","content":"x","reasoning_content":null}`, hi), "reasoning_content: invalid type: null"},
		{"V27 reasoning where it is not known", OpenAI, asks("", sys, hi, said, hi), "Unrecognized request argument supplied: messages[2].reasoning_content"},
		{"V28 unknown part", "", asks("", sys, `{"role":"user","content":[{"type":"audio"}]}`), "unknown variant `audio`"},
		{"V28 image without url", "", asks("", sys, `{"role":"user","content":[{"type":"image_url","image_url":{}}]}`), "missing field `url`"},
		{"V28 image in a tool message", OpenAI, asks("", sys, hi, calledOpenAI(call1), `{"role":"tool","tool_call_id":"c1","content":[{"type":"image_url"}]}`), "expected an object"},
		{"V29 not UTF-8", "", asks("", sys, "{\"role\":\"user\",\"content\":\"\xff\"}"), "not UTF-8"},
		{"V29 NUL", "", asks("", sys, `{"role":"user","content":"a\u0000"}`), "NUL in a string"},
		{"V29 NUL in arguments", "", asks("", sys, hi, called(callWith("c1", "read", `{"p":"\u0000"}`)), result), "NUL in a string"},
		{"V29 half a surrogate pair", "", asks("", sys, `{"role":"user","content":"\ud83d"}`), "lone surrogate"},
		{"V29 two first halves", "", asks("", sys, `{"role":"user","content":"\ud83d\ud83d"}`), "lone surrogate"},
		{"V29 raw control byte", "", asks("", sys, "{\"role\":\"user\",\"content\":\"\x01\"}"), "parse the request body"},
		{"V31 max_tokens above the range", "", asks(`"max_tokens":393217`, sys, hi), "the valid range of max_tokens is [1, 393216]"},
		{"V31 max_tokens zero", "", asks(`"max_tokens":0`, sys, hi), "valid range of max_tokens"},
		{"V31 max_tokens a fraction", "", asks(`"max_tokens":1.5`, sys, hi), "valid range of max_tokens"},
		{"V31 wrong field", OpenAI, strings.Replace(asks(`"max_tokens":10`, sys, hi), `"m"`, `"openai/gpt-5.4"`, 1), "Use 'max_completion_tokens' instead"},
		{"V31 max_completion_tokens", OpenAI, asks(`"max_completion_tokens":128001`, sys, hi), "max_completion_tokens"},
		{"V32 tool_choice in thinking mode", "", asks(`"tool_choice":"auto","tools":[`+tool+`]`, sys, hi), "Thinking mode does not support this tool_choice"},
		{"V32 tool_choice without tools", OpenAI, asks(`"tool_choice":"auto"`, sys, hi), "only allowed when 'tools'"},
		{"V32 unknown tool_choice", OpenAI, asks(`"tool_choice":"any","tools":[`+tool+`]`, sys, hi), "Invalid value: 'any'"},
		{"V33 unknown field", "", asks(`"enable_thinking":true`, sys, hi), "unknown field `enable_thinking`"},
		{"V33 thinking elsewhere", OpenAI, asks(`"thinking":{"type":"enabled"}`, sys, hi), "Unrecognized request argument supplied: thinking"},
		{"V33 thinking of another type", "", asks(`"thinking":{"type":"on"}`, sys, hi), "unknown variant `on`"},
		{"V33 unknown effort", "", asks(`"reasoning_effort":"off"`, sys, hi), "unknown variant `off`"},
		{"V33 temperature a string", "", asks(`"temperature":"0"`, sys, hi), "temperature: invalid type: string"},
		{"V33 stream a string", "", asks(`"stream":"true"`, sys, hi), "stream: invalid type: string"},
		{"V33 stream_options without stream", "", asks(`"stream_options":{"include_usage":true}`, sys, hi), "along with stream = true"},
		{"V33 unknown stream option", "", asks(`"stream":true,"stream_options":{"x":1}`, sys, hi), "unknown field `x`"},
		{"V33 empty user_id", "", asks(`"user_id":""`, sys, hi), "user_id"},
		{"V35 name", "", asks("", sys, `{"role":"user","name":"u","content":"x"}`), "messages[1]: unknown field `name`"},
		{"V35 response keys echoed", "", asks("", sys, hi, `{"role":"assistant","content":"x","reasoning_content":"","refusal":null}`, hi), "unknown field `refusal`"},
		{"V35 index echoed", "", asks("", sys, hi, called(strings.Replace(call1, `{"id"`, `{"index":0,"id"`, 1)), result), "unknown field `index`"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			status, answer := Validate([]byte(c.body), c.dialect)
			var shape struct {
				Error struct{ Message, Type string }
			}
			if err := json.Unmarshal(answer, &shape); err != nil {
				t.Fatalf("answer %q: %v", answer, err)
			}
			if status != http.StatusBadRequest || shape.Error.Type != "invalid_request_error" || !strings.Contains(shape.Error.Message, c.want) {
				t.Errorf("%d %q, want 400 with %q", status, shape.Error.Message, c.want)
			}
		})
	}
}

func TestValidatorNamesAnUnknownDialect(t *testing.T) {
	t.Parallel()
	if status, answer := Validate([]byte(asks("", sys, hi)), "klingon"); status != 500 || !strings.Contains(string(answer), "klingon") {
		t.Errorf("%d %s", status, answer)
	}
}

// FuzzValidate: whatever comes, an answer is valid JSON and nothing panics.
func FuzzValidate(f *testing.F) {
	for _, seed := range []string{asks("", sys, hi, called(call1), result), `{"a":"\ud83d"}`, `"\u00`, `{"messages":[{"role":"tool"}]}`} {
		f.Add([]byte(seed), true)
	}
	f.Fuzz(func(t *testing.T, body []byte, deepseek bool) {
		dialect := OpenAI
		if deepseek {
			dialect = DeepSeek
		}
		if status, answer := Validate(body, dialect); status != 0 && !json.Valid(answer) {
			t.Errorf("answer %q", answer)
		}
	})
}
