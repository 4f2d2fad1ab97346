package llm

import (
	"slices"
	"time"
)

// ModelInfo is what dsh knows about a model before it has been asked anything.
type ModelInfo struct {
	Provider  string
	Name      string
	Aliases   []string // other names that the provider routes to it
	Window    int      // tokens: prompt and answer together
	MaxOutput int      // tokens, reasoning included
	Efforts   []string // accepted by reasoning_effort, weakest first; "off" where thinking can be switched off

	// Price is the price of a request that starts at a time; nil if unknown.
	Price func(at time.Time) Price

	Source     string // where the numbers come from, with the date
	Unverified bool   // not read off the vendor's own page
}

// catalogue is short on purpose: prices change several times a year, and a wrong
// one is worse than "n/a". Settings override every field.
var catalogue = []ModelInfo{
	{
		Provider: "deepseek", Name: "deepseek-flash",
		Aliases: []string{"deepseek-v4-flash", "deepseek-v4-flash-vision-exp"},
		Window:  1_000_000, MaxOutput: 384_000,
		Efforts: []string{"off", "low", "high", "max"},
		Price:   deepseekPrice(Price{Input: 150, CacheRead: 3, CacheWrite: 150, Output: 600}),
		Source:  "api-docs.deepseek.com/quick_start/pricing, October 2026",
	},
	{
		Provider: "deepseek", Name: "deepseek-v4-pro",
		Window: 1_000_000, MaxOutput: 384_000,
		Efforts: []string{"off", "low", "high", "max"},
		Price:   deepseekPrice(Price{Input: 660, CacheRead: 22, CacheWrite: 660, Output: 1980}),
		Source:  "api-docs.deepseek.com/quick_start/pricing, October 2026",
	},
	{
		Provider: "openai", Name: "gpt-5.6-sol", Window: 1_050_000, MaxOutput: 128_000,
		Efforts: []string{"low", "medium", "high"},
		Price:   constant(Price{Input: 5000, CacheRead: 500, CacheWrite: 6250, Output: 30_000}),
		Source:  "model registry snapshot, 2026-08-21", Unverified: true,
	},
	{
		Provider: "openai", Name: "gpt-5.6-luna", Window: 1_050_000, MaxOutput: 128_000,
		Efforts: []string{"low", "medium", "high"},
		Price:   constant(Price{Input: 1000, CacheRead: 100, CacheWrite: 1250, Output: 6000}),
		Source:  "model registry snapshot, 2026-08-21", Unverified: true,
	},
	{
		Provider: "openai", Name: "gpt-5.4-mini", Window: 400_000, MaxOutput: 128_000,
		Efforts: []string{"low", "medium", "high"},
		Price:   constant(Price{Input: 750, CacheRead: 75, CacheWrite: 750, Output: 4500}),
		Source:  "model registry snapshot, 2026-08-21", Unverified: true,
	},
}

// Models are all known models, in the order in which to show them. The caller owns
// the slice, not what its elements point to.
func Models() []ModelInfo { return slices.Clone(catalogue) }

// Lookup finds a model by provider and exact name or alias. The result keeps the
// canonical name.
func Lookup(provider, model string) (ModelInfo, bool) {
	for _, m := range catalogue {
		if m.Provider == provider && (m.Name == model || slices.Contains(m.Aliases, model)) {
			return m, true
		}
	}
	return ModelInfo{}, false
}
