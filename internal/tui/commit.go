package tui

import (
	"dsh/internal/tui/transcript"
)

// answer is the block whose text streams: its rows go into the scrollback as they
// become final, the rest is the live tail.
type answer struct {
	id      transcript.ID
	on      bool
	printed int // rows that are in the scrollback
}

// options are what blocks are drawn with now.
func (m *model) options(expanded bool) transcript.Options {
	return transcript.Options{Width: m.full(), Expanded: expanded, Theme: m.look, Frame: m.spin}
}

// commit prints what can never change any more, in the order of the log.
func (m *model) commit() {
	blocks := m.project.Blocks()
	m.dropAnswer()
	for m.printed < m.project.Settled() {
		b := &blocks[m.printed]
		rows := m.render.Rows(b, m.options(false))
		if m.answer.on && m.answer.id == b.ID {
			rows = rows[min(m.answer.printed, len(rows)):]
			m.answer = answer{}
		}
		m.t.Print(clone(rows))
		m.printed++
	}
	m.stream()
}

// dropAnswer forgets an answer whose request failed, and says so if rows of it are in
// the scrollback.
func (m *model) dropAnswer() {
	if !m.answer.on || m.exists(m.answer.id) {
		return
	}
	if m.answer.printed > 0 {
		m.t.Print([]string{m.th.attention("!") + " the lines above were cut off; trying again"})
	}
	m.answer = answer{}
}

func (m *model) exists(id transcript.ID) bool {
	blocks := m.project.Blocks()
	for i := len(blocks) - 1; i >= m.printed; i-- {
		if blocks[i].ID == id {
			return true
		}
	}
	return false
}

// stream prints the final rows of the answer that arrives, if it is the first block
// that is not printed yet: what stands behind a running call waits for it.
func (m *model) stream() {
	b := m.streaming()
	if b == nil {
		return
	}
	if !m.answer.on || m.answer.id != b.ID {
		m.answer = answer{id: b.ID, on: true}
	}
	rows := m.render.Rows(b, m.options(false))
	if n := min(m.render.Final(b, m.options(false)), len(rows)); n > m.answer.printed {
		m.t.Print(clone(rows[m.answer.printed:n]))
		m.answer.printed = n
	}
}

// streaming is the answer that arrives; nil if the next block is something else.
func (m *model) streaming() *transcript.Block {
	blocks := m.project.Blocks()
	if m.printed < len(blocks) && blocks[m.printed].Kind == transcript.Answer && blocks[m.printed].State.Live() {
		return &blocks[m.printed]
	}
	return nil
}

// rewrap counts what is final as printed: after a change of the width the rows in the
// scrollback are the terminal's.
func (m *model) rewrap() {
	if m.project == nil {
		return // no session yet
	}
	if b := m.streaming(); b != nil && m.answer.on {
		m.answer.printed = m.render.Final(b, m.options(false))
	}
}

func clone(rows []string) []string { return append([]string(nil), rows...) }
