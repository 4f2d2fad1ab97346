package files

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func paths(found []Candidate) []string {
	var ps []string
	for _, c := range found {
		ps = append(ps, c.Path)
	}
	return ps
}

// known is an index of files that need not exist.
func known(files ...string) *Index {
	ix := NewIndex("")
	b := &builder{ix: ix, full: func() {}}
	b.reset()
	for _, f := range files {
		path, isChanged := strings.CutSuffix(f, "*")
		s := same
		if isChanged {
			s = changed
		}
		b.add(path, s)
	}
	ix.publish(b.present(), State{Source: "walk"})
	return ix
}

func TestCandidatesRank(t *testing.T) {
	t.Parallel()
	ix := known("internal/cart/expiry.go*", "internal/cart/expiry_test.go", "internal/api/export.go", "docs/cart/expiry.md",
		"internal/cart/cart.go", "README.md", "cmd/shop/main.go", "My File.txt")
	ix.Touch("internal/api/export.go")
	for query, want := range map[string]string{
		"int/cart/ex": "internal/cart/expiry.go internal/cart/expiry_test.go",
		"exp":         "internal/cart/expiry.go internal/api/export.go docs/cart/expiry.md internal/cart/expiry_test.go",
		"EXPIRY.M":    "docs/cart/expiry.md",
		"cart":        "docs/cart/ internal/cart/ internal/cart/cart.go internal/cart/expiry.go docs/cart/expiry.md internal/cart/expiry_test.go",
		"docs/":       "docs/cart/ docs/cart/expiry.md",
		"internal/":   "internal/api/ internal/cart/ internal/cart/expiry.go internal/api/export.go internal/cart/cart.go internal/cart/expiry_test.go",
		"./docs/cart": "docs/cart/ docs/cart/expiry.md",
		"my f":        "My File.txt",
		"csm":         "cmd/shop/main.go docs/cart/expiry.md",
		"zzz":         "",
		"oga":         "",
	} {
		found, total := ix.Candidates(query, 10)
		if got := strings.Join(paths(found), " "); got != want || total != len(found) {
			t.Errorf("%q (%d):\n got %s\nwant %s", query, total, got, want)
		}
	}
	found, total := ix.Candidates("", 3)
	if got := strings.Join(paths(found), " "); got != "internal/cart/expiry.go internal/api/export.go cmd/" || total != 15 {
		t.Errorf("all: %s of %d", got, total)
	}
	if !found[0].Changed || !found[1].Recent {
		t.Errorf("changed and recent ones do not come first: %+v", found)
	}
}

// slow ranks by sorting everything.
func slow(ix *Index, query string, n int) []string {
	var all []ranked
	for i := range ix.shot.Load().items {
		if r := ix.shot.Load().items[i].fits(query); r.fit != fitsNot {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, order)
	var ps []string
	for _, r := range all[:min(n, len(all))] {
		ps = append(ps, r.path)
	}
	return ps
}

func TestCandidatesAreTheBestOfAll(t *testing.T) {
	t.Parallel()
	ix := known(manyPaths(3000)...)
	for _, query := range []string{"", "a", "se", "pkg1/", "sto.go", "pkg/handler", "x_te", "é"} {
		found, _ := ix.Candidates(query, 20)
		if got, want := paths(found), slow(ix, query, 20); !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", query, got, want)
		}
	}
}

func TestIndexFollowsGit(t *testing.T) {
	t.Parallel()
	requireGit(t)
	root := tree(t, map[string]string{
		".gitignore": "*.log\n", "a.go": "1", "b.go": "2", "gone.go": "3", "sub/c.go": "4", "sub/staged.go": "5", ".github/w.yml": "",
	})
	runGit(t, root, "", "init", "-q", "--template=")
	runGit(t, root, "", "add", "-A")
	runGit(t, root, "", "commit", "-qm", "x")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("b.go", "changed")
	write("new file.go", "")
	write("x.log", "")
	write("sub/staged.go", "changed")
	runGit(t, root, "", "add", "sub/staged.go")
	if err := os.Remove(filepath.Join(root, "gone.go")); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{
		"":    ".github/ .github/w.yml .gitignore a.go b.go* new file.go* sub/ sub/c.go sub/staged.go*",
		"sub": "c.go staged.go*",
	} {
		ix := NewIndex(filepath.Join(root, dir))
		if err := ix.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
		found, _ := ix.Candidates("", 100)
		var got []string
		for _, c := range found {
			if c.Changed {
				c.Path += "*"
			}
			got = append(got, c.Path)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", dir, got, want)
		}
		if s := ix.State(); s.Source != "git ls-files" || s.Indexing {
			t.Errorf("state %+v", s)
		}
	}
}

// A repository that came from elsewhere may name programs that git would run to compare
// files.
func TestIndexRunsNothingThatARepositoryNames(t *testing.T) {
	t.Parallel()
	requireGit(t)
	root := tree(t, map[string]string{".gitattributes": "* filter=evil\n", "a": "1"})
	runGit(t, root, "", "init", "-q", "--template=")
	runGit(t, root, "", "add", "-A")
	runGit(t, root, "", "commit", "-qm", "x")
	mark := filepath.Join(t.TempDir(), "ran")
	for _, set := range [][2]string{
		{"filter.evil.clean", "touch " + mark + "; cat"}, {"core.fsmonitor", "touch " + mark}, {"diff.external", "touch " + mark},
		{"core.pager", "touch " + mark}, {"core.hooksPath", root},
	} {
		runGit(t, root, "", "config", set[0], set[1])
	}
	if err := os.WriteFile(filepath.Join(root, "a"), []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	ix := NewIndex(root)
	if err := ix.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s := ix.State(); s.Source != "git ls-files" || s.Files != 2 {
		t.Errorf("state %+v", s)
	}
	if _, err := os.Lstat(mark); !errors.Is(err, os.ErrNotExist) {
		t.Error("git ran a program that the repository names")
	}
}

func TestIndexWalksWithoutGit(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{".gitignore": "no", "no": "", "yes": "", "d/e": ""})
	ix := NewIndex(root)
	if s := ix.State(); s.Source != "" || s.Files != 0 {
		t.Errorf("before: %+v", s)
	}
	if err := ix.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	found, total := ix.Candidates("", 10)
	if got := strings.Join(paths(found), " "); got != "d/ d/e yes" || total != 3 {
		t.Errorf("got %q %d", got, total)
	}
	if s := ix.State(); s.Source != "walk" || s.Files != 2 || s.Indexing || s.Truncated {
		t.Errorf("state %+v", s)
	}
}

func TestIndexKeepsWhatItKnewWhenItIsStopped(t *testing.T) {
	t.Parallel()
	root := tree(t, map[string]string{"a": ""})
	ix := NewIndex(root)
	if err := ix.Refresh(context.Background()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := ix.Refresh(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if found, _ := ix.Candidates("a", 1); len(found) != 1 || ix.State().Indexing {
		t.Errorf("got %v, %+v", found, ix.State())
	}
	gone := NewIndex(filepath.Join(root, "missing"))
	if err := gone.Refresh(context.Background()); !errors.Is(err, os.ErrNotExist) || gone.State().Indexing {
		t.Errorf("a missing root: %v", err)
	}
}

func TestIndexIsBounded(t *testing.T) {
	t.Parallel()
	stopped := false
	b := &builder{ix: NewIndex(""), full: func() { stopped = true }}
	b.reset()
	for i := range maxFiles + 10 {
		b.add(fmt.Sprint(i), same)
	}
	if len(b.items) != maxFiles || !b.truncated || !stopped {
		t.Errorf("%d items, truncated %v, stopped %v", len(b.items), b.truncated, stopped)
	}
}

func TestRecentOnesAreBounded(t *testing.T) {
	t.Parallel()
	ix := NewIndex("")
	for i := range 3 * maxRecent {
		ix.Touch(fmt.Sprint(i % (2 * maxRecent)))
	}
	if len(ix.recent) != maxRecent || ix.recent[maxRecent-1] != fmt.Sprint(maxRecent-1) {
		t.Errorf("%d, last %s", len(ix.recent), ix.recent[len(ix.recent)-1])
	}
}

func manyPaths(n int) []string {
	rnd := rand.New(rand.NewPCG(1, 2))
	words := []string{"handler", "store", "session", "cart", "expiry", "index", "view", "été", "parse", "test"}
	var ps []string
	for i := range n {
		path := fmt.Sprintf("pkg%d/%s/%s_%d.go", rnd.IntN(n/50+1), words[rnd.IntN(len(words))], words[rnd.IntN(len(words))], i)
		if rnd.IntN(100) == 0 {
			path += "*"
		}
		ps = append(ps, path)
	}
	return ps
}

func BenchmarkCandidates(b *testing.B) {
	for _, n := range []int{1_000, 10_000, 100_000} {
		ix := known(manyPaths(n)...)
		for _, query := range []string{"a", "store", "pkg1/hand", "pexpgo", "zq"} {
			b.Run(fmt.Sprintf("files=%d/query=%s", n, strings.ReplaceAll(query, "/", "-")), func(b *testing.B) {
				for b.Loop() {
					ix.Candidates(query, 50)
				}
			})
		}
	}
}
