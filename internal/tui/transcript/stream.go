package transcript

import (
	"strings"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// stream is the request that is answered: its blocks are the last ones of the
// transcript, and go without a trace when it fails.
type stream struct {
	seq   int // of the event that opened it
	from  int // index+1 of its first block, 0 if it has none
	parts []*part
	count [End]int // blocks by kind
}

// part is one streamed block.
type part struct {
	index int // the chunks'
	at    int // the block's, -1 if there is nothing to see yet
	kind  Kind
	text  strings.Builder // or arguments
	id    string
	name  string
}

// open begins a new one.
func (s *stream) open(seq int) { *s = stream{seq: seq} }

// id names the next block of a kind. The names do not depend on chunks: those of an
// answer are made again from its message.
func (s *stream) id(k Kind) ID {
	s.count[k]++
	return ID{Seq: s.seq, N: s.count[k]*int(End) + int(k)}
}

func (s *stream) part(c *llm.Chunk, k Kind) *part {
	for i := len(s.parts) - 1; i >= 0; i-- {
		if s.parts[i].index == c.Index && s.parts[i].kind == k {
			return s.parts[i]
		}
	}
	s.parts = append(s.parts, &part{index: c.Index, kind: k, at: -1})
	return s.parts[len(s.parts)-1]
}

func (p *Projection) chunk(ev *session.Event, c *llm.Chunk) {
	switch c.Type {
	case llm.TextDelta:
		p.delta(ev, p.stream.part(c, Answer), c.Text)
	case llm.ReasoningDelta:
		p.delta(ev, p.stream.part(c, Thought), c.Text)
	case llm.ToolCallDelta:
		pt := p.stream.part(c, Call)
		if c.ID != "" {
			pt.id = c.ID
		}
		if c.HasName {
			pt.name = c.Name
		}
		p.delta(ev, pt, c.ArgumentsDelta)
	case llm.BlockEnd:
		p.blockEnd(ev, c)
	}
}

// delta adds what arrived. A block is there from its first visible character on.
func (p *Projection) delta(ev *session.Event, pt *part, text string) {
	pt.text.WriteString(text)
	if pt.at < 0 {
		if pt.kind != Call && strings.TrimSpace(text) == "" || pt.kind == Call && pt.name == "" {
			return
		}
		if p.stream.from == 0 {
			p.stream.from = len(p.blocks) + 1
		}
		pt.at = p.push(Block{ID: p.stream.id(pt.kind), Kind: pt.kind})
	} else if text == "" {
		return
	}
	b := p.touch(pt.at, ev)
	if pt.kind == Call {
		b.CallID, b.Name, b.Args = pt.id, pt.name, pt.text.String()
	} else {
		b.Text = pt.text.String()
	}
}

// blockEnd: the block is whole. One that came without deltas comes now.
func (p *Projection) blockEnd(ev *session.Event, c *llm.Chunk) {
	if c.Block == nil {
		return
	}
	kind, text := Answer, c.Block.Text
	switch c.Block.Type {
	case llm.Reasoning:
		kind = Thought
	case llm.ToolCall:
		kind, text = Call, c.Block.Arguments
	case llm.Text:
	default:
		return
	}
	pt := p.stream.part(c, kind)
	if pt.at < 0 && pt.text.Len() == 0 {
		pt.id, pt.name = c.Block.ID, c.Block.Name
		p.delta(ev, pt, text)
	}
	if kind == Call && pt.at >= 0 && p.blocks[pt.at].State == Streaming {
		p.touch(pt.at, ev).State = Pending
	}
}

// answer puts the blocks of a message in the place of those that streamed.
func (p *Projection) answer(ev *session.Event, m *session.AssistantMessage) {
	p.dropStream()
	p.endRetry(ev)
	state := Done
	if m.Interrupted {
		state = Partial
	}
	tokens := 0
	if m.Usage != nil && m.Usage.ReasoningTokens != nil {
		tokens = *m.Usage.ReasoningTokens
	}
	for i := range m.Message.Content {
		c := &m.Message.Content[i]
		b := Block{Version: ev.Seq, State: state, Text: c.Text}
		switch {
		case c.Type == llm.ToolCall:
			b = Block{Version: ev.Seq, Kind: Call, State: Pending, CallID: c.ID, Name: c.Name, Args: c.Arguments}
		case strings.TrimSpace(c.Text) == "":
			continue
		case c.Type == llm.Text:
			b.Kind = Answer
		case c.Type == llm.Reasoning:
			b.Kind, b.Tokens = Thought, tokens
			tokens = 0 // they are counted for the whole message
		default:
			continue
		}
		b.ID = p.stream.id(b.Kind)
		at := p.push(b)
		if b.Kind == Call {
			p.track(b.CallID, at)
		}
	}
	p.stream.open(ev.Seq)
}

// dropStream takes away the blocks of the request. What came in between stays.
func (p *Projection) dropStream() {
	if p.stream.from == 0 {
		return
	}
	from := p.stream.from - 1
	kept := p.blocks[:from]
	for i := from; i < len(p.blocks); i++ {
		b := p.blocks[i]
		if b.ID.Seq == p.stream.seq && b.ID.N > 0 {
			continue
		}
		p.moved(i, len(kept))
		b.Spaced = spaced(kept, &b)
		kept = append(kept, b)
	}
	clear(p.blocks[len(kept):])
	p.blocks = kept
	p.stream.open(p.stream.seq)
	p.rev++
}

// moved keeps what points to a block pointing to it.
func (p *Projection) moved(from, to int) {
	if p.retry == from+1 {
		p.retry = to + 1
	}
	if p.compact == from+1 {
		p.compact = to + 1
	}
	if b := &p.blocks[from]; b.Kind == Call && p.calls[b.CallID] == from {
		p.track(b.CallID, to)
	}
}
