package main

import (
	"testing"
	"time"
)

func TestParsePlace(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("", 2*60*60)
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, zone)
	at := func(day, hour, minute, second int) place {
		return place{true, -1, time.Date(2026, 5, day, hour, minute, second, 0, zone).UnixMilli()}
	}
	for text, want := range map[string]place{
		"": {}, "0": {given: true}, "17": {given: true, seq: 17},
		"2h": at(4, 10, 0, 0), "1h30m": at(4, 10, 30, 0), "0s": at(4, 12, 0, 0),
		"10:30": at(4, 10, 30, 0), "10:30:15": at(4, 10, 30, 15),
		"2026-05-03": at(3, 0, 0, 0), "2026-05-03 10:30": at(3, 10, 30, 0), "2026-05-03 10:30:15": at(3, 10, 30, 15),
		"2026-05-03T10:30:15": at(3, 10, 30, 15), "2026-05-03T08:30:15Z": at(3, 10, 30, 15),
	} {
		if got, err := parsePlace(text, now); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"-1", "-2h", "yesterday", "25:99", "2026-13-01", "1.5", "99999999999999999999"} {
		if got, err := parsePlace(text, now); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}
