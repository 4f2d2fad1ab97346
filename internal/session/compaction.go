package session

import (
	"encoding/json"
	"errors"
	"fmt"

	"dsh/internal/llm"
)

// A compaction makes the model's view shorter: a bracket of CompactionStart and
// CompactionEnd, in it the request for a summary, and, written together, the
// CompactionSummary and the user message that replaces what it stands for.
const (
	TypeCompactionStart   Type = "compaction/start"
	TypeCompactionSummary Type = "compaction/summary"
	TypeCompactionEnd     Type = "compaction/end"
	TypeCompactionPrune   Type = "compaction/prune"
)

// CompactionPlugin is the plugin of the source of a message that stands for older
// ones.
const CompactionPlugin = "compact"

// CompactionStart opens a compaction. It locks: there is no second one before its
// end, or the end of the process that wrote it.
type CompactionStart struct {
	CompactionID    string
	SourceCommandID string
	Turn            *int // nil: between turns, the user asked for it
}

// Span is a part of the surface: the seqs of its first and last node.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// CompactionSummary says what the model made of the shadowed events. The user
// message after it replaces them.
type CompactionSummary struct {
	CompactionID       string
	SourceCommandID    string
	Summary            []llm.Block
	RawOutput          []llm.Block // all that the model said, reasoning too
	LLMStreamCall      bool        // a model made it
	ShadowedRange      Span
	ShadowedSeqs       []int
	ShadowedTokenCount int // estimated
	Provider, Model    string
	MaxTokens          int
	Usage              *llm.Usage
}

// CompactionEnd closes a compaction. With an error the surface is what it was.
type CompactionEnd struct {
	CompactionID    string
	SourceCommandID string
	Turn            *int
	Error           string
}

// CompactionPrune stands before a tool result that replaces itself by its head and
// its tail.
type CompactionPrune struct {
	ShadowedRange      Span  `json:"shadowedRange"`
	ShadowedSeqs       []int `json:"shadowedSeqs"`
	ShadowedTokenCount int   `json:"shadowedTokenCount"` // estimated
}

func (CompactionStart) Type() Type   { return TypeCompactionStart }
func (CompactionSummary) Type() Type { return TypeCompactionSummary }
func (CompactionEnd) Type() Type     { return TypeCompactionEnd }
func (CompactionPrune) Type() Type   { return TypeCompactionPrune }

// Aside is what a request is made of that is not the conversation's next one: the
// beginning of what the model sees, and a message that is in the log nowhere else.
type Aside struct {
	Purpose string     `json:"purpose"` // compaction
	Config  llm.Config `json:"config"`  // in the place of the header's
	Leading int        `json:"leading"` // how many messages of the surface it begins with
	Ask     string     `json:"ask"`     // the text of the user message at its end
}

// PurposeCompaction is the purpose of the request for a summary.
const PurposeCompaction = "compaction"

// Request is the aside as it is sent, made of the header and the messages in force.
// Prompt and tools are the conversation's: so is the provider's prefix cache.
func (a *Aside) Request(h llm.Header, messages []*llm.Message) (*llm.Request, error) {
	if a.Leading < 1 || a.Leading > len(messages) {
		return nil, fmt.Errorf("it begins with %d of %d messages", a.Leading, len(messages))
	}
	h.Config, h.AdapterDefaults = a.Config, nil
	ask := &llm.Message{Role: llm.User, Content: []llm.Block{llm.TextBlock(a.Ask)},
		Source: llm.Source{Kind: llm.FromPlugin, Plugin: CompactionPlugin}}
	list := append(messages[:a.Leading:a.Leading], ask)
	return &llm.Request{Header: h, Messages: list}, nil
}

// IsCompaction reports whether a message stands for older ones.
func IsCompaction(m *llm.Message) bool {
	return m.Source.Kind == llm.FromPlugin && m.Source.Plugin == CompactionPlugin
}

// CompactionSource is the source of the message that stands for older ones. files are
// the instructions that it holds.
func CompactionSource(id string, files []Instruction) (llm.Source, error) {
	raw, err := json.Marshal(struct {
		Kind   string        `json:"kind"`
		Plugin string        `json:"plugin"`
		ID     string        `json:"compactionId"`
		Files  []Instruction `json:"instructions,omitempty"`
	}{llm.FromPlugin, CompactionPlugin, id, files})
	return llm.Source{Kind: llm.FromPlugin, Plugin: CompactionPlugin, Raw: raw}, err
}

// checkCompaction: brackets do not nest, and everything in one names it. A bracket
// belongs to the open turn, or to none.
func (o *order) checkCompaction(data Payload) error {
	switch p := data.(type) {
	case CompactionStart:
		if o.compaction != "" {
			return fmt.Errorf("compaction %q is open", o.compaction)
		}
		if p.CompactionID == "" {
			return errors.New("a compaction needs an id")
		}
		if p.Turn == nil && o.turnOpen || p.Turn != nil && (!o.turnOpen || *p.Turn != o.turn) {
			return errors.New("the compaction does not name the turn it is in: " + o.where())
		}
	case CompactionSummary:
		return o.inCompaction(p.CompactionID)
	case CompactionEnd:
		return o.inCompaction(p.CompactionID)
	case CompactionPrune:
		return o.inTurn()
	}
	return nil
}

func (o *order) inCompaction(id string) error {
	if o.compaction == "" || id != o.compaction {
		return fmt.Errorf("it belongs to compaction %q, and %q is open", id, o.compaction)
	}
	return nil
}

func (e *encoder) compaction(id, command string, turn *int, err string) *encoder {
	e.lit(`{"compactionId":`).str(id).field("sourceCommandId", command).lit(`,"turn":`)
	if turn == nil {
		e.lit(`null`)
	} else {
		e.int(int64(*turn))
	}
	return e.field("error", err).lit(`}`)
}

func (e *encoder) compactionSummary(p *CompactionSummary) *encoder {
	e.lit(`{"compactionId":`).str(p.CompactionID).field("sourceCommandId", p.SourceCommandID)
	e.lit(`,"summary":`).blocks(p.Summary, 0)
	if len(p.RawOutput) > 0 {
		e.lit(`,"rawOutput":`).blocks(p.RawOutput, 0)
	}
	if p.LLMStreamCall {
		e.lit(`,"llmStreamCall":true`)
	}
	e.lit(`,"shadowedRange":`).value(p.ShadowedRange).lit(`,"shadowedSeqs":`).ints(p.ShadowedSeqs)
	e.lit(`,"shadowedTokenCount":`).int(int64(p.ShadowedTokenCount))
	e.lit(`,"provider":`).str(p.Provider).lit(`,"model":`).str(p.Model)
	if p.MaxTokens > 0 {
		e.lit(`,"maxTokens":`).int(int64(p.MaxTokens))
	}
	if p.Usage != nil {
		e.lit(`,"usage":`).value(p.Usage)
	}
	return e.lit(`}`)
}

func (r *reader) compactionStart() CompactionStart {
	end := r.compactionEnd()
	return CompactionStart{end.CompactionID, end.SourceCommandID, end.Turn}
}

// compactionEnd reads an error of any shape: other writers may say more than a text.
func (r *reader) compactionEnd() CompactionEnd {
	var p CompactionEnd
	r.object(func(key []byte) {
		switch string(key) {
		case "compactionId":
			p.CompactionID = r.string()
		case "sourceCommandId":
			p.SourceCommandID = r.string()
		case "turn":
			r.value(&p.Turn)
		case "error":
			raw := r.raw()
			if json.Unmarshal(raw, &p.Error) != nil {
				p.Error = string(raw)
			}
		default:
			r.skip()
		}
	})
	return p
}

func (r *reader) compactionSummary() CompactionSummary {
	var p CompactionSummary
	r.object(func(key []byte) {
		switch string(key) {
		case "compactionId":
			p.CompactionID = r.string()
		case "sourceCommandId":
			p.SourceCommandID = r.string()
		case "summary":
			p.Summary = r.blocks()
		case "rawOutput":
			p.RawOutput = r.blocks()
		case "llmStreamCall":
			p.LLMStreamCall = r.bool()
		case "shadowedRange":
			r.value(&p.ShadowedRange)
		case "shadowedSeqs":
			r.value(&p.ShadowedSeqs)
		case "shadowedTokenCount":
			p.ShadowedTokenCount = r.int()
		case "provider":
			p.Provider = r.string()
		case "model":
			p.Model = r.string()
		case "maxTokens":
			p.MaxTokens = r.int()
		case "usage":
			r.value(&p.Usage)
		default:
			r.skip()
		}
	})
	return p
}
