package openai

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// hint is how error texts name a wait: "try again in 1m2.5s", "retry in 36s".
var hint = regexp.MustCompile(`(?i)(?:try again|retry) in ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)`)

// retryAfter is how long the endpoint asks to wait, in milliseconds; nil when it
// does not say, or says nonsense.
func retryAfter(h http.Header, message string) *int64 {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return millis(ms)
	}
	if v := h.Get("Retry-After"); v != "" {
		if s, ok := number(v); ok {
			return millis(s * 1000)
		}
		if at, err := http.ParseTime(v); err == nil {
			return positive(at.Sub(serverTime(h)))
		}
	}
	if m := hint.FindStringSubmatch(message); m != nil {
		if d, err := time.ParseDuration(strings.ToLower(m[1])); err == nil {
			return positive(d)
		}
	}
	return usedUp(h)
}

// usedUp reads the reset times of the limits that have nothing left.
func usedUp(h http.Header) *int64 {
	var wait time.Duration
	for _, what := range []string{"Requests", "Tokens"} {
		if h.Get("X-Ratelimit-Remaining-"+what) != "0" {
			continue
		}
		if d, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + what)); err == nil {
			wait = max(wait, d)
		}
	}
	return positive(wait)
}

// serverTime is the endpoint's clock, so that its dates are compared with it.
func serverTime(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}

func number(s string) (float64, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	return f, err == nil && f >= 0 && !math.IsInf(f, 0)
}

func millis(ms float64) *int64 {
	n := int64(math.Ceil(min(ms, math.MaxInt32*1000.0)))
	return &n
}

func positive(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}
