package markdown

import (
	"slices"
	"strings"
	"testing"

	"dsh/internal/termtext"
)

// The cells are those that are known to be measured wrong.
func TestG05TableColumnsAlign(t *testing.T) {
	t.Parallel()
	words := []string{"你好", "👨‍👩‍👧", "🎙️", "❤️", "🇩🇪", "🫠", "e\u0301", "ｱ", "한글", "ไทย", "عربي", "plain"}
	var b strings.Builder
	b.WriteString("| 名称 | second | z |\n|---|---|---|\n")
	for _, w := range words {
		b.WriteString("| " + w + " | @" + w + w + w + " | #x |\n")
	}
	for width := 28; width <= 80; width++ {
		rows := Plain(b.String(), width)
		second, third := column(rows[2], "@"), column(rows[2], "#")
		for _, row := range rows[2:] {
			if termtext.Width(row) > width || column(row, "@") != second || column(row, "#") != third {
				t.Fatalf("at %d:\n%s", width, strings.Join(rows, "\n"))
			}
		}
	}
	for width := 2; width < 28; width++ { // records
		for _, row := range Plain(b.String(), width) {
			if termtext.Width(row) > width {
				t.Fatalf("at %d: %q", width, row)
			}
		}
	}
}

func column(row, sign string) int {
	before, _, _ := strings.Cut(row, sign)
	return termtext.Width(before)
}

func TestTablesOfAnyForm(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"no bars outside", "a | b\n--|--\n1 | 2", "a  b/-  -/1  2"},
		{"alignment", "|l|right|mid|\n|:-|-:|:-:|\n|1|2|3|", "l  right  mid/-  -----  ---/1      2   3"},
		{"a bar in code", "|a|\n|-|\n|`x|y`|", "a/-----/`x|y`"},
		{"an escaped bar in code", "|a|\n|-|\n|`x\\|y`|", "a/-----/`x|y`"},
		{"more cells than the head", "|a|\n|-|\n|1|2|", "a/-  -/1  2"},
		{"an empty head", "| | |\n|-|-|\n|1|2|", "1  2"},
		{"text above", "text\n|a|\n|-|\n|1|", "text//a/-/1"},
		{"not as many delimiters", "|a|b|\n|-|\n", "|a|b|/|-|"},
		{"styles and links", "|**a**|\n|-|\n|[x](http://y)|", "**a**/------------/x (http://y)"},
	} {
		if got := strings.Join(Plain(c.in, 60), "/"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAnOpenTableStaysSource(t *testing.T) {
	t.Parallel()
	r := New(Options{Width: 40})
	r.Append("| a | b |\n|---|---|\n| 1 | 2")
	if got, want := r.Rows(), []string{"| a | b |", "|---|---|", "| 1 | 2"}; !slices.Equal(got, want) || r.Settled() != 0 {
		t.Errorf("open: %q, %d final", got, r.Settled())
	}
	r.Append("2 |\n\nAfter")
	if got, want := r.Rows(), []string{"a  b", "-  --", "1  22", "", "After"}; !slices.Equal(got, want) {
		t.Errorf("closed: %q", got)
	}
}

func TestNarrowTablesAreRecords(t *testing.T) {
	t.Parallel()
	got := Plain("|Package|Responsibility|\n|-|-|\n|internal/loop|inbox, driver|\n|internal/llm|words|", 16)
	want := []string{"Package:", "internal/loop", "Responsibility:", "inbox, driver", "", "Package:", "internal/llm", "Responsibility:", "words"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
