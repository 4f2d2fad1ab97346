package session

// Consumed says what became of the last input: which turn took it up, and whether
// queued work was cancelled since without having run.
type Consumed struct {
	Turn    int        // 0: no input was consumed yet
	End     *EndReason // nil while that turn is open
	Dropped []string   // ids of messages cancelled unrun since then
}

// consumedFold computes it.
type consumedFold struct {
	last Consumed

	turn    int // the open one, 0: none
	stepped bool
	claimed bool
	since   []string // dropped since the claim
}

func (c *consumedFold) apply(data Payload) {
	switch p := data.(type) {
	case TurnStart:
		c.turn, c.stepped, c.claimed, c.since = p.Turn, false, false, nil
	case StepStart:
		if !c.stepped {
			c.last = Consumed{Turn: c.turn, Dropped: c.since}
		}
		c.stepped = true
	case TurnEnd:
		c.end(&p)
	}
}

// end: a turn without a step counts when it had claimed input and did not just find
// the claim emptied.
func (c *consumedFold) end(p *TurnEnd) {
	if c.claimed && !c.stepped {
		switch p.Reason.Kind {
		case Blocked, Aborted, Failed, Interrupted:
			c.last = Consumed{Turn: c.turn, Dropped: c.since}
			c.stepped = true
		}
	}
	if c.stepped {
		c.last.End = &p.Reason
	}
	c.turn, c.stepped, c.claimed = 0, false, false
}

// splice takes over a splice of the inbox and what it removed. A message that comes
// back (moved, replaced) is not dropped.
func (c *consumedFold) splice(p *InboxSpliced, removed []waiting) {
	if p.isClaim() {
		if c.turn > 0 {
			c.claimed, c.since = true, nil
		}
		return
	}
	for i, w := range removed {
		if p.Outcome == OutcomeCanceled && i >= len(p.Inserted) {
			c.last.Dropped = append(c.last.Dropped, w.msg.ID)
			c.since = append(c.since, w.msg.ID)
		}
	}
	for _, m := range p.Inserted {
		c.last.Dropped = without(c.last.Dropped, m.ID)
		c.since = without(c.since, m.ID)
	}
}

// without returns the list without an id; the list itself stays as it is.
func without(list []string, id string) []string {
	var kept []string
	for _, s := range list {
		if s != id {
			kept = append(kept, s)
		}
	}
	return kept
}
