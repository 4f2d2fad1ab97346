package session

import (
	"bytes"
	"errors"
	"fmt"
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

// row is the data of a packed row.
type row struct {
	chunk       AssistantChunk // what the members share
	dt          []int64
	texts, args []string
	has         [3]bool // turn, step, index
	hasID       bool
}

func (r *reader) row() (p row) {
	r.object(func(key []byte) {
		switch string(key) {
		case "turn":
			p.chunk.Turn, p.has[0] = r.int(), true
		case "step":
			p.chunk.Step, p.has[1] = r.int(), true
		case "index":
			p.chunk.Chunk.Index, p.has[2] = r.int(), true
		case "dt":
			r.list(func() { p.dt = append(p.dt, r.integer()) })
		case "id":
			p.chunk.Chunk.ID, p.hasID = r.string(), true
		case "name":
			p.chunk.Chunk.Name, p.chunk.Chunk.HasName = r.string(), true
		case "texts":
			p.texts = r.strings(len(p.dt) + 1)
		case "args":
			p.args = r.strings(len(p.dt) + 1)
		default:
			r.fail(fmt.Sprintf("unknown key %.40q", key))
		}
	})
	return p
}

func (r *reader) strings(expect int) []string {
	list := make([]string, 0, expect)
	r.list(func() { list = append(list, r.string()) })
	return list
}

// valid returns the members' texts.
func (p *row) valid(t Type) ([]string, error) {
	texts := p.texts
	if t == rowToolCall {
		texts = p.args
	}
	c := &p.chunk.Chunk
	switch {
	case p.has != [3]bool{true, true, true}:
		return nil, errors.New("a packed row needs turn, step and index")
	case len(texts) == 0 || len(p.dt) != len(texts)-1:
		return nil, errors.New("a packed row needs one gap less than it has members")
	case t == rowToolCall && (!p.hasID || p.texts != nil):
		return nil, errors.New("a row of tool call chunks needs an id and args")
	case t != rowToolCall && (p.hasID || c.HasName || p.args != nil):
		return nil, errors.New("a row of text chunks has keys of a tool call")
	}
	return texts, nil
}

// decodeRow reads the members of a packed row; they stand or fall together.
func decodeRow(env *envelope) ([]Event, error) {
	r := reader{b: env.data}
	p := r.row()
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("%s: %w", env.kind, err)
	}
	texts, err := p.valid(env.kind)
	if err != nil {
		return nil, err
	}
	time := env.time
	evs := make([]Event, len(texts))
	for i, s := range texts {
		if i > 0 {
			time += p.dt[i-1]
		}
		if time < 0 || time > maxNumber {
			return nil, errors.New("a gap of a packed row leaves the range of times")
		}
		m := p.chunk
		switch env.kind {
		case rowText:
			m.Chunk.Type, m.Chunk.Text = llm.TextDelta, s
		case rowReasoning:
			m.Chunk.Type, m.Chunk.Text = llm.ReasoningDelta, s
		default:
			m.Chunk.Type, m.Chunk.ArgumentsDelta = llm.ToolCallDelta, s
		}
		evs[i] = Event{Type: TypeAssistantChunk, Seq: int(env.seq) + i, Time: time, Data: m}
	}
	return evs, nil
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
