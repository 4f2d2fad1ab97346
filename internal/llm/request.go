package llm

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Config is the route and the settings part of a request header.
type Config struct {
	Provider        string `json:"provider"`
	Model           string `json:"model"`
	MaxTokens       int    `json:"maxTokens,omitempty"`
	ReasoningEffort string `json:"reasoningEffort,omitempty"` // "" the provider's default, "off" no thinking
}

// ToolSchema is a tool as the model sees it.
type ToolSchema struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// Header is everything of a request but the messages. It is frozen for a session
// until the user changes model or tools: providers cache prefixes by its bytes.
type Header struct {
	Config          Config       `json:"config"`
	AdapterDefaults []string     `json:"adapterDefaults,omitempty"` // names of Config fields the user did not set
	System          string       `json:"system,omitempty"`
	Tools           []ToolSchema `json:"tools,omitempty"`
}

// Equal compares field by field; the order of tools counts.
func (h Header) Equal(o Header) bool {
	return h.Config == o.Config && h.System == o.System &&
		slices.Equal(h.AdapterDefaults, o.AdapterDefaults) &&
		slices.EqualFunc(h.Tools, o.Tools, func(a, b ToolSchema) bool {
			return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
		})
}

// Request is what the loop hands to a model.
type Request struct {
	Header   Header
	Messages []*Message // immutable; a later request of the session extends it

	// BeforeSend is called with what is about to leave, once for each dispatch (a
	// repaired request is dispatched again). An error stops the dispatch: nothing
	// is sent, and the stream ends with that error.
	BeforeSend func(Sent) error
}

// Sent is what really goes over the wire, as it is logged: enough to derive the
// same bytes again from the log.
type Sent struct {
	Messages int      `json:"messages"` // of the array on the wire
	Bytes    int      `json:"bytes"`    // of the body
	SHA256   string   `json:"sha256"`   // of the body, lower-case hex
	Profile  string   `json:"profile"`  // wire profile
	Wire     int      `json:"wire"`     // version of the encoder
	Repairs  []string `json:"repairs"`  // learned from this endpoint, in the order they apply
}
