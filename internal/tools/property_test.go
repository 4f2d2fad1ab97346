package tools

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"dsh/internal/session"
)

// pieces are what random files are made of: few, so that texts repeat, and nasty.
var pieces = []string{"a", "b", "ab", " ", "\t", "\u00e9", "e\u0301", "\u4e2d", "$1", "\\n", "\U0001F600", "x=1;"}

// randomFile makes a file with LF, CRLF or mixed endings, with or without a byte
// order mark and a final ending; sometimes with a very long line or a lone CR.
func randomFile(r *rand.Rand) string {
	var sb strings.Builder
	style := r.IntN(3)
	for range 1 + r.IntN(12) {
		for range r.IntN(5) {
			sb.WriteString(pieces[r.IntN(len(pieces))])
		}
		if r.IntN(30) == 0 {
			sb.WriteString(strings.Repeat("long ", 2000))
		}
		if r.IntN(20) == 0 {
			sb.WriteString("\rx")
		}
		if style == 1 || style == 2 && r.IntN(2) == 0 {
			sb.WriteString("\r\n")
		} else {
			sb.WriteString("\n")
		}
	}
	text := sb.String()
	if r.IntN(3) == 0 {
		text = strings.TrimRight(text, "\r\n")
	}
	if r.IntN(3) == 0 {
		text = "\xef\xbb\xbf" + text
	}
	return text
}

// randomSpan is a piece of text as the model may quote it: whole characters, LF.
func randomSpan(r *rand.Rand, text string) string {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\xef\xbb\xbf"), "\r\n", "\n")
	chars := []rune(text)
	if len(chars) == 0 {
		return "a"
	}
	from := r.IntN(len(chars))
	to := min(len(chars), from+1+r.IntN(12))
	return string(chars[from:to])
}

func randomText(r *rand.Rand) string {
	var sb strings.Builder
	for range r.IntN(5) {
		sb.WriteString(pieces[r.IntN(len(pieces))])
		if r.IntN(4) == 0 {
			sb.WriteByte('\n')
		}
	}
	return sb.String()
}

// occurrences is the oracle: where old stands, by a regular expression.
func occurrences(body, old string) [][]int {
	if strings.Contains(old, "\r") {
		if found := regexp.MustCompile(regexp.QuoteMeta(old)).FindAllStringIndex(body, -1); found != nil {
			return found
		}
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.ReplaceAll(old, "\r\n", "\n")), "\n", "\r?\n")
	return regexp.MustCompile(pattern).FindAllStringIndex(body, -1)
}

// TestED02EditOnDisk takes random edits through the whole tool; the many more of
// TestEditChangesNothingOutsideTheMatches stay in memory, since each publish waits
// for the disk.
func TestED02EditOnDisk(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		file := randomFile(r)
		old, text, all := randomSpan(r, file), randomText(r), r.IntN(2) == 0
		path := b.put("f", file)
		b.remember(Result{Meta: session.ResultMeta{Seen: []session.FileVersion{versionOf(path, []byte(file))}}})
		res := b.call("edit", "file_path", "f", "old_string", old, "new_string", text, "replace_all", all)
		after, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if res.IsError && string(after) != file {
			t.Fatalf("seed %d: a refused edit changed %q to %q", seed, file, after)
		}
		bom := file[:len(file)-len(strings.TrimPrefix(file, "\xef\xbb\xbf"))]
		if !strings.HasPrefix(string(after), bom) {
			t.Fatalf("seed %d: the byte order mark is gone", seed)
		}
		checkEdit(t, seed, file[len(bom):], old, text, all, res.Code, string(after[len(bom):]))
	}
}

func TestEditChangesNothingOutsideTheMatches(t *testing.T) {
	t.Parallel()
	done := map[string]int{}
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		before := strings.TrimPrefix(randomFile(r), "\xef\xbb\xbf")
		a := editArgs{OldString: randomSpan(r, before), NewString: randomText(r), ReplaceAll: r.IntN(2) == 0}
		raw := args("file_path", "f", "old_string", a.OldString, "new_string", a.NewString, "replace_all", a.ReplaceAll)
		_, err := editArgsOf(json.RawMessage(raw))
		after := before
		if err == nil {
			after, _, err = a.apply(place{}, before)
		}
		done[codeOf(err)]++
		checkEdit(t, seed, before, a.OldString, a.NewString, a.ReplaceAll, codeOf(err), after)
	}
	for _, code := range []string{"", FSAmbiguousEdit, InvalidArgs} {
		if done[code] < 50 {
			t.Errorf("only %d outcomes were %q: the files are not random enough", done[code], code)
		}
	}
}

// checkEdit compares an outcome with what the oracle says.
func checkEdit(t *testing.T, seed uint64, before, old, text string, all bool, code, after string) {
	t.Helper()
	places := occurrences(before, old)
	switch {
	case code == InvalidArgs:
		if old != text && strings.TrimSpace(old) != "" {
			t.Fatalf("seed %d: got %q", seed, code)
		}
		return
	case len(places) == 0:
		if code != FSEditNotFound {
			t.Fatalf("seed %d: the oracle does not find %q in %q, but got %q", seed, old, before, code)
		}
		return
	case code == FSAmbiguousEdit:
		if all || len(places) == 1 && len(occurrences(before[places[0][0]+1:], old)) == 0 {
			t.Fatalf("seed %d: %q in %q is not ambiguous", seed, old, before)
		}
		return
	case code != "":
		t.Fatalf("seed %d: got %q", seed, code)
	case !all && len(places) != 1:
		t.Fatalf("seed %d: %d places of %q in %q, and one was edited", seed, len(places), old, before)
	}
	// Walk both texts: outside the places they are equal, in each place stands the
	// new text, with endings of one kind, and that kind occurs in the file.
	from := 0
	for _, p := range places {
		outside := before[from:p[0]]
		if !strings.HasPrefix(after, outside) {
			t.Fatalf("seed %d: %q became something else: %q", seed, outside, after)
		}
		after, from = after[len(outside):], p[1]
		crlf := strings.ReplaceAll(text, "\n", "\r\n")
		switch {
		case strings.HasPrefix(after, text) && (!strings.Contains(text, "\n") || strings.Count(before, "\n") > strings.Count(before, "\r\n") || !strings.Contains(before, "\n") || strings.Contains(old, "\r")):
			after = after[len(text):]
		case strings.HasPrefix(after, crlf) && strings.Contains(before, "\r\n"):
			after = after[len(crlf):]
		default:
			t.Fatalf("seed %d: %q is not %q in the file's endings", seed, after, text)
		}
	}
	if after != before[from:] {
		t.Fatalf("seed %d: %q became %q", seed, before[from:], after)
	}
}

func FuzzEdit(f *testing.F) {
	f.Add("a\r\nb\na\nb\n", "a\nb", "x\ny")
	f.Add("\r\r\n\n", "\n", "\r\n")
	f.Add("aaa", "aa", "b")
	f.Fuzz(func(t *testing.T, body, old, text string) {
		if old == "" {
			return
		}
		spans, exact := findSpans(body, old)
		from, rest := 0, splice(body, spans, text, exact)
		for _, s := range spans {
			if s.start < from || s.end <= s.start || s.end > len(body) {
				t.Fatalf("spans %v of %q", spans, body)
			}
			if got := body[s.start:s.end]; got != old && strings.ReplaceAll(got, "\r\n", "\n") != strings.ReplaceAll(old, "\r\n", "\n") {
				t.Fatalf("%q taken for %q", got, old)
			}
			if !strings.HasPrefix(rest, body[from:s.start]) {
				t.Fatalf("%q changed outside %v", body, spans)
			}
			rest = rest[s.start-from:]
			crlf := strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
			if !exact && newEndings(body).crlfAt(s.start) {
				rest = strings.TrimPrefix(rest, crlf)
			} else {
				rest = strings.TrimPrefix(rest, text)
			}
			from = s.end
		}
		if rest != body[from:] {
			t.Fatalf("%q changed behind %v: %q", body, spans, rest)
		}
		if len(spans) == 0 {
			if strings.Contains(body, old) {
				t.Fatalf("%q not found in %q", old, body)
			}
			missHint(body, old)
		}
	})
}

func FuzzParseArgs(f *testing.F) {
	f.Add(`{"a":1}{"a":1}`)
	f.Add("{\"a\":\"x\ny\"}")
	f.Add("")
	f.Fuzz(func(t *testing.T, raw string) {
		doc, object, err := parseArgs(raw)
		if err != nil {
			return
		}
		if !json.Valid(doc) || !utf8.Valid(doc) || object == nil {
			t.Fatalf("%q gave %q", raw, doc)
		}
		var again map[string]any
		if err := json.Unmarshal(doc, &again); err != nil {
			t.Fatal(err)
		}
	})
}

// patched applies hunks to the lines of a text.
func patched(t *testing.T, old string, hunks []session.Hunk) []string {
	t.Helper()
	lines := strings.Split(old, "\n")
	var out []string
	at := 0
	for _, h := range hunks {
		start := h.OldStart - 1
		if start < at || start > len(lines) {
			t.Fatalf("hunk at %d, but line %d is next of %d", h.OldStart, at+1, len(lines))
		}
		out = append(out, lines[at:start]...)
		if h.NewStart != len(out)+1 {
			t.Fatalf("hunk says new line %d, is at %d", h.NewStart, len(out)+1)
		}
		at = start
		for _, l := range h.Lines {
			switch sign, text := l[0], l[1:]; sign {
			case '+':
				out = append(out, text)
			case ' ', '-':
				if lines[at] != text {
					t.Fatalf("line %d is %q, the hunk says %q", at+1, lines[at], l)
				}
				at++
				if sign == ' ' {
					out = append(out, text)
				}
			default:
				t.Fatalf("a row without sign: %q", l)
			}
		}
	}
	return append(out, lines[at:]...)
}

func TestED18HunksTurnTheOldTextIntoTheNew(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		old := strings.ReplaceAll(randomFile(r), "\r", "") + numbered(r.IntN(20))
		new := strings.Replace(old, randomSpan(r, old), randomText(r), 1+r.IntN(3))
		if r.IntN(4) == 0 {
			new = strings.ReplaceAll(randomFile(r), "\r", "")
		}
		// Lines end, but for the last; an empty last line is none.
		trim := func(s string) string { return strings.TrimSuffix(s, "\n") + "\n" }
		old, new = trim(old), trim(new)
		c := diff(old, new)
		if !c.fits {
			t.Fatalf("seed %d: no hunks", seed)
		}
		if got := strings.Join(patched(t, old, c.hunks), "\n"); got != new {
			t.Fatalf("seed %d: %q patched is %q, want %q", seed, old, got, new)
		}
		for _, h := range c.hunks {
			changedRows := 0
			for _, l := range h.Lines {
				if l[0] != ' ' {
					changedRows++
				}
			}
			if changedRows == 0 {
				t.Fatalf("seed %d: a hunk without a change: %q", seed, h.Lines)
			}
		}
	}
}

func TestLargeChangesHaveNoHunksInTheLog(t *testing.T) {
	t.Parallel()
	c := diff(numbered(3000), strings.ReplaceAll(numbered(3000), "line", "row"))
	if !c.fits || c.toLog() != nil || c.facts() != "+3000 -3000" {
		t.Errorf("fits %v, %d hunks, %s", c.fits, len(c.toLog()), c.facts())
	}
	if c = diff("a", strings.Repeat("b", maxDiffBytes+1)); c.fits || c.hunks != nil {
		t.Error("a huge change has hunks")
	}
	if c = diff(strings.Repeat("same\n", 1<<20)+"a\n", strings.Repeat("same\n", 1<<20)+"b\n"); c.facts() != "+1 -1" || c.hunks[0].OldStart != 1<<20-2 {
		t.Errorf("a small change of a large file: %+v", c)
	}
}
