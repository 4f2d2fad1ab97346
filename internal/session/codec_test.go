package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// decodeAll reads lines as a loader does.
func decodeAll(t testing.TB, text []byte) []Event {
	t.Helper()
	var evs []Event
	last := int64(0)
	for line := range bytes.Lines(text) {
		next, err := decodeLine(bytes.TrimSuffix(line, []byte("\n")), len(evs), last)
		if err != nil {
			t.Fatalf("%v\n%s", err, line)
		}
		evs = append(evs, next...)
		last = evs[len(evs)-1].Time
	}
	return evs
}

func TestSE12BadEnvelopesAreRefused(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		``, `null`, `[]`, `{}`, `{"type":"turn/start"`, `{"type":"turn/start","seq":0,"time":1,"data":{"turn":1}}x`,
		`{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"extra":1}`,
		`{"type":"turn/start","seq":0,"time":1,"data":{"turn":NaN}}`,
		`{"type":"turn/start","seq":0,"time":1,"data":{"turn":1.5}}`,
		`{"type":"turn/start","seq":0,"time":1}`, `{"type":"turn/start","seq":0,"time":1,"data":7}`,
		`{"type":"turn/start","seq":0,"data":{"turn":1}}`, `{"type":"turn/start","time":1,"data":{"turn":1}}`,
		`{"type":"turn/start","seq":-1,"time":1,"data":{"turn":1}}`, `{"type":"turn/start","seq":-0,"time":1,"data":{"turn":1}}`,
		`{"type":"turn/start","seq":1e1,"time":1,"data":{"turn":1}}`, `{"type":"turn/start","seq":"0","time":1,"data":{"turn":1}}`,
		`{"type":"turn/start","seq":9007199254740993,"time":1,"data":{"turn":1}}`,
		`{"type":"turn/start","seq0":0,"time0":1,"data":{"turn":1}}`,
		`{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"surfaceOp":"prepend"}`,
		`{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"surfaceOp":{"op":"replace","start":1}}`,
		`{"type":"turn/start","seq":0,"time":1,"data":{"turn":1},"sourceEventSeqs":[0.5]}`,
		`{"type":"user/message","seq":0,"time":1,"data":{"role":"user","content":{},"source":{"kind":"user"},"id":"m"}}`,
		"{\"type\":\"session/title\",\"seq\":0,\"time\":1,\"data\":{\"title\":\"a\x01\"}}",
	} {
		if evs, err := decodeLine([]byte(line), 0, 0); err == nil {
			t.Errorf("%s was read as %v", line, evs)
		}
	}
}

func TestSEUnknownEventsNeedTheirMark(t *testing.T) {
	t.Parallel()
	var unknown *UnknownEventError
	_, err := decodeLine([]byte(`{"type":"future/thing","seq":0,"time":1,"data":{}}`), 0, 0)
	if !errors.As(err, &unknown) || unknown.Type != "future/thing" {
		t.Errorf("an unknown event gave %v", err)
	}
	for _, line := range []string{
		`{"type":"future/thing","seq":0,"time":1,"data":{"a":[1,{"b":1e400}]},"ignorable":true}`,
		`{"type":"compaction/start","seq":0,"time":1,"data":{"compactionId":"x","turn":null}}`,
	} {
		evs, err := decodeLine([]byte(line), 0, 0)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if out, err := appendEvent(nil, evs[0]); err != nil || string(out) != line+"\n" {
			t.Errorf("%s was written back as %s, %v", line, out, err)
		}
	}
}

func TestSEOurOwnEventsCanBeReadBack(t *testing.T) {
	t.Parallel()
	s := newScript(t).log(PolicyPreset{"ask"}, Raw{T: "verify/later", Data: json.RawMessage(`{"ok":true}`)}, Raw{T: "plan/mode", Data: json.RawMessage(`{"active":true}`)})
	for i, want := range []bool{true, true, false} { // the original knows the last
		if s.evs[i].Ignorable != want {
			t.Errorf("%s: ignorable is %v", s.evs[i].Type, s.evs[i].Ignorable)
		}
	}
	text, err := appendBatch(nil, s.evs)
	if err != nil {
		t.Fatal(err)
	}
	if got := decodeAll(t, text); !reflect.DeepEqual(got, s.evs) {
		t.Errorf("came back as %+v", got)
	}
	for _, ev := range s.evs[:2] {
		ev.Ignorable, ev.Seq = false, 3
		if err := s.f.check(&ev); err == nil {
			t.Errorf("%s without its mark was accepted", ev.Type)
		}
	}
	s.refuse("must not be raw", Draft{Data: Raw{T: TypeTurnStart, Data: json.RawMessage(`{"turn":1}`)}})
}

func TestSE32RetiredFormsAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := decodeLine([]byte(`{"type":"request/header-delta","seq":0,"time":1,"data":{}}`), 0, 0); err == nil {
		t.Error("a header delta was read")
	}
	h := header("p", "m")
	h.Reason = "delta"
	newScript(t).log(TurnStart{1}).refuse("not supported", Draft{Data: h})
	ev := Draft{Data: h}.event(0, 1)
	if newFold(Header{}).load(&ev) == nil {
		t.Error("a header with a retired reason was loaded")
	}
}

func TestSE15DeepDataIsBoundedNotACrash(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"a":[`, n) + strings.Repeat(`]}`, n) }
	line := func(n int) []byte { return []byte(`{"type":"goal/change","seq":0,"time":1,"data":` + nested(n) + `}`) }
	evs, err := decodeLine(line(200), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := appendEvent(nil, evs[0]); err != nil || !bytes.Equal(bytes.TrimSpace(out), line(200)) {
		t.Errorf("400 levels were not written back: %v", err)
	}
	for _, n := range []int{300, 20_000, 2_000_000} {
		if _, err := decodeLine(line(n), 0, 0); !errors.Is(err, errTooDeep) {
			t.Errorf("%d levels: %v", 2*n, err)
		}
	}
	if _, err := appendEvent(nil, Draft{Data: Raw{T: "goal/change", Data: json.RawMessage(nested(300))}}.event(0, 1)); err == nil {
		t.Error("600 levels were written")
	}
	deep := llm.Block{Type: llm.ToolResult}
	for range 300 {
		deep = llm.Block{Type: llm.ToolResult, Content: []llm.Block{deep}}
	}
	m := userMsg("x")
	m.Content = []llm.Block{deep}
	if _, err := appendEvent(nil, Draft{Data: UserMessage{m}}.event(0, 1)); !errors.Is(err, errTooDeep) {
		t.Errorf("300 nested results: %v", err)
	}
}

func TestSE30EveryTurnEndRoundTrips(t *testing.T) {
	t.Parallel()
	after := int64(1500)
	for _, reason := range []EndReason{
		{Kind: Completed}, {Kind: MaxTokens}, {Kind: Blocked}, {Kind: Interrupted},
		{Kind: Aborted, Cause: &Cause{Kind: ByUser}}, {Kind: Aborted, Cause: &Cause{Kind: ByHook, Reason: "budget: steps 200"}},
		{Kind: Failed, Failure: &llm.Failure{Message: "<no>", Code: llm.CodeServer, Status: 503, ProviderRetryAfterMs: &after, RequestID: "r"}},
	} {
		ev := Draft{Data: TurnEnd{3, reason}}.event(4, 5)
		line, err := appendEvent(nil, ev)
		if err != nil {
			t.Fatal(err)
		}
		if got := decodeAll(t, line)[0]; !reflect.DeepEqual(got, ev) {
			t.Errorf("%s came back as %+v", line, got)
		}
		s := newScript(t).log(TurnStart{1}, TurnEnd{1, reason})
		if !reflect.DeepEqual(*s.f.state.LastEnd, reason) {
			t.Errorf("the fold says %+v", s.f.state.LastEnd)
		}
	}
}

// TestJL11 holds what packing promises.
func TestJL11PackedRowsAreIdentical(t *testing.T) {
	t.Parallel()
	packed := map[Type]int{}
	for seed := range uint64(40) {
		s := randomLog(t, seed, 200)
		r := rand.New(rand.NewPCG(seed, 2))
		var text []byte
		for from := 0; from < len(s.evs); { // batches end anywhere
			to := min(len(s.evs), from+1+r.IntN(60))
			var err error
			if text, err = appendBatch(text, s.evs[from:to]); err != nil {
				t.Fatal(err)
			}
			from = to
		}
		got := decodeAll(t, text)
		for i := range s.evs {
			if i >= len(got) || !reflect.DeepEqual(got[i], s.evs[i]) {
				t.Fatalf("seed %d: event %d came back as\n%+v, was\n%+v", seed, i, got[i], s.evs[i])
			}
		}
		checkRows(t, text, packed)
	}
	if len(packed) != 3 {
		t.Errorf("rows written: %v, want all three kinds", packed)
	}
}

// checkRows looks at each line: rows are long enough, and a loader can find and
// measure chunk lines by their prefix.
func checkRows(t *testing.T, text []byte, packed map[Type]int) {
	for line := range bytes.Lines(text) {
		evs := decodeAll(t, line)
		chunk := evs[0].Type == TypeAssistantChunk
		if chunkRow(line) != chunk {
			t.Errorf("chunkRow is wrong about %s", line)
		}
		if first, n, ok := rowSpan(line); ok != chunk || chunk && (first != evs[0].Seq || n != len(evs)) {
			t.Errorf("rowSpan says %d, %d, %v about %s", first, n, ok, line)
		}
		var env struct {
			Type Type `json:"type"`
		}
		if err := json.Unmarshal(line, &env); err != nil {
			t.Fatal(err)
		}
		if isRow(env.Type) {
			packed[env.Type]++
			if len(evs) < 3 {
				t.Errorf("a row of %d: %s", len(evs), line)
			}
		}
	}
}

func TestJL11RunsOfThreeAndMore(t *testing.T) {
	t.Parallel()
	tool := func(seq int, name *string, args string) Event {
		c := llm.Chunk{Type: llm.ToolCallDelta, ID: "c", ArgumentsDelta: args}
		if name != nil {
			c.Name, c.HasName = *name, true
		}
		return Event{Type: TypeAssistantChunk, Seq: seq, Time: int64(100 + seq*seq), Data: AssistantChunk{1, 1, c}}
	}
	text := func(seq, step int, s string) Event {
		return Event{Type: TypeAssistantChunk, Seq: seq, Time: int64(100 + seq), Data: textDelta(1, step, s)}
	}
	name, empty := "read", ""
	odd := text(1, 1, "b")
	odd.Ignorable = true
	for what, c := range map[string]struct {
		evs  []Event
		want string // one letter a line: r a row, e an event
	}{
		"two":                {[]Event{text(0, 1, "a"), text(1, 1, "b")}, "ee"},
		"three":              {[]Event{text(0, 1, "a"), text(1, 1, "b"), text(2, 1, "c")}, "r"},
		"the step changes":   {[]Event{text(0, 1, "a"), text(1, 1, "b"), text(2, 2, "c")}, "eee"},
		"off format":         {[]Event{text(0, 1, "a"), odd, text(2, 1, "c"), text(3, 1, "d"), text(4, 1, "e")}, "eer"},
		"a hole":             {[]Event{text(0, 1, "a"), text(1, 1, "b"), text(3, 1, "c")}, "eee"},
		"names":              {[]Event{tool(0, &name, "a"), tool(1, &name, "b"), tool(2, &name, "c")}, "r"},
		"only the first":     {[]Event{tool(0, &name, "a"), tool(1, nil, "b"), tool(2, nil, "c"), tool(3, nil, "d")}, "er"},
		"an empty name":      {[]Event{tool(0, &empty, "a"), tool(1, &empty, "b"), tool(2, &empty, "c")}, "r"},
		"empty and no names": {[]Event{tool(0, &empty, "a"), tool(1, nil, "b"), tool(2, &empty, "c")}, "eee"},
	} {
		out, err := appendBatch(nil, c.evs)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for line := range bytes.Lines(out) {
			if bytes.Contains(line, []byte(`-chunks"`)) {
				got += "r"
			} else {
				got += "e"
			}
		}
		if got != c.want {
			t.Errorf("%s: lines are %q, want %q", what, got, c.want)
		}
		if back := decodeAll(t, out); !reflect.DeepEqual(back, c.evs) {
			t.Errorf("%s: came back as %+v", what, back)
		}
	}
}

func TestJL11RowsAsTheOriginalWritesThem(t *testing.T) {
	t.Parallel()
	line := `{"type":"tool-call-chunks","seq0":4,"time0":100,"data":{"turn":1,"step":2,"index":3,"dt":[5,-20,0],"id":"c","name":"read","args":["","{","}","x"]}}`
	evs := decodeAll(t, []byte(line))
	var times []int64
	for i, ev := range evs {
		times = append(times, ev.Time)
		want := AssistantChunk{1, 2, llm.Chunk{Type: llm.ToolCallDelta, Index: 3, ID: "c", Name: "read", HasName: true, ArgumentsDelta: []string{"", "{", "}", "x"}[i]}}
		if ev.Seq != 4+i || !reflect.DeepEqual(ev.Data, want) {
			t.Errorf("member %d is %+v", i, ev)
		}
	}
	if !slices.Equal(times, []int64{100, 105, 85, 85}) { // a clock that was set back
		t.Errorf("times are %v", times)
	}
	if out, err := appendBatch(nil, evs); err != nil || string(out) != line+"\n" {
		t.Errorf("written back as %s, %v", out, err)
	}
	stripped := `{"type":"text-chunks","data":{"turn":1,"step":2,"index":0,"dt":[1,2],"texts":["a","b","c"]}}`
	evs, err := decodeLine([]byte(stripped), 10, 50)
	if err != nil || len(evs) != 3 || evs[2].Seq != 12 || evs[2].Time != 53 {
		t.Errorf("a row without numbers is %+v, %v", evs, err)
	}
	if _, _, ok := rowSpan([]byte(stripped)); ok {
		t.Error("rowSpan invented a seq")
	}
}

func TestJL12MalformedRowsFallWhole(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1],"texts":["a","b","c"]}}`,
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[],"texts":[]}}`,
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b",3]}}`,
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,0.5],"texts":["a","b","c"]}}`,
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,-9],"texts":["a","b","c"]}}`,
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"dt":[1,1],"texts":["a","b","c"]}}`,
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"args":["a","b","c"],"id":"c"}}`,
		`{"type":"tool-call-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"args":["a","b","c"]}}`,
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"],"x":1}}`,
		`{"type":"text-chunks","seq":0,"time":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}}`,
		`{"type":"text-chunks","seq0":0,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c"]}}`,
		`{"type":"text-chunks","seq0":0,"time0":1,"data":{"turn":1,"step":1,"index":0,"dt":[1,1],"texts":["a","b","c`,
	} {
		if evs, err := decodeLine([]byte(line), 0, 0); err == nil || evs != nil {
			t.Errorf("%s was read as %d events, %v", line, len(evs), err)
		}
	}
}

func TestSELinesAreLossless(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<b>&amp;</b>", "\u2028\ufffd\ufffd", `\ufffd`, "\x00\x1f\x7f", "🙂", `"\`} {
		ev := Draft{Data: Title{text}}.event(0, 1)
		line, err := appendEvent(nil, ev)
		if err != nil {
			t.Fatal(err)
		}
		if got := decodeAll(t, line)[0]; !reflect.DeepEqual(got, ev) {
			t.Errorf("%q came back as %+v", text, got)
		}
		if strings.Contains(text, "<") && !bytes.Contains(line, []byte(text)) {
			t.Errorf("HTML was escaped: %s", line)
		}
		var std struct{ Data Title }
		if err := json.Unmarshal(line, &std); err != nil || std.Data.Title != text {
			t.Errorf("another reader gets %q, %v", std.Data.Title, err)
		}
	}
	dst := []byte("before")
	for _, p := range []Payload{
		Title{"\xff"}, UserMessage{userMsg("a\xc3")}, Raw{T: "goal/change", Data: json.RawMessage("{\n}")},
		Raw{T: "goal/change", Data: json.RawMessage("{")}, Raw{T: "todo/write"},
	} {
		out, err := appendEvent(dst, Draft{Data: p}.event(0, 1))
		if err == nil || string(out) != "before" {
			t.Errorf("%v was written as %q, %v", p, out, err)
		}
	}
	if _, err := appendEvent(nil, Event{Type: TypeTitle, Data: TurnStart{1}}); err == nil {
		t.Error("a type that is not its data's was written")
	}
}

func TestSESchemaBytesSurvive(t *testing.T) {
	t.Parallel()
	h := header("p", "m")
	schema := `{ "b" : 1.50 , "a" : "\u003c<" }`
	h.Header.Tools = []llm.ToolSchema{{Name: "t", Description: "d", Parameters: json.RawMessage(schema)}}
	line, err := appendEvent(nil, Draft{Data: h}.event(0, 1))
	if err != nil {
		t.Fatal(err)
	}
	got := decodeAll(t, line)[0].Data.(RequestHeader)
	if !got.Header.Equal(h.Header) || string(got.Header.Tools[0].Parameters) != schema {
		t.Errorf("the schema came back as %s", got.Header.Tools[0].Parameters)
	}
}

func TestSEStringsReadAsEncodingJSONReadsThem(t *testing.T) {
	t.Parallel()
	pieces := []string{"a", "é", "🙂", `\n`, `\"`, `\\`, `\/`, `\b\f\r\t`, `\u0041`, `\u00e9`, `\ud83d\ude42`, `\ud83d`, `\ude42`, `\uD83Dx`, "\xff", "\xc3", `\u12`, `\x`, `\`, "\x01", `\ufffd`, "{[", `\ud83d\u0041`}
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		text := `"`
		for range r.IntN(6) {
			text += pieces[r.IntN(len(pieces))]
		}
		text += `"`
		var want string
		wantErr := json.Unmarshal([]byte(text), &want)
		reader := reader{b: []byte(text)}
		got := reader.string()
		err := reader.end()
		if (err == nil) != (wantErr == nil) || err == nil && got != want {
			t.Fatalf("%s is read as %q, %v; want %q, %v", text, got, err, want, wantErr)
		}
	}
}

func FuzzDecodeLine(f *testing.F) {
	for seed := range uint64(4) {
		s := randomLog(f, seed, 60)
		text, err := appendBatch(nil, s.evs)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			f.Add(bytes.TrimSuffix(line, []byte("\n")))
		}
	}
	f.Add([]byte(`{"type":"user/message","data":{"role":"user","content":[{"text":"\ud83d\ude00\ud800","type":"text"}],"source":{"kind":"plugin","x":[]},"id":""},"surfaceOp":{"op":"replace","start":1,"end":2},"sourceEventSeqs":[]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		evs, err := decodeLine(line, 3, 7)
		if err != nil {
			return
		}
		if !json.Valid(line) {
			t.Fatalf("not JSON, and read as %+v", evs)
		}
		out, err := appendBatch(nil, evs)
		if err != nil {
			return // not every readable event can be written: chunks of unknown types
		}
		back := decodeAll(t, out)
		again, err := appendBatch(nil, back)
		if err != nil || !bytes.Equal(out, again) {
			t.Fatalf("%s\nbecame\n%s, %v", out, again, err)
		}
		core := core{next: evs[0].Seq}
		for i := range evs {
			if core.require(&evs[i]) == nil {
				core.apply(&evs[i])
			}
		}
	})
}

func TestSECompactionEventsKeepTheirShape(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		`{"type":"compaction/start","seq":0,"time":1,"data":{"compactionId":"c","sourceCommandId":"s","turn":2}}`,
		`{"type":"compaction/summary","seq":0,"time":1,"data":{"compactionId":"c","summary":[{"type":"text","text":"<s>"}],"rawOutput":[{"type":"reasoning","text":"r"},{"type":"text","text":"<s>"}],"llmStreamCall":true,"shadowedRange":{"start":4,"end":4},"shadowedSeqs":[4],"shadowedTokenCount":266,"provider":"p","model":"m","maxTokens":32,"usage":{"inputTokens":20,"outputTokens":4}}}`,
		`{"type":"compaction/summary","seq":0,"time":1,"data":{"compactionId":"c","summary":[],"shadowedRange":{"start":4,"end":9},"shadowedSeqs":[4,9],"shadowedTokenCount":0,"provider":"p","model":"m"}}`,
		`{"type":"compaction/end","seq":0,"time":1,"data":{"compactionId":"c","turn":null,"error":"no \"room\""}}`,
		`{"type":"compaction/prune","seq":0,"time":1,"data":{"shadowedRange":{"start":4,"end":4},"shadowedSeqs":[4],"shadowedTokenCount":9}}`,
		`{"type":"request/sent","seq":0,"time":1,"data":{"turn":0,"step":0,"attempt":1,"messages":3,"bytes":9,"sha256":"x","profile":"p","wire":1,"repairs":[],"aside":{"purpose":"compaction","config":{"provider":"p","model":"m","maxTokens":32},"leading":2,"ask":"<sum up>"}},"ignorable":true}`,
	} {
		evs, err := decodeLine([]byte(line), 0, 0)
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		if out, err := appendEvent(nil, evs[0]); err != nil || string(out) != line+"\n" {
			t.Errorf("%s\nwas written back as\n%s, %v", line, out, err)
		}
	}
	evs, err := decodeLine([]byte(`{"type":"compaction/end","seq":0,"time":1,"data":{"compactionId":"c","turn":1,"error":{"code":"summary"}}}`), 0, 0)
	if err != nil || evs[0].Data.(CompactionEnd).Error != `{"code":"summary"}` {
		t.Errorf("an error of another shape was read as %v, %v", evs, err)
	}
}
