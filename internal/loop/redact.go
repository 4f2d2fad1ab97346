package loop

import (
	"context"
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// redact takes secrets out of a result: neither the log nor the model gets them.
func (a *Agent) redact(r *tools.Result) {
	clean := a.o.RedactResult
	r.Text = clean(r.Text)
	r.Blocks = slices.Clone(r.Blocks)
	a.redactBlocks(r.Blocks)
	r.Contexts = slices.Clone(r.Contexts)
	for i := range r.Contexts {
		r.Contexts[i].Content = slices.Clone(r.Contexts[i].Content)
		a.redactBlocks(r.Contexts[i].Content)
	}
	r.Changed = cleanAll(r.Changed, clean)
	m := &r.Meta
	m.Seen = slices.Clone(m.Seen)
	for i := range m.Seen {
		m.Seen[i].Path = clean(m.Seen[i].Path) // its digest is of the real bytes
	}
	if m.Refused != nil {
		refused := *m.Refused
		refused.Target, refused.Reason, refused.Flag = clean(refused.Target), clean(refused.Reason), clean(refused.Flag)
		m.Refused = &refused
	}
	if m.Display != nil {
		d := redactDisplay(*m.Display, clean)
		m.Display = &d
	}
}

func (a *Agent) redactBlocks(blocks []llm.Block) {
	for i := range blocks {
		blocks[i].Text = a.o.RedactResult(blocks[i].Text)
	}
}

func redactDisplay(d session.Display, clean func(string) string) session.Display {
	d.Verb, d.Target, d.Text = clean(d.Verb), clean(d.Target), clean(d.Text)
	d.Facts = cleanAll(d.Facts, clean)
	if d.Command != nil {
		body := *d.Command
		body.Description, body.Dir, body.Artifact = clean(body.Description), clean(body.Dir), clean(body.Artifact)
		d.Command = &body
	}
	d.Diffs = slices.Clone(d.Diffs)
	for i := range d.Diffs {
		d.Diffs[i].Path = clean(d.Diffs[i].Path)
		d.Diffs[i].Hunks = redactHunks(d.Diffs[i].Hunks, clean)
	}
	return d
}

// redactHunks cleans the lines of a change one by one, as each has its sign. What
// then still holds a secret has one of several lines: that change is not shown.
func redactHunks(hunks []session.Hunk, clean func(string) string) []session.Hunk {
	hunks = slices.Clone(hunks)
	for i := range hunks {
		lines := cleanAll(hunks[i].Lines, clean)
		if text := strings.Join(lines, "\n"); clean(text) != text {
			return nil
		}
		hunks[i].Lines = lines
	}
	return hunks
}

func cleanAll(list []string, clean func(string) string) []string {
	list = slices.Clone(list)
	for i := range list {
		list[i] = clean(list[i])
	}
	return list
}

// dispatch sends a request. What comes back is free of the user's secrets before
// anybody sees a chunk of it: what is logged, what runs and what is sent again later
// are the same.
func (a *Agent) dispatch(ctx context.Context, route Route, req *llm.Request) iter.Seq2[llm.Chunk, error] {
	return func(yield func(llm.Chunk, error) bool) {
		f := answerFilter{o: &a.o, blocks: map[int]*filtered{}}
		for chunk, err := range route.Model.Stream(ctx, req) {
			if err != nil {
				yield(chunk, err)
				return
			}
			for _, c := range f.pass(chunk) {
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// answerFilter redacts the chunks of one answer. A block's text may stay behind its
// chunks as long as it may be the beginning of a secret.
type answerFilter struct {
	o      *Options
	blocks map[int]*filtered // by index, those that have begun and not ended
}

type filtered struct {
	next func(piece string, end bool) string
	kind llm.ChunkType // of its deltas
}

func (f *answerFilter) pass(c llm.Chunk) []llm.Chunk {
	if c.Type == llm.FinishChunk {
		return append(f.flushAll(), f.finish(c))
	}
	if f.o.RedactAnswer == nil {
		return []llm.Chunk{c}
	}
	switch c.Type {
	case llm.TextDelta, llm.ReasoningDelta:
		if c.Text = f.block(c).next(c.Text, false); c.Text == "" {
			return nil
		}
	case llm.ToolCallDelta:
		c.ArgumentsDelta = f.block(c).next(c.ArgumentsDelta, false)
	case llm.BlockEnd:
		return append(f.flush(c.Index), f.end(c))
	}
	return []llm.Chunk{c}
}

func (f *answerFilter) block(c llm.Chunk) *filtered {
	b := f.blocks[c.Index]
	if b == nil {
		b = &filtered{next: f.o.RedactAnswer(), kind: c.Type}
		f.blocks[c.Index] = b
	}
	return b
}

// flush is the chunk with what a block still holds back, if it does.
func (f *answerFilter) flush(index int) []llm.Chunk {
	b := f.blocks[index]
	if b == nil {
		return nil
	}
	delete(f.blocks, index)
	rest := b.next("", true)
	switch {
	case rest == "":
		return nil
	case b.kind == llm.ToolCallDelta:
		return []llm.Chunk{{Type: b.kind, Index: index, ArgumentsDelta: rest}}
	}
	return []llm.Chunk{{Type: b.kind, Index: index, Text: rest}}
}

func (f *answerFilter) flushAll() (all []llm.Chunk) {
	for _, index := range slices.Sorted(maps.Keys(f.blocks)) {
		all = append(all, f.flush(index)...)
	}
	return all
}

// end cleans the whole of a block like its pieces.
func (f *answerFilter) end(c llm.Chunk) llm.Chunk {
	if c.Block != nil {
		b := *c.Block
		b.Text, b.Arguments = f.o.RedactAnswer()(b.Text, true), f.o.RedactAnswer()(b.Arguments, true)
		c.Block = &b
	}
	return c
}

// finish cleans what a provider says of a failure: it may quote what it was sent. What
// it wants back may be signed: with a secret of the user in it, none of it is kept.
func (f *answerFilter) finish(c llm.Chunk) llm.Chunk {
	var replay any
	if json.Unmarshal(c.Replay, &replay) == nil && f.secret(replay) {
		c.Replay = nil
	}
	if c.Reason == nil || c.Reason.Failure == nil {
		return c
	}
	reason, failure := *c.Reason, *c.Reason.Failure
	failure.Message, failure.RequestID = f.o.RedactResult(failure.Message), f.o.RedactResult(failure.RequestID)
	reason.Failure = &failure
	c.Reason = &reason
	return c
}

// secret reports whether a string in a JSON value holds a secret of the user.
func (f *answerFilter) secret(v any) bool {
	switch v := v.(type) {
	case string:
		clean, _ := f.o.RedactPrompt(v)
		return clean != v
	case []any:
		return slices.ContainsFunc(v, f.secret)
	case map[string]any:
		for _, inner := range v {
			if f.secret(inner) {
				return true
			}
		}
	}
	return false
}
