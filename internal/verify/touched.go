package verify

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dsh/internal/session"
)

const (
	// maxListed bounds each list of files in an event: nobody reads on.
	maxListed = 100
	// maxWalked bounds the search for files that commands changed, in entries: a
	// second or so on a slow disk.
	maxWalked = 50_000
)

// look says which files were changed, and which of them decide about the check. What
// tools wrote is in the log; what commands wrote of tests and scripts is seen by the
// files' times, and what they removed by what the model had read before.
func (c *Check) look(ctx context.Context, run *session.VerifyRun, state *session.State) {
	work := &state.ThisTurn.Work
	paths := slices.Clone(work.Changed)
	scripts := c.scripts()
	if work.Commands {
		written, whole := c.written(ctx, time.UnixMilli(work.Since), scripts)
		run.Partial = !whole
		for _, p := range append(written, c.removed(state.Seen)...) {
			if !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
	}
	for _, p := range paths {
		name := c.name(p)
		run.Changed = append(run.Changed, name)
		if slices.Contains(scripts, p) {
			run.TouchedScripts = append(run.TouchedScripts, name)
		} else if inside, ok := within(c.root, p); ok && isTest(inside) {
			run.TouchedTests = append(run.TouchedTests, name)
		}
	}
	more := len(run.Changed)
	run.Changed, run.TouchedTests, run.TouchedScripts = first(run.Changed), first(run.TouchedTests), first(run.TouchedScripts)
	run.ChangedMore = more - len(run.Changed)
}

func first(list []string) []string { return list[:min(len(list), maxListed)] }

// name is a file as people know it: from the session's directory, if it is in there.
func (c *Check) name(p string) string {
	name := p
	if inside, ok := within(c.dir, p); ok {
		name = inside
	}
	return strings.ToValidUTF8(name, "\ufffd")
}

// within is a path as seen from a directory above it.
func within(dir, p string) (string, bool) {
	rel, err := filepath.Rel(dir, p)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "", false
	}
	return filepath.ToSlash(rel), true
}

// recipes are the files that a program reads its orders from.
var recipes = map[string][]string{
	"make": {"Makefile", "makefile", "GNUmakefile"}, "just": {"justfile", "Justfile"}, "task": {"Taskfile.yml"},
	"npm": {"package.json"}, "pnpm": {"package.json"}, "yarn": {"package.json"}, "bun": {"package.json"},
	"tox": {"tox.ini"}, "pytest": {"conftest.py", "pytest.ini"}, "rake": {"Rakefile"},
}

// scripts are the files of the workspace that the command names, or that a program it
// names takes its orders from: real paths.
func (c *Check) scripts() (list []string) {
	words := strings.FieldsFunc(c.o.Command, func(r rune) bool { return strings.ContainsRune(" \t\n;&|()<>\"'`=$", r) })
	for _, word := range words {
		for _, name := range append([]string{word}, recipes[path.Base(word)]...) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(c.dir, name)
			}
			info, err := os.Stat(name)
			if err != nil || !info.Mode().IsRegular() {
				continue
			}
			real := realPath(name)
			if _, ok := within(c.root, real); ok && !slices.Contains(list, real) {
				list = append(list, real)
			}
		}
	}
	return list
}

// foreign are directories of files that no hand of this project wrote.
var foreign = map[string]bool{"node_modules": true, "vendor": true, "target": true, "__pycache__": true, "venv": true, "dist": true, "build": true}

// written are the tests and scripts that were written after a time, by whomever. It is
// not whole when the workspace is too large, or ctx ends.
func (c *Check) written(ctx context.Context, after time.Time, scripts []string) (list []string, whole bool) {
	seen := 0
	_ = filepath.WalkDir(c.root, func(p string, d fs.DirEntry, err error) error {
		if seen++; seen > maxWalked || ctx.Err() != nil {
			return filepath.SkipAll
		}
		switch {
		case err != nil:
			return nil // what cannot be read was not written either
		case d.IsDir():
			if p != c.root && (foreign[d.Name()] || strings.HasPrefix(d.Name(), ".")) {
				return filepath.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || !slices.Contains(scripts, p) && !testIn(c.root, p):
			return nil
		}
		if info, err := d.Info(); err == nil && info.ModTime().After(after) {
			list = append(list, p)
		}
		return nil
	})
	return list, seen <= maxWalked && ctx.Err() == nil
}

// removed are the tests that the model saw and that are gone.
func (c *Check) removed(seen map[string]session.FileVersion) (list []string) {
	for p, v := range seen {
		if v.Absent || !testIn(c.root, p) {
			continue
		}
		if _, err := os.Lstat(p); errors.Is(err, fs.ErrNotExist) {
			list = append(list, p)
		}
	}
	slices.Sort(list)
	return list
}

func testIn(root, p string) bool {
	inside, ok := within(root, p)
	return ok && isTest(inside)
}

// testDirs are the names of directories of tests and of what tests compare with.
var testDirs = map[string]bool{"test": true, "tests": true, "__tests__": true, "spec": true, "specs": true, "testdata": true, "__snapshots__": true}

// compiled are the ends of files that running tests leaves behind.
var compiled = []string{".pyc", ".o", ".class", ".log", ".tmp"}

// isTest reports whether a file is a test by the habits of common languages: its name
// (x_test.go, test_x.py, x.spec.ts, XTest.java, x_spec.rb, conftest.py) or a
// directory above it.
func isTest(name string) bool {
	if slices.Contains(compiled, path.Ext(name)) {
		return false
	}
	parts := strings.Split(name, "/")
	for _, dir := range parts[:len(parts)-1] {
		if testDirs[strings.ToLower(dir)] {
			return true
		}
	}
	base := parts[len(parts)-1]
	stem, _, _ := strings.Cut(base, ".")
	lower := strings.ToLower(base)
	switch {
	case !strings.Contains(base, "."):
		return false
	case strings.Contains(lower, ".test.") || strings.Contains(lower, ".spec.") || lower == "conftest.py":
		return true
	case strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || strings.HasSuffix(stem, "_tests") || strings.HasSuffix(stem, "_spec"):
		return true
	}
	return strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasSuffix(stem, "Spec")
}
