package session

import (
	"strconv"
	"time"

	"dsh/internal/llm"
)

// Spending is what requests took. The zero value is that of none.
type Spending struct {
	Usage llm.Usage // what providers counted
	Guess Guess     // what came and no provider counted
	Bill  llm.Bill
}

// Guess is an estimate of tokens. It is never added to what a provider counted, and
// it has no price.
type Guess struct{ Input, Output int }

// In is n tokens of input for people, with the guess: "1204", or "~1204" when a part
// of it is guessed.
func (g Guess) In(n int) string { return guessed(n, g.Input) }

// Out is In for output.
func (g Guess) Out(n int) string { return guessed(n, g.Output) }

func guessed(n, guess int) string {
	if guess == 0 {
		return strconv.Itoa(n)
	}
	return "~" + strconv.Itoa(n+guess)
}

// Add takes a charge.
func (s *Spending) Add(c Charge) {
	s.Bill.Add(c.Usage, c.Provider, c.Model, c.Sent)
	if c.Usage != nil {
		s.Usage = addUsage(s.Usage, *c.Usage)
	}
	s.Guess.Input += c.Guess.Input
	s.Guess.Output += c.Guess.Output
}

// Charge is what one request took: an answer, a summary, or one that failed after a
// part of its answer had come.
type Charge struct {
	Usage           *llm.Usage // nil: nobody counted
	Guess           Guess      // then
	Provider, Model string
	Sent            time.Time
}

// Charges finds the charges in a log. It is fed all events in order, from any place
// on; the zero value is ready.
type Charges struct {
	provider, model string // of the header in force
	sent            time.Time
	bytes           int // of the last request
}

// Apply takes an event; ok when it tells of a charge.
func (c *Charges) Apply(ev *Event) (charge Charge, ok bool) {
	switch p := ev.Data.(type) {
	case RequestHeader:
		c.provider, c.model = p.Header.Config.Provider, p.Header.Config.Model
	case RequestSent:
		c.sent, c.bytes = time.UnixMilli(ev.Time), p.Bytes
	case AssistantMessage:
		if !ev.Replaces() {
			from := p.Message.Source
			return c.charge(p.Usage, from.Provider, from.Model, llm.BlockTokens(p.Message.Content)), true
		}
	case RequestSpent:
		return c.charge(p.Usage, p.Provider, p.Model, llm.ByteTokens(p.Streamed)), true
	case CompactionSummary:
		if p.LLMStreamCall {
			return c.charge(p.Usage, p.Provider, p.Model, llm.BlockTokens(p.RawOutput)), true
		}
	}
	return charge, false
}

// charge guesses what nobody counted: the prompt from the bytes that were sent, in a
// log that has them.
func (c *Charges) charge(u *llm.Usage, provider, model string, output int) Charge {
	if model == "" { // a foreign log may not name it
		provider, model = c.provider, c.model
	}
	charge := Charge{Usage: u, Provider: provider, Model: model, Sent: c.sent}
	if u == nil {
		charge.Guess = Guess{llm.ByteTokens(c.bytes), output}
	}
	return charge
}
