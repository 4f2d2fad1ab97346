package session

import "slices"

// closers drafts what makes a log whole again after its writer died: what had been
// streamed of an answer, results for the open step's calls, the ends of step and turn,
// and of the jobs. Claimed messages that never entered a step go back to their queues,
// and what waits there is held: nothing runs by itself after a resume. The drafts depend
// on the log alone, and a log that has them needs no others.
func closers(f *fold) []Draft {
	var drafts []Draft
	var ids []string
	if f.order.turnOpen {
		if f.order.stepOpen {
			drafts = append(drafts, closeStep(f)...)
		}
		drafts = append(drafts, Draft{Data: TurnEnd{Turn: f.order.turn, Reason: EndReason{Kind: Interrupted}}})
		for _, p := range f.inbox.Requeue(f.inbox.Claimed()) {
			drafts = append(drafts, Draft{Data: p})
			for _, m := range p.Inserted {
				if waitsForUser(&m.Source) {
					ids = append(ids, m.ID)
				}
			}
		}
	}
	if ids = slices.Concat(ids, f.inbox.unheld()); len(ids) > 0 {
		drafts = append(drafts, Draft{Data: InboxHeld{IDs: ids, Held: true}})
	}
	return append(drafts, lostJobs(f)...)
}

func closeStep(f *fold) []Draft {
	var drafts []Draft
	o := &f.order
	if m, ok := f.partial.message(o.turn, o.step, f.state.Header); ok && !o.answered {
		drafts = append(drafts, Visible(m, o.chunks...))
	}
	drafts = append(drafts, Pair(o.open, Crashed)...)
	return append(drafts, Draft{Data: StepEnd{Turn: o.turn, Step: o.step}})
}
