package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

func pattern(t *testing.T, expr string, ignoreCase bool) *Pattern {
	t.Helper()
	p, err := NewPattern(expr, ignoreCase)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// searched is what a search finds, a line each: path:number:text, with "-" for context.
func searched(t *testing.T, root string, q Query, o Options) (string, Skipped) {
	t.Helper()
	found, skipped, err := Search(context.Background(), root, q, o)
	if err != nil {
		t.Fatal(err)
	}
	return rendered(found), skipped
}

func rendered(found []Hits) string {
	var sb strings.Builder
	for _, h := range found {
		for _, l := range h.Lines {
			sep := "-"
			if l.Match {
				sep = ":"
			}
			fmt.Fprintf(&sb, "%s%s%d%s%s\n", h.Path, sep, l.Number, sep, l.Text)
		}
		if h.Lines == nil {
			fmt.Fprintf(&sb, "%s %d\n", h.Path, h.Count)
		}
	}
	return sb.String()
}

func TestSearch(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		"a.go": "one\ntwo needle\nthree\nneedle\n", "sub/b.go": "needle without an end", "c.txt": "\xef\xbb\xbfneedle\r\nx\r\n", "none": "nothing\n",
		"bin": "needle\x00needle\n", "latin": "caf\xe9 needle\n",
	})
	got, skipped := searched(t, root, Query{Pattern: pattern(t, "^.*needle", false)}, Options{})
	want := "a.go:2:two needle\na.go:4:needle\nc.txt:1:needle\nlatin:1:caf\ufffd needle\nsub/b.go:1:needle without an end\n"
	if got != want || skipped.Binary != 1 {
		t.Errorf("got\n%swant\n%s%+v", got, want, skipped)
	}
	goFiles, err := NewGlob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := searched(t, root, Query{Pattern: pattern(t, "NEEDLE", true), Include: &goFiles, Counts: true}, Options{}); got != "a.go 2\nsub/b.go 1\n" {
		t.Errorf("counts of some: got\n%s", got)
	}
	if got, _ := searched(t, filepath.Join(root, "a.go"), Query{Pattern: pattern(t, "o$", false)}, Options{}); got != ".:2:two needle\n"[:0] {
		t.Errorf("a file: got\n%s", got)
	}
	if got, _ := searched(t, filepath.Join(root, "c.txt"), Query{Pattern: pattern(t, "e$", false)}, Options{}); got != ".:1:needle\n" {
		t.Errorf("the end of a line before CR: got\n%q", got)
	}
	if _, _, err := Search(context.Background(), filepath.Join(root, "missing"), Query{Pattern: pattern(t, "x", false)}, Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing root: %v", err)
	}
}

func TestSearchShowsContext(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"f": "1\n2\nx3\n4\nx5\n6\n7\n8\n9\n10\nx11\n12\n13"})
	got, _ := searched(t, root, Query{Pattern: pattern(t, "x", false), Context: 2}, Options{})
	want := "f-1-1\nf-2-2\nf:3:x3\nf-4-4\nf:5:x5\nf-6-6\nf-7-7\nf-9-9\nf-10-10\nf:11:x11\nf-12-12\nf-13-13\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestSearchLeavesOutWhatMustNotBeShown(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a.pem": "secret", "b": "secret", "c.pem": "other"})
	withheld := func(path string) bool { return filepath.Ext(path) == ".pem" }
	got, skipped := searched(t, root, Query{Pattern: pattern(t, "secret", false)}, Options{Withheld: withheld})
	if got != "b:1:secret\n" || skipped.Withheld != 1 {
		t.Errorf("got %q, %+v", got, skipped)
	}
}

func TestI04SearchOpensNoSpecialFileAndNoLink(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"ok": "hit\n"})
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(tree(t, map[string]string{"o": "hit\n"}), "o")
	link(t, other, filepath.Join(root, "out"))
	link(t, ".", filepath.Join(root, "loop"))
	got, skipped := searched(t, root, Query{Pattern: pattern(t, "hit", false)}, Options{})
	if want := (Skipped{Links: 2, Special: 1}); got != "ok:1:hit\n" || !reflect.DeepEqual(skipped, want) {
		t.Errorf("got %q, %+v", got, skipped)
	}
	if got, skipped := searched(t, filepath.Join(root, "pipe"), Query{Pattern: pattern(t, "hit", false)}, Options{}); got != "" || skipped.Special != 1 {
		t.Errorf("a pipe as root: got %q, %+v", got, skipped)
	}
}

func TestSearchCutsLongLines(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"f": strings.Repeat("é", 3000) + "x\n"})
	found, _, err := Search(context.Background(), root, Query{Pattern: pattern(t, "x", false)}, Options{})
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	if l := found[0].Lines[0]; l.Text != strings.Repeat("é", maxLine/2) || !l.Cut {
		t.Errorf("%d bytes, cut %v", len(l.Text), l.Cut)
	}
}

func TestSearchKeepsSoMuch(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"f": strings.Repeat("x\n", maxFound/perItem)})
	q := Query{Pattern: pattern(t, "x", false)}
	if _, _, err := Search(context.Background(), root, q, Options{}); !errors.Is(err, ErrTooMuch) {
		t.Errorf("error %v", err)
	}
	q.Counts = true
	if got, _ := searched(t, root, q, Options{}); got != fmt.Sprintf("f %d\n", maxFound/perItem) {
		t.Errorf("counts: %q", got)
	}
}

func TestSearchEndsWithItsContext(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"f": ""})
	if err := os.Truncate(filepath.Join(root, "f"), 0); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := search{ctx: ctx, q: Query{Pattern: pattern(t, "needle", false)}}
	reads := 0
	err := newScanner(&s).scan(func(b []byte) (int, error) { // a file without an end
		if reads++; reads == 3 {
			cancel()
		}
		for i := range b {
			b[i] = '\n'
		}
		return len(b), nil
	})
	if !errors.Is(err, context.Canceled) || reads > 4+checkSize/scanBuffer {
		t.Errorf("error %v after %d reads", err, reads)
	}
}

// A line longer than any buffer is one line, is found once, and its memory is bounded.
func TestRD13SearchInALongLine(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]int{"needle": 2, "n.edle": 2, "^y": 0, "^x+needle": 0, "y$": 1, "xy": 1, "^end$": 1} {
		s := search{ctx: context.Background(), q: Query{Pattern: pattern(t, expr, false)}}
		sc := newScanner(&s)
		sent, tail := 0, "needle and needley\nneedle\nend\n"
		err := sc.scan(func(b []byte) (int, error) {
			const size = 8 << 20
			if sent < size {
				n := copy(b, strings.Repeat("x", min(len(b), size-sent)))
				sent += n
				if at := 4<<20 - (sent - n); at >= 0 && at < n {
					b[at] = 'y'
				}
				return n, nil
			}
			n := copy(b, tail)
			tail = tail[n:]
			return n, nil
		})
		if err != nil || sc.hits.Count != want || len(sc.buf) > 2*maxPiece {
			t.Errorf("%s: %d matches, want %d; buffer of %d, error %v", expr, sc.hits.Count, want, len(sc.buf), err)
		}
	}
}

// simple is a search as anybody would write it.
func simple(text, expr string, ignoreCase bool, context int) string {
	if ignoreCase {
		expr = "(?i:" + expr + ")"
	}
	re := regexp.MustCompile(expr)
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		lines = nil
	}
	match := make([]bool, len(lines))
	show := make([]bool, len(lines))
	for i, l := range lines {
		match[i] = re.MatchString(l) || re.MatchString(strings.TrimSuffix(l, "\r"))
		for j := max(0, i-context); match[i] && j <= min(len(lines)-1, i+context); j++ {
			show[j] = true
		}
	}
	h := Hits{Path: "f"}
	for i, l := range lines {
		if show[i] {
			h.Lines = append(h.Lines, Line{Number: i + 1, Match: match[i], Text: strings.ToValidUTF8(strings.TrimSuffix(l, "\r"), "\ufffd")})
		}
	}
	if h.Lines == nil {
		return ""
	}
	return rendered([]Hits{h})
}

// scanned is what a scanner with a small buffer finds in a text that comes in pieces.
func scanned(t *testing.T, text, expr string, ignoreCase bool, lines, buffer int) string {
	t.Helper()
	s := search{ctx: context.Background(), q: Query{Pattern: pattern(t, expr, ignoreCase), Context: lines}}
	sc := newScanner(&s)
	sc.buf = make([]byte, buffer)
	err := sc.scan(func(b []byte) (int, error) {
		n := copy(b, text[:min(len(text), 1+buffer/3)])
		text = text[n:]
		return n, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if sc.hits.Lines == nil {
		return ""
	}
	sc.hits.Path = "f"
	return rendered([]Hits{sc.hits})
}

func TestSearchFindsWhatASimpleOneFinds(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(1, 2))
	letters := []string{"a", "b", "ab", "A", " ", "\n", "\n", "\r\n", "é", "\xff", "_", "7", "k", "\u212a", "\u0130", "i", "S"}
	pieces := []string{"a", "b", "ab", "é", ".", "^", "$", `\b`, `\B`, `\w`, `\s`, `[^a]`, `[ab]`, "a*", "b+", "(a|b)", "(?:ab)?", "a{2}", "|", "k", `\d`, `\x{fffd}`, "", "\u0130", "ab7i", "sA", `(?i:A)`, `\z`, `\A`}
	behindEnd := regexp.MustCompile(`(\$|\\z).*(\^|\\A|\\b|\\B|\$|\\z)`)
	for range 4000 {
		var text, expr string
		for range rnd.IntN(40) {
			text += letters[rnd.IntN(len(letters))]
		}
		for range 1 + rnd.IntN(4) {
			expr += pieces[rnd.IntN(len(pieces))]
		}
		if _, err := NewPattern(expr, false); err != nil || behindEnd.MatchString(expr) {
			continue // nothing stands behind the end of a line, where "$" may have passed a CR
		}
		ignoreCase, lines, buffer := rnd.IntN(2) == 0, 0, 64+rnd.IntN(200)
		want := simple(text, expr, ignoreCase, lines)
		if got := scanned(t, text, expr, ignoreCase, lines, buffer); got != want {
			t.Fatalf("%q in %q (ignore case %v, buffer of %d): got\n%swant\n%s", expr, text, ignoreCase, buffer, got, want)
		}
	}
}

func TestSearchFindsTheSameInAnyBuffer(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		var sb strings.Builder
		for range 1 + rnd.IntN(60) {
			sb.WriteString(strings.Repeat("ab", rnd.IntN(5)) + []string{"", "x"}[rnd.IntN(2)] + "\n")
		}
		for _, expr := range []string{"x", "b$", "^$", "bx|^a"} {
			lines := rnd.IntN(3)
			want := simple(sb.String(), expr, false, lines)
			if got := scanned(t, sb.String(), expr, false, lines, 128); got != want {
				t.Fatalf("%q with %d lines in %q: got\n%swant\n%s", expr, lines, sb.String(), got, want)
			}
		}
	}
}

func TestAutomatonForgets(t *testing.T) {
	t.Parallel()
	p := pattern(t, `(\w{3,40}x){2}[^\x00-\x{10ffff}]|[а-я]{3}z`, false)
	a := newAutomaton(p.prog)
	rnd := rand.New(rand.NewPCG(7, 8))
	text := make([]rune, 1<<18)
	for i := range text {
		text[i] = []rune{'x', 'y', 'ж', rune(0x400 + rnd.IntN(0x9000)), 'a'}[rnd.IntN(5)]
	}
	if at := a.find([]byte(string(text)), false, false); at >= 0 {
		t.Errorf("found at %d", at)
	}
	if len(a.states) > maxStates || a.wide > maxWide {
		t.Errorf("%d states, %d transitions", len(a.states), a.wide)
	}
	if at := a.find([]byte("жжжz"), false, false); at < 0 {
		t.Error("does not match any more")
	}
}

func TestPatternsThatCannotBe(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		`foo(?=bar)`: "look-arounds", `(?!x)`: "look-arounds", `(?<=a)b`: "look-arounds", `(a)\1`: "back-references",
		`foo(`: `put \ before it`, `a)`: `put \ before it`, `[a`: `put \ before it`, `*a`: `put \ before it`, `a\`: `put \ before it`,
		"a\nb": "line break", `a\nb`: "line break", `(?>a)`: "only groups", `\p{Nope}`: "RE2",
	} {
		if _, err := NewPattern(expr, false); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", expr, err, want)
		}
	}
	for _, expr := range []string{" ", "-> Foo", "--flag", "-e", "interface{}", "a{,2}", "$(touch P); `x`"} {
		if _, err := NewPattern(expr, false); err != nil {
			t.Errorf("%q: %v", expr, err)
		}
	}
}

func TestRequiredText(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"needle": "needle", `func \w+Handler`: "Handler", "a|b": "", "(abc)+": "abc", "(abc)*d": "d", "(?i)ABC": "abc", "(?i)123": "123", "(?i)task_name": "_name", "x{2,}yz": "yz",
	} {
		got := ""
		if p := pattern(t, expr, false); p.literal != nil {
			got = string(p.literal.text)
		}
		if got != want {
			t.Errorf("%q requires %q, want %q", expr, got, want)
		}
	}
}

func TestLiteralStandsWhereAnIndexIs(t *testing.T) {
	t.Parallel()
	rnd := rand.New(rand.NewPCG(9, 10))
	for range 5000 {
		text, lit := make([]byte, rnd.IntN(3*window/2)), make([]byte, 1+rnd.IntN(4))
		for i := range text {
			text[i] = "aAbBz_"[rnd.IntN(6)]
		}
		for i := range lit {
			lit[i] = "abz_"[rnd.IntN(4)]
		}
		if got, want := newLiteral(string(lit), false).index(text), bytes.Index(text, lit); got != want {
			t.Fatalf("%q in %q: %d, want %d", lit, text, got, want)
		}
		if got, want := newLiteral(string(lit), true).index(text), bytes.Index(bytes.ToLower(text), lit); got != want {
			t.Fatalf("%q in %q, in any case: %d, want %d", lit, text, got, want)
		}
	}
}
