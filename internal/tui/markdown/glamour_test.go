package markdown

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/charmbracelet/glamour"
	"github.com/charmbracelet/x/ansi"
)

// TestGlamourShowsTheSameText compares with an independent renderer: the letters and
// digits that it shows are those that ours shows, in order. Left out is what it is known
// to drop: tags, references, and cells that the head of a table has no column for.
func TestGlamourShowsTheSameText(t *testing.T) {
	t.Parallel()
	r, err := glamour.NewTermRenderer(glamour.WithStandardStyle("notty"), glamour.WithWordWrap(0), glamour.WithInlineTableLinks(true))
	if err != nil {
		t.Fatal(err)
	}
	unlabelled := strings.NewReplacer("```go", "```", "```py", "```", "```sh", "```")
	compare := func(name, text string) {
		text = unlabelled.Replace(text) // ours names the language
		theirs, err := r.Render(text)
		if err != nil {
			t.Fatal(err)
		}
		ours := strings.Join(Render(text, Options{Width: 1 << 20, Theme: Mono()}), "\n")
		if a, b := visibleLetters(ours), visibleLetters(theirs); a != b {
			t.Errorf("%s: ours shows\n%s\nglamour shows\n%s", name, a, b)
		}
	}
	for _, name := range []string{"cjk.md", "lists.md"} {
		src, err := os.ReadFile(filepath.Join("testdata/screens", name))
		if err != nil {
			t.Fatal(err)
		}
		compare(name, string(src))
	}
	for _, s := range snippets {
		if !strings.Contains(s, "<") && !strings.Contains(s, "[a]:") && !strings.Contains(s, "| more") {
			compare(s, s)
		}
	}
}

func visibleLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, ansi.Strip(s))
}
