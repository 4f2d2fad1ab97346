package session

import (
	"bytes"
	"fmt"

	"dsh/internal/llm"
)

// partial is what the running attempt of the open step has streamed so far: enough
// to keep the text of an answer that a crash cut off.
type partial struct {
	blocks []partialBlock // in the order in which they began
	usage  *llm.Usage
}

type partialBlock struct {
	index int
	kind  llm.BlockType
	text  []byte
}

// apply takes over one event. Only the last attempt counts: whatever ends one, or
// begins the next, forgets.
func (p *partial) apply(data Payload) {
	switch d := data.(type) {
	case AssistantChunk:
		p.chunk(&d.Chunk)
	case StepStart, RequestSent, RequestSpent, Retry, RetryStarted, AssistantMessage, StepEnd:
		*p = partial{}
	}
}

func (p *partial) chunk(c *llm.Chunk) {
	switch c.Type {
	case llm.BlockStart:
		p.block(c.Index, c.BlockType)
	case llm.TextDelta:
		b := p.block(c.Index, llm.Text)
		b.text = append(b.text, c.Text...)
	case llm.ReasoningDelta:
		b := p.block(c.Index, llm.Reasoning)
		b.text = append(b.text, c.Text...)
	case llm.BlockEnd:
		if c.Block != nil && (c.Block.Type == llm.Text || c.Block.Type == llm.Reasoning) {
			b := p.block(c.Index, c.Block.Type)
			b.text = append(b.text[:0], c.Block.Text...)
		}
	case llm.UsageChunk:
		p.usage = c.Usage
	case llm.FinishChunk:
		if failed(c) {
			*p = partial{}
		}
	}
}

// failed reports whether a chunk ends its attempt without an answer. An aborted
// stream does not: what it let through is kept.
func failed(c *llm.Chunk) bool {
	return c.Type == llm.FinishChunk && c.Reason != nil && c.Reason.Kind == llm.Failed
}

// block finds the block of an index, or begins it.
func (p *partial) block(index int, kind llm.BlockType) *partialBlock {
	for i := range p.blocks {
		if p.blocks[i].index == index {
			return &p.blocks[i]
		}
	}
	p.blocks = append(p.blocks, partialBlock{index: index, kind: kind})
	return &p.blocks[len(p.blocks)-1]
}

// message is the interrupted answer: text and reasoning. Calls are left out, they
// were not whole. ok is false if there is nothing to keep.
func (p *partial) message(turn, step int, h *llm.Header) (m AssistantMessage, ok bool) {
	var content []llm.Block
	for _, b := range p.blocks {
		if (b.kind == llm.Text || b.kind == llm.Reasoning) && len(bytes.TrimSpace(b.text)) > 0 {
			content = append(content, llm.Block{Type: b.kind, Text: string(b.text)})
		}
	}
	source := llm.Source{Kind: llm.FromModel}
	if h != nil {
		source.Provider, source.Model = h.Config.Provider, h.Config.Model
	}
	return AssistantMessage{Turn: turn, Step: step, Usage: p.usage, Interrupted: true, Message: llm.Message{
		Role: llm.Assistant, Content: content, Source: source,
		ID: fmt.Sprintf("interrupted-%d.%d", turn, step),
	}}, len(content) > 0
}
