package llm

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// feed runs chunks through a new assembler whose ids count from 1.
func feed(t *testing.T, chunks ...Chunk) *Assembler {
	t.Helper()
	n := 0
	a := NewAssembler(func() string { n++; return fmt.Sprintf("new%d", n) }, nil)
	for _, c := range chunks {
		if err := a.Add(c); err != nil {
			t.Fatalf("Add(%+v): %v", c, err)
		}
	}
	return a
}

func start(i int, t BlockType) Chunk { return Chunk{Type: BlockStart, Index: i, BlockType: t} }
func text(i int, s string) Chunk     { return Chunk{Type: TextDelta, Index: i, Text: s} }
func think(i int, s string) Chunk    { return Chunk{Type: ReasoningDelta, Index: i, Text: s} }
func end(i int, b Block) Chunk       { return Chunk{Type: BlockEnd, Index: i, Block: &b} }
func finish(k FinishKind) Chunk      { return Chunk{Type: FinishChunk, Reason: &Finish{Kind: k}} }
func call(i int, id, name, args string) Chunk {
	return Chunk{Type: ToolCallDelta, Index: i, ID: id, Name: name, HasName: name != "", ArgumentsDelta: args}
}

func wantBlocks(t *testing.T, got []Block, want ...Block) {
	t.Helper()
	if len(got) == 0 && len(want) == 0 {
		return
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("blocks\n got %+v\nwant %+v", got, want)
	}
}

func TestLM01InterleavedBlocksKeepFirstSeenOrder(t *testing.T) {
	t.Parallel()
	a := feed(t, start(4, Reasoning), start(1, ToolCall), think(4, "a"), call(1, "c", "read", `{"p`), text(9, "x"),
		think(4, "b"), call(1, "c", "", `":1}`), text(9, "y"), finish(ToolCalls))
	blocks, fin, usage := a.Done()
	wantBlocks(t, blocks, Block{Type: Reasoning, Text: "ab"},
		Block{Type: ToolCall, ID: "c", Name: "read", Arguments: `{"p":1}`}, TextBlock("xy"))
	if fin.Kind != ToolCalls || usage != nil {
		t.Errorf("finish %v, usage %v", fin, usage)
	}
}

func TestLM02DeltasNeedNeitherStartNorEnd(t *testing.T) {
	t.Parallel()
	blocks, fin, _ := feed(t, text(0, "a"), text(0, "b")).Done()
	wantBlocks(t, blocks, TextBlock("ab"))
	if fin.Kind != Stop {
		t.Errorf("a stream without a finish ended as %q, want stop", fin.Kind)
	}
}

func TestLM03FirstCloseWins(t *testing.T) {
	t.Parallel()
	a := feed(t, start(0, Text), start(0, Text), text(0, "a"), end(0, TextBlock("first")), end(0, TextBlock("second")),
		text(0, "straggler"), think(0, "other type"), start(0, Reasoning))
	blocks, _, _ := a.Done()
	wantBlocks(t, blocks, TextBlock("first"))
}

func TestLM04CallsGetIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	a := feed(t, call(0, "", "a", "{}"), call(1, "x", "b", "{}"), call(2, "x", "c", "{}"), call(3, "x#2", "d", "{}"), call(4, "x", "e", "{}"))
	var ids []string
	blocks, _, _ := a.Done()
	for _, b := range blocks {
		ids = append(ids, b.ID)
	}
	if got := strings.Join(ids, " "); got != "new1 x x#2 x#2#2 x#3" {
		t.Errorf("ids %q", got)
	}
}

func TestB06IDsOfTheSessionAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	a := NewAssembler(func() string { return "used" }, func(id string) string {
		if id == "used" {
			return "used-1"
		}
		return id
	})
	for _, c := range []Chunk{call(0, "used", "a", "{}"), call(1, "", "b", "{}"), call(2, "free", "c", "{}")} {
		if err := a.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	blocks, _, _ := a.Done()
	if blocks[0].ID != "used-1" || blocks[1].ID != "used-1#2" || blocks[2].ID != "free" {
		t.Errorf("ids %q %q %q", blocks[0].ID, blocks[1].ID, blocks[2].ID)
	}
}

func TestLM06OpenUnknownBlockFailsTheAttempt(t *testing.T) {
	t.Parallel()
	a := feed(t, text(0, "a"), start(1, "video"), finish(Stop))
	blocks, fin, _ := a.Done()
	if blocks != nil || fin.Kind != Failed || fin.Failure.Code != CodeMalformed || !strings.Contains(fin.Failure.Message, "video") {
		t.Errorf("blocks %v, finish %+v", blocks, fin)
	}
	wantBlocks(t, a.Interrupted(), TextBlock("a"))

	closed := Block{Type: "video", Raw: []byte(`{"type":"video","url":"u"}`)}
	blocks, _, _ = feed(t, start(0, "video"), end(0, closed)).Done()
	wantBlocks(t, blocks, closed)
}

func TestLM07InterruptedViewHasOnlyTextAndReasoning(t *testing.T) {
	t.Parallel()
	a := feed(t, think(0, "why"), end(0, Block{Type: Reasoning, Text: "why"}), text(1, "half"), text(2, " \n"), call(3, "c", "bash", `{"a`),
		end(4, Block{Type: ToolCall, ID: "d", Name: "bash", Arguments: "{}"}), start(5, Text))
	wantBlocks(t, a.Interrupted(), Block{Type: Reasoning, Text: "why"}, TextBlock("half"))
}

func TestLO29MaxTokensDropsEveryCall(t *testing.T) {
	t.Parallel()
	a := feed(t, text(0, "I will"), call(1, "c", "write", `{"path":"a"}`), call(2, "d", "write", `{"path":"b`), finish(MaxTokens))
	blocks, fin, _ := a.Done()
	wantBlocks(t, blocks, TextBlock("I will"))
	if fin.Kind != MaxTokens {
		t.Errorf("finish %q", fin.Kind)
	}
}

func TestAssemblerKeepsLastUsageAndFailure(t *testing.T) {
	t.Parallel()
	f := &Failure{Code: CodeServer, Message: "m"}
	a := feed(t, Chunk{Type: UsageChunk, Usage: &Usage{InputTokens: 1}}, Chunk{Type: UsageChunk}, Chunk{Type: UsageChunk, Usage: &Usage{InputTokens: 7}},
		Chunk{Type: FinishChunk, Reason: &Finish{Kind: Failed, Failure: f}})
	_, fin, usage := a.Done()
	if usage.InputTokens != 7 || a.Usage() != usage || fin.Failure != f {
		t.Errorf("usage %+v, finish %+v", usage, fin)
	}
}

func TestAssemblerRefusesBrokenGrammar(t *testing.T) {
	t.Parallel()
	for name, chunks := range map[string][]Chunk{
		"after the finish":  {finish(Stop), text(0, "x")},
		"reasoning in text": {text(0, "x"), think(0, "y")},
		"end without block": {{Type: BlockEnd}},
		"no reason":         {{Type: FinishChunk}},
		"unknown type":      {{Type: "noise"}},
	} {
		a := NewAssembler(nil, nil)
		var err error
		for _, c := range chunks {
			err = a.Add(c)
		}
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
