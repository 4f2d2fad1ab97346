package openai

import (
	"cmp"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strings"

	"dsh/internal/llm"
)

// calls puts tool calls together from their fragments. Providers disagree on all of
// it: the index may be missing or always 0, the id may come once, always, or empty,
// the name whole each time, and a call in one piece.
//
// The order of the calls is that of the provider's indices, and where there are none,
// or one for all, that of appearance. So that nobody downstream has to sort, a call
// whose index leaves a gap waits with all that is known of it: until the calls before
// it have begun, at the latest until the end.
type calls struct {
	list []*openedCall       // in order of appearance
	at   map[int]*openedCall // by the provider's index: the call that a fragment continues
	next int                 // the smallest index that has not begun
}

type openedCall struct {
	block int // index of its block; waits where there is none
	index int // the provider's; math.MaxInt where there is none
	id    string
	name  string
	args  strings.Builder
	extra json.RawMessage
}

// waits is the block of a call that has not begun.
const waits = -1

// find is the call that a fragment belongs to; nil means that it opens a new one.
func (c *calls) find(t *toolCall, id, name string, position int) *openedCall {
	if t.Index != nil && t.Index.set {
		call := c.at[t.Index.n]
		if call != nil && id != "" && call.id != "" && id != call.id {
			return nil // all calls come with index 0
		}
		return call
	}
	if id != "" {
		for _, call := range c.list {
			if call.id == id {
				return call
			}
		}
		return nil
	}
	if len(c.list) == 0 || position > 0 && name != "" {
		return nil
	}
	last := c.list[len(c.list)-1]
	if name != "" && isObject(last.args.String()) {
		return nil // whole calls without index and id
	}
	return last
}

// open takes a new call up; due says when it may begin.
func (c *calls) open(t *toolCall) *openedCall {
	call := &openedCall{block: waits, index: math.MaxInt}
	c.list = append(c.list, call)
	if t.Index != nil && t.Index.set {
		if c.at == nil {
			c.at = map[int]*openedCall{}
		}
		call.index = t.Index.n
		c.at[call.index] = call
	}
	return call
}

// due is what may begin now that a call has been opened: the call, unless its index
// leaves a gap, and those that waited for it. A call without an index comes after
// all that are there.
func (c *calls) due(opened *openedCall) []*openedCall {
	waiting := c.waiting()
	if opened.index == math.MaxInt {
		return waiting
	}
	for n, call := range waiting {
		if call.index > c.next {
			return waiting[:n]
		}
		c.next = max(c.next, call.index+1)
	}
	return waiting
}

// waiting are the calls that have not begun, in the order in which they shall.
func (c *calls) waiting() (waiting []*openedCall) {
	for _, call := range c.list {
		if call.block == waits {
			waiting = append(waiting, call)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *openedCall) int {
		return cmp.Compare(a.index, b.index)
	})
	return waiting
}

// setName takes a piece of the name: empty and repeated ones change nothing, and a
// name may come in two pieces only before the arguments begin.
func (c *openedCall) setName(piece string) (changed bool) {
	switch {
	case piece == "" || piece == c.name:
		return false
	case c.name == "" || strings.HasPrefix(piece, c.name):
		c.name = piece
	case c.args.Len() == 0:
		c.name += piece
	default:
		return false
	}
	return true
}

// finished is the whole block, with arguments that only look broken mended.
func (c *openedCall) finished() llm.Block {
	return llm.Block{Type: llm.ToolCall, ID: c.id, Name: c.name, Arguments: mended(c.args.String()), Extra: c.extra}
}

// mended repairs what is no damage: raw control characters inside strings, and a
// document that was sent twice. Everything else stays as the model sent it.
func mended(args string) string {
	if args == "" || json.Valid([]byte(args)) {
		return args
	}
	if escaped := escapeControls(args); json.Valid([]byte(escaped)) {
		return escaped
	}
	dec := json.NewDecoder(strings.NewReader(args))
	var first, second json.RawMessage
	if dec.Decode(&first) == nil && dec.Decode(&second) == nil && string(first) == string(second) {
		if err := dec.Decode(&second); err == io.EOF {
			return string(first)
		}
	}
	return args
}

// escapeControls escapes the control characters inside the strings of JSON text.
func escapeControls(s string) string {
	var out []byte
	inString := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c == '"':
			inString = !inString
		case c == '\\' && inString && i+1 < len(s):
			out = append(out, c)
			i++
			c = s[i]
		case c < ' ' && inString:
			quoted := appendString(nil, string(rune(c)))
			out = append(out, quoted[1:len(quoted)-1]...)
			continue
		}
		out = append(out, c)
	}
	return string(out)
}
