package session

import "slices"

// Draft is an event before it has a place in the log.
type Draft struct {
	Data    Payload
	Surface *SurfaceOp
	Sources []int

	// CitesPrevious adds, as a source, the event made from the draft before this one
	// in the same append.
	CitesPrevious bool
}

// Visible is a draft that appends to what the model sees. The sources of an
// assistant message are its chunks; none means that there were none.
func Visible(p Payload, sources ...int) Draft {
	if _, ok := p.(AssistantMessage); ok && sources == nil {
		sources = []int{}
	}
	return Draft{Data: p, Surface: &SurfaceOp{}, Sources: sources}
}

// event gives a draft its place in the log. The event shares nothing with the draft
// but the data, which is immutable from here on.
func (d Draft) event(seq int, time int64) Event {
	ev := Event{Seq: seq, Time: time, Data: d.Data, Sources: slices.Clone(d.Sources)}
	if d.CitesPrevious {
		ev.Sources = append(ev.Sources, seq-1)
	}
	if d.Surface != nil {
		op := *d.Surface
		ev.Surface = &op
	}
	if d.Data != nil {
		ev.Type = d.Data.Type()
		ev.Ignorable = ours[ev.Type] || !readable(ev.Type)
	}
	return ev
}
