package files

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// tree makes files in a new directory, each with its content, and directories for
// names that end in "/".
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		dir := filepath.Dir(path)
		if strings.HasSuffix(name, "/") {
			dir = path
		}
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if dir != path {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return root
}

// walked is what a walk gives, sorted, and the error it ends with.
func walked(t *testing.T, root string, o Options, skipped ...*Skipped) (paths []string, errs []error) {
	t.Helper()
	var mu sync.Mutex
	left, err := Walk(context.Background(), root, o, func(e Entry) error {
		mu.Lock()
		defer mu.Unlock()
		paths = append(paths, e.Path)
		return nil
	})
	if err != nil {
		errs = append(errs, err)
	}
	for _, s := range skipped {
		*s = left
	}
	slices.Sort(paths)
	return paths, errs
}

func runGit(t *testing.T, root, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", root, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.excludesFile="}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	cmd.Stdin = strings.NewReader(stdin)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v: %s", args, err, &stderr)
	}
	return string(out)
}

func requireGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Fatal("these tests compare with git: install it")
	}
}

// gitFiles is what git lists of a new repository.
func gitFiles(t *testing.T, root string) []string {
	t.Helper()
	out := runGit(t, root, "", "ls-files", "-z", "--others", "--exclude-standard")
	paths := strings.Split(strings.TrimSuffix(out, "\x00"), "\x00")
	if out == "" {
		paths = nil
	}
	slices.Sort(paths)
	return paths
}

// compareWithGit checks that a walk gives what git does.
func compareWithGit(t *testing.T, root, what string) {
	t.Helper()
	paths, errs := walked(t, root, Options{Hidden: true})
	slices.Sort(paths)
	if want := gitFiles(t, root); len(errs) > 0 || !slices.Equal(paths, want) {
		t.Errorf("%s\nwalk %q\ngit  %q\nerrors %v", what, paths, want, errs)
	}
}

func TestIgnoreRulesAreThoseOfGit(t *testing.T) {
	requireGit(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, patterns := range []string{
		"*.o", "/a.o", "build", "build/", "/build/", "sub/build", "sub/*", "sub/**", "**/build", "**/x.txt", "a/**/z",
		"*\n!keep", "sub/*\n!sub/keep", "build/\n!build/keep", "# note\n\\#hash\n\\!bang", "sp\\ \nq  ", "{a,b}.o", "[ab].o",
		"[!a].o", "a?o", "*.", ".*", "!.hid", "x.txt\r\ny", "/*\n!/sub", "a*b/c", "**", "sub/**/build/", "\\*star", "foo[", "a\\", "/",
		"**/keep\n!keep", "a**o", "/**/build", "sub//build", "z", "sub/a/", "a.o ", "*.o\n!/sub/*.o",
	} {
		root := tree(t, map[string]string{
			".gitignore": patterns, "a.o": "", "b.o": "", "build/x.txt": "", "build/keep": "", "sub/build/x.txt": "",
			"sub/keep": "", "sub/a/z": "", "a/z": "", "a/b/c/z": "", "#hash": "", "!bang": "", "sp ": "", "q": "", "{a,b}.o": "",
			".hid": "", "sub/.hid": "", "y": "", "x.txt": "", "axb/c": "", "*star": "", "foo[": "", "a\\": "", "keep": "", "sub/b.o": "",
		})
		runGit(t, root, "", "init", "-q", "--template=")
		compareWithGit(t, root, patterns)
	}
}

func TestIgnoreFilesNest(t *testing.T) {
	requireGit(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	root := tree(t, map[string]string{
		".gitignore": "*.log\n/out\nnode_modules/", "a.log": "", "out/x": "", "in/.gitignore": "!keep.log\nout\n/own", "in/keep.log": "",
		"in/b.log": "", "in/out/y": "", "in/own": "", "in/deep/own": "", "in/deep/keep.log": "", "in/node_modules/p/i.js": "", "private": "",
	})
	runGit(t, root, "", "init", "-q", "--template=")
	if err := os.MkdirAll(filepath.Join(root, ".git/info"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, ".git/info/exclude"), []byte("private\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	compareWithGit(t, root, "whole")
	compareWithGit(t, filepath.Join(root, "in"), "from a directory below the top")
	compareWithGit(t, filepath.Join(root, "in/deep"), "from two below")
	runGit(t, root, "", "add", "in/.gitignore")
	runGit(t, root, "", "commit", "-qm", "x")
	other := filepath.Join(t.TempDir(), "other")
	runGit(t, root, "", "worktree", "add", "-q", other)
	if err := os.Remove(filepath.Join(other, "in/.gitignore")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"private", "seen"} {
		if err := os.WriteFile(filepath.Join(other, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	compareWithGit(t, other, "a worktree")
}

func TestIgnoreRulesAreThoseOfGitAtRandom(t *testing.T) {
	requireGit(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	rnd := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "b", "ab", "*", "?", "**", "/", "/", "[ab]", "[!a]", "a*"}
	names := []string{"a", "b", "ab", "ba"}
	for range 30 {
		files := map[string]string{}
		for range 12 {
			var parts []string
			for range 1 + rnd.IntN(3) {
				parts = append(parts, names[rnd.IntN(len(names))])
			}
			files[strings.Join(parts, "/d/")+".f"] = ""
			files[strings.Join(parts, "d/")+"x"] = ""
		}
		for _, dir := range []string{"", "ad/", "bd/"} {
			var lines []string
			for range 1 + rnd.IntN(4) {
				line := ""
				if rnd.IntN(3) == 0 {
					line = "!"
				}
				for range 1 + rnd.IntN(4) {
					line += pieces[rnd.IntN(len(pieces))]
				}
				lines = append(lines, line)
			}
			files[dir+".gitignore"] = strings.Join(lines, "\n")
		}
		root := tree(t, files)
		runGit(t, root, "", "init", "-q", "--template=")
		compareWithGit(t, root, strings.Join([]string{files[".gitignore"], "in ad:", files["ad/.gitignore"], "in bd:", files["bd/.gitignore"]}, "\n"))
	}
}

func TestDotIgnoreIsStrongerThanGitignore(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{".gitignore": "a\nb", ".ignore": "!a\nc", "a": "", "b": "", "c": "", "d": ""})
	paths, _ := walked(t, root, Options{})
	if want := []string{"a", "d"}; !slices.Equal(paths, want) {
		t.Errorf("got %q, want %q", paths, want)
	}
}
