package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
)

// house is the architecture: a package imports only what its row grants. ours
// lists internal packages, theirs third-party modules (a prefix of the path). Test
// files are exempt.
var house = map[string]struct{ ours, theirs []string }{
	"cmd/dsh": {
		ours:   []string{"*"},
		theirs: []string{"github.com/spf13/cobra", "golang.org/x/term", "golang.org/x/tools/txtar"},
	},
	"internal/tui/transcript": {
		ours: []string{"session", "llm", "tui/markdown", "termtext"},
	},
	"internal/tui": {
		ours: []string{"session", "llm", "tui/transcript", "tui/markdown", "tui/term", "termtext"},
		theirs: []string{
			"github.com/charmbracelet/bubbletea", "github.com/charmbracelet/bubbles", "github.com/charmbracelet/lipgloss",
			"github.com/sahilm/fuzzy", "github.com/muesli/termenv",
		},
	},
	"internal/files":  {theirs: []string{"github.com/bmatcuk/doublestar", "golang.org/x/text"}},
	"internal/loop":   {ours: []string{"session", "llm", "tools", "policy", "jobs", "prompt"}},
	"internal/prompt": {ours: []string{"session", "llm"}},
	"internal/verify": {ours: []string{"loop", "jobs", "session", "llm"}},
	"internal/tools": {
		ours:   []string{"session", "llm", "policy", "jobs", "files", "redact"},
		theirs: []string{"github.com/google/jsonschema-go", "github.com/aymanbagabas/go-udiff", "golang.org/x/text", "golang.org/x/sys"},
	},
	"internal/jobs":                {ours: []string{"session", "sandbox"}, theirs: []string{"golang.org/x/sys"}},
	"internal/redact":              {},
	"internal/sandbox/sandboxtest": {ours: []string{"sandbox"}},
	"internal/sandbox":             {theirs: []string{"golang.org/x/sys"}},
	"internal/policy":              {ours: []string{"session"}},
	"internal/audit":               {ours: []string{"session", "llm", "llm/openai"}},
	"internal/export":              {ours: []string{"session", "llm", "termtext"}},
	"internal/session": {
		ours:   []string{"llm"},
		theirs: []string{"github.com/gofrs/flock", "github.com/klauspost/compress/zstd"},
	},
	"internal/llm/openai":  {ours: []string{"llm"}, theirs: []string{"github.com/sashabaranov/go-openai"}},
	"internal/llm/llmtest": {ours: []string{"llm"}},
	"internal/llm":         {},
	"internal/config":      {theirs: []string{"github.com/pelletier/go-toml/v2", "github.com/gofrs/flock"}},
	"internal/early":       {},
	"internal/tui/term": {theirs: []string{
		"github.com/charmbracelet/bubbletea", "github.com/charmbracelet/x/ansi", "golang.org/x/sys", "golang.org/x/term",
	}},
	"internal/termtext":     {theirs: []string{"github.com/charmbracelet/x/ansi"}},
	"internal/tui/markdown": {ours: []string{"termtext"}, theirs: []string{"github.com/yuin/goldmark"}},
}

// noSleep and similar habits are held by the same walk over the tree.
func TestHouse(t *testing.T) {
	t.Parallel()
	root := "../.."
	sizes := newSizes()
	for dir, files := range goFiles(t, root) {
		row, known := house[dir]
		if !known {
			t.Errorf("%s has no row in the house table: add one that says what it may import", dir)
			continue
		}
		if strings.HasPrefix(dir, "internal/") && !slices.Contains(files, "doc.go") {
			t.Errorf("%s has no doc.go: say what it holds, what it never imports, where to start reading", dir)
		}
		for _, name := range files {
			checkFile(t, root, dir, name, row.ours, row.theirs, sizes)
		}
	}
	sizes.print(t)
}

func checkFile(t *testing.T, root, dir, name string, ours, theirs []string, sizes *sizes) {
	path := filepath.Join(root, dir, name)
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, "_test.go") {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && fmt.Sprint(sel.X) == "time" && sel.Sel.Name == "Sleep" && !inSynctest(path) {
				t.Errorf("%s: time.Sleep in a test: wait for the event, or use testing/synctest", fset.Position(n.Pos()))
			}
			return true
		})
		return
	}
	for _, imp := range f.Imports {
		if why := forbidden(strings.Trim(imp.Path.Value, `"`), ours, theirs); why != "" {
			t.Errorf("%s: %s", fset.Position(imp.Pos()), why)
		}
	}
	sizes.add(fset, dir+"/"+name, f)
}

func forbidden(path string, ours, theirs []string) string {
	if rest, ok := strings.CutPrefix(path, "dsh/internal/"); ok {
		if slices.Contains(ours, rest) || slices.Contains(ours, "*") {
			return ""
		}
		return "may not import " + path + ": the house table does not grant it"
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return "" // standard library
	}
	for _, prefix := range theirs {
		if path == prefix || strings.HasPrefix(path, prefix+"/") {
			return ""
		}
	}
	return "may not import " + path + ": only the packages whose row names it may"
}

// inSynctest reports whether the tests of a file's package run under
// testing/synctest, where Sleep advances a fake clock and waits for nobody.
func inSynctest(path string) bool {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*_test.go"))
	return err == nil && slices.ContainsFunc(files, func(file string) bool {
		src, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(src), `"testing/synctest"`)
	})
}

func goFiles(t *testing.T, root string) map[string][]string {
	dirs := map[string][]string{}
	for _, top := range []string{"cmd", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && (d.Name() == "testdata" || exists(filepath.Join(path, "go.mod"))) {
				return filepath.SkipDir // not in the build: programs and modules that tests use
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") {
				return err
			}
			rel, err := filepath.Rel(root, path)
			dir := filepath.ToSlash(filepath.Dir(rel))
			dirs[dir] = append(dirs[dir], filepath.Base(path))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// sizes collects the largest files and functions: printed, not judged, so that
// growth is seen in review.
type sizes struct{ files, funcs []size }

type size struct {
	lines int
	name  string
}

func newSizes() *sizes { return &sizes{} }

func (s *sizes) add(fset *token.FileSet, name string, f *ast.File) {
	s.files = append(s.files, size{fset.Position(f.End()).Line, name})
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			lines := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
			s.funcs = append(s.funcs, size{lines, name + ":" + fn.Name.Name})
		}
	}
}

func (s *sizes) print(t *testing.T) {
	for _, list := range [][]size{s.files, s.funcs} {
		sort.Slice(list, func(i, j int) bool { return list[i].lines > list[j].lines })
		for _, e := range list[:min(5, len(list))] {
			t.Logf("%4d lines  %s", e.lines, e.name)
		}
	}
}
