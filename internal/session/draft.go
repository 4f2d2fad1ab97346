package session

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

// event gives a draft its place in the log.
func (d Draft) event(seq int, time int64) Event {
	sources := d.Sources
	if d.CitesPrevious {
		sources = append(append([]int(nil), sources...), seq-1)
	}
	t := d.Data.Type()
	return Event{Type: t, Seq: seq, Time: time, Data: d.Data, Surface: d.Surface, Sources: sources, Ignorable: ours[t]}
}
