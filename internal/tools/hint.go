package tools

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

const (
	maxHintBytes = 4 << 20 // a larger file is not searched for what old_string may have meant
	maxHintLines = 50      // of old_string that are looked for
	maxHintLine  = 200     // bytes of a quoted line
	minAlike     = 0.5     // share of letter pairs that two lines have in common to be called near
)

var lineNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^\s*\d+: ?`) })

// missHint says why a text may not have been found: the place in the file that
// resembles it most, and what differs. Empty if nothing resembles it.
func missHint(body, old string) string {
	if bare := lineNumber().ReplaceAllString(old, ""); bare != old && bare != "" && strings.Contains(body, bare) {
		return " old_string contains the line numbers that read shows: leave them out."
	}
	if len(body) > maxHintBytes {
		return ""
	}
	file := splitLines(body)
	want := splitLines(strings.Trim(old, "\r\n"))
	want = want[:min(len(want), maxHintLines)]
	at, run := bestRun(file, want)
	switch {
	case run == 0:
		return nearestLine(file, want)
	case run == len(want):
		for i, line := range want {
			if file[at+i] != line {
				return fmt.Sprintf(" Line %d differs%s: the file has %s, old_string has %s.", at+i+1, difference(file[at+i], line), quoteLine(file[at+i]), quoteLine(line))
			}
		}
		return fmt.Sprintf(" %s from line %d on would match; what differs stands before or after.", plural(run, "line"), at+1)
	case at+run < len(file):
		return fmt.Sprintf(" Line %d would match, but line %d is %s where old_string has %s.", at+1, at+run+1, quoteLine(file[at+run]), quoteLine(want[run]))
	}
	return fmt.Sprintf(" Line %d would match, but the file ends before old_string does.", at+1)
}

func splitLines(s string) []string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

// bestRun finds where most lines of want follow each other in file, if whitespace
// and the kind of quotes do not count.
func bestRun(file, want []string) (at, run int) {
	wanted := make([]string, len(want))
	for i, l := range want {
		wanted[i] = loose(l)
	}
	if wanted[0] == "" {
		return 0, 0
	}
	keys := make([]string, len(file))
	for i, l := range file {
		keys[i] = loose(l)
	}
	for i := range keys {
		n := 0
		for n < len(wanted) && i+n < len(keys) && keys[i+n] == wanted[n] {
			n++
		}
		if n > run {
			at, run = i, n
		}
	}
	return at, run
}

// loose is a line without whitespace, with plain quotes and composed accents.
func loose(line string) string {
	return strings.Join(strings.Fields(plainQuotes(norm.NFC.String(line))), "")
}

var plainQuotes = strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u201c", `"`, "\u201d", `"`,
	"\u2013", "-", "\u2014", "-", "\u00a0", " ").Replace

// difference says in what two lines differ that are the same loosely.
func difference(a, b string) string {
	switch {
	case strings.TrimSpace(a) == strings.TrimSpace(b):
		return " in the whitespace at its ends"
	case norm.NFC.String(a) == norm.NFC.String(b):
		return " in how its accents are composed"
	case plainQuotes(a) == plainQuotes(b):
		return " in its quotes, dashes or no-break spaces"
	case strings.Join(strings.Fields(a), "") == strings.Join(strings.Fields(b), ""):
		return " in its whitespace"
	}
	return ""
}

// nearestLine names the file's line that is most like the longest of want.
func nearestLine(file, want []string) string {
	longest := ""
	for _, l := range want {
		if len(l) > len(longest) {
			longest = l
		}
	}
	longest = strings.TrimSpace(headBytes(longest, maxHintLine))
	best, bestScore := -1, minAlike
	pairs := pairsOf(longest)
	for i, l := range file {
		if score := alike(pairs, longest, strings.TrimSpace(headBytes(l, 2*maxHintLine))); score > bestScore {
			best, bestScore = i, score
		}
	}
	if best < 0 {
		return ""
	}
	return fmt.Sprintf(" The nearest line is %d: %s.", best+1, quoteLine(file[best]))
}

func pairsOf(s string) map[[2]byte]bool {
	pairs := map[[2]byte]bool{}
	for i := 0; i+1 < len(s); i++ {
		pairs[[2]byte{s[i], s[i+1]}] = true
	}
	return pairs
}

// alike is the share of letter pairs that two lines have in common, from 0 to 1.
func alike(pairs map[[2]byte]bool, a, b string) float64 {
	if len(a) < 2 || len(b) < 2 || len(b) > 3*len(a) {
		return 0
	}
	common := 0
	for i := 0; i+1 < len(b); i++ {
		if pairs[[2]byte{b[i], b[i+1]}] {
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}

func quoteLine(line string) string {
	if len(line) > maxHintLine {
		return fmt.Sprintf("%q...", headBytes(line, maxHintLine))
	}
	return fmt.Sprintf("%q", line)
}
