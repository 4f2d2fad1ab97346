package session

import (
	"strings"
	"testing"

	"dsh/internal/llm"
)

func sampleResult(size int) Event {
	text := strings.Repeat("12: func main() { fmt.Println(\"hello\") }\n", size/42)
	return Draft{Surface: &SurfaceOp{}, Sources: []int{5}, Data: ToolResult{Turn: 1, Step: 1, Message: llm.Message{
		Role: llm.User, ID: "m", Source: llm.Source{Kind: llm.FromTool, CallID: "c"},
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: "c", Content: []llm.Block{llm.TextBlock(text)}}},
	}}}.event(6, 1700000000000)
}

func sampleChunk(seq int) Event {
	return Event{Type: TypeAssistantChunk, Seq: seq, Time: 1700000000000, Data: AssistantChunk{Turn: 1, Step: 1,
		Chunk: llm.Chunk{Type: llm.TextDelta, Text: " hello"}}}
}

func BenchmarkAppendEvent(b *testing.B) {
	for name, ev := range map[string]Event{"chunk": sampleChunk(7), "result10KB": sampleResult(10 << 10)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var buf []byte
			for b.Loop() {
				buf, _ = appendEvent(buf[:0], ev)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkDecodeLine(b *testing.B) {
	var run []Event
	for i := range 50 {
		run = append(run, sampleChunk(i))
	}
	row, _ := appendBatch(nil, run)
	chunk, _ := appendEvent(nil, sampleChunk(7))
	result, _ := appendEvent(nil, sampleResult(10<<10))
	for name, line := range map[string][]byte{"chunk": chunk, "result10KB": result, "row50": row} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				if _, err := decodeLine(line, 0, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
