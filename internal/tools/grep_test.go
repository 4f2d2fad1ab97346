package tools

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/jobs"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// wantAll is wantText for the whole of a text.
func wantAll(t *testing.T, r Result, want string) {
	t.Helper()
	if r.Text != want || r.IsError {
		t.Errorf("got\n%s\nwant\n%s", clip(r.Text), want)
	}
}

// callWith is call in other surroundings.
func (b *bench) callWith(env Env, name string, pairs ...any) Result {
	b.t.Helper()
	return b.callUnder(b.t.Context(), env, name, pairs...)
}

func (b *bench) callUnder(ctx context.Context, env Env, name string, pairs ...any) Result {
	b.t.Helper()
	call, bad := b.reg.Prepare(name, args(pairs...))
	if bad != nil {
		return *bad
	}
	if _, bad = call.Action(env); bad != nil {
		return *bad
	}
	return call.Run(ctx, env)
}

func TestGrep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a.go", "one needle\ntwo\nneedle three\n")
	b.put("sub/b.ts", "const needle = 1\n")
	b.put("sub/c.js", "Needle\n")
	for _, c := range []struct {
		id   string
		args []any
		want string
	}{
		{"GR01 matches in two files", []any{"pattern", "needle"},
			"Found 3 matches\n\na.go\nLine 1: one needle\nLine 3: needle three\n\nsub/b.ts\nLine 1: const needle = 1"},
		{"GR02 one match", []any{"pattern", "const"}, "Found 1 match\n\nsub/b.ts\nLine 1: const needle = 1"},
		{"GR03 none", []any{"pattern", "nothing"}, "No matches found"},
		{"GR05 a dash", []any{"pattern", "-needle"}, "No matches found"},
		{"GR11 include", []any{"pattern", "(?i)needle", "include", "*.{ts,js}"},
			"Found 2 matches\n\nsub/b.ts\nLine 1: const needle = 1\n\nsub/c.js\nLine 1: Needle"},
		{"GR12 a file", []any{"pattern", "needle", "path", "sub/b.ts"}, "Found 1 match\n\nsub/b.ts\nLine 1: const needle = 1"},
		{"GR17 a blank", []any{"pattern", " = "}, "Found 1 match\n\nsub/b.ts\nLine 1: const needle = 1"},
		{"ignore case", []any{"pattern", "NEEDLE", "ignore_case", true, "path", "sub"},
			"Found 2 matches\n\nsub/b.ts\nLine 1: const needle = 1\n\nsub/c.js\nLine 1: Needle"},
		{"context", []any{"pattern", "two", "context", 1}, "Found 1 match\n\na.go\nLine 1- one needle\nLine 2: two\nLine 3- needle three"},
		{"files", []any{"pattern", "needle", "output_mode", "files"}, "Found 2 files\n\na.go\nsub/b.ts"},
		{"count", []any{"pattern", "needle", "output_mode", "count"}, "Found 2 files with 3 matches\n\na.go: 2\nsub/b.ts: 1"},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			wantAll(t, b.must("grep", c.args...), c.want)
		})
	}
}

func TestGrepShowsGapsOfContext(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "x\n1\n2\n3\n4\nx\n")
	wantAll(t, b.must("grep", "pattern", "x", "context", 1), "Found 2 matches\n\nf\nLine 1: x\nLine 2- 1\n--\nLine 5- 4\nLine 6: x")
	r := b.must("grep", "pattern", "x", "context", 1, "max", 1)
	wantText(t, r.Text, "Found 1 of 2 matches\n\nf\nLine 1: x\nLine 2- 1\n\n(there is no place")
}

func TestGR05GR06I02PatternsAreNeverOptions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("-n", "-> Foo --flag -e --pre=./evil\n")
	b.put("--help", "$(touch P); `touch P` | x\n")
	for _, p := range []string{"-> Foo", "--flag", "-e", "--pre=./evil"} {
		wantText(t, b.must("grep", "pattern", p).Text, "Found 1 match\n\n-n\nLine 1: -> Foo")
	}
	for _, p := range []string{`\$\(touch P\)`, "`touch P` \\| x", "; `"} {
		wantText(t, b.must("grep", "pattern", p).Text, "Found 1 match\n\n--help\nLine 1: $(touch")
	}
	wantText(t, b.must("grep", "pattern", "Foo", "path", "-n").Text, "Found 1 match")
	b.fails(SearchFailed, "grep", "pattern", "x", "path", "-rf")
	wantAll(t, b.must("glob", "pattern", "-*"), strings.Join(byTime(t, b, "--help", "-n"), "\n"))
	b.only("--help", "-n")
}

func TestGR07GR08AllMatchesAreKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 4 {
		b.put(fmt.Sprintf("f%d", i), strings.Repeat("needle\n", 100))
	}
	r := b.must("grep", "pattern", "needle")
	wantText(t, r.Text, "Found 250 of 400 matches\n\nf0\nLine 1: needle\n", "\n\n(there is no place to keep the complete list: narrow the search")
	if n := strings.Count(r.Text, "Line "); n != 250 {
		t.Errorf("%d lines", n)
	}
	env := b.env()
	env.Save = jobs.NewArtifacts(filepath.Join(t.TempDir(), "out"), 0, 0).Save
	r = b.callWith(env, "grep", "pattern", "needle")
	_, rest, _ := strings.Cut(r.Text, "\n\n(the complete list is in ")
	path, _, ok := strings.Cut(rest, ": read it with offset and limit")
	if !ok {
		t.Fatalf("no artifact in %q", clip(r.Text))
	}
	list := b.must("read", "file_path", path, "offset", 406)
	wantText(t, list.Text, "\n406: Line 99: needle\n407: Line 100: needle\n\n(end of file, 407 lines in total)")
	env.Redact = func(text string) string { return strings.ReplaceAll(text, "needle", "[redacted]") }
	r = b.callWith(env, "grep", "pattern", "needle")
	_, rest, _ = strings.Cut(r.Text, "\n\n(the complete list is in ")
	path, _, _ = strings.Cut(rest, ": read it")
	if kept, err := os.ReadFile(path); err != nil || strings.Contains(string(kept)+r.Text, "needle") || !strings.Contains(string(kept), "Line 100: [redacted]") {
		t.Errorf("the artifact has %s, %v", clip(string(kept)), err)
	}
	env.Redact = nil
	env.Save = func(string, func(io.Writer) error) (string, error) { return "", os.ErrPermission }
	wantText(t, b.callWith(env, "grep", "pattern", "needle").Text, "could not be kept (permission denied): narrow")
	wantText(t, b.must("grep", "pattern", "needle", "max", 3).Text, "Found 3 of 400 matches\n")
	wantText(t, b.must("grep", "pattern", "needle", "max", 9999).Text, "Found 250 of 400 matches\n")
}

func TestGR09ALongLineIsCut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "x"+strings.Repeat("é", 2500)+"\n")
	wantAll(t, b.must("grep", "pattern", "x"), "Found 1 match\n\nf\nLine 1: x"+strings.Repeat("é", 999)+" [line cut]")
	var sb strings.Builder
	for range 100 {
		sb.WriteString(strings.Repeat("y", 1999) + "\n")
	}
	b.put("g", sb.String())
	if r := b.must("grep", "pattern", "y"); len(r.Text) > maxFoundInline+500 || !strings.HasPrefix(r.Text, "Found 20 of 100 matches") {
		t.Errorf("%d bytes: %s", len(r.Text), clip(r.Text))
	}
}

func TestGR11GR13GR17GrepRefuses(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", "x")
	for _, include := range []string{"*.ts,*.js", "!x", "[a", "/x"} {
		b.fails(SearchInvalidPattern, "grep", "pattern", "x", "include", include)
	}
	wantText(t, b.fails(SearchFailed, "grep", "pattern", "x", "path", "missing").Text, b.path("missing"), "no such file")
	b.fails(InvalidArgs, "grep", "pattern", "")
	b.fails(InvalidArgs, "grep", "pattern", "x", "output_mode", "lines")
	b.fails(InvalidArgs, "grep", "pattern", "x", "max", 0)
	wantText(t, b.fails(SearchInvalidPattern, "grep", "pattern", "foo(?=bar)").Text, "look-arounds are not supported")
	wantText(t, b.fails(SearchInvalidPattern, "grep", "pattern", `(a)\1`).Text, "back-references are not supported")
}

func TestGR14I01GrepSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{".github/w.yml", "dist/a.js", "node_modules/p/i.js", "src/a.js", "src/b.log", "src/keep.log"} {
		b.put(name, "needle\n")
	}
	b.put(".gitignore", "dist/\nnode_modules/\n*.log\n")
	b.put("src/.gitignore", "!keep.log\n")
	b.put("bin", "needle\x00")
	const left = "\n(not searched: 3 hidden entries, 3 ignored entries, 1 binary file; name a hidden or ignored path to search it)"
	wantAll(t, b.must("grep", "pattern", "needle", "output_mode", "files"), "Found 2 files\n\nsrc/a.js\nsrc/keep.log"+left)
	wantAll(t, b.must("grep", "pattern", "nothing"), "No matches found"+left)
	wantAll(t, b.must("grep", "pattern", "needle", "path", "dist"), "Found 1 match\n\ndist/a.js\nLine 1: needle")
	wantAll(t, b.must("grep", "pattern", "needle", "path", "dist/a.js"), "Found 1 match\n\ndist/a.js\nLine 1: needle")
	wantAll(t, b.must("grep", "pattern", "needle", "path", ".github"), "Found 1 match\n\n.github/w.yml\nLine 1: needle")
	wantText(t, b.must("grep", "pattern", "needle", "path", "src", "output_mode", "files").Text, "Found 2 files\n\nsrc/a.js\nsrc/keep.log\n(not searched: 1 hidden entry, 1 ignored")
	wantText(t, b.must("grep", "pattern", "needle", "path", "bin").Text, "No matches found\n(not searched: 1 binary file)")
}

func TestGR15TooManyMatches(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", strings.Repeat("x\n", 400_000))
	wantText(t, b.fails(SearchOverflow, "grep", "pattern", "x").Text, "Narrow the pattern")
	wantText(t, b.must("grep", "pattern", "x", "output_mode", "count").Text, "f: 400000")
}

func TestI04SearchesEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("d/ok", "hit\n")
	for name, target := range map[string]string{"d/loop": ".", "d/root": "/", "out": t.TempDir()} {
		if err := os.Symlink(target, b.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	wantAll(t, b.must("grep", "pattern", "hit"), "Found 1 match\n\nd/ok\nLine 1: hit\n(not searched: 3 links)")
	wantAll(t, b.must("glob", "pattern", "**"), "d/ok\n(not searched: 3 links)")
	if err := os.Symlink(b.path("d"), b.path("there")); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.must("grep", "pattern", "hit", "path", "there").Text, "Found 1 match\n\nthere/ok\n")
	wantText(t, b.must("glob", "pattern", "there/o*").Text, "there/ok")
}

func TestI05EveryNameCanBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	names := map[string]string{
		"a\nb.txt": `"a\nb.txt"`, "c:12:d.txt": "c:12:d.txt", "e\tf": `"e\tf"`, " g ": `" g "`, "h\xff": `"h\xff"`, `i"j`: `i"j`,
		"-n": "-n", "--help": "--help", `k\l`: `k\l`, `"m"`: `"\"m\""`, "n\u202eo": `"n\u202eo"`, "p\x1b]52;c;x\a": `"p\x1b]52;c;x\a"`, "中文é": "中文é",
	}
	for name := range names {
		b.put(name, "needle\n")
	}
	found := b.must("grep", "pattern", "^needle", "output_mode", "files").Text
	globbed := b.must("glob", "pattern", "*").Text
	for name, shown := range names {
		for tool, text := range map[string]string{"grep": found, "glob": globbed} {
			if strings.Count("\n"+text+"\n", "\n"+shown+"\n") != 1 {
				t.Errorf("%s: %s is not there once in %q", tool, shown, text)
			}
		}
		r := b.must("read", "file_path", shown)
		if r.Meta.Seen[0].Path != b.path(name) {
			t.Errorf("%s: read %q", shown, r.Meta.Seen[0].Path)
		}
	}
}

func TestC08GlobFindsAccentsInAnyForm(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("한글.txt", "")
	wantText(t, b.must("glob", "pattern", "**/*한글*").Text, ".txt")
}

func TestE06SearchesWithholdWhatRulesDeny(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("key.pem", "secret\n")
	b.put("a", "secret\n")
	b.put(".env", "secret\n")
	rules := policy.Rules{Workspace: b.dir}
	for _, text := range []string{"read(key.pem)", "read(.env)"} {
		rule, err := policy.ParseRule(text, session.Deny, "")
		if err != nil {
			t.Fatal(err)
		}
		rules.Rules = append(rules.Rules, rule)
	}
	env := b.env()
	env.Judge = func(a policy.Action) session.Verdict { return policy.Decide(rules, a).Verdict }
	wantAll(t, b.callWith(env, "grep", "pattern", "."),
		"Found 1 match\n\na\nLine 1: secret\n(not searched: 1 hidden entry; name a hidden or ignored path to search it)\n(withheld by the permission rules: 1 file)")
	wantAll(t, b.callWith(env, "glob", "pattern", ".e*"), "No files found\n(withheld by the permission rules: 1 file)")
	for _, pairs := range [][]any{{"grep", "pattern", ".", "path", ".env"}, {"grep", "pattern", ".", "path", "./sub/../.env"}} {
		call, bad := b.reg.Prepare(pairs[0].(string), args(pairs[1:]...))
		if bad != nil {
			t.Fatal(bad.Text)
		}
		action, bad := call.Action(env)
		if bad != nil || policy.Decide(rules, action).Verdict != session.Deny {
			t.Errorf("%v is not denied", pairs)
		}
	}
	for _, path := range []string{"/proc/self/environ", "/proc/1/environ"} {
		call, _ := b.reg.Prepare("grep", args("pattern", ".", "path", path))
		if action, _ := call.Action(env); policy.Decide(rules, action).Verdict != session.Ask {
			t.Errorf("%s is not asked about", path)
		}
	}
}

func TestPIP14GD13GD14ASearchHasADeadline(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a", "x\n")
	b.put("b", "x\n")
	for _, name := range []string{"grep", "glob"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			env := b.env()
			env.Judge = func(a policy.Action) session.Verdict {
				if a.Paths[0] != b.dir {
					time.Sleep(searchTimeout + time.Second)
					cancel() // too late to be the reason
				}
				return session.Allow
			}
			r := b.callUnder(ctx, env, name, "pattern", "[abx]")
			if r.Code != ToolTimeout || !strings.Contains(r.Text, name+" was ended after 30000 ms") {
				t.Errorf("%s: %q %s", name, r.Code, r.Text)
			}
		})
	}
}

func TestGD14ACancelledSearchIsAborted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("a", "x\n")
	for _, name := range []string{"grep", "glob"} {
		ctx, cancel := context.WithCancel(t.Context())
		env := b.env()
		env.Judge = func(a policy.Action) session.Verdict {
			if a.Paths[0] != b.dir {
				cancel()
			}
			return session.Allow
		}
		if r := b.callUnder(ctx, env, name, "pattern", "[ax]"); r.Code != Aborted {
			t.Errorf("%s: %q %s", name, r.Code, r.Text)
		}
	}
}
