package tools

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dsh/internal/files"
	"dsh/internal/jobs"
	"dsh/internal/session"
)

// byTime gives files times, the first one the newest.
func byTime(t *testing.T, b *bench, names ...string) []string {
	t.Helper()
	for i, name := range names {
		at := time.Unix(1_700_000_000-int64(i), 0)
		if err := os.Chtimes(b.path(name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	return names
}

func TestGlob(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"main.go", "a/b/deep.go", "a/x.ts", "a/dir.go/in.txt", ".hid/h.go", ".git/c.go"} {
		b.put(name, "")
	}
	byTime(t, b, "a/b/deep.go", "main.go", "a/x.ts", "a/dir.go/in.txt", ".hid/h.go")
	const hidden = "\n(not searched: 1 hidden entry; name a hidden or ignored path to search it)"
	for _, c := range []struct {
		id, pattern, path, want string
	}{
		{"GL01 files only", "**/*.go", "", "a/b/deep.go\nmain.go" + hidden},
		{"GL02 any depth", "*.go", "", "a/b/deep.go\nmain.go" + hidden},
		{"GL03 a hidden directory", ".hid/**", "", ".hid/h.go"},
		{"GL03 version control never", ".git/**", "", "No files found"},
		{"GL05 none", "*.rs", "", "No files found" + hidden},
		{"GL05 a directory that is not there", "nowhere/*.rs", "", "No files found"},
		{"GL09 the newest first", "**", "a", "a/b/deep.go\na/x.ts\na/dir.go/in.txt"},
		{"one file", "a/x.ts", "", "a/x.ts"},
		{"a file as directory", "main.go/**", "", "No files found"},
		{"an absolute pattern", b.path("a") + "/*.ts", "", "a/x.ts"},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			wantAll(t, b.must("glob", "pattern", c.pattern, "path", c.path), c.want)
		})
	}
}

func TestI01GL03GlobFindsWhatIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{".github/w.yml", ".env", "dist/a.js", "node_modules/p/i.js", "src/a.js", "src/b.js", "src/keep.js"} {
		b.put(name, "")
	}
	b.put(".gitignore", "dist/\nnode_modules/\n.env\nb.js\nkeep.js\n")
	b.put("src/.gitignore", "!keep.js\n")
	for pattern, want := range map[string][]string{
		".github/**": {".github/w.yml"}, "dist/a.js": {"dist/a.js"}, "dist/*": {"dist/a.js"}, ".env": {".env"}, "src/b.js": {"src/b.js"},
		"**/*.js": {"src/a.js", "src/keep.js"}, "src/*.js": {"src/a.js", "src/keep.js"}, "node_modules/p/i.js": {"node_modules/p/i.js"},
	} {
		text := b.must("glob", "pattern", pattern).Text
		var got []string
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !strings.HasPrefix(line, "(") {
				got = append(got, line)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %q, want %q", pattern, got, want)
		}
		if pattern == "**/*.js" {
			wantText(t, text, "(not searched: 4 hidden entries, 3 ignored entries;")
		}
	}
}

func TestGL06GL07AllPathsAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	out := filepath.Join(t.TempDir(), "out")
	env := b.env()
	env.Save = jobs.NewArtifacts(out, 0, 0).Save
	for i := range maxGlobInline {
		b.put(fmt.Sprintf("f%03d", i), "")
	}
	r := b.callWith(env, "glob", "pattern", "*")
	if _, err := os.Stat(out); strings.Count(r.Text, "\n") != 99 || strings.Contains(r.Text, "(") || err == nil {
		t.Errorf("exactly 100: %s, %v", clip(r.Text), err)
	}
	for i := range 400 {
		b.put(fmt.Sprintf("g%03d", i), "")
	}
	r = b.callWith(env, "glob", "pattern", "*")
	_, rest, _ := strings.Cut(r.Text, "\n(100 of 500 files, the newest; the complete list is in ")
	path, _, ok := strings.Cut(rest, ": read it with offset and limit")
	if !ok || strings.Count(r.Text, "\n") != 100 {
		t.Fatalf("no artifact in %q", clip(r.Text))
	}
	wantText(t, b.must("read", "file_path", path).Text, "(end of file, 500 lines in total)")
	wantText(t, b.must("glob", "pattern", "*").Text, "(100 of 500 files, the newest; there is no place to keep")
}

func TestGL08GlobRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "")
	for _, pattern := range []string{"[a", "{a,b", `a\`, "../*", "a/../b"} {
		b.fails(SearchInvalidPattern, "glob", "pattern", pattern)
	}
	b.fails(InvalidArgs, "glob", "pattern", " ")
	b.fails(SearchFailed, "glob", "pattern", "*", "path", "missing")
	wantText(t, b.fails(SearchFailed, "glob", "pattern", "*", "path", "f").Text, "is a file")
}

func TestGlobActionNamesWhereItLooks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a/f", "")
	out := t.TempDir()
	if err := os.Symlink(out, b.path("outbox")); err != nil {
		t.Fatal(err)
	}
	real, err := filepath.EvalSymlinks(out)
	if err != nil {
		t.Fatal(err)
	}
	for pattern, want := range map[string]string{"**": b.dir, "a/*": b.path("a"), "outbox/**": real} {
		call, bad := b.reg.Prepare("glob", args("pattern", pattern))
		if bad != nil {
			t.Fatal(bad.Text)
		}
		action, bad := call.Action(b.env())
		if bad != nil || !slices.Equal(action.Paths, []string{want}) || action.Linked != (want == real) {
			t.Errorf("%s: %+v", pattern, action)
		}
	}
}

func TestSearchCards(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.go", "needle\n")
	raw := args("pattern", "needle", "path", ".", "include", "*.go")
	d := b.reg.Present("grep", raw, nil)
	if d.Kind != session.ShowMatches || d.Verb != "Grep" || d.Target != `"needle" in . (*.go)` || d.Facts != nil || d.Text != "" {
		t.Errorf("pending: %+v", d)
	}
	d = b.reg.Present("grep", raw, logged(b.must("grep", "pattern", "needle", "path", ".", "include", "*.go")))
	if d.Text != "a.go:1   needle" || !slices.Equal(d.Facts, []string{"1 match in 1 file"}) {
		t.Errorf("done: %+v", d)
	}
	b.put("sub/b.go", "before\n\tneedle: 1\n\n\n\nneedle\n")
	raw = args("pattern", "needle", "context", 1)
	d = b.reg.Present("grep", raw, logged(b.must("grep", "pattern", "needle", "context", 1)))
	if want := "a.go:1   needle\nsub/b.go-1   before\nsub/b.go:2   needle: 1\nsub/b.go-3   \nsub/b.go-5   \nsub/b.go:6   needle"; d.Text != want {
		t.Errorf("got\n%s\nwant\n%s", d.Text, want)
	}
	raw = args("pattern", "needle", "output_mode", "count")
	if d = b.reg.Present("grep", raw, logged(b.must("grep", "pattern", "needle", "output_mode", "count"))); d.Text != "a.go: 1\nsub/b.go: 2" {
		t.Errorf("counts: %q", d.Text)
	}
	if err := os.RemoveAll(b.path("sub")); err != nil {
		t.Fatal(err)
	}
	d = b.reg.Present("glob", args("pattern", "*.go"), logged(b.must("glob", "pattern", "*.go")))
	if d.Kind != session.ShowFiles || d.Target != "*.go" || d.Text != "a.go" || !slices.Equal(d.Facts, []string{"1 file"}) {
		t.Errorf("done: %+v", d)
	}
	d = b.reg.Present("grep", args("pattern", "("), logged(b.fails(SearchInvalidPattern, "grep", "pattern", "(")))
	if !slices.Equal(d.Facts, []string{"invalid pattern"}) {
		t.Errorf("failed: %+v", d)
	}
}

func TestI04WhatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	got := notes(files.Skipped{Unreadable: 3, Unread: []string{"a\nb", "d/x/"}, Links: 1})
	if want := "\n(not searched: 1 link)\n(could not be read: \"a\\nb\", d/x/, and 1 more)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
