package llm

import (
	"testing"
	"time"
)

func at(s string) time.Time {
	t, err := time.Parse("Mon 2006-01-02 15:04", s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestCostOfDeepSeekByTimeOfDay(t *testing.T) {
	t.Parallel()
	read := 800_000
	u := Usage{InputTokens: 200_000, OutputTokens: 10_000, CacheReadTokens: &read}
	const flash = 200_000*150 + 800_000*3 + 10_000*600
	const pro = 200_000*660 + 800_000*22 + 10_000*1980
	for _, tc := range []struct {
		model string
		at    time.Time
		want  int64
	}{
		{"deepseek-flash", at("Mon 2026-11-02 00:59"), flash},
		{"deepseek-flash", at("Mon 2026-11-02 01:00"), 2 * flash},
		{"deepseek-flash", at("Fri 2026-11-06 03:59"), 2 * flash},
		{"deepseek-flash", at("Fri 2026-11-06 04:00"), flash},
		{"deepseek-flash", at("Wed 2026-11-04 06:00"), 2 * flash},
		{"deepseek-flash", at("Wed 2026-11-04 09:59"), 2 * flash},
		{"deepseek-flash", at("Wed 2026-11-04 10:00"), flash},
		{"deepseek-flash", at("Sat 2026-11-07 02:00"), flash},
		{"deepseek-v4-flash", at("Sun 2026-11-08 08:00"), flash},
		{"deepseek-v4-pro", at("Tue 2026-11-03 12:00"), pro},
		{"deepseek-v4-pro", at("Tue 2026-11-03 09:00").In(time.FixedZone("", 8*3600)), 2 * pro},
	} {
		m, ok := Lookup("deepseek", tc.model)
		if !ok {
			t.Fatalf("%s is not in the catalogue", tc.model)
		}
		if got, known := Cost(u, m, tc.at); got != tc.want || !known {
			t.Errorf("%s at %s: %d (known %v), want %d", tc.model, tc.at, got, known, tc.want)
		}
	}
}

func TestCostCountsCacheWritesAndNotReasoningTwice(t *testing.T) {
	t.Parallel()
	m, _ := Lookup("openai", "gpt-5.6-sol")
	write, reasoning := 10, 90
	u := Usage{InputTokens: 1, OutputTokens: 100, CacheWriteTokens: &write, ReasoningTokens: &reasoning}
	if got, _ := Cost(u, m, time.Unix(0, 0)); got != 5000+10*6250+100*30_000 {
		t.Errorf("cost %d", got)
	}
}

func TestUnknownPriceIsNotZero(t *testing.T) {
	t.Parallel()
	if _, known := Cost(Usage{InputTokens: 1}, ModelInfo{}, time.Unix(0, 0)); known {
		t.Error("the price of an unknown model is known")
	}
}

func TestLookupByNameAndAlias(t *testing.T) {
	t.Parallel()
	m, ok := Lookup("deepseek", "deepseek-v4-flash-vision-exp")
	if !ok || m.Name != "deepseek-flash" || m.Window != 1_000_000 || m.MaxOutput != 384_000 || m.Source == "" {
		t.Errorf("alias found %+v, %v", m, ok)
	}
	for _, miss := range [][2]string{{"openai", "deepseek-flash"}, {"deepseek", "deepseek-chat"}, {"", ""}} {
		if m, ok := Lookup(miss[0], miss[1]); ok {
			t.Errorf("%v found %s", miss, m.Name)
		}
	}
}

func TestOnlyVendorPagesCountAsVerified(t *testing.T) {
	t.Parallel()
	for _, m := range Models() {
		if m.Unverified != (m.Provider != "deepseek") || m.Source == "" || m.Window <= m.MaxOutput || m.Price == nil {
			t.Errorf("%s/%s: %+v", m.Provider, m.Name, m)
		}
	}
	Models()[0].Name = "changed"
	if Models()[0].Name == "changed" {
		t.Error("a caller can change the catalogue")
	}
}

func TestBill(t *testing.T) {
	t.Parallel()
	off, peak := at("Mon 2026-11-02 00:59"), at("Mon 2026-11-02 01:00")
	read, own := 1_000_000, int64(1_200_000)
	cached := &Usage{CacheReadTokens: &read}
	for _, tc := range []struct {
		name string
		add  func(b *Bill)
		nano int64
		text string
	}{
		{"nothing", func(*Bill) {}, 0, "n/a"},
		{"off peak", func(b *Bill) { b.Add(cached, "deepseek", "deepseek-flash", off) }, 3_000_000, "$0.0030"},
		{"each at its time", func(b *Bill) {
			b.Add(cached, "deepseek", "deepseek-flash", off)
			b.Add(cached, "deepseek", "deepseek-flash", peak)
		}, 9_000_000, "$0.0090"},
		{"each of its model", func(b *Bill) {
			b.Add(cached, "deepseek", "deepseek-flash", off)
			b.Add(&Usage{InputTokens: 1_000_000, OutputTokens: 100_000}, "openai", "gpt-5.6-luna", off)
		}, 1_603_000_000, "$1.60"},
		{"the provider's own price wins", func(b *Bill) { b.Add(&Usage{InputTokens: 7, CostNano: &own}, "deepseek", "deepseek-flash", off) }, own, "$0.0012"},
		{"the provider's own price of an unknown model", func(b *Bill) { b.Add(&Usage{InputTokens: 7, CostNano: &own}, "gateway", "x", off) }, own, "$0.0012"},
		{"next to nothing is not nothing", func(b *Bill) { b.Add(&Usage{OutputTokens: 1}, "deepseek", "deepseek-flash", off) }, 600, "<$0.0001"},
		{"free", func(b *Bill) { b.Add(&Usage{}, "deepseek", "deepseek-flash", off) }, 0, "$0.0000"},
		{"a model without a price", func(b *Bill) {
			b.Add(cached, "deepseek", "deepseek-flash", off)
			b.Add(cached, "local", "x", off)
		}, 3_000_000, "n/a"},
		{"an answer that nobody counted", func(b *Bill) {
			b.Add(nil, "deepseek", "deepseek-flash", off)
			b.Add(cached, "deepseek", "deepseek-flash", off)
		}, 3_000_000, "n/a"},
	} {
		var b Bill
		tc.add(&b)
		nano, known := b.Total()
		if nano != tc.nano || b.String() != tc.text || known != (tc.text != "n/a") {
			t.Errorf("%s: %d, known %v, %q; want %d, %q", tc.name, nano, known, b.String(), tc.nano, tc.text)
		}
	}
}
