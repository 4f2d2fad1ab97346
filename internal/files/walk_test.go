package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
)

func link(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func TestI01WalkSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{
		".gitignore": "dist/\nnode_modules/\n*.tmp\n", ".github/w.yml": "", "dist/a.js": "", "node_modules/p/i.js": "",
		"src/.gitignore": "!keep.tmp\n", "src/keep.tmp": "", "src/b.tmp": "", "src/a.js": "", ".git/config": "", "sub/.git": "gitdir: x",
	})
	skipped := Skipped{}
	paths, errs := walked(t, root, Options{}, &skipped)
	if want := []string{"src/a.js", "src/keep.tmp"}; !slices.Equal(paths, want) || errs != nil {
		t.Errorf("got %q %v, want %q", paths, errs, want)
	}
	if want := (Skipped{Hidden: 3, Ignored: 3}); !reflect.DeepEqual(skipped, want) {
		t.Errorf("skipped %+v, want %+v", skipped, want)
	}
	paths, _ = walked(t, root, Options{Hidden: true, NoIgnore: true})
	want := []string{
		".github/w.yml", ".gitignore", "dist/a.js", "node_modules/p/i.js", "src/.gitignore", "src/a.js", "src/b.tmp", "src/keep.tmp",
	}
	if !slices.Equal(paths, want) {
		t.Errorf("everything: got %q, want %q", paths, want)
	}
}

func TestI01WalkShowsWhatIsNamed(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	root := tree(t, map[string]string{
		".git/info/exclude": "priv/\n", ".gitignore": "dist/\nd*/\n*.map\n", "dist/a.js": "", "dist/in/b.js": "", ".github/w.yml": "", "priv/x": "",
		"src/a.js": "", "src/a.map": "",
	})
	for dir, want := range map[string][]string{
		"dist": {"a.js", "in/b.js"}, "dist/in": {"b.js"}, ".github": {"w.yml"}, "priv": {"x"}, "src": {"a.js"},
	} {
		if paths, errs := walked(t, filepath.Join(root, dir), Options{}); !slices.Equal(paths, want) || errs != nil {
			t.Errorf("%s: got %q %v, want %q", dir, paths, errs, want)
		}
	}
}

func TestI04WalkEnds(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"d/ok": "hit", "d/z/deep": ""})
	link(t, ".", filepath.Join(root, "d/loop"))
	link(t, "/", filepath.Join(root, "d/root"))
	link(t, "ok", filepath.Join(root, "d/file"))
	link(t, "nowhere", filepath.Join(root, "d/dangling"))
	link(t, root, filepath.Join(root, "d/z/top"))
	var skipped Skipped
	paths, errs := walked(t, root, Options{}, &skipped)
	if want := []string{"d/ok", "d/z/deep"}; !slices.Equal(paths, want) || errs != nil || skipped.Links != 5 {
		t.Errorf("got %q %v, %d links, want %q and 5", paths, errs, skipped.Links, want)
	}
	paths, errs = walked(t, root, Options{Links: true})
	if want := []string{"d/dangling", "d/file", "d/loop", "d/ok", "d/root", "d/z/deep", "d/z/top"}; !slices.Equal(paths, want) || errs != nil {
		t.Errorf("got %q %v, want %q", paths, errs, want)
	}
	there := filepath.Join(t.TempDir(), "link")
	link(t, filepath.Join(root, "d"), there)
	if paths, _ := walked(t, there, Options{}); !slices.Contains(paths, "z/deep") {
		t.Errorf("a root that is a link: got %q", paths)
	}
}

func TestI04WalkGoesOnBehindWhatItCannotRead(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a/x": "", "b/y": "", "c/z": ""})
	gone := filepath.Join(root, "b")
	if os.Geteuid() == 0 {
		// Root reads everything: a directory that goes away after its name was read is
		// as unreadable. With one worker the entries of the top come first.
		if err := os.WriteFile(filepath.Join(root, "first"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	} else if err := os.Chmod(gone, 0); err != nil {
		t.Fatal(err)
	}
	var paths []string
	skipped, err := Walk(context.Background(), root, Options{Workers: 1}, func(e Entry) error {
		if e.Path == "first" {
			return os.RemoveAll(gone)
		}
		paths = append(paths, e.Path)
		return nil
	})
	slices.Sort(paths)
	if !slices.Equal(paths, []string{"a/x", "c/z"}) || !slices.Equal(skipped.Unread, []string{"b/"}) || skipped.Unreadable != 1 || err != nil {
		t.Errorf("got %q %+v %v", paths, skipped, err)
	}
}

func TestI04WalkRoots(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"f": "text"})
	if paths, errs := walked(t, filepath.Join(root, "missing"), Options{}); paths != nil || len(errs) != 1 || !errors.Is(errs[0], fs.ErrNotExist) {
		t.Errorf("a missing root: %q %v", paths, errs)
	}
	if paths, errs := walked(t, filepath.Join(root, "f"), Options{}); !slices.Equal(paths, []string{"."}) || errs != nil {
		t.Errorf("a file: %q %v", paths, errs)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Walk(ctx, root, Options{}, func(e Entry) error { return errors.New("visited") }); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancel: %v", err)
	}
}

func TestI05WalkGivesNamesAsTheyAre(t *testing.T) {
	t.Parallel()
	names := []string{"a\nb.txt", "c:12:d.txt", "e\tf", " g ", "h\xff", "i\"j", "-n", "--help"}
	files := map[string]string{}
	for _, name := range names {
		files[name] = ""
	}
	paths, errs := walked(t, tree(t, files), Options{})
	slices.Sort(names)
	if !slices.Equal(paths, names) || errs != nil {
		t.Errorf("got %q %v, want %q", paths, errs, names)
	}
}

func TestWalkStopsWhenTold(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("d%d/f", i)] = ""
	}
	enough, n := errors.New("enough"), 0
	_, err := Walk(context.Background(), tree(t, files), Options{Workers: 1}, func(Entry) error {
		n++
		return enough
	})
	if !errors.Is(err, enough) || n != 1 {
		t.Errorf("%d visits, error %v", n, err)
	}
}

func TestWalkSharesALargeDirectory(t *testing.T) {
	t.Parallel()
	files := map[string]string{".ignore": "*7\n"}
	for i := range batch + 10 {
		files[fmt.Sprintf("f%d", i)] = ""
	}
	root := tree(t, files)
	one, _ := walked(t, root, Options{Workers: 1})
	many, errs := walked(t, root, Options{Workers: 4})
	if len(one) != batch+10-103 || !slices.Equal(one, many) || errs != nil {
		t.Errorf("%d and %d files, %v", len(one), len(many), errs)
	}
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "main.go", true}, {"*.go", "a/b/main.go", true}, {"./*.go", "main.go", true}, {"a/*.go", "a/b/main.go", false},
		{"a/**/*.go", "a/main.go", true}, {"a/**/*.go", "a/b/c/main.go", true}, {"**/*.js", "x.js", true},
		{"**/*.{ts,tsx}", "src/a.tsx", true}, {".github/**", ".github/w.yml", true}, {"-*", "-n", true}, {"[ab].c", "a.c", true},
		{"src", "src/a.go", false}, {"a?c", "a/c", false},
	} {
		g, err := NewGlob(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Match(c.path); got != c.want {
			t.Errorf("%q on %q: %v", c.pattern, c.path, got)
		}
	}
	for _, bad := range []string{"", "./", "/etc/*", "../*", "a/../b", "[a", "{a,b", `a\`} {
		if _, err := NewGlob(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestGlobSaysWhereToWalk(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]struct {
		dir    string
		hidden bool
	}{
		"*.go": {".", false}, "a/b/*.go": {"a/b", false}, "**/x": {".", false}, ".github/**": {".github", true}, "a/.b/*": {"a/.b", true},
		"dist/a.js": {"dist", false}, ".*": {".", true},
	} {
		g, err := NewGlob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		if dir, _ := g.Split(); dir != want.dir || g.Hidden() != want.hidden {
			t.Errorf("%q: %q %v, want %v", pattern, dir, g.Hidden(), want)
		}
	}
}
