package llm

import (
	"encoding/json"
	"reflect"
	"testing"
)

// roundTrip checks that a value is written as text and read back as itself.
func roundTrip[T any](t *testing.T, value T, text string) {
	t.Helper()
	got, err := json.Marshal(value)
	if err != nil || string(got) != text {
		t.Errorf("%+v is written as %s (%v), want %s", value, got, err, text)
	}
	var back T
	if err := json.Unmarshal([]byte(text), &back); err != nil || !reflect.DeepEqual(back, value) {
		t.Errorf("%s is read as %+v (%v), want %+v", text, back, err, value)
	}
}

func TestBlockJSON(t *testing.T) {
	t.Parallel()
	roundTrip(t, TextBlock(""), `{"type":"text","text":""}`)
	roundTrip(t, Block{Type: Reasoning, Text: "r"}, `{"type":"reasoning","text":"r"}`)
	roundTrip(t, Block{Type: ToolCall, ID: "c", Name: "read", Arguments: "{}", Extra: json.RawMessage(`{"s":1}`)}, `{"type":"tool-call","id":"c","name":"read","arguments":"{}","extraContent":{"s":1}}`)
	roundTrip(t, Block{Type: ToolCall, ID: "c", Name: "read", Arguments: `{"a": 1`}, `{"type":"tool-call","id":"c","name":"read","arguments":"{\"a\": 1"}`)
	roundTrip(t, Block{Type: ToolResult, ToolCallID: "c", Content: []Block{TextBlock("x")}, IsError: true},
		`{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"x"}],"isError":true}`)
	roundTrip(t, Block{Type: ToolResult, ToolCallID: "c", Content: []Block{}}, `{"type":"tool-result","toolCallId":"c","content":[],"isError":false}`)
	const image = `{"type":"image","data":"x","nested":{"a":[1,2]}}`
	roundTrip(t, Block{Type: "image", Raw: json.RawMessage(image)}, image)
}

func TestBlockJSONOfNoResultContent(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(Block{Type: ToolResult, ToolCallID: "c"})
	if want := `{"type":"tool-result","toolCallId":"c","content":[],"isError":false}`; err != nil || string(got) != want {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{`[]`, `"text"`, `{"type":1}`, `{"type":"text","text":1}`} {
		if err := json.Unmarshal([]byte(bad), new(Block)); err == nil {
			t.Errorf("%s is a block", bad)
		}
	}
}

func TestSourceJSON(t *testing.T) {
	t.Parallel()
	roundTrip(t, Source{Kind: FromUser}, `{"kind":"user"}`)
	roundTrip(t, Source{Kind: FromTool, CallID: "c"}, `{"kind":"tool","callId":"c"}`)
	roundTrip(t, Source{Kind: FromModel, Provider: "p", Model: "m"}, `{"kind":"model","provider":"p","model":"m"}`)
	roundTrip(t, Source{Kind: FromPlugin, Plugin: "context", Form: "snapshot"}, `{"kind":"plugin","plugin":"context","form":"snapshot"}`)
	const foreign = `{"kind":"plugin","plugin":"x","summary":{"of":3}}`
	roundTrip(t, Source{Kind: FromPlugin, Plugin: "x", Raw: json.RawMessage(foreign)}, foreign)
}

func TestSourceJSONForgetsWhatItHeld(t *testing.T) {
	t.Parallel()
	s := Source{Kind: FromModel, Model: "old", Raw: json.RawMessage(`{"kind":"model","x":1}`)}
	if err := json.Unmarshal([]byte(`{"kind":"user"}`), &s); err != nil || !reflect.DeepEqual(s, Source{Kind: FromUser}) {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestChunkJSON(t *testing.T) {
	t.Parallel()
	block := TextBlock("x")
	for _, c := range []struct {
		chunk Chunk
		text  string
	}{
		{Chunk{Type: BlockStart, BlockType: Text}, `{"type":"block-start","index":0,"blockType":"text"}`},
		{Chunk{Type: TextDelta, Index: 1, Text: "a"}, `{"type":"text-delta","index":1,"text":"a"}`},
		{Chunk{Type: ReasoningDelta, Index: 2}, `{"type":"reasoning-delta","index":2,"text":""}`},
		{Chunk{Type: ToolCallDelta, Index: 3, ID: "c", Name: "read", HasName: true, ArgumentsDelta: "{"}, `{"type":"tool-call-delta","index":3,"id":"c","name":"read","argumentsDelta":"{"}`},
		{Chunk{Type: ToolCallDelta, ID: "c", HasName: true}, `{"type":"tool-call-delta","index":0,"id":"c","name":"","argumentsDelta":""}`},
		{Chunk{Type: ToolCallDelta, ID: "c"}, `{"type":"tool-call-delta","index":0,"id":"c","argumentsDelta":""}`},
		{Chunk{Type: BlockEnd, Block: &block}, `{"type":"block-end","index":0,"block":{"type":"text","text":"x"}}`},
		{Chunk{Type: UsageChunk, Usage: &Usage{InputTokens: 1, OutputTokens: 2}}, `{"type":"usage","usage":{"inputTokens":1,"outputTokens":2}}`},
		{Chunk{Type: FinishChunk, Reason: &Finish{Kind: Failed, Failure: &Failure{Message: "m", Code: CodeServer, Status: 500}}},
			`{"type":"finish","reason":{"kind":"error","failure":{"message":"m","code":"SERVER","status":500}}}`},
	} {
		roundTrip(t, c.chunk, c.text)
	}
}

func TestMessageJSON(t *testing.T) {
	t.Parallel()
	roundTrip(t, Message{Role: User, Content: []Block{{Type: ToolResult, ToolCallID: "c", Content: []Block{TextBlock("x")}}}, Source: Source{Kind: FromTool, CallID: "c"}, ID: "m1"},
		`{"role":"user","content":[{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"x"}],"isError":false}],"source":{"kind":"tool","callId":"c"},"id":"m1"}`)
}

func TestHeaderEqualCountsEveryField(t *testing.T) {
	t.Parallel()
	base := Header{Config: Config{Model: "m"}, System: "s", Tools: []ToolSchema{{Name: "a", Parameters: json.RawMessage("{}")}, {Name: "b"}}}
	if !base.Equal(base) {
		t.Error("a header differs from itself")
	}
	for name, change := range map[string]func(*Header){
		"effort":     func(h *Header) { h.Config.ReasoningEffort = "high" },
		"system":     func(h *Header) { h.System = "" },
		"defaults":   func(h *Header) { h.AdapterDefaults = []string{"maxTokens"} },
		"tool order": func(h *Header) { h.Tools = []ToolSchema{base.Tools[1], base.Tools[0]} },
		"schema": func(h *Header) {
			h.Tools = []ToolSchema{{Name: "a", Parameters: json.RawMessage(`{"x":1}`)}, base.Tools[1]}
		},
	} {
		other := base
		change(&other)
		if base.Equal(other) {
			t.Errorf("%s makes no difference", name)
		}
	}
}

func TestFailureTransient(t *testing.T) {
	t.Parallel()
	transient := map[Code]bool{CodeRateLimit: true, CodeServer: true, CodeTimeout: true, CodeTransport: true, CodeStreamClosed: true, CodeMalformed: true, CodeEmptyResponse: true, CodeToolFormat: true}
	for _, code := range []Code{CodeAborted, CodeAuth, CodeQuota, CodeContextOverflow, CodeContentFilter, CodeInvalidRequest, CodeRateLimit, CodeServer, CodeTimeout, CodeTransport,
		CodeStreamClosed, CodeMalformed, CodeEmptyResponse, CodeToolFormat, CodeConfig, CodeUnknown} {
		if got := (&Failure{Code: code}).Transient(); got != transient[code] {
			t.Errorf("%s: %v", code, got)
		}
		if (&Failure{Code: code, Final: true}).Transient() {
			t.Errorf("%s is retried though final", code)
		}
	}
}
