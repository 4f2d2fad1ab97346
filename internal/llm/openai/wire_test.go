package openai

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"dsh/internal/llm"
	"dsh/internal/llm/llmtest"
)

// wireCase is an answer and what must come of it.
type wireCase struct {
	name    string
	profile string // deepseek unless set
	stream  string
	resp    func() *http.Response // instead of stream

	text, reasoning, calls string
	kind                   llm.FinishKind // stop unless set; error when code is
	code                   llm.Code
	says                   string // part of the failure's message
	usage                  string
	more                   func(*testing.T, outcome)
}

// check feeds the bytes to the client from memory, and those of a stream also
// through a server that writes them a few at a time.
func (w wireCase) check(t *testing.T) {
	profile := cmp.Or(w.profile, "deepseek")
	if w.resp != nil {
		w.judge(t, run(t, newClient(t, profile, func(r *http.Request) (*http.Response, error) { drain(r); return w.resp(), nil }), ask("hi")))
		return
	}
	w.judge(t, run(t, newClient(t, profile, serving(w.stream)), ask("hi")))
	server := serveRaw(t, w.stream)
	w.judge(t, run(t, newClient(t, profile, server.Pipe().RoundTrip), ask("hi")))
	if err := server.Done(); err != nil {
		t.Error(err)
	}
}

// serveRaw is a server that answers one request with exactly these bytes.
func serveRaw(t *testing.T, stream string) *llmtest.Server {
	t.Helper()
	var escaped strings.Builder
	for _, c := range []byte(stream) {
		fmt.Fprintf(&escaped, `\x%02x`, c)
	}
	script, err := llmtest.Parse("raw", strings.NewReader("lenient\n== bytes\nsplit 61\nraw "+escaped.String()+"\neof\n"))
	if err != nil {
		t.Fatal(err)
	}
	server := llmtest.NewServer(script)
	t.Cleanup(func() { _ = server.Close() })
	return server
}

func (w wireCase) judge(t *testing.T, o outcome) {
	t.Helper()
	kind := w.kind
	if kind == "" {
		kind = llm.Stop
	}
	if w.code != "" {
		kind = llm.Failed
	}
	if o.err != nil || o.fin.Kind != kind || o.code() != w.code || !strings.Contains(o.message(), w.says) {
		t.Errorf("error %v, finish %s %s %q, want %s %s %q", o.err, o.fin.Kind, o.code(), o.message(), kind, w.code, w.says)
	}
	if o.text() != w.text || o.reasoning() != w.reasoning || o.calls() != w.calls {
		t.Errorf("text %.200q reasoning %.200q calls %.200q\nwant %.200q, %.200q, %.200q", o.text(), o.reasoning(), o.calls(), w.text, w.reasoning, w.calls)
	}
	if got := usageString(o.usage); w.usage != "" && got != w.usage {
		t.Errorf("usage %s, want %s", got, w.usage)
	}
	if w.more != nil {
		w.more(t, o)
	}
}

func runCases(t *testing.T, cases []wireCase) {
	t.Helper()
	for _, w := range cases {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			w.check(t)
		})
	}
}

// keeps checks the replay state of an answer; "" none.
func keeps(state string) func(*testing.T, outcome) {
	return func(t *testing.T, o outcome) {
		t.Helper()
		if got := string(o.chunks[len(o.chunks)-1].Replay); got != state {
			t.Errorf("the replay state is %.300s, want %s", got, state)
		}
	}
}

func usageString(u *llm.Usage) string {
	if u == nil {
		return "none"
	}
	s := fmt.Sprintf("in %d out %d", u.InputTokens, u.OutputTokens)
	if u.CacheReadTokens != nil {
		s += fmt.Sprintf(" read %d", *u.CacheReadTokens)
	}
	if u.CacheWriteTokens != nil {
		s += fmt.Sprintf(" write %d", *u.CacheWriteTokens)
	}
	if u.ReasoningTokens != nil {
		s += fmt.Sprintf(" reasoning %d", *u.ReasoningTokens)
	}
	if u.CostNano != nil {
		s += fmt.Sprintf(" nano %d", *u.CostNano)
	}
	return s
}

func stream(body io.Reader) func() *http.Response {
	return func() *http.Response { return answer(200, "text/event-stream", body) }
}

func whole(contentType, body string) func() *http.Response {
	return func() *http.Response { return answer(200, contentType, strings.NewReader(body)) }
}

var (
	contentA = cc(`{"content":"a"}`)
	plain    = contentA + ff("stop") + dd // F01
)

func TestFraming(t *testing.T) {
	t.Parallel()
	split := contentA + cc(`{"content":"b"}`) + ff("stop") + dd
	between := func(s string) string { return strings.ReplaceAll(split, "data: ", s+"data: ") }
	runCases(t, []wireCase{
		{name: "F01 plain", stream: plain, text: "a"},
		{name: "F02 5000 keep-alives", stream: strings.Repeat(": keep-alive\n\n", 5000) + plain, text: "a"},
		{name: "F03 comments between", stream: between(": OPENROUTER PROCESSING\n\n"), text: "ab"},
		{name: "F04 comments without a blank line", stream: between(":\n:ping\n"), text: "ab"},
		{name: "F05 other fields", stream: between("id: 7\nevent: message\nretry: 100\n"), text: "ab"},
		{name: "F06 ping after an id", stream: "id: 7\n" + contentA + ": ping\n\nid: 8\n\n" + ff("stop") + dd, text: "a"},
		{name: "F07 CRLF", stream: strings.ReplaceAll(split, "\n", "\r\n"), text: "ab"},
		{name: "F08 bare CR", stream: strings.ReplaceAll(split, "\n", "\r"), text: "ab"},
		{name: "F09 byte order mark", stream: "\xEF\xBB\xBF" + plain, text: "a"},
		{name: "F10 no space after data", stream: strings.ReplaceAll(plain, "data: ", "data:"), text: "a"},
		{name: "F10 many spaces after data", stream: strings.ReplaceAll(plain, "data: ", "data:   "), text: "a"},
		{name: "F11 a document over two lines", stream: "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"a\"}}]}\n\n" + ff("stop") + dd, text: "a"},
		{name: "F12 empty data", stream: between("data:\n\ndata: \n\n"), text: "ab"},
		{name: "F12 empty documents", stream: between("data: {}\n\ndata: null\n\nevent: ping\ndata: {}\n\n"), text: "ab"},
		{name: "F13 one byte at a time", resp: stream(iotest.OneByteReader(strings.NewReader(cc(`{"content":"阴气渐重😀"}`) + ff("stop") + dd))), text: "阴气渐重😀"},
		{name: "F13 cut between CR and LF", resp: stream(iotest.OneByteReader(strings.NewReader(strings.ReplaceAll(split, "\n", "\r\n")))), text: "ab"},
		{name: "F15 closed without an end", stream: contentA, text: "a", code: llm.CodeStreamClosed, says: "before the answer was complete"},
		{name: "F15 connection reset", resp: stream(io.MultiReader(strings.NewReader(contentA), iotest.ErrReader(io.ErrUnexpectedEOF))), text: "a", code: llm.CodeStreamClosed, says: "model.test"},
		{name: "F16 closed after the finish", stream: contentA + ff("stop"), text: "a"},
		{name: "F16 reset after the finish", resp: stream(io.MultiReader(strings.NewReader(contentA+ff("stop")), iotest.ErrReader(io.ErrUnexpectedEOF))), text: "a"},
		{name: "F17 done without a finish", stream: contentA + dd, text: "a"},
		{name: "F17 done inside a call", stream: contentA + tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{\"a"}`) + dd, text: "a", calls: `x({"a)`, code: llm.CodeStreamClosed, says: "tool call"},
		{name: "F18 cut inside an event", stream: contentA + `data: {"choices":[{"index":0,"del`, text: "a", code: llm.CodeStreamClosed},
		{name: "F19 no newline at the end", stream: contentA + ff("stop") + "data: [DONE]", text: "a"},
		{name: "F19 no newline after the finish", stream: contentA + strings.TrimRight(ff("stop"), "\n"), text: "a"},
		{name: "F20 not JSON", stream: contentA + raw("{not json}") + ff("stop") + dd, text: "a", code: llm.CodeMalformed, says: "cannot be read"},
		{name: "F21 bytes after done", stream: plain + cc(`{"content":"late"}`), text: "a"},
		{name: "F22 done with a space", stream: contentA + ff("stop") + "data: [DONE] \n\n" + contentA, text: "a"},
		{name: "F22 done without a space", stream: contentA + ff("stop") + "data:[DONE]\n\n" + contentA, text: "a"},
		{name: "F25 HTTP/2 reset", resp: stream(io.MultiReader(strings.NewReader(contentA), iotest.ErrReader(errors.New("stream error: stream ID 5; INTERNAL_ERROR")))), text: "a", code: llm.CodeTransport, says: "INTERNAL_ERROR"},
		{name: "F26 a JSON error with 200", resp: whole("application/json", `{"error":{"message":"m","code":502}}`), code: llm.CodeServer, says: "m"},
		{name: "F27 a whole answer", resp: whole("application/json", `{"choices":[{"message":{"content":"whole","tool_calls":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":5}}`), text: "whole", usage: "in 10 out 5"},
		{name: "F27 a whole answer with calls", resp: whole("application/json", `{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`), calls: "x({})", kind: llm.ToolCalls},
		{name: "F28 wrapped in data", resp: whole("application/json", `{"data":{"choices":[{"message":{"content":"w"},"finish_reason":"stop"}]},"success":true}`), text: "w"},
		{name: "F29 HTML", resp: whole("text/html", "<!DOCTYPE html><html>login"+strings.Repeat("x", 6000)), code: llm.CodeConfig, says: "http://model.test/v1"},
		{name: "F30 redirect", resp: func() *http.Response {
			return answer(302, "", strings.NewReader(""), "Location", "https://elsewhere.test/login")
		}, code: llm.CodeConfig, says: "redirects to elsewhere.test"},
		{name: "F33 newlines before the JSON", resp: whole("application/json", strings.Repeat("\n", 500)+`{"choices":[{"message":{"content":"w"},"finish_reason":"stop"}]}`), text: "w"},
		{name: "F34 one newline between events", stream: strings.ReplaceAll(split, "\n\n", "\n"), text: "ab"},
		{name: "F35 neither JSON nor a stream", resp: whole("text/plain", "oh this is malformed"), code: llm.CodeMalformed, says: "(text/plain) is no event stream: oh this is malformed"},
		{name: "F36 an empty body", resp: whole("application/json", ""), code: llm.CodeEmptyResponse, says: "empty"},
		{name: "F36 keep-alives and nothing else", stream: strings.Repeat(": keep-alive\n\n", 9), code: llm.CodeEmptyResponse},
		{name: "F36 only done", stream: dd, code: llm.CodeEmptyResponse},
	})
}

func TestChunkShapes(t *testing.T) {
	t.Parallel()
	choice := func(c string) string { return raw(`{"choices":[` + c + `]}`) }
	end := ff("stop") + dd
	runCases(t, []wireCase{
		{name: "S01 no choices first", stream: raw(`{"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0}]}`) + raw(`{"choices":null}`) + plain, text: "a"},
		{name: "S02 choice without delta", stream: choice(`{"index":0,"finish_reason":null,"content_filter_results":{},"content_filter_offsets":{"check_offset":44}}`) + choice(`{"index":0,"delta":null}`) + plain, text: "a"},
		{name: "S03 deltas that say nothing", stream: cc(`{"role":"assistant"}`) + cc(`{"role":"assistant","content":null}`) + cc(`{}`) + cc(`{"content":""}`) + plain, text: "a", more: func(t *testing.T, o outcome) {
			if len(o.chunks) != 4 {
				t.Errorf("%d chunks, want start, delta, end, finish: %+v", len(o.chunks), o.chunks)
			}
		}},
		{name: "S04 empty reasoning opens nothing", stream: cc(`{"role":"assistant","content":null,"reasoning_content":""}`) + plain, text: "a", more: func(t *testing.T, o outcome) {
			if len(o.blocks) != 1 {
				t.Errorf("blocks %+v", o.blocks)
			}
		}},
		{name: "S05 reasoning, then text", stream: cc(`{"reasoning_content":"A"}`) + cc(`{"reasoning_content":" B\n"}`) + cc(`{"content":"c"}`) + end, reasoning: "A B\n", text: "c"},
		{name: "S06 the field reasoning", stream: cc(`{"reasoning":"A"}`) + cc(`{"content":"c"}`) + end, reasoning: "A", text: "c"},
		{name: "S07 both fields", stream: cc(`{"reasoning_content":"A","reasoning":"A"}`) + cc(`{"content":"c"}`) + end, reasoning: "A", text: "c"},
		{name: "S08 reasoning details", stream: cc(`{"reasoning":"A","reasoning_details":[{"type":"reasoning.text","text":"A","index":0}]}`) + cc(`{"content":"c"}`) + end, reasoning: "A", text: "c", more: keeps(`{"reasoning_details":[{"index":0,"text":"A","type":"reasoning.text"}]}`)},
		{name: "S08 details alone, in pieces", stream: cc(`{"reasoning_details":[{"type":"reasoning.text","text":"A","index":0,"signature":null}]}`) +
			cc(`{"reasoning_details":[{"type":"reasoning.text","text":"B","index":0},{"type":"reasoning.encrypted","data":"x","index":1,"id":"e"}]}`) +
			cc(`{"reasoning_details":[{"type":"reasoning.text","text":"","index":2,"signature":"S"},{"type":"reasoning.encrypted","data":"y","index":1,"id":"f"}]}`) + cc(`{"content":"c"}`) + end,
			reasoning: "AB", text: "c", more: keeps(`{"reasoning_details":[{"index":0,"signature":null,"text":"AB","type":"reasoning.text"},` +
				`{"data":"x","id":"e","index":1,"type":"reasoning.encrypted"},{"index":2,"signature":"S","text":"","type":"reasoning.text"},{"data":"y","id":"f","index":1,"type":"reasoning.encrypted"}]}`)},
		{name: "S08 a signature after its text", stream: cc(`{"reasoning":"A","reasoning_details":[{"type":"reasoning.text","text":"A"}]}`) +
			cc(`{"reasoning_details":[{"type":"reasoning.text","signature":"S"}]}`) + cc(`{"content":"c"}`) + end,
			reasoning: "A", text: "c", more: keeps(`{"reasoning_details":[{"signature":"S","text":"A","type":"reasoning.text"}]}`)},
		{name: "S08 what is no list", stream: cc(`{"reasoning":"A","reasoning_details":{"text":"B"}}`) + cc(`{"content":"c","reasoning_details":null}`) + end, reasoning: "A", text: "c", more: keeps("")},
		{name: "S08 nested values", stream: cc(`{"reasoning":"A","reasoning_details":[{"type":"zzz","x":{"y":1}},3]}`) + cc(`{"content":"c"}`) + end, reasoning: "A", text: "c", more: keeps("")},
		{name: "S08 more than is kept", stream: cc(`{"reasoning":"A","reasoning_details":[{"type":"reasoning.encrypted","data":"`+strings.Repeat("x", maxDetails)+`"}]}`) + cc(`{"content":"c"}`) + end, reasoning: "A", text: "c", more: keeps("")},
		{name: "S08 of an answer that failed", stream: cc(`{"reasoning":"A","reasoning_details":[{"type":"reasoning.text","text":"A","index":0}]}`), code: llm.CodeStreamClosed, reasoning: "A", more: keeps("")},
		{name: "S09 content as parts", stream: cc(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"A"}]},{"type":"text","text":"b"},{"type":"zzz"}]}`) + end, reasoning: "A", text: "b"},
		{name: "S10 think tags", profile: "lenient", stream: cc(`{"content":"<think>"}`) + cc(`{"content":"A</th"}`) + cc(`{"content":"ink>b"}`) + end, reasoning: "A", text: "b"},
		{name: "S10 think tags elsewhere", stream: cc(`{"content":"<think>A</think>b"}`) + end, text: "<think>A</think>b"},
		{name: "S10 not a tag", profile: "lenient", stream: cc(`{"content":"<thi"}`) + cc(`{"content":"s> a</think>"}`) + end, text: "<this> a</think>"},
		{name: "S11 interleaving", stream: contentA + cc(`{"reasoning_content":"B"}`) + cc(`{"content":"c"}`) + end, text: "ac", reasoning: "B", more: func(t *testing.T, o outcome) {
			if len(o.blocks) != 3 || o.blocks[1].Type != llm.Reasoning {
				t.Errorf("blocks %+v", o.blocks)
			}
		}},
		{name: "S12 another choice", stream: choice(`{"index":1,"delta":{"content":"x"},"finish_reason":"length"}`) + plain, text: "a"},
		{name: "S13 empty finish reasons", stream: choice(`{"index":0,"delta":{"content":"a"},"finish_reason":""}`) + choice(`{"index":0,"delta":{"content":"b"},"finish_reason":""}`) + end, text: "ab"},
		{name: "S14 no finish reason", stream: choice(`{"index":0,"delta":{"content":"a"}}`) + end, text: "a"},
		{name: "S15 two finishes with a call", stream: tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`) + ff("tool_calls") + end, calls: "x({})", kind: llm.ToolCalls},
		{name: "S15 the grave one counts", stream: contentA + ff("stop") + ff("length") + dd, text: "a", kind: llm.MaxTokens},
		{name: "S16 content beside the finish", stream: choice(`{"index":0,"delta":{"content":"z"},"finish_reason":"stop"}`) + dd, text: "z"},
		{name: "S17 content after the finish", stream: contentA + ff("stop") + cc(`{"content":"tail"}`) + dd, text: "atail"},
		{name: "S18 changing ids", stream: strings.Replace(contentA, "r1", "r2", 1) + strings.Replace(end, "r1", "r3", 1), text: "a"},
		{name: "S19 odd types", stream: raw(`{"id":17,"created":1.5,"model":null,"system_fingerprint":null,"extra":[1],"choices":[{"index":0.0,"delta":{"content":"a","x":1}}]}`) + end, text: "a"},
		{name: "S20 error null", stream: raw(`{"error":null,"choices":[{"index":0,"delta":{"content":"a"}}]}`) + end, text: "a"},
		{name: "S21 refusal", stream: cc(`{"content":"","refusal":"no"}`) + end, text: "no", code: llm.CodeContentFilter},
		{name: "S22 function_call", stream: cc(`{"function_call":{"name":"f","arguments":"{\"a\":"}}`) + cc(`{"function_call":{"arguments":"1}"}}`) + ff("function_call") + dd, calls: `f({"a":1})`, kind: llm.ToolCalls, more: func(t *testing.T, o outcome) {
			if o.blocks[0].ID != "gen1" {
				t.Errorf("id %q", o.blocks[0].ID)
			}
		}},
		{name: "S23 NUL and half a surrogate", stream: cc(`{"content":"a\u0000b\ud83dc"}`) + end, text: "a\uFFFDb\uFFFDc"},
		{name: "S24 a call as text", stream: cc(`{"content":"Let me look.\n<｜DS"}`) + cc(`{"content":"ML｜tool_"}`) + cc(`{"content":"calls>rm -rf"}`) + end, text: "Let me look.\n", code: llm.CodeToolFormat},
		{name: "S24 with other bars", stream: cc(`{"content":"<|DSML|invoke name"}`) + end, code: llm.CodeToolFormat},
		{name: "S24 prose about such calls", stream: cc(`{"content":"The marker "}`) + cc(`{"content":"<｜DSML｜tool_calls> opens one; 1 <"}`) + end, text: "The marker <｜DSML｜tool_calls> opens one; 1 <"},
	})
}

func TestToolCallFragments(t *testing.T) {
	t.Parallel()
	end := ff("tool_calls") + dd
	calls := func(name, stream, want string) wireCase {
		return wireCase{name: name, stream: stream, calls: want, kind: llm.ToolCalls}
	}
	ids := func(want string) func(*testing.T, outcome) {
		return func(t *testing.T, o outcome) {
			var got []string
			for _, b := range o.blocks {
				got = append(got, b.ID)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("ids %q, want %q", got, want)
			}
		}
	}
	withIDs := func(w wireCase, want string) wireCase { w.more = ids(want); return w }
	var sixty, sixtyWant strings.Builder
	for i := range 60 {
		fmt.Fprintf(&sixty, "%s", tt(fmt.Sprintf(`"index":%d,"id":"c%d","function":{"name":"x","arguments":"{}"}`, i, i)))
		sixtyWant.WriteString(";x({})")
	}
	runCases(t, []wireCase{
		withIDs(calls("T01 one call", tt(`"index":0,"id":"c1","type":"function","function":{"name":"read","arguments":""}`)+tt(`"index":0,"function":{"arguments":"{\"p\":"}`)+tt(`"index":0,"function":{"arguments":"1}"}`)+end, `read({"p":1})`), "c1"),
		withIDs(calls("T02 two interleaved", tt(`"index":0,"id":"a","function":{"name":"x","arguments":""}`)+tt(`"index":1,"id":"b","function":{"name":"y","arguments":""}`)+
			tt(`"index":0,"function":{"arguments":"{\"p\":"}`)+tt(`"index":1,"function":{"arguments":"{\"q\":"}`)+tt(`"index":0,"function":{"arguments":"1}"}`)+tt(`"index":1,"function":{"arguments":"2}"}`)+end, `x({"p":1});y({"q":2})`), "a b"),
		// A12 wants the provider's order, T02 and LM01 that of appearance: they differ only
		// where an index comes before a smaller one, so such a call appears later.
		withIDs(calls("A12 index 1 before index 0", tt(`"index":1,"id":"b","function":{"name":"y","arguments":"{\"q\":"}`)+tt(`"index":0,"id":"a","function":{"name":"x","arguments":""}`)+
			tt(`"index":1,"function":{"arguments":"2}"}`)+tt(`"index":0,"function":{"arguments":"{\"p\":1}"}`)+end, `x({"p":1});y({"q":2})`), "a b"),
		withIDs(calls("A12 gaps", tt(`"index":5,"id":"d","function":{"name":"x","arguments":"{\"p\":"}`)+tt(`"index":2,"id":"c","function":{"name":"y","arguments":"{}"}`)+tt(`"index":5,"function":{"arguments":"5}"}`)+end, `y({});x({"p":5})`), "c d"),
		withIDs(calls("A12 a call without an index after a gap", tt(`"index":2,"id":"c","function":{"name":"x","arguments":"{}"}`)+tt(`"index":1,"id":"b","function":{"name":"y","arguments":"{}"}`)+tt(`"id":"e","function":{"name":"z","arguments":"{}"}`)+end, `y({});x({});z({})`), "b c e"),
		withIDs(calls("A12 the same late index for two calls", tt(`"index":1,"id":"a","function":{"name":"x","arguments":"{}"}`)+tt(`"index":1,"id":"b","function":{"name":"y","arguments":"{}"}`)+end, `x({});y({})`), "a b"),
		{name: "A12 text before a late call", stream: contentA + tt(`"index":1,"id":"b","function":{"name":"y","arguments":"{}"}`) + end, text: "a", calls: "y({})", kind: llm.ToolCalls},
		withIDs(calls("T03 all with index 0", tt(`"index":0,"id":"a","function":{"name":"x","arguments":"{}"}`)+tt(`"index":0,"id":"b","function":{"name":"y","arguments":"{}"}`)+ff("stop")+dd, `x({});y({})`), "a b"),
		withIDs(calls("T04 no index", cc(`{"tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"y","arguments":"{}"}}]}`)+end, `x({});y({})`), "a b"),
		calls("T04 no index, in fragments", tt(`"id":"a","function":{"name":"x","arguments":"{\"p\""}`)+tt(`"function":{"arguments":":1}"}`)+tt(`"id":"b","function":{"name":"y","arguments":""}`)+tt(`"id":"a","function":{"arguments":" "}`)+tt(`"id":"b","function":{"arguments":"{}"}`)+end, `x({"p":1} );y({})`),
		withIDs(calls("T05 no id", tt(`"index":0,"function":{"name":"x","arguments":"{}"}`)+tt(`"index":1,"function":{"name":"x","arguments":"{}"}`)+end, `x({});x({})`), "gen1 gen2"),
		withIDs(calls("T05 neither id nor index", cc(`{"tool_calls":[{"function":{"name":"x","arguments":"{}"}},{"function":{"name":"y","arguments":"{}"}}]}`)+tt(`"function":{"name":"z","arguments":"{}"}`)+end, `x({});y({});z({})`), "gen1 gen2 gen3"),
		withIDs(calls("T06 empty strings later", tt(`"index":0,"id":"c1","function":{"name":"read","arguments":""}`)+tt(`"index":0,"id":"","function":{"name":"","arguments":"{}"}`)+tt(`"index":0,"id":null,"type":null,"function":{"name":null,"arguments":null}`)+end, `read({})`), "c1"),
		calls("T07 the name each time", tt(`"index":0,"id":"c","function":{"name":"read","arguments":"{\"p\":"}`)+tt(`"index":0,"id":"c","function":{"name":"read","arguments":"1}"}`)+end, `read({"p":1})`),
		calls("T08 a name in two pieces", tt(`"index":0,"id":"c","function":{"name":"na"}`)+tt(`"index":0,"id":"c","function":{"name":"me","arguments":""}`)+tt(`"index":0,"id":"c","function":{"arguments":"{}"}`)+end, `name({})`),
		withIDs(calls("T09 the id each time", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{"}`)+tt(`"index":0,"id":"c","function":{"arguments":"}"}`)+end, `x({})`), "c"),
		calls("T10 all in one", raw(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)+dd, `x({})`),
		calls("T11 the first index is 1", tt(`"index":1,"id":"c","function":{"name":"x","arguments":"{}"}`)+end, `x({})`),
		calls("T11 the index is a string", tt(`"index":"0","id":"c","function":{"name":"x","arguments":"{}"}`)+end, `x({})`),
		calls("T12 arguments as an object", tt(`"index":0,"id":"c","function":{"name":"x","arguments":{"p":1}}`)+end, `x({"p":1})`),
		calls("T13 no arguments", tt(`"index":0,"id":"c","function":{"name":"x","arguments":""}`)+tt(`"index":1,"id":"d","function":{"name":"y"}`)+end, `x();y()`),
		calls("T13 no arguments and no finish", tt(`"index":0,"id":"c","function":{"name":"x"}`)+dd, `x()`),
		calls("T14 not an object", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"null"}`)+tt(`"index":1,"id":"d","function":{"name":"y","arguments":"[1]"}`)+end, `x(null);y([1])`),
		{name: "T15 cut by the limit", stream: contentA + tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{\"a\":1"}`) + ff("length") + dd, text: "a", kind: llm.MaxTokens},
		{name: "T15 a whole call beside the cut one", stream: tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`) + tt(`"index":1,"id":"d","function":{"name":"x","arguments":"{\"a"}`) + ff("length") + dd, kind: llm.MaxTokens},
		{name: "T15 cut before the arguments", stream: tt(`"index":0,"id":"c","function":{"name":"x","arguments":""}`) + ff("length") + dd, kind: llm.MaxTokens},
		calls("T15 whole calls at the limit", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{\"a\":1}"}`)+ff("length")+dd, `x({"a":1})`),
		calls("T16 invalid arguments", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{\"a\":1"}`)+end, `x({"a":1)`),
		calls("T17 raw control characters", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{\"a\":\"1\n\t2\\\"\"}"}`)+end, `x({"a":"1\n\t2\""})`),
		calls("T18 the document twice", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{\"a\":1}{\"a\":1}"}`)+end, `x({"a":1})`),
		calls("T18 two documents", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{\"a\":1}{\"a\":2}"}`)+end, `x({"a":1}{"a":2})`),
		calls("T19 finish stop", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`)+ff("stop")+dd, `x({})`),
		calls("T19 no finish", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`)+dd, `x({})`),
		calls("T19 finish eos", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`)+ff("eos")+dd, `x({})`),
		calls("T19 a stop after every delta", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`)+ff("stop")+tt(`"index":0,"function":{"arguments":" "}`)+ff("stop")+dd, `x({} )`),
		{name: "T20 a finish for calls, without calls", stream: ff("tool_calls") + dd, code: llm.CodeEmptyResponse},
		{name: "T20 with text", stream: contentA + ff("tool_calls") + dd, text: "a"},
		withIDs(calls("T23 two calls with one id", cc(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"y","arguments":"{}"}}]}`)+end, `x({});y({})`), "a a#2"),
		{name: "T24 a signature on a call", stream: tt(`"index":0,"id":"c","type":"function","function":{"name":"x","arguments":"{}"},"extra_content":{"google":{"thought_signature":"S"}}`) + tt(`"index":0,"extra_content":null`) + end, calls: "x({})", kind: llm.ToolCalls, more: func(t *testing.T, o outcome) {
			if got := string(o.blocks[0].Extra); got != `{"google":{"thought_signature":"S"}}` {
				t.Errorf("kept %s", got)
			}
		}},
		{name: "T24 what is no object", stream: tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"},"extra_content":"S"`) + end, calls: "x({})", kind: llm.ToolCalls, more: func(t *testing.T, o outcome) {
			if o.blocks[0].Extra != nil {
				t.Errorf("kept %s", o.blocks[0].Extra)
			}
		}},
		{name: "T25 text, calls, text", stream: contentA + tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`) + cc(`{"content":"b"}`) + end, text: "ab", calls: "x({})", kind: llm.ToolCalls},
		calls("T26 sixty calls", sixty.String()+end, sixtyWant.String()[1:]),
		{name: "T27 the model called wrongly", stream: ee(`{"message":"Failed to call a function","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"<function=x"}`), code: llm.CodeToolFormat, says: "Failed to call a function", more: func(t *testing.T, o outcome) {
			if strings.Contains(o.message(), "<function") {
				t.Errorf("the message shows what was generated: %s", o.message())
			}
		}},
		{name: "T28 cut inside a call", stream: tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`) + tt(`"index":1,"id":"d","function":{"name":"y","arguments":"{\"a"}`), calls: `x({});y({"a)`, code: llm.CodeStreamClosed},
		calls("T29 no type", tt(`"index":0,"id":"c","function":{"name":"x","arguments":"{}"}`)+end, `x({})`),
		calls("T29 another type", tt(`"index":0,"id":"c","type":"custom","function":{"name":"x","arguments":"{}"}`)+tt(`"index":0,"type":"custom","function":{"name":"x","arguments":""}`)+end, `custom:x({})`),
		{name: "T30 empty lists", stream: cc(`{"tool_calls":[]}`) + cc(`{"tool_calls":[null]}`) + cc(`{"tool_calls":null}`) + cc(`{"tool_calls":[{"index":0}]}`) + plain, text: "a"},
	})
}

func TestT22NamesAreExactButForOnePrefix(t *testing.T) {
	t.Parallel()
	r := ask("hi")
	r.Header.Tools = []llm.ToolSchema{{Name: "read"}, {Name: "mcp.fs read"}}
	stream := tt(`"index":0,"id":"a","function":{"name":"functions.read","arguments":"{}"}`) + tt(`"index":1,"id":"b","function":{"name":"Read","arguments":"{}"}`) +
		tt(`"index":2,"id":"c","function":{"name":"`+wireName("mcp.fs read")+`","arguments":"{}"}`) + tt(`"index":3,"id":"d","function":{"name":"functions.other","arguments":"{}"}`) + ff("tool_calls") + dd
	o := run(t, newClient(t, "openai", serving(stream)), r)
	if want := "read({});Read({});mcp.fs read({});functions.other({})"; o.calls() != want {
		t.Errorf("calls %s, want %s", o.calls(), want)
	}
}

func TestLLM16Usage(t *testing.T) {
	t.Parallel()
	const details = `"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":80},"completion_tokens_details":{"reasoning_tokens":5}`
	done := func(s string) string { return contentA + ff("stop") + s + dd }
	finish := func(u string) string {
		return raw(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":` + u + `}`)
	}
	cases := []wireCase{
		{name: "U01 details", stream: done(uu(details)), usage: "in 20 out 20 read 80 reasoning 5"},
		{name: "U02 hits and misses", stream: done(uu(`"prompt_tokens":100,"completion_tokens":20,"prompt_cache_hit_tokens":80,"prompt_cache_miss_tokens":20`)), usage: "in 20 out 20 read 80"},
		{name: "U03 on the finish, then null", stream: contentA + finish("{"+details+"}") + raw(`{"choices":[],"usage":null}`) + dd, usage: "in 20 out 20 read 80 reasoning 5"},
		{name: "U04 in the choice", stream: contentA + raw(`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":4}}]}`) + dd, usage: "in 3 out 4"},
		{name: "U05 x_groq", stream: done(raw(`{"choices":[],"x_groq":{"id":"q","usage":{"prompt_tokens":23,"completion_tokens":19,"total_tokens":42}}}`)), usage: "in 23 out 19"},
		{name: "U06 running totals", stream: raw(`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":10,"completion_tokens":1}}`) + finish(`{"prompt_tokens":10,"completion_tokens":5}`) + dd, usage: "in 10 out 5"},
		{name: "U06 zero first", stream: raw(`{"choices":[{"index":0,"delta":{"content":"a"}}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`) + ff("stop") + uu(`"prompt_tokens":12,"completion_tokens":5`) + dd, usage: "in 12 out 5"},
		{name: "U07 the provider's price", stream: done(uu(`"prompt_tokens":3,"completion_tokens":4,"cost":0.0012,"cost_details":{"upstream_inference_cost":null}`)), usage: "in 3 out 4 nano 1200000"},
		{name: "U07 no price", stream: done(uu(`"prompt_tokens":3,"completion_tokens":4,"cost":"n/a"`)), usage: "in 3 out 4"},
		{name: "U07 impossible prices", stream: done(uu(`"prompt_tokens":3,"completion_tokens":4,"cost":-1`) + uu(`"prompt_tokens":3,"completion_tokens":4,"cost":1e300`)), usage: "in 3 out 4"},
		{name: "U12 a total of its own", stream: done(uu(`"prompt_tokens":10,"completion_tokens":7,"total_tokens":12,"completion_tokens_details":{"reasoning_tokens":5}`)), usage: "in 10 out 7 reasoning 5"},
		{name: "U08 none", stream: plain, usage: "none"},
		{name: "U09 odd numbers", stream: done(uu(`"prompt_tokens":12.0,"completion_tokens":"7","prompt_tokens_details":null`)), usage: "in 12 out 7"},
		{name: "U09 impossible numbers", stream: done(uu(`"prompt_tokens":10,"completion_tokens":-3,"prompt_cache_hit_tokens":50,"completion_tokens_details":{"reasoning_tokens":9}`)), usage: "in 0 out 0 read 10 reasoning 0"},
		{name: "U13 disjoint buckets", stream: done(uu(`"cache_creation_input_tokens":50,"cache_read_input_tokens":40,"prompt_tokens":10,"completion_tokens":1`)), usage: "in 10 out 1 read 40 write 50"},
		{name: "U13 contained buckets", stream: done(uu(`"prompt_tokens":100,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":40,"cache_write_tokens":50}`)), usage: "in 10 out 1 read 40 write 50"},
	}
	for i := range cases {
		cases[i].text = "a"
	}
	runCases(t, cases)
}

func TestU11UsageOfAFailedStreamIsKept(t *testing.T) {
	t.Parallel()
	o := run(t, newClient(t, "deepseek", serving(contentA+uu(`"prompt_tokens":9,"completion_tokens":1`))), ask("hi"))
	if o.fin.Kind != llm.Failed || usageString(o.usage) != "in 9 out 1" {
		t.Errorf("finish %s, usage %s", o.fin.Kind, usageString(o.usage))
	}
}
