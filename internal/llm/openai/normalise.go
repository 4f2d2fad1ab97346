package openai

import (
	"strings"

	"dsh/internal/llm"
)

// What stands in for something that the history lacks.
const (
	noResult  = "[no result: the call was interrupted; it may or may not have run]"
	noOutput  = "(no output)"
	goOn      = "Continue." // a request must end with the user or a tool
	bridging  = "Understood."
	noMessage = "[%s omitted: the model reads text only]"
)

// message is an entry of the array on the wire.
type message struct {
	role      string // system, user, assistant, tool
	content   string
	reasoning *string // nil writes no key
	details   string  // a list; "" none
	calls     []call
	callID    string // tool
}

// call is a tool call of an assistant message, in its wire form.
type call struct {
	id, name, arguments string

	extra string // an object; "" none
}

// normaliser turns any history into one that no endpoint refuses: every call is
// followed by exactly one result, and nothing comes between. It is incremental: add
// returns the messages that are final, and nothing that comes later changes them.
type normaliser struct {
	config      llm.Config
	replay      bool   // reasoning_content on assistant messages
	placeholder string // for a message without reasoning
	shortIDs    bool   // nine letters and digits

	ids   map[string]bool // wire ids in use
	turns int             // assistant messages so far: names calls without an id
	group []openCall      // calls of the last assistant message, until all have results
	held  []message       // came between them; go after the last result
	last  string          // role of the last final message
	order arranger
}

// openCall waits for its result.
type openCall struct {
	wireID, id string
	result     *string
}

// add takes the next message of the history.
func (n *normaliser) add(m *llm.Message) []message {
	var out []message
	if m.Role == llm.Assistant {
		out = n.closeGroup()
		out = append(out, n.assistant(m)...)
	} else {
		out = n.user(m)
	}
	if len(out) > 0 {
		n.last = out[len(out)-1].role
	}
	return n.order.add(out)
}

// pending is what must follow the final messages for the array to be valid now. It
// changes nothing: a later message may still bring the missing results.
func (n *normaliser) pending() []message {
	out := n.results()
	last := n.last
	if len(out) > 0 {
		last = out[len(out)-1].role
	}
	if last != "user" && last != "tool" {
		out = append(out, message{role: "user", content: goOn})
	}
	order := n.order // a copy: what is pending is not final
	return order.rest(order.add(out))
}

// results are those of the open group, in the order of its calls, and then what was
// held back for them.
func (n *normaliser) results() []message {
	var out []message
	for _, c := range n.group {
		text := noResult
		if c.result != nil {
			text = *c.result
		}
		out = append(out, message{role: "tool", callID: c.wireID, content: text})
	}
	return append(out, n.held...)
}

func (n *normaliser) closeGroup() []message {
	out := n.results()
	n.group, n.held = nil, nil
	return out
}

// assistant drops a message that says nothing and calls nothing: endpoints refuse
// it, and each retry of a poisoned history would add another.
func (n *normaliser) assistant(m *llm.Message) []message {
	n.turns++
	w := message{role: "assistant", calls: n.calls(m), details: n.details(m)}
	if text := clean(m.PlainText()); strings.TrimSpace(text) != "" {
		w.content = text
	} else if len(w.calls) == 0 {
		return nil
	}
	if n.replay {
		reasoning := n.reasoning(m)
		w.reasoning = &reasoning
	}
	return []message{w}
}

// bridge is what an assistant says between a result and the user.
func (n *normaliser) bridge() *message {
	w := message{role: "assistant", content: bridging}
	if n.replay {
		reasoning := n.placeholder
		w.reasoning = &reasoning
	}
	return &w
}

func (n *normaliser) calls(m *llm.Message) []call {
	var calls []call
	for i, b := range m.Calls() {
		id := clean(b.ID)
		c := call{id: n.freeID(n.wireID(id, i)), name: wireName(clean(b.Name)), arguments: wireArguments(b.Arguments)}
		if len(b.Extra) > 0 && m.Source.Provider == n.config.Provider && m.Source.Model == n.config.Model {
			if extra, err := compact(nil, b.Extra); err == nil {
				c.extra = string(extra)
			}
		}
		calls = append(calls, c)
		n.group = append(n.group, openCall{wireID: c.id, id: id})
	}
	return calls
}

// reasoning is replayed verbatim to the model that produced it, and to no other.
func (n *normaliser) reasoning(m *llm.Message) string {
	var sb strings.Builder
	if from := m.Source; from.Model == "" || from.Model == n.config.Model && from.Provider == n.config.Provider {
		for _, b := range m.Content {
			if b.Type == llm.Reasoning {
				sb.WriteString(b.Text)
			}
		}
	}
	if sb.Len() == 0 {
		return n.placeholder
	}
	return clean(sb.String())
}

// user splits a message into the results it brings and the text it says. A result
// that no open call waits for is dropped: the first one has answered already, or
// there was no such call.
func (n *normaliser) user(m *llm.Message) []message {
	var said []llm.Block
	for _, b := range m.Content {
		if b.Type != llm.ToolResult {
			said = append(said, b)
			continue
		}
		n.answer(b)
	}
	text := clean(joined(said))
	if strings.TrimSpace(text) != "" {
		n.held = append(n.held, message{role: "user", content: text})
	}
	for _, c := range n.group {
		if c.result == nil {
			return nil
		}
	}
	return n.closeGroup()
}

func (n *normaliser) answer(b llm.Block) {
	id := clean(b.ToolCallID)
	for i, c := range n.group {
		if c.id == id && c.result == nil {
			text := clean(joined(b.Content))
			if strings.TrimSpace(text) == "" {
				text = noOutput
			}
			n.group[i].result = &text
			return
		}
	}
}

// joined is the text of blocks; what is not text is named.
func joined(blocks []llm.Block) string {
	var parts []string
	for _, b := range blocks {
		switch b.Type {
		case llm.Text:
			parts = append(parts, b.Text)
		case llm.Reasoning, llm.ToolCall, llm.ToolResult: // an assistant's; no text of this message
		default:
			parts = append(parts, strings.Replace(noMessage, "%s", string(b.Type), 1))
		}
	}
	return strings.Join(parts, "\n")
}
