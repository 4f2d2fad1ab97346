package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"dsh/internal/llm"
)

// details are the reasoning_details of an answer (OpenRouter and who copies it): what
// the model behind it thought, some of it signed or encrypted. After a tool turn it
// must be sent back as one list, or that model refuses the history.
type details struct {
	list []map[string]any
	size int // bytes of JSON that came
}

// maxDetails bounds what is kept of them; it goes with every later request. A part of
// the list would be refused: beyond the bound nothing is kept.
const maxDetails = 1 << 20

// replayDetails is their key in a message's replay state, as on the wire.
const replayDetails = "reasoning_details"

// add takes the details of one event and returns the text in them. Pieces of one
// entry come one after another, with its index or with none.
func (d *details) add(raw json.RawMessage) (said string) {
	if len(raw) == 0 || raw[0] != '[' {
		return ""
	}
	d.size += len(raw)
	var pieces []map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if d.size > maxDetails || decoder.Decode(&pieces) != nil {
		d.size = maxDetails + 1
		return ""
	}
	var sb strings.Builder
	for _, p := range pieces {
		if !flat(p) {
			continue
		}
		sb.WriteString(word(p, "text") + word(p, "summary"))
		d.piece(p)
	}
	return sb.String()
}

// flat: the kinds that are known hold no objects and no lists. The log bounds how deep
// JSON goes.
func flat(p map[string]any) bool {
	for _, v := range p {
		switch v.(type) {
		case map[string]any, []any:
			return false
		}
	}
	return len(p) > 0
}

func word(p map[string]any, key string) string { s, _ := p[key].(string); return s }

// piece adds to the entry that it goes on with, or begins another. What is encrypted
// comes whole.
func (d *details) piece(p map[string]any) {
	if n := len(d.list); n > 0 && continues(d.list[n-1], p) {
		last := d.list[n-1]
		for key, value := range p {
			switch {
			case key == "text" || key == "summary":
				last[key] = word(last, key) + word(p, key)
			case value != nil:
				last[key] = value
			}
		}
		return
	}
	d.list = append(d.list, p)
}

func continues(last, p map[string]any) bool {
	kind, id := word(p, "type"), word(p, "id")
	return (kind == "reasoning.text" || kind == "reasoning.summary") && word(last, "type") == kind &&
		last["index"] == p["index"] && (id == "" || id == word(last, "id") || word(last, "id") == "")
}

// state is the replay state that keeps them; nil if there are none.
func (d *details) state() json.RawMessage {
	if len(d.list) == 0 || d.size > maxDetails {
		return nil
	}
	raw, err := json.Marshal(map[string]any{replayDetails: d.list})
	if err != nil {
		return nil // they were read from JSON
	}
	return raw
}

// details are those that a message brought, as they go on the wire: to the model that
// made them, since another cannot read what is signed. "" for most.
func (n *normaliser) details(m *llm.Message) string {
	if len(m.Source.Replay) == 0 || m.Source.Provider != n.config.Provider || m.Source.Model != n.config.Model {
		return ""
	}
	var kept map[string]json.RawMessage
	if json.Unmarshal(m.Source.Replay, &kept) != nil {
		return "" // another client's
	}
	list := kept[replayDetails]
	if len(list) == 0 || list[0] != '[' {
		return ""
	}
	wire, err := compact(nil, list)
	if err != nil {
		return ""
	}
	return string(wire)
}
