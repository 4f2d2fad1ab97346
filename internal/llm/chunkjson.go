package llm

import "encoding/json"

// MarshalJSON writes the fields of the chunk's type, index 0 included.
func (c Chunk) MarshalJSON() ([]byte, error) {
	switch c.Type {
	case BlockStart:
		return json.Marshal(struct {
			Type      ChunkType `json:"type"`
			Index     int       `json:"index"`
			BlockType BlockType `json:"blockType"`
		}{c.Type, c.Index, c.BlockType})
	case TextDelta, ReasoningDelta:
		return json.Marshal(struct {
			Type  ChunkType `json:"type"`
			Index int       `json:"index"`
			Text  string    `json:"text"`
		}{c.Type, c.Index, c.Text})
	case ToolCallDelta:
		var name *string
		if c.HasName {
			name = &c.Name
		}
		return json.Marshal(struct {
			Type           ChunkType `json:"type"`
			Index          int       `json:"index"`
			ID             string    `json:"id"`
			Name           *string   `json:"name,omitempty"`
			ArgumentsDelta string    `json:"argumentsDelta"`
		}{c.Type, c.Index, c.ID, name, c.ArgumentsDelta})
	case BlockEnd:
		return json.Marshal(struct {
			Type  ChunkType `json:"type"`
			Index int       `json:"index"`
			Block *Block    `json:"block"`
		}{c.Type, c.Index, c.Block})
	case UsageChunk:
		return json.Marshal(struct {
			Type  ChunkType `json:"type"`
			Usage *Usage    `json:"usage"`
		}{c.Type, c.Usage})
	}
	return json.Marshal(struct {
		Type   ChunkType       `json:"type"`
		Reason *Finish         `json:"reason,omitempty"`
		Replay json.RawMessage `json:"replayState,omitempty"`
	}{c.Type, c.Reason, c.Replay})
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (c *Chunk) UnmarshalJSON(data []byte) error {
	var all struct {
		Type           ChunkType `json:"type"`
		Index          int       `json:"index"`
		BlockType      BlockType `json:"blockType"`
		Text           string    `json:"text"`
		ID             string    `json:"id"`
		Name           *string   `json:"name"`
		ArgumentsDelta string    `json:"argumentsDelta"`
		Block          *Block    `json:"block"`
		Usage          *Usage    `json:"usage"`
		Reason         *Finish   `json:"reason"`

		Replay json.RawMessage `json:"replayState"`
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	*c = Chunk{Type: all.Type, Index: all.Index, BlockType: all.BlockType, Text: all.Text, ID: all.ID,
		ArgumentsDelta: all.ArgumentsDelta, Block: all.Block, Usage: all.Usage, Reason: all.Reason, Replay: all.Replay}
	if all.Name != nil {
		c.Name, c.HasName = *all.Name, true
	}
	return nil
}
