package llm

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Assembler folds the chunks of one attempt into the blocks of one message. It is
// not safe for concurrent use.
type Assembler struct {
	newID  func() string
	unique func(id string) string
	open   map[int]*piece // by chunk index, closed ones included
	order  []*piece       // as first seen
	usage  *Usage
	finish *Finish
	replay json.RawMessage
}

// piece is a block that is being put together.
type piece struct {
	block  Block // its type and, for a call, id and name; all of it once closed
	text   strings.Builder
	closed bool
}

// NewAssembler starts a message. newID makes an id for a call that came without
// one. unique rewrites an id that the session has used already (the same id when
// it is free); nil accepts every id.
func NewAssembler(newID func() string, unique func(id string) string) *Assembler {
	return &Assembler{newID: newID, unique: unique, open: map[int]*piece{}}
}

// Add takes the next chunk. Blocks may interleave and lack a start or an end; the
// first end of a block wins and what comes for it later is ignored. An error means
// that the stream breaks the grammar of chunks: a delta of another type than its
// block, an unknown chunk type, anything after the finish.
func (a *Assembler) Add(c Chunk) error {
	if a.finish != nil {
		return fmt.Errorf("chunk %q after the finish: a stream ends with its finish", c.Type)
	}
	switch c.Type {
	case BlockStart:
		a.piece(c.Index, c.BlockType)
	case TextDelta:
		return a.grow(c, Text, c.Text)
	case ReasoningDelta:
		return a.grow(c, Reasoning, c.Text)
	case ToolCallDelta:
		return a.grow(c, ToolCall, c.ArgumentsDelta)
	case BlockEnd:
		return a.end(c)
	case UsageChunk:
		if c.Usage != nil {
			a.usage = c.Usage // providers report running totals: the last one counts
		}
	case FinishChunk:
		if c.Reason == nil {
			return fmt.Errorf("finish chunk without a reason")
		}
		a.finish, a.replay = c.Reason, c.Replay
	default:
		return fmt.Errorf("unknown chunk type %q", c.Type)
	}
	return nil
}

// piece finds the block at index and opens it when it is new.
func (a *Assembler) piece(index int, t BlockType) *piece {
	p := a.open[index]
	if p == nil {
		p = &piece{block: Block{Type: t}}
		a.open[index] = p
		a.order = append(a.order, p)
	}
	return p
}

func (a *Assembler) grow(c Chunk, t BlockType, delta string) error {
	p := a.piece(c.Index, t)
	if p.closed {
		return nil
	}
	if p.block.Type != t {
		return fmt.Errorf("%s for block %d, which is a %s block", c.Type, c.Index, p.block.Type)
	}
	p.text.WriteString(delta)
	if c.ID != "" {
		p.block.ID = c.ID
	}
	if c.HasName && c.Name != "" {
		p.block.Name = c.Name
	}
	return nil
}

func (a *Assembler) end(c Chunk) error {
	if c.Block == nil {
		return fmt.Errorf("block-end %d without its block", c.Index)
	}
	if p := a.piece(c.Index, c.Block.Type); !p.closed {
		p.block, p.closed = *c.Block, true
	}
	return nil
}

// value is the block as far as it came.
func (p *piece) value() Block {
	b := p.block
	switch {
	case p.closed:
	case b.Type == ToolCall:
		b.Arguments = p.text.String()
	default:
		b.Text = p.text.String()
	}
	return b
}

func (p *piece) known() bool {
	return p.closed || p.block.Type == Text || p.block.Type == Reasoning || p.block.Type == ToolCall
}

// Done is the message of an attempt whose stream has ended, in the order in which
// the blocks were first seen, without empty text and reasoning. Every call has an
// id of its own. A stream without a finish counts as a stop.
//
// After max-tokens no call is left, neither the one that was cut nor those before
// it: half of a batch is not what the model asked for, and the turn ends. An open
// block of an unknown type cannot be completed: the finish is then an error.
func (a *Assembler) Done() (blocks []Block, fin Finish, usage *Usage) {
	fin = Finish{Kind: Stop}
	if a.finish != nil {
		fin = *a.finish
	}
	ids := map[string]bool{}
	for _, p := range a.order {
		b := p.value()
		switch {
		case !p.known():
			return nil, Finish{Kind: Failed, Failure: &Failure{Code: CodeMalformed,
				Message: fmt.Sprintf("the answer ended inside a block of unknown type %q", b.Type)}}, a.usage
		case b.Type == ToolCall && fin.Kind == MaxTokens:
			continue
		case b.Type == ToolCall:
			b.ID = a.callID(b.ID, ids)
		case (b.Type == Text || b.Type == Reasoning) && b.Text == "":
			continue
		}
		blocks = append(blocks, b)
	}
	return blocks, fin, a.usage
}

// callID gives a call an id that neither the session nor the message has.
func (a *Assembler) callID(id string, ids map[string]bool) string {
	if id == "" {
		id = a.newID()
	}
	id = a.unused(id)
	free := id
	for n := 2; ids[free]; n++ {
		free = a.unused(id + "#" + strconv.Itoa(n))
	}
	ids[free] = true
	return free
}

func (a *Assembler) unused(id string) string {
	if a.unique == nil {
		return id
	}
	return a.unique(id)
}

// Interrupted is what a cancelled or cut stream leaves for the log: text and
// reasoning that is not blank, open or closed. Calls are never part of it.
func (a *Assembler) Interrupted() []Block {
	var blocks []Block
	for _, p := range a.order {
		b := p.value()
		if (b.Type == Text || b.Type == Reasoning) && strings.TrimSpace(b.Text) != "" {
			blocks = append(blocks, b)
		}
	}
	return slices.Clip(blocks)
}

// Replay is what the provider wants back with the message, nil if nothing: see
// Source.Replay.
func (a *Assembler) Replay() json.RawMessage { return a.replay }

// Usage is the last usage that was reported, nil if none was.
func (a *Assembler) Usage() *Usage { return a.usage }
