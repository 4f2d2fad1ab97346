package loop

import (
	"slices"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// What the wire adds to the text, in tokens. The values lie on the upper side.
const (
	messageTokens = 10
	toolTokens    = 15
)

// maxScale bounds what the provider's count may make of an estimate: a count that is
// further off says nothing about text.
const maxScale = 2.0

// regrowth is the share, in percent, by which the context must grow after a
// compaction before the next one: neither a provider that cannot summarise nor a tail
// that leaves no room may cost a request in every step.
const regrowth = 5

// meter estimates the tokens of the next request: what the provider counted last, and
// what has changed since. It is a fold.
type meter struct {
	header  int
	nodes   []weight // as on the surface
	sum     int      // of header and nodes, all estimated
	counted int      // by the provider: its last prompt and the answer; 0 nothing
	at      int      // sum, when it counted
	shrunk  bool     // nodes were replaced since
	rest    int      // below this total no compaction is begun
	route   llm.Config
}

type weight struct{ seq, tokens int }

func (m *meter) apply(ev *session.Event) {
	switch p := ev.Data.(type) {
	case session.RequestHeader:
		m.sum += headerTokens(&p.Header) - m.header
		m.header = headerTokens(&p.Header)
		if m.route.Provider != p.Header.Config.Provider || m.route.Model != p.Header.Config.Model {
			m.counted = 0 // another model counts otherwise
		}
		m.route = p.Header.Config
	case session.UserMessage:
		m.place(ev, messageSize(&p.Message))
	case session.ToolResult:
		m.place(ev, messageSize(&p.Message))
	case session.AssistantMessage:
		m.place(ev, messageSize(&p.Message))
		if u := p.Usage; u != nil && !ev.Surface.Replace {
			if n := u.Context(); n > 0 {
				m.counted, m.at, m.shrunk = n, m.sum, false
			}
		}
	case session.CompactionEnd:
		m.rest = m.total() + m.total()*regrowth/100
	}
}

func (m *meter) place(ev *session.Event, tokens int) {
	m.sum += tokens
	n := weight{ev.Seq, tokens}
	if !ev.Surface.Replace {
		m.nodes = append(m.nodes, n)
		return
	}
	from, to := m.find(ev.Surface.Start), m.find(ev.Surface.End)
	if from < 0 || to < from {
		return // the log refuses it
	}
	for _, old := range m.nodes[from : to+1] {
		m.sum -= old.tokens
	}
	m.nodes = slices.Replace(m.nodes, from, to+1, n)
	m.shrunk = true
}

func (m *meter) find(seq int) int {
	return slices.IndexFunc(m.nodes, func(w weight) bool { return w.seq == seq })
}

// total is the tokens of the next request, without what it may answer.
func (m *meter) total() int {
	if m.counted == 0 || m.shrunk {
		return m.scaled(m.sum)
	}
	return max(m.counted+m.sum-m.at, 0)
}

// scaled corrects an estimate upwards, as far as the last count shows that estimates
// of this conversation are too low.
func (m *meter) scaled(tokens int) int {
	if m.counted <= m.at || m.at == 0 {
		return tokens
	}
	return int(float64(tokens) * min(float64(m.counted)/float64(m.at), maxScale))
}

func headerTokens(h *llm.Header) int {
	n := messageTokens + llm.TextTokens(h.System)
	for _, t := range h.Tools {
		n += toolTokens + llm.TextTokens(t.Name) + llm.TextTokens(t.Description) + len(t.Parameters)/4
	}
	return n
}

func messageSize(m *llm.Message) int { return messageTokens + llm.BlockTokens(m.Content) }
