package markdown

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestGoldens draws each document of testdata/screens at three widths without styles,
// and once in colour, with ESC shown as its picture.
func TestGoldens(t *testing.T) {
	t.Parallel()
	docs, err := filepath.Glob("testdata/screens/*.md")
	if err != nil || len(docs) < 8 {
		t.Fatalf("%d documents, %v", len(docs), err)
	}
	for _, doc := range docs {
		src, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, o := range []Options{{Width: 40}, {Width: 80}, {Width: 120}, {Width: 80, Theme: Ansi()}} {
			rows := Render(string(src), o)
			checkRows(t, doc, rows, o)
			fmt.Fprintf(&b, "== %d %s\n%s\n", o.Width, map[bool]string{true: "plain", false: "in colour"}[o.Theme == Theme{}], strings.Join(rows, "\n"))
		}
		got := strings.ReplaceAll(b.String(), "\x1b", "␛")
		golden := strings.TrimSuffix(doc, ".md") + ".golden"
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil || got != string(want) {
			t.Errorf("%s: not as before (%v); if that is right, run the test with -update\n%s", doc, err, got)
		}
	}
}
