package session

import (
	"fmt"
	"iter"
)

// Check is the one definition of a valid log: it returns nil, or an error that
// names the first event that must not stand where it stands, and why. The events
// are all of a log, chunks included.
func Check(h Header, events iter.Seq[Event]) error {
	if err := h.valid(); err != nil {
		return fmt.Errorf("session header: %w", err)
	}
	return check(&core{seed: h.seed()}, events)
}

func check(c *core, events iter.Seq[Event]) error {
	last := int64(0)
	for ev := range events {
		if err := c.check(&ev); err != nil {
			return eventError(&ev, err)
		}
		if err := checkTime(&ev, last); err != nil {
			return eventError(&ev, err)
		}
		last = ev.Time
		c.apply(&ev)
	}
	return nil
}

func checkTime(ev *Event, last int64) error {
	if ev.Time < last {
		return fmt.Errorf("its time %d is before %d, the time of the event before it", ev.Time, last)
	}
	return nil
}
