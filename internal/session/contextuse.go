package session

import (
	"fmt"

	"dsh/internal/llm"
)

// ContextUse is the meter of the context that people are shown: everybody who shows
// one folds it, so that all show the same number.
type ContextUse struct {
	Used    int  // tokens of the last request and its answer, as the provider counted, less what was compacted since; 0 unknown
	Guessed bool // the provider did not count the last answer: Used is what it counted last and an estimate of the rest
	Window  int  // tokens of the model in force; 0 unknown

	sent int // bytes of the last request
	held int // bytes that Used stands for
}

// Apply takes events of the log in order.
func (c *ContextUse) Apply(ev *Event) {
	switch p := ev.Data.(type) {
	case RequestContext:
		c.Window = 0
		if p.ContextWindow != nil {
			c.Window = *p.ContextWindow
		}
	case RequestSent:
		if p.Aside == nil {
			c.sent = p.Bytes
		}
	case CompactionSummary: // the count of the next answer is exact again
		c.Used = max(0, c.Used-p.ShadowedTokenCount)
		c.held = max(0, c.held-llm.TokenBytes(p.ShadowedTokenCount))
	case AssistantMessage:
		c.answer(&p)
	}
}

func (c *ContextUse) answer(p *AssistantMessage) {
	out := llm.BlockTokens(p.Message.Content)
	switch {
	case p.Usage != nil && p.Usage.Context() > 0:
		c.Used, c.Guessed = p.Usage.Context(), false
	case c.sent > 0: // else a log that does not say
		c.Used, c.Guessed = c.Used+llm.ByteTokens(max(0, c.sent-c.held))+out, true
	default:
		return
	}
	c.held = c.sent + llm.TokenBytes(out)
}

// Percent is the used part of the window; ok is false when either is unknown.
func (c ContextUse) Percent() (percent int, ok bool) {
	if c.Used == 0 || c.Window == 0 {
		return 0, false
	}
	return c.Used * 100 / c.Window, true
}

// Share is Percent for people: "31%", "~31%" of a guess; "" when it is unknown.
func (c ContextUse) Share() string {
	percent, ok := c.Percent()
	if !ok {
		return ""
	}
	return c.mark() + fmt.Sprintf("%d%%", percent)
}

// Tokens is Used for people: "20040", or "~20040".
func (c ContextUse) Tokens() string { return c.mark() + fmt.Sprint(c.Used) }

func (c ContextUse) mark() string {
	if c.Guessed {
		return "~"
	}
	return ""
}
