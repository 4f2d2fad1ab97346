package session

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"dsh/internal/llm"
)

// surface is the list of events that the model sees, and the messages derived from
// it. An append costs O(1), a replace O(n). The zero value is empty.
type surface struct {
	nodes      []node
	messages   []*llm.Message
	generation int
}

// node is one surface event.
type node struct {
	seq    int
	msg    *llm.Message
	result *ToolResult // msg points into it; nil for other types
}

// surfaceTypes are the types that must carry a SurfaceOp; no other may.
var surfaceTypes = map[Type]bool{TypeUserMessage: true, TypeAssistantMessage: true, TypeToolResult: true}

// Messages returns what the model sees, and a number that changes whenever the list
// is something else than its former self with more at the end. The list is shared
// and never changes: later events make a longer one or a new one.
func (s *surface) Messages() ([]*llm.Message, int) {
	return slices.Clip(s.messages), s.generation
}

// check says why an event must not be applied. It changes nothing.
func (s *surface) check(ev *Event) error {
	if !surfaceTypes[ev.Type] {
		if ev.Surface != nil || ev.Sources != nil {
			return fmt.Errorf("%s is not a surface event: it has no place on the surface and no sources", ev.Type)
		}
		return nil
	}
	if ev.Surface == nil {
		return fmt.Errorf("%s is a surface event and does not say how it changes the surface", ev.Type)
	}
	if err := checkSources(ev); err != nil {
		return err
	}
	if !ev.Surface.Replace {
		return nil
	}
	from, to, err := s.span(ev.Surface)
	if err != nil {
		return err
	}
	for _, n := range s.nodes[from:to] {
		if !slices.Contains(ev.Sources, n.seq) {
			return fmt.Errorf("the replace hides event %d and does not cite it", n.seq)
		}
	}
	if r, ok := ev.Data.(ToolResult); ok {
		return checkResultReplace(s.nodes[from:to], &r)
	}
	return nil
}

func checkSources(ev *Event) error {
	if ev.Sources != nil && len(ev.Sources) == 0 && ev.Type != TypeAssistantMessage {
		return errors.New("only an assistant message may have an empty list of sources")
	}
	list := ev.Sources
	if !slices.IsSorted(list) {
		list = slices.Sorted(slices.Values(list))
	}
	for i, s := range list {
		if s < 0 || s >= ev.Seq || i > 0 && list[i-1] == s {
			return fmt.Errorf("source %d is not an earlier event or is there twice", s)
		}
	}
	return nil
}

// checkResultReplace: replacing a result may only shorten what it says.
func checkResultReplace(nodes []node, r *ToolResult) error {
	if len(nodes) != 1 || nodes[0].result == nil {
		return errors.New("a tool result may replace exactly one tool result")
	}
	old := nodes[0].result
	a, okA := resultBlock(&old.Message)
	b, okB := resultBlock(&r.Message)
	sameError := (old.Error == nil) == (r.Error == nil) && (old.Error == nil || *old.Error == *r.Error)
	if !okA || !okB || a.ToolCallID != b.ToolCallID || a.IsError != b.IsError || !sameError ||
		old.Turn != r.Turn || old.Step != r.Step || !bytes.Equal(old.Meta, r.Meta) {
		return errors.New("a replaced tool result may differ in its content only")
	}
	return nil
}

// span finds the nodes of a replace: from inclusive, to exclusive.
func (s *surface) span(op *SurfaceOp) (from, to int, err error) {
	from = s.find(op.Start)
	to = s.find(op.End)
	if from < 0 || to < 0 || from > to {
		return 0, 0, fmt.Errorf("the replace from %d to %d is not a span of the surface", op.Start, op.End)
	}
	return from, to + 1, nil
}

func (s *surface) find(seq int) int {
	return slices.IndexFunc(s.nodes, func(n node) bool { return n.seq == seq })
}

// apply takes over an event that check let pass.
func (s *surface) apply(ev *Event) {
	if ev.Surface == nil {
		return
	}
	n := node{seq: ev.Seq}
	switch p := ev.Data.(type) {
	case UserMessage:
		n.msg = &p.Message
	case AssistantMessage:
		n.msg = &p.Message
	case ToolResult:
		n.result = &p
		n.msg = &p.Message
	default:
		return
	}
	if !ev.Surface.Replace {
		s.nodes = append(s.nodes, n)
		if n.visible() {
			s.messages = append(s.messages, n.msg)
		}
		return
	}
	from, to, err := s.span(ev.Surface)
	if err != nil {
		return
	}
	s.nodes = slices.Concat(s.nodes[:from], []node{n}, s.nodes[to:])
	s.messages = make([]*llm.Message, 0, len(s.nodes))
	for _, n := range s.nodes {
		if n.visible() {
			s.messages = append(s.messages, n.msg)
		}
	}
	s.generation++
}

// visible: an assistant message without content only anchors the usage.
func (n node) visible() bool { return n.msg.Role != llm.Assistant || len(n.msg.Content) > 0 }

// resultBlock is the one block of a tool result's message.
func resultBlock(m *llm.Message) (*llm.Block, bool) {
	if len(m.Content) != 1 || m.Content[0].Type != llm.ToolResult {
		return nil, false
	}
	return &m.Content[0], true
}
