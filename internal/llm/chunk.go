package llm

import "encoding/json"

// ChunkType names a streamed piece.
type ChunkType string

const (
	BlockStart     ChunkType = "block-start"
	TextDelta      ChunkType = "text-delta"
	ReasoningDelta ChunkType = "reasoning-delta"
	ToolCallDelta  ChunkType = "tool-call-delta"
	BlockEnd       ChunkType = "block-end"
	UsageChunk     ChunkType = "usage"
	FinishChunk    ChunkType = "finish"
)

// Chunk is one streamed piece. Blocks interleave by Index; the last chunk of a
// stream is a finish.
type Chunk struct {
	Type ChunkType

	Index     int       // all block and delta chunks
	BlockType BlockType // block-start
	Text      string    // text-delta, reasoning-delta

	ID             string // tool-call-delta
	Name           string // tool-call-delta; only when HasName
	HasName        bool   // the delta carried a name, possibly an empty one
	ArgumentsDelta string // tool-call-delta

	Block  *Block  // block-end: the whole block
	Usage  *Usage  // usage
	Reason *Finish // finish

	Replay json.RawMessage // finish: see Source.Replay
}

// FinishKind is why a stream ended.
type FinishKind string

const (
	Stop      FinishKind = "stop"
	ToolCalls FinishKind = "tool-calls"
	MaxTokens FinishKind = "max-tokens"
	Failed    FinishKind = "error"
	Aborted   FinishKind = "aborted"
)

// Finish is the end of a stream; Failure is set for error and aborted.
type Finish struct {
	Kind    FinishKind `json:"kind"`
	Failure *Failure   `json:"failure,omitempty"`
}

// Usage is what one request cost in tokens. The buckets are disjoint except for
// ReasoningTokens, which is a part of OutputTokens.
type Usage struct {
	InputTokens      int  `json:"inputTokens"` // without those read from or written to the cache
	OutputTokens     int  `json:"outputTokens"`
	CacheReadTokens  *int `json:"cacheReadTokens,omitempty"`
	CacheWriteTokens *int `json:"cacheWriteTokens,omitempty"`
	ReasoningTokens  *int `json:"reasoningTokens,omitempty"`

	CostNano *int64 `json:"costNano,omitempty"` // what the provider says it costs, in nano-dollars
}

// Context is how many tokens of the window the request and its answer take.
func (u Usage) Context() int {
	n := u.InputTokens + u.OutputTokens
	for _, cached := range []*int{u.CacheReadTokens, u.CacheWriteTokens} {
		if cached != nil {
			n += *cached
		}
	}
	return n
}
