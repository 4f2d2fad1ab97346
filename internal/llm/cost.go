package llm

import (
	"fmt"
	"time"
)

// Price is what tokens cost, in nano-dollars a token: 1000 is one dollar for a
// million tokens.
type Price struct {
	Input      int64 // not cached
	CacheRead  int64
	CacheWrite int64
	Output     int64 // reasoning included
}

// deepseekPeak is by how much everything is dearer in DeepSeek's peak windows.
const deepseekPeak = 2

// Cost is the price of a request in nano-dollars: what the provider said, else what
// the model's price was when the request started. known is false when neither is
// known: show "n/a", never zero.
func Cost(u Usage, m ModelInfo, at time.Time) (nano int64, known bool) {
	if u.CostNano != nil {
		return *u.CostNano, true
	}
	if m.Price == nil {
		return 0, false
	}
	p := m.Price(at)
	nano = int64(u.InputTokens)*p.Input + int64(u.OutputTokens)*p.Output
	if u.CacheReadTokens != nil {
		nano += int64(*u.CacheReadTokens) * p.CacheRead
	}
	if u.CacheWriteTokens != nil {
		nano += int64(*u.CacheWriteTokens) * p.CacheWrite
	}
	return nano, true
}

func constant(p Price) func(time.Time) Price {
	return func(time.Time) Price { return p }
}

func deepseekPrice(offPeak Price) func(time.Time) Price {
	return func(at time.Time) Price {
		p := offPeak
		if DeepSeekPeak(at) {
			p.Input *= deepseekPeak
			p.CacheRead *= deepseekPeak
			p.CacheWrite *= deepseekPeak
			p.Output *= deepseekPeak
		}
		return p
	}
}

// DeepSeekPeak reports whether DeepSeek charges its peak price at a time: Monday
// to Friday, 01:00-04:00 and 06:00-10:00 UTC. On Chinese public holidays it does
// not, but their dates are not known offline: the price is then an upper bound.
func DeepSeekPeak(at time.Time) bool {
	at = at.UTC()
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		return false
	}
	h := at.Hour()
	return h >= 1 && h < 4 || h >= 6 && h < 10
}

// Bill adds up what answers cost. The zero Bill is that of no answers.
type Bill struct {
	Nano    int64 // dollars/1e9, of the answers whose price is known
	Answers int
	Unknown int // of them, those without a count of tokens or a price
}

// Add puts an answer on the bill: its usage, nil when nobody counted, the model that
// gave it, and when its request was sent.
func (b *Bill) Add(u *Usage, provider, model string, sent time.Time) {
	b.Answers++
	if u != nil {
		info, _ := Lookup(provider, model)
		if nano, known := Cost(*u, info, sent); known {
			b.Nano += nano
			return
		}
	}
	b.Unknown++
}

// Total is the sum in nano-dollars. known is false when any part of it is not, and
// when there was no answer.
func (b Bill) Total() (nano int64, known bool) {
	return b.Nano, b.Answers > 0 && b.Unknown == 0
}

// String is the sum for people: "$0.0123"; "n/a" when any part is unknown.
func (b Bill) String() string {
	nano, known := b.Total()
	if !known {
		return "n/a"
	}
	usd := float64(nano) / 1e9
	switch {
	case nano > 0 && usd < 0.0001:
		return "<$0.0001"
	case usd < 1:
		return fmt.Sprintf("$%.4f", usd)
	}
	return fmt.Sprintf("$%.2f", usd)
}
