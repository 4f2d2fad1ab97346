package termtext

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

func TestG05WidthsAreThoseOfTheTerminal(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]int{
		"": 0, "abc": 3, "你好": 4, "👨‍👩‍👧": 2, "❤️": 2, "🇩🇪": 2, "🫠": 2, "e\u0301": 1, "ｱ": 1, "한글": 4, "\x1b[1;31mred\x1b[0m": 3,
	} {
		if got := Width(s); got != want {
			t.Errorf("Width(%q) = %d, want %d", s, got, want)
		}
	}
}

func TestExpandStopsEveryFourColumns(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"a": "a", "\ta": "    a", "ab\tc": "ab  c", "漢\tc": "漢  c", "abcd\te": "abcd    e", "a\tb\n\tc": "a   b\n    c", "\x1b[1ma\x1b[0m\tb": "\x1b[1ma\x1b[0m   b",
	} {
		if got := Expand(in); got != want {
			t.Errorf("Expand(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestG05CutLeavesNoHalfGlyph(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"你好", 3, "你"}, {"你好", 4, "你好"}, {"a👨‍👩‍👧b", 2, "a"}, {"e\u0301x", 1, "e\u0301"},
		{"\x1b[31mred\x1b[0m!", 2, "\x1b[31mre\x1b[0m"}, {"abc", 0, ""}, {"abc", -1, ""}, {"好", 1, ""},
	} {
		if got := Cut(c.in, c.width); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		width    int
		want     string
	}{
		{"words", "the quick brown fox", 10, "the quick|brown fox"},
		{"exact", "0123456789 x", 10, "0123456789|x"},
		{"spaces at the break go", "aaa   bbb", 4, "aaa|bbb"},
		{"spaces at the end go", "aaa     ", 4, "aaa"},
		{"indentation stays", "  aa bb", 5, "  aa|bb"},
		{"indentation without room", "      aaa", 5, "aaa"},
		{"line feeds", "a\n\nb\n", 5, "a||b|"},
		{"a long word", "ab 0123456789", 4, "ab|0123|4567|89"},
		{"an address moves whole", "see https://go.dev/x now", 16, "see|https://go.dev/x|now"},
		{"ideographs", "这是一个很长的句子", 8, "这是一个|很长的句|子"},
		{"no comma at the start", "一二三四，五六", 8, "一二三|四，五六"},
		{"no bracket at the end", "一二三（四五", 8, "一二三|（四五"},
		{"no small kana at the start", "アアアアッア", 8, "アアア|アッア"},
		{"a comma after a space", "一二三 ，四", 8, "一二|三 ，四"},
		{"Latin in ideographs", "使用Bubble库", 8, "使用|Bubble库"},
		{"Hangul", "안녕하세요", 5, "안녕|하세|요"},
		{"emoji", "🙂🙂🙂", 4, "🙂🙂|🙂"},
		{"a cluster is not divided", "👨‍👩‍👧👨‍👩‍👧", 3, "👨‍👩‍👧|👨‍👩‍👧"},
		{"a mark stays with its letter", "aae\u0301b", 3, "aae\u0301|b"},
		{"width below two", "ab好", 0, "ab|好"},
		{"styles are carried", "\x1b[1;31mred \x1b[22mand\x1b[0m x", 4, "\x1b[1;31mred\x1b[0m|\x1b[31mand\x1b[0m|x"},
		{"a style opened at a break", "aaa \x1b[1mbbb\x1b[0m", 4, "aaa|\x1b[1mbbb\x1b[0m"},
		{"extended colours", "\x1b[38;5;196;48;2;1;2;3maa bb\x1b[39m cc\x1b[m", 2, "\x1b[38;5;196;48;2;1;2;3maa\x1b[0m|\x1b[38;5;196;48;2;1;2;3mbb\x1b[39m\x1b[0m|\x1b[48;2;1;2;3mcc\x1b[m"},
	} {
		if got := strings.Join(Wrap(c.in, c.width), "|"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestFoldLeavesOutNothing(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"a  b  c", 3, "a  |b  |c"}, {"    x", 3, "   | x"}, {"好好", 3, "好|好"}, {"", 3, ""}, {"a\n", 3, "a|"},
		{"\x1b[32m\"a b\"\x1b[0m", 3, "\x1b[32m\"a \x1b[0m|\x1b[32mb\"\x1b[0m"},
	} {
		if got := strings.Join(Fold(c.in, c.width), "|"); got != c.want {
			t.Errorf("Fold(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

// checkRows holds what is true of every wrapping: no row is too wide, and the rows
// hold the text, but for spaces where the wrapping may leave them out.
func checkRows(t *testing.T, text string, rows []string, width int, hard bool) {
	t.Helper()
	rest := ansi.Strip(text)
	for _, row := range rows {
		if w := Width(row); w > max(width, minWidth) {
			t.Fatalf("%q at %d: row %q has %d columns", text, width, row, w)
		}
		plain := ansi.Strip(row)
		if !hard && endsInSpace(plain) {
			t.Fatalf("%q at %d: row %q ends with a space", text, width, row)
		}
		for !strings.HasPrefix(rest, plain) {
			if rest == "" || rest[0] != '\n' && (hard || rest[0] != ' ') {
				t.Fatalf("%q at %d: row %q is not what follows, which is %q", text, width, row, rest)
			}
			rest = rest[1:]
		}
		rest = rest[len(plain):]
	}
	if strings.Trim(rest, " \n") != "" {
		t.Fatalf("%q at %d: %q is lost", text, width, rest)
	}
	var p wrapper
	for _, row := range rows {
		if p.follow(row); p.pen != (pen{}) {
			t.Fatalf("%q at %d: row %q leaves a style open", text, width, row)
		}
	}
}

// endsInSpace looks at clusters: after some marks a space is part of one.
func endsInSpace(s string) bool {
	t := tokens{s: s}
	for t.next() {
	}
	return s != "" && s[len(s)-1] == ' ' && t.kind == space
}

func FuzzWrap(f *testing.F) {
	for _, s := range []string{
		"the quick brown fox", "这是一个很长的句子，（带标点）。", "a\x1b[1mb c\x1b[31md\x1b[0m e", "👨\u200d👩\u200d👧 🇩🇪🇩 1️⃣ e\u0301", "   x   ", "한글 한글", "ไทย عربي क्\u200dष", "a\n\n b", "https://example.com/a/b/c?d=e",
	} {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = min(max(width, 0), 200)
		for _, text := range []string{Expand(Clean(s)), styled(Expand(Clean(s)))} {
			checkRows(t, text, Wrap(text, width), width, false)
			checkRows(t, text, Fold(text, width), width, true)
			cut := Cut(strings.ReplaceAll(text, "\n", " "), width)
			if Width(cut) > width {
				t.Fatalf("Cut(%q, %d) = %q", text, width, cut)
			}
		}
	})
}

// styled colours the text here and there.
func styled(s string) string {
	var b strings.Builder
	for i, r := range []rune(s) {
		if i%5 == 3 {
			fmt.Fprintf(&b, "\x1b[%dm", []int{0, 1, 31, 39, 22, 4, 0, 92}[i%8])
		}
		b.WriteRune(r)
	}
	return b.String() + "\x1b[0m"
}

// Styling may change where clusters end only between runes that a sequence divides;
// over text of single runes, a style changes no row.
func TestStylesDoNotChangeTheRows(t *testing.T) {
	t.Parallel()
	text := "The 快速 brown fox，跳过 lazy 狗。 https://example.com/path  end"
	for width := 2; width < 60; width++ {
		plain, colour := Wrap(text, width), Wrap(styled(text), width)
		for i := range colour {
			colour[i] = ansi.Strip(colour[i])
		}
		if !slices.Equal(plain, colour) {
			t.Fatalf("at %d: %q, styled %q", width, plain, colour)
		}
	}
}

func TestNoRowBeginsWithClosingPunctuation(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("他说：“你好，世界！”（是的）。《书名》、『引用』；对吗？", 5)
	for width := 8; width < 60; width++ {
		for i, row := range Wrap(text, width) {
			first, last := []rune(row)[0], []rune(row)[len([]rune(row))-1]
			if closes(first) || i >= 0 && opens(last) {
				t.Fatalf("at %d: row %q", width, row)
			}
		}
	}
}

func BenchmarkWrap(b *testing.B) {
	for name, s := range map[string]string{"ascii": "some ordinary words of prose ", "cjk": "这是普通的文章，有标点。", "styled": "some \x1b[1mbold\x1b[0m words "} {
		text := strings.Repeat(s, 10000/len(s))
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				Wrap(text, 80)
			}
		})
	}
}
