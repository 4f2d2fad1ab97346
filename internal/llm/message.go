package llm

import (
	"encoding/json"
	"strings"
)

// Role is who speaks. Tool results travel in user messages.
type Role string

const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// BlockType says which fields of a Block are set.
type BlockType string

const (
	Text       BlockType = "text"
	Reasoning  BlockType = "reasoning"
	ToolCall   BlockType = "tool-call"
	ToolResult BlockType = "tool-result"
)

// Block is one piece of a message. A block of a type this version does not know
// keeps its JSON in Raw and is written back unchanged.
type Block struct {
	Type BlockType

	Text string // text, reasoning

	ID        string // tool-call
	Name      string // tool-call
	Arguments string // tool-call: exactly the text the model sent

	// Extra is what the provider wants back with a tool-call, an object: Gemini's
	// signature of the thought that made it. nil for most.
	Extra json.RawMessage

	ToolCallID string  // tool-result
	Content    []Block // tool-result
	IsError    bool    // tool-result

	Raw json.RawMessage // any other type
}

// TextBlock is a text block holding s.
func TextBlock(s string) Block { return Block{Type: Text, Text: s} }

type textJSON struct {
	Type BlockType `json:"type"`
	Text string    `json:"text"`
}

type callJSON struct {
	Type      BlockType `json:"type"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Arguments string    `json:"arguments"`

	Extra json.RawMessage `json:"extraContent,omitempty"`
}

type resultJSON struct {
	Type       BlockType `json:"type"`
	ToolCallID string    `json:"toolCallId"`
	Content    []Block   `json:"content"`
	IsError    bool      `json:"isError"`
}

// MarshalJSON writes only the fields that belong to the block's type.
func (b Block) MarshalJSON() ([]byte, error) {
	switch b.Type {
	case Text, Reasoning:
		return json.Marshal(textJSON{b.Type, b.Text})
	case ToolCall:
		return json.Marshal(callJSON{b.Type, b.ID, b.Name, b.Arguments, b.Extra})
	case ToolResult:
		content := b.Content
		if content == nil {
			content = []Block{}
		}
		return json.Marshal(resultJSON{b.Type, b.ToolCallID, content, b.IsError})
	}
	if len(b.Raw) == 0 {
		return json.Marshal(struct {
			Type BlockType `json:"type"`
		}{b.Type})
	}
	return b.Raw, nil
}

// UnmarshalJSON accepts any object with a type.
func (b *Block) UnmarshalJSON(data []byte) error {
	var all struct {
		Type       BlockType `json:"type"`
		Text       string    `json:"text"`
		ID         string    `json:"id"`
		Name       string    `json:"name"`
		Arguments  string    `json:"arguments"`
		ToolCallID string    `json:"toolCallId"`
		Content    []Block   `json:"content"`
		IsError    bool      `json:"isError"`

		Extra json.RawMessage `json:"extraContent"`
	}
	var kind struct {
		Type BlockType `json:"type"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	switch kind.Type {
	case Text, Reasoning, ToolCall, ToolResult:
	default:
		*b = Block{Type: kind.Type, Raw: append(json.RawMessage(nil), data...)}
		return nil
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*b = Block{Type: all.Type, Text: all.Text, ID: all.ID, Name: all.Name, Arguments: all.Arguments,
		ToolCallID: all.ToolCallID, Content: all.Content, IsError: all.IsError, Extra: all.Extra}
	return nil
}

// Source kinds.
const (
	FromUser   = "user"
	FromPlugin = "plugin" // dsh itself: context snapshots, notices, summaries
	FromTool   = "tool"
	FromModel  = "model"
)

// Source says who wrote a message.
type Source struct {
	Kind     string `json:"kind"`
	CallID   string `json:"callId,omitempty"`   // tool
	Plugin   string `json:"plugin,omitempty"`   // plugin
	Form     string `json:"form,omitempty"`     // plugin: snapshot, notice
	Provider string `json:"provider,omitempty"` // model
	Model    string `json:"model,omitempty"`    // model

	// Replay is what the provider wants back with the message, in the form in which
	// its client keeps it, an object; nil for most. Nobody else reads it.
	Replay json.RawMessage `json:"replayState,omitempty"` // model

	// Raw is the source as it was read, when it has fields this version does not
	// know; it is what MarshalJSON writes back.
	Raw json.RawMessage `json:"-"`
}

type plainSource Source

// MarshalJSON writes a source back as it was read.
func (s Source) MarshalJSON() ([]byte, error) {
	if len(s.Raw) > 0 {
		return s.Raw, nil
	}
	return json.Marshal(plainSource(s))
}

// UnmarshalJSON keeps the raw form when it holds more than the known fields.
func (s *Source) UnmarshalJSON(data []byte) error {
	*s = Source{}
	if err := json.Unmarshal(data, (*plainSource)(s)); err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return err
	}
	for _, known := range []string{"kind", "callId", "plugin", "form", "provider", "model", "replayState"} {
		delete(fields, known)
	}
	if len(fields) > 0 {
		s.Raw = append(json.RawMessage(nil), data...)
	}
	return nil
}

// Message is one entry of the conversation. It is immutable once it is in the log;
// its address is the key under which its encoded bytes are cached.
type Message struct {
	Role    Role    `json:"role"`
	Content []Block `json:"content"`
	Source  Source  `json:"source"`
	ID      string  `json:"id"`
}

// Calls are the tool-call blocks, in the model's order.
func (m *Message) Calls() []Block {
	var calls []Block
	for _, b := range m.Content {
		if b.Type == ToolCall {
			calls = append(calls, b)
		}
	}
	return calls
}

// PlainText is the concatenation of the text blocks, without reasoning.
func (m *Message) PlainText() string {
	var sb strings.Builder
	for _, b := range m.Content {
		if b.Type == Text {
			sb.WriteString(b.Text)
		}
	}
	return sb.String()
}
