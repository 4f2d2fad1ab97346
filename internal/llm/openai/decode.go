package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"dsh/internal/llm"
)

// decoder makes chunks of events. A block ends when text gives way to reasoning or
// back; calls are open until the stream ends, because no finish reason in the
// middle means that their arguments are complete.
type decoder struct {
	header llm.Header
	yield  func(llm.Chunk)

	open    llm.BlockType      // text or reasoning that is being streamed, or ""
	index   int                // its index
	blocks  []*strings.Builder // texts by index, nil for calls
	calls   calls
	split   splitter
	details details

	events  int // payloads so far
	usage   *llm.Usage
	reason  string // the gravest finish reason so far
	refused bool   // a refusal was streamed
	said    bool   // text that is not blank
	thought bool   // reasoning likewise
}

func newDecoder(p Profile, h llm.Header, yield func(llm.Chunk)) *decoder {
	return &decoder{header: h, yield: yield, split: splitter{tags: p.ThinkTags}}
}

// add takes the payload of one event. A failure ends the stream.
func (d *decoder) add(payload []byte) *llm.Failure {
	d.events++
	var e event
	if err := json.Unmarshal(payload, &e); err != nil {
		return &llm.Failure{Code: llm.CodeMalformed, Message: "an event of the answer cannot be read: " + err.Error()}
	}
	if e.isError() {
		return Classify(200, nil, payload)
	}
	if len(e.Choices) == 0 && len(e.Data) > 0 && e.Data[0] == '{' {
		return d.add(e.Data)
	}
	d.count(e.Usage)
	if e.Groq != nil {
		d.count(e.Groq.Usage)
	}
	for _, c := range e.Choices {
		if c.Index.n == 0 {
			d.choice(c)
		}
	}
	return nil
}

func (d *decoder) choice(c choice) {
	d.count(c.Usage)
	for _, piece := range []*delta{c.Delta, c.Message} {
		if piece != nil {
			d.delta(piece)
		}
	}
	if gravity(c.Finish.said) > gravity(d.reason) {
		d.reason = c.Finish.said
	}
}

func (d *decoder) delta(p *delta) {
	reasoning := p.Reasoning.said + p.Reasoning.thought
	if reasoning == "" {
		reasoning = p.Reasoning2.said + p.Reasoning2.thought // some send both
	}
	if in := d.details.add(p.Details); reasoning == "" {
		reasoning = in // some send nothing else
	}
	d.stream(llm.Reasoning, reasoning+p.Content.thought)
	d.split.push(p.Content.said, d.stream)
	if p.Refusal.said != "" {
		d.refused = true
		d.stream(llm.Text, p.Refusal.said)
	}
	for i, t := range p.ToolCalls {
		if t != nil {
			d.call(t, i)
		}
	}
	if f := p.FunctionCall; f != nil {
		d.call(&toolCall{Index: &number64{set: true}, Function: f}, 0)
	}
}

// stream sends text or reasoning, in a new block when the kind changes.
func (d *decoder) stream(t llm.BlockType, s string) {
	if s == "" {
		return
	}
	s = strings.ReplaceAll(s, "\x00", "\uFFFD")
	if d.open != t {
		d.endText()
		d.open, d.index = t, d.newBlock(&strings.Builder{})
		d.yield(llm.Chunk{Type: llm.BlockStart, Index: d.index, BlockType: t})
	}
	d.blocks[d.index].WriteString(s)
	delta := llm.TextDelta
	blank := strings.TrimSpace(s) == ""
	if t == llm.Reasoning {
		delta = llm.ReasoningDelta
		d.thought = d.thought || !blank
	} else {
		d.said = d.said || !blank
	}
	d.yield(llm.Chunk{Type: delta, Index: d.index, Text: s})
}

func (d *decoder) newBlock(text *strings.Builder) int {
	d.blocks = append(d.blocks, text)
	return len(d.blocks) - 1
}

func (d *decoder) endText() {
	if d.open != "" {
		d.yield(llm.Chunk{Type: llm.BlockEnd, Index: d.index, Block: &llm.Block{Type: d.open, Text: d.blocks[d.index].String()}})
		d.open = ""
	}
}

// maxExtra bounds what is kept of a call for the provider: a signature has some
// kilobytes, and it goes with every later request.
const maxExtra = 64 << 10

func (d *decoder) call(t *toolCall, position int) {
	f := t.Function
	if f == nil {
		f = &t.function
	}
	id, name, args := t.ID.said, f.Name.said, string(f.Arguments)
	if kind := t.Type.said; kind != "" && kind != "function" {
		name = kind + ":" + name // not a tool of ours: the model is told so
	}
	call := d.calls.find(t, id, name, position)
	opened := call == nil
	if opened {
		if id == "" && name == "" && args == "" {
			return
		}
		call = d.calls.open(t)
	}
	if call.id == "" {
		call.id = id
	}
	if len(t.Extra) > 0 && len(t.Extra) <= maxExtra && t.Extra[0] == '{' {
		call.extra = t.Extra
	}
	changed := call.setName(name)
	call.args.WriteString(args)
	switch {
	case opened:
		d.begin(d.calls.due(call))
	case call.block != waits && (changed || args != ""):
		d.yield(d.callDelta(call, changed, args))
	}
}

// begin sends all that is known of calls by now, each in its new block.
func (d *decoder) begin(calls []*openedCall) {
	for _, call := range calls {
		d.split.flush(d.stream)
		d.endText()
		call.block = d.newBlock(nil)
		d.yield(llm.Chunk{Type: llm.BlockStart, Index: call.block, BlockType: llm.ToolCall})
		d.yield(d.callDelta(call, call.name != "", call.args.String()))
	}
}

func (d *decoder) callDelta(call *openedCall, named bool, args string) llm.Chunk {
	c := llm.Chunk{Type: llm.ToolCallDelta, Index: call.block, ID: call.id, ArgumentsDelta: args}
	if named {
		c.Name, c.HasName = d.toolName(call.name), true
	}
	return c
}

// toolName is the tool's own name for one that came over the wire.
func (d *decoder) toolName(wire string) string {
	has := func(name string) bool {
		return slices.ContainsFunc(d.header.Tools, func(t llm.ToolSchema) bool { return wireName(t.Name) == name })
	}
	if plain, ok := strings.CutPrefix(wire, "functions."); ok && !has(wire) && has(plain) {
		wire = plain
	}
	for _, t := range d.header.Tools {
		if wireName(t.Name) == wire {
			return t.Name
		}
	}
	return wire
}

// count keeps the last usage: it is a running total where it comes more than once.
func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	out := llm.Usage{OutputTokens: u.Completion.n, CostNano: u.Cost.nano}
	read, readSet := u.CacheHit.n, u.CacheHit.set
	written, writtenSet := u.CacheCreated.n, u.CacheCreated.set
	if u.CacheRead.set {
		read, readSet = u.CacheRead.n, true
	}
	if p := u.PromptParts; p != nil && p.Cached.set {
		read, readSet = p.Cached.n, true
	}
	if p := u.PromptParts; p != nil && p.Written.set {
		written, writtenSet = p.Written.n, true
	}
	disjoint := (u.CacheRead.set || u.CacheCreated.set) && u.Prompt.n < read+written
	if disjoint {
		out.InputTokens = u.Prompt.n
	} else {
		read = min(read, u.Prompt.n)
		written = min(written, u.Prompt.n-read)
		out.InputTokens = u.Prompt.n - read - written
	}
	if readSet {
		out.CacheReadTokens = &read
	}
	if writtenSet {
		out.CacheWriteTokens = &written
	}
	if p := u.CompletionParts; p != nil && p.Reasoning.set {
		reasoning := min(p.Reasoning.n, u.Completion.n)
		out.ReasoningTokens = &reasoning
	}
	d.usage = &out
}

// end sends what the whole stream adds up to. done says that the endpoint said so;
// explain completes the text of a failure.
func (d *decoder) end(done bool, explain func(*llm.Failure)) {
	d.split.flush(d.stream)
	fin := d.verdict(done)
	if fin.Kind != llm.Failed {
		d.endText()
		d.begin(d.calls.waiting())
		for _, c := range d.calls.list {
			b := c.finished()
			b.Name = d.toolName(b.Name)
			d.yield(llm.Chunk{Type: llm.BlockEnd, Index: c.block, Block: &b})
		}
	} else {
		explain(fin.Failure)
	}
	d.finish(fin)
}

// finish sends the last chunks of a stream.
func (d *decoder) finish(fin llm.Finish) {
	if d.usage != nil {
		d.yield(llm.Chunk{Type: llm.UsageChunk, Usage: d.usage})
	}
	last := llm.Chunk{Type: llm.FinishChunk, Reason: &fin}
	if fin.Kind != llm.Failed {
		last.Replay = d.details.state()
	}
	d.yield(last)
}

func failed(code llm.Code, format string, args ...any) llm.Finish {
	return llm.Finish{Kind: llm.Failed, Failure: &llm.Failure{Code: code, Message: fmt.Sprintf(format, args...)}}
}
