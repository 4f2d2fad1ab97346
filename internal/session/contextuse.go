package session

// ContextUse is the meter of the context that people are shown: everybody who shows
// one folds it, so that all show the same number.
type ContextUse struct {
	Used   int // tokens of the last request and its answer, as the provider counted, less what was compacted since; 0 unknown
	Window int // tokens of the model in force; 0 unknown
}

// Apply takes events of the log in order.
func (c *ContextUse) Apply(ev *Event) {
	switch p := ev.Data.(type) {
	case RequestContext:
		c.Window = 0
		if p.ContextWindow != nil {
			c.Window = *p.ContextWindow
		}
	case CompactionSummary: // the count of the next answer is exact again
		c.Used = max(0, c.Used-p.ShadowedTokenCount)
	case AssistantMessage:
		if p.Usage != nil && p.Usage.Context() > 0 {
			c.Used = p.Usage.Context()
		}
	}
}

// Percent is the used part of the window; ok is false when either is unknown.
func (c ContextUse) Percent() (percent int, ok bool) {
	if c.Used == 0 || c.Window == 0 {
		return 0, false
	}
	return c.Used * 100 / c.Window, true
}
