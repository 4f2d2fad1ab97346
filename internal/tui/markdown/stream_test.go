package markdown

import (
	"math/rand"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"dsh/internal/termtext"
)

// snippets are the kinds of blocks that answers are made of, the awkward ones too.
var snippets = []string{
	"A paragraph of text with **bold** and `code` in it.", "two lines\nof text", "中文段落，有标点。第二句话（括号）也在这里。",
	"# Heading", "## Heading with `code` ##", "Setext\n======", "Setext two\n---",
	"- one\n- two\n- three", "- loose\n\n- items\n\n- here", "* star\n* star\n  - nested\n  - nested\n    - deep", "1. one\n2. two\n3. three", "7) seven\n8) eight",
	"1. one\n\n   para\n2. two\n   ```go\n   x := 1\n\n   y := 2\n   ```\n3. three", "- item\nlazy line", "- [x] done\n- [ ] open",
	"- a\n  ```\n  fenced\n```\nafter a fence at the wrong column", "1. a\n  - b\n  - c\n2. d",
	"```go\nfunc main() {\n\tprintln(`x\ny`)\n\n}\n```", "~~~~\n```\nnot closed by this\n~~~\n~~~~", "```py\n'''a\nb'''\n", "text\n```\ncode\n```\ntext",
	"> quote\nlazy", "> quote\n>\n> - list\n> - list", "> ```\n> code\n> ```",
	"| a | b |\n|---|--:|\n| 1 | 2 |\n| 中文 | x |", "text above\n| a | b |\n|---|---|\n| `x|y` | z | more |", "| no | table |\nat all",
	"    indented\n\n    code", "---", "* * *", "<details>\n<summary>x</summary>\n\ntext\n\n</details>", "<!-- a\n\ncomment -->", "[a]: https://example.com\n[a]",
	"a  \nb\\\nc", "\\(x^2\\) and \\[y\\]", "-", "1.", "+ x\n\n\n  y", "***", "**not closed", "| a |\n| - |", "\tcode\n\ttabs", "- a\n\n      code in item", "#", "text\n#", "   - odd\n  - odd",
}

func document(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.Intn(8) {
		b.WriteString(snippets[rng.Intn(len(snippets))])
		b.WriteString([]string{"\n", "\n\n", "\n\n\n", "\n \n"}[rng.Intn(4)])
	}
	s := b.String()
	return s[:len(s)-rng.Intn(3)]
}

// stream renders a text chunk by chunk, looks at every frame, and returns the last.
func stream(t *testing.T, s string, o Options, next func(left int) int) []string {
	t.Helper()
	r := New(o)
	var settled []string
	for rest := s; rest != ""; {
		n := next(len(rest))
		r.Append(rest[:n])
		rest = rest[n:]
		rows := r.Rows()
		k := r.Settled()
		if k < len(settled) || !slices.Equal(settled, rows[:len(settled)]) {
			t.Fatalf("%q: rows that were final changed:\n%q\n%q", s, settled, rows)
		}
		settled = append(settled, rows[len(settled):k]...)
		checkRows(t, s, rows, o)
	}
	r.Finish()
	rows := r.Rows()
	if !slices.Equal(settled, rows[:min(len(settled), len(rows))]) || r.Settled() != len(rows) {
		t.Fatalf("%q: rows that were final changed at the end:\n%q\n%q", s, settled, rows)
	}
	return rows
}

// checkRows holds what is true of every rendering.
func checkRows(t *testing.T, s string, rows []string, o Options) {
	t.Helper()
	for _, row := range rows {
		plain := ansi.Strip(row)
		if w := termtext.Width(row); w > o.Width {
			t.Fatalf("%q at %d: row %q has %d columns", s, o.Width, row, w)
		}
		if lastCluster(plain) == " " {
			t.Fatalf("%q at %d: row %q ends in a space", s, o.Width, row)
		}
		if strings.ContainsFunc(plain, func(r rune) bool { return unicode.IsControl(r) }) {
			t.Fatalf("%q at %d: row %q holds a control", s, o.Width, row)
		}
		if o.Theme == (Theme{}) && plain != row {
			t.Fatalf("%q at %d: row %q holds a sequence", s, o.Width, row)
		}
	}
}

func lastCluster(s string) string {
	last := ""
	for s != "" {
		last, _ = ansi.FirstGraphemeCluster(s, ansi.GraphemeWidth)
		s = s[max(len(last), 1):]
	}
	return last
}

func TestG10ChunksMakeNoDifference(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewSource(1))
	for range 300 {
		s := document(rng)
		o := Options{Width: 2 + rng.Intn(90)}
		if rng.Intn(2) == 0 {
			o.Theme = Ansi()
		}
		whole := Render(s, o)
		size := 1 + rng.Intn(30)
		got := stream(t, s, o, func(left int) int { return min(left, 1+rng.Intn(size)) })
		if !slices.Equal(got, whole) {
			t.Fatalf("%q at %d:\nin chunks %q\nwhole     %q", s, o.Width, got, whole)
		}
	}
}

// Segments are rendered one by one, which must show what the whole document would.
func TestSegmentsAreTheDocument(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewSource(2))
	for range 600 {
		s := document(rng)
		if strings.Contains(s, "wrong column") {
			continue // read otherwise than the standard says, on purpose
		}
		r := New(Options{Width: 80})
		r.Append(s)
		r.Finish()
		var f flow
		painter{theme: &r.theme, src: r.src}.document(&f, segment{}, 80)
		got, want := r.Rows(), f.rows
		// Without the signs, which for code follow the source only at the top level.
		strip := func(rows []string) string {
			return strings.NewReplacer("`", "", "~", "").Replace(strings.Join(slices.DeleteFunc(slices.Clone(rows), func(r string) bool { return strings.Trim(r, "`~") == "" }), "\n"))
		}
		if strip(got) != strip(want) {
			t.Fatalf("%q:\n%s\n--- the whole document:\n%s", s, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range snippets {
		f.Add(s, 20, uint8(3))
	}
	for _, s := range hostile {
		f.Add(s, 33, uint8(1))
	}
	rng := rand.New(rand.NewSource(3))
	for range 20 {
		f.Add(document(rng), 40, uint8(7))
	}
	f.Fuzz(func(t *testing.T, s string, width int, step uint8) {
		for _, theme := range []Theme{{}, Ansi()} {
			o := Options{Width: 2 + max(width, 0)%150, Theme: theme}
			whole := Render(s, o)
			checkRows(t, s, whole, o)
			got := stream(t, s, o, func(left int) int { return min(left, 1+int(step)) })
			if !slices.Equal(got, whole) {
				t.Fatalf("%q at %d:\nin chunks %q\nwhole     %q", s, o.Width, got, whole)
			}
		}
		conserved(t, s)
	})
}

// conserved checks that every letter of the text is shown, in order. Links may show an
// address once that is written twice, and character references stand for others.
func conserved(t *testing.T, s string) {
	t.Helper()
	if strings.Contains(s, "](") || strings.Contains(s, "&") {
		return
	}
	rows := Plain(s, 1<<20)
	shown := []rune(strings.ReplaceAll(strings.Join(rows, "\n"), "[X]", "[x]"))
	for _, r := range strings.ReplaceAll(termtext.Clean(s), "[X]", "[x]") {
		if !unicode.IsLetter(r) {
			continue
		}
		i := slices.Index(shown, r)
		if i < 0 {
			t.Fatalf("%q: %q is not shown:\n%s", s, r, strings.Join(rows, "\n"))
		}
		shown = shown[i+1:]
	}
}
