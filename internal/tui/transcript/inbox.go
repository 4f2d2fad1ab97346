package transcript

import (
	"slices"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// inbox is what waits, and what is known of how a message came to wait.
type inbox struct {
	step, turn []waiting
	fates      map[string]waiting // of messages that were claimed, until they enter
}

type waiting struct {
	item session.QueueItem
	in   int  // the turn that ran when it came, 0 if none did
	held bool // it was held at some time
}

func (b *inbox) queue(t session.Target) *[]waiting {
	if t == session.NextStep {
		return &b.step
	}
	return &b.turn
}

func (b *inbox) items() []session.QueueItem {
	items := make([]session.QueueItem, 0, len(b.step)+len(b.turn))
	for _, list := range [][]waiting{b.step, b.turn} {
		for _, w := range list {
			items = append(items, w.item)
		}
	}
	return items
}

func (b *inbox) spliced(d *session.InboxSpliced, turn int, open bool) {
	q := b.queue(d.Target)
	if !open {
		turn = 0
	}
	start := min(max(d.Start, 0), len(*q))
	end := min(start+max(d.RemovedCount, 0), len(*q))
	removed := slices.Clone((*q)[start:end])
	for _, w := range removed {
		if d.Outcome == "" {
			if b.fates == nil {
				b.fates = map[string]waiting{}
			}
			b.fates[w.item.ID] = w
		}
	}
	inserted := make([]waiting, len(d.Inserted))
	for i := range d.Inserted {
		m := &d.Inserted[i]
		w := waiting{in: turn}
		switch {
		case i < len(removed): // it takes the place of one
			w = removed[i]
		case b.fates[m.ID].item.ID != "": // it comes back
			w = b.fates[m.ID]
		}
		delete(b.fates, m.ID)
		w.item = session.QueueItem{ID: m.ID, Target: d.Target, Text: m.PlainText(), Source: m.Source, Held: w.item.Held && i < len(removed)}
		inserted[i] = w
	}
	*q = slices.Replace(*q, start, end, inserted...)
}

func (b *inbox) hold(d *session.InboxHeld) {
	for _, list := range [][]waiting{b.step, b.turn} {
		for i := range list {
			if slices.Contains(d.IDs, list[i].item.ID) {
				list[i].item.Held = d.Held
				list[i].held = list[i].held || d.Held
			}
		}
	}
}

// fate is what became of a message that enters a turn.
func (b *inbox) fate(m *llm.Message, turn int) Fate {
	w, ok := b.fates[m.ID]
	delete(b.fates, m.ID)
	switch {
	case !ok:
		return Prompted
	case w.held:
		return Held
	case w.in == 0:
		return Prompted
	case w.in == turn && w.item.Target == session.NextStep:
		return Steered
	}
	return Queued
}
