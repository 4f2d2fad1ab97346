package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"dsh/internal/llm"
)

// minRun is the shortest run of deltas that is written as one row.
const minRun = 3

// Types of packed rows: they exist on disk only.
const (
	rowText      Type = "text-chunks"
	rowReasoning Type = "reasoning-chunks"
	rowToolCall  Type = "tool-call-chunks"
)

func isRow(t Type) bool { return t == rowText || t == rowReasoning || t == rowToolCall }

// appendBatch appends the lines of consecutive events, runs of deltas packed. On an
// error dst is unchanged.
func appendBatch(dst []byte, evs []Event) ([]byte, error) {
	out := dst
	for i := 0; i < len(evs); {
		var err error
		n := run(evs[i:])
		if n >= minRun {
			out, err = appendRow(out, evs[i:i+n])
		} else {
			n = 1
			out, err = appendEvent(out, evs[i])
		}
		if err != nil {
			return dst, err
		}
		i += n
	}
	return out, nil
}

// delta returns an event's chunk when a row can hold the event.
func delta(ev *Event) (AssistantChunk, bool) {
	p, ok := ev.Data.(AssistantChunk)
	if !ok || ev.Surface != nil || ev.Sources != nil || ev.Ignorable {
		return p, false
	}
	switch p.Chunk.Type {
	case llm.TextDelta, llm.ReasoningDelta, llm.ToolCallDelta:
		return p, true
	}
	return p, false
}

// run is the number of events at the start of evs that one row can hold.
func run(evs []Event) int {
	first, ok := delta(&evs[0])
	if !ok {
		return 0
	}
	n := 1
	for ; n < len(evs); n++ {
		next, ok := delta(&evs[n])
		if !ok || evs[n].Seq != evs[n-1].Seq+1 || !sameRow(first, next) {
			break
		}
	}
	return n
}

// sameRow compares what a row says once for all its members. A row has a name only
// if every member carried it, so members with and without one do not mix.
func sameRow(a, b AssistantChunk) bool {
	x, y := &a.Chunk, &b.Chunk
	return a.Turn == b.Turn && a.Step == b.Step && x.Type == y.Type && x.Index == y.Index &&
		x.ID == y.ID && x.HasName == y.HasName && x.Name == y.Name
}

func appendRow(dst []byte, evs []Event) ([]byte, error) {
	first := evs[0].Data.(AssistantChunk)
	kind, list := rowText, `,"texts":[`
	switch first.Chunk.Type {
	case llm.ReasoningDelta:
		kind = rowReasoning
	case llm.ToolCallDelta:
		kind, list = rowToolCall, `,"args":[`
	}
	e := encoder{buf: dst}
	e.lit(`{"type":"`).lit(string(kind)).lit(`","seq0":`).int(int64(evs[0].Seq)).lit(`,"time0":`).int(evs[0].Time)
	e.lit(`,"data":`).place(first.Turn, first.Step).lit(`,"index":`).int(int64(first.Chunk.Index)).lit(`,"dt":[`)
	for i := 1; i < len(evs); i++ {
		if i > 1 {
			e.lit(`,`)
		}
		e.int(evs[i].Time - evs[i-1].Time)
	}
	e.lit(`]`)
	if kind == rowToolCall {
		e.lit(`,"id":`).str(first.Chunk.ID)
		if first.Chunk.HasName {
			e.lit(`,"name":`).str(first.Chunk.Name)
		}
	}
	e.lit(list)
	for i := range evs {
		if i > 0 {
			e.lit(`,`)
		}
		c := evs[i].Data.(AssistantChunk).Chunk
		e.str(c.Text + c.ArgumentsDelta) // one of the two
	}
	e.lit("]}}\n")
	if e.err != nil {
		return dst, e.err
	}
	return e.buf, nil
}

type rowJSON struct {
	Turn  *int     `json:"turn"`
	Step  *int     `json:"step"`
	Index *int     `json:"index"`
	DT    []int64  `json:"dt"`
	Texts []string `json:"texts"`
	ID    *string  `json:"id"`
	Name  *string  `json:"name"`
	Args  []string `json:"args"`
}

// decodeRow reads the members of a packed row; they stand or fall together.
func decodeRow(env *envelope, pos int, lastTime int64) ([]Event, error) {
	if env.Seq != nil || env.Time != nil || env.SurfaceOp != nil || env.Sources != nil || env.Ignorable {
		return nil, errors.New("a packed row has keys of a plain event")
	}
	seq, time := pos, lastTime
	if err := number(env.Seq0, env.Time0, &seq, &time); err != nil {
		return nil, err
	}
	var row rowJSON
	dec := json.NewDecoder(bytes.NewReader(env.Data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&row); err != nil {
		return nil, err
	}
	texts, base := row.Texts, llm.Chunk{Type: llm.TextDelta}
	switch env.Type {
	case rowReasoning:
		base.Type = llm.ReasoningDelta
	case rowToolCall:
		texts, base.Type = row.Args, llm.ToolCallDelta
	}
	if err := row.valid(env.Type, len(texts)); err != nil {
		return nil, err
	}
	base.Index = *row.Index
	if row.ID != nil {
		base.ID = *row.ID
	}
	if row.Name != nil {
		base.Name, base.HasName = *row.Name, true
	}
	evs := make([]Event, len(texts))
	for i, s := range texts {
		if i > 0 {
			time += row.DT[i-1]
		}
		c := base
		if env.Type == rowToolCall {
			c.ArgumentsDelta = s
		} else {
			c.Text = s
		}
		evs[i] = Event{Type: TypeAssistantChunk, Seq: seq + i, Time: time,
			Data: AssistantChunk{Turn: *row.Turn, Step: *row.Step, Chunk: c}}
	}
	return evs, nil
}

func (r *rowJSON) valid(t Type, n int) error {
	switch {
	case r.Turn == nil || r.Step == nil || r.Index == nil:
		return errors.New("a packed row needs turn, step and index")
	case n == 0 || len(r.DT) != n-1:
		return errors.New("a packed row needs one gap less than it has members")
	case t == rowToolCall && (r.ID == nil || r.Texts != nil):
		return errors.New("a row of tool call chunks needs an id and args")
	case t != rowToolCall && (r.ID != nil || r.Name != nil || r.Args != nil):
		return errors.New("a row of text chunks has keys of a tool call")
	}
	return nil
}

var chunkPrefixes = [][]byte{
	[]byte(`{"type":"assistant/chunk"`), []byte(`{"type":"text-chunks"`),
	[]byte(`{"type":"reasoning-chunks"`), []byte(`{"type":"tool-call-chunks"`),
}

// chunkRow reports, by the line's first bytes alone, whether a line holds chunks. A
// line that holds them in another layout is not recognised: it is then decoded.
func chunkRow(line []byte) bool {
	for _, p := range chunkPrefixes {
		if bytes.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

// rowSpan reads, from a line that chunkRow recognises, the seqs it holds: first and
// how many. ok is false if the line does not say so where dsh writes it.
func rowSpan(line []byte) (first, n int, ok bool) {
	for i, p := range chunkPrefixes {
		rest, has := bytes.CutPrefix(line, p)
		if !has {
			continue
		}
		key := `,"seq0":`
		if i == 0 {
			key = `,"seq":`
		}
		if rest, has = bytes.CutPrefix(rest, []byte(key)); !has {
			return 0, 0, false
		}
		digits := bytes.IndexByte(rest, ',')
		first, err := strconv.Atoi(string(rest[:max(digits, 0)]))
		if err != nil || first < 0 {
			return 0, 0, false
		}
		if i == 0 {
			return first, 1, true
		}
		n, ok := gaps(rest)
		return first, n + 1, ok
	}
	return 0, 0, false
}

// gaps counts the members of a row's dt list.
func gaps(line []byte) (n int, ok bool) {
	_, rest, has := bytes.Cut(line, []byte(`"dt":[`))
	end := bytes.IndexByte(rest, ']')
	if !has || end < 0 {
		return 0, false
	}
	if end == 0 {
		return 0, true
	}
	return bytes.Count(rest[:end], []byte(",")) + 1, true
}
