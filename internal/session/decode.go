package session

import (
	"bytes"

	"dsh/internal/llm"
)

// words are strings that come again and again: one copy serves all.
var words = func() map[string]string {
	m := map[string]string{}
	for _, w := range []string{
		"user", "assistant", "text", "reasoning", "tool-call", "tool-result", "plugin", "tool", "model",
		string(llm.BlockStart), string(llm.TextDelta), string(llm.ReasoningDelta), string(llm.ToolCallDelta),
		string(llm.BlockEnd), string(llm.UsageChunk), string(llm.FinishChunk), string(NextStep), string(NextTurn),
		OutcomeCanceled, string(TypeUserMessage), string(TypeAssistantChunk), string(TypeAssistantMessage),
		string(TypeToolCall), string(TypeToolResult), string(TypeStepStart), string(TypeStepEnd),
		string(TypeInboxSpliced), string(TypeRequestSent), string(TypePolicyDecision),
	} {
		m[w] = w
	}
	return m
}()

func (r *reader) word() string {
	s := r.text()
	if w, ok := words[string(s)]; ok {
		return w
	}
	return string(s)
}

func (r *reader) message(m *llm.Message) {
	r.object(func(key []byte) {
		switch string(key) {
		case "role":
			m.Role = llm.Role(r.word())
		case "content":
			m.Content = r.blocks()
		case "source":
			r.source(&m.Source)
		case "id":
			m.ID = r.string()
		default:
			r.skip()
		}
	})
}

func (r *reader) messages() []llm.Message {
	var list []llm.Message
	r.list(func() {
		list = append(list, llm.Message{})
		r.message(&list[len(list)-1])
	})
	return list
}

func (r *reader) blocks() []llm.Block {
	list := []llm.Block{}
	r.list(func() {
		list = append(list, llm.Block{})
		r.block(&list[len(list)-1])
	})
	return list
}

// block reads a block whose type stands first, as every writer does; any other is
// left to the block's own, slower unmarshaler.
func (r *reader) block(b *llm.Block) {
	probe := *r
	probe.scratch = nil
	if probe.take('{') && string(probe.text()) == "type" && probe.take(':') {
		b.Type = llm.BlockType(probe.word())
	}
	switch b.Type {
	case llm.Text, llm.Reasoning, llm.ToolCall, llm.ToolResult:
	default:
		r.value(b)
		return
	}
	r.object(func(key []byte) {
		switch string(key) {
		case "type":
			b.Type = llm.BlockType(r.word())
		case "text":
			b.Text = r.string()
		case "id":
			b.ID = r.string()
		case "name":
			b.Name = r.string()
		case "arguments":
			b.Arguments = r.string()
		case "extraContent":
			r.value(&b.Extra)
		case "toolCallId":
			b.ToolCallID = r.string()
		case "content":
			b.Content = r.blocks()
		case "isError":
			b.IsError = r.bool()
		default:
			r.skip()
		}
	})
}

// source keeps the raw form when it holds more than the known fields.
func (r *reader) source(s *llm.Source) {
	r.peek()
	start, more := r.i, false
	r.object(func(key []byte) {
		switch string(key) {
		case "kind":
			s.Kind = r.word()
		case "callId":
			s.CallID = r.string()
		case "plugin":
			s.Plugin = r.string()
		case "form":
			s.Form = r.string()
		case "provider":
			s.Provider = r.string()
		case "model":
			s.Model = r.string()
		case "replayState":
			s.Replay = r.raw()
		default:
			more = true
			r.skip()
		}
	})
	if more && r.err == nil {
		s.Raw = bytes.Clone(r.b[start:r.i])
	}
}

func (r *reader) chunk(c *llm.Chunk) {
	r.object(func(key []byte) {
		switch string(key) {
		case "type":
			c.Type = llm.ChunkType(r.word())
		case "index":
			c.Index = r.int()
		case "blockType":
			c.BlockType = llm.BlockType(r.word())
		case "text":
			c.Text = r.string()
		case "id":
			c.ID = r.string()
		case "name":
			c.Name, c.HasName = r.string(), true
		case "argumentsDelta":
			c.ArgumentsDelta = r.string()
		case "block":
			c.Block = &llm.Block{}
			r.block(c.Block)
		case "usage":
			r.value(&c.Usage)
		case "reason":
			r.value(&c.Reason)
		case "replayState":
			c.Replay = r.raw()
		default:
			r.skip()
		}
	})
}

// The payloads that make up most of a log.

func (r *reader) userMessage() UserMessage {
	var p UserMessage
	r.message(&p.Message)
	return p
}

func (r *reader) assistantChunk() AssistantChunk {
	var p AssistantChunk
	r.object(func(key []byte) {
		switch string(key) {
		case "turn":
			p.Turn = r.int()
		case "step":
			p.Step = r.int()
		case "chunk":
			r.chunk(&p.Chunk)
		default:
			r.skip()
		}
	})
	return p
}

func (r *reader) assistantMessage() AssistantMessage {
	var p AssistantMessage
	r.object(func(key []byte) {
		switch string(key) {
		case "turn":
			p.Turn = r.int()
		case "step":
			p.Step = r.int()
		case "message":
			r.message(&p.Message)
		case "usage":
			r.value(&p.Usage)
		case "interrupted":
			p.Interrupted = r.bool()
		default:
			r.skip()
		}
	})
	return p
}

func (r *reader) toolResult() ToolResult {
	var p ToolResult
	r.object(func(key []byte) {
		switch string(key) {
		case "turn":
			p.Turn = r.int()
		case "step":
			p.Step = r.int()
		case "message":
			r.message(&p.Message)
		case "error":
			r.value(&p.Error)
		case "meta":
			p.Meta = r.raw()
		default:
			r.skip()
		}
	})
	return p
}

func (r *reader) inboxSpliced() InboxSpliced {
	var p InboxSpliced
	r.object(func(key []byte) {
		switch string(key) {
		case "target":
			p.Target = Target(r.word())
		case "start":
			p.Start = r.int()
		case "removedCount":
			p.RemovedCount = r.int()
		case "inserted":
			p.Inserted = r.messages()
		case "outcome":
			p.Outcome = r.word()
		default:
			r.skip()
		}
	})
	return p
}
