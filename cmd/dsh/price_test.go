package main

import (
	"testing"
	"time"

	"dsh/internal/llm"
)

func TestPricesAsTheyAreAtATime(t *testing.T) {
	t.Parallel()
	peak := time.Date(2026, 11, 2, 2, 0, 0, 0, time.UTC)
	flash, _ := llm.Lookup("deepseek", "deepseek-flash")
	mini, _ := llm.Lookup("openai", "gpt-5.4-mini")
	for _, tc := range []struct {
		m    llm.ModelInfo
		at   time.Time
		want string
	}{
		{flash, peak.Add(-2 * time.Hour), "$0.15 in, $0.003 cached, $0.6 out a million now, off peak"},
		{flash, peak, "$0.3 in, $0.006 cached, $1.2 out a million now, at peak"},
		{mini, peak, "$0.75 in, $0.075 cached, $4.5 out a million"},
		{llm.ModelInfo{Name: "x"}, peak, "price n/a"},
	} {
		if got := priceText(tc.m, tc.at); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.m.Name, got, tc.want)
		}
	}
}
