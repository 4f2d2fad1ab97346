package jobs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// repository is a git repository with one commit of a.txt and b.txt.
func repository(t *testing.T) (dir string, git func(args ...string)) {
	t.Helper()
	dir = t.TempDir()
	git = func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	git("init", "-q")
	put(t, dir, "a.txt", "a")
	put(t, dir, "b.txt", "b")
	git("add", ".")
	git("commit", "-qm", "one")
	return dir, git
}

func put(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestGitNamesWhatChanged(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	look := func() Revision { return LookGit(t.Context(), dir, Revision{}) }
	before := look()
	expect(t, "the same", before.Changed(look()), "[]")
	expect(t, "the same revision", before.String(), look().String())

	put(t, dir, "a.txt", "changed")
	put(t, dir, "new file", "x")
	dirty := look()
	expect(t, "changed", before.Changed(dirty), "[a.txt new file]")
	put(t, dir, "a.txt", "changed again")
	expect(t, "changed again", dirty.Changed(look()), "[a.txt]")

	committed := look()
	git("commit", "-qam", "two")
	expect(t, "a commit", committed.Changed(look()), "[(git HEAD) a.txt]")
	if now := look(); now.Head == before.Head || now.String() == before.String() {
		t.Errorf("%v", now)
	}
}

// TestGitWritesNothing: a look must not take git's lock from the user, nor refresh the
// index.
func TestGitWritesNothing(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	put(t, dir, "a.txt", "b") // the same size: git has to read it
	index := filepath.Join(dir, ".git", "index")
	before, err := os.Stat(index)
	if err != nil {
		t.Fatal(err)
	}
	LookGit(t.Context(), dir, Revision{})
	after, err := os.Stat(index)
	if err != nil || !os.SameFile(before, after) || before.ModTime() != after.ModTime() {
		t.Error("the index was written", err)
	}
}

// TestGitRunsNothingOfTheRepository: a filter that the repository names would run.
func TestGitRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	git("config", "filter.x.clean", "touch "+filepath.Join(dir, "ran")+"; cat")
	put(t, dir, ".gitattributes", "*.txt filter=x\n")
	put(t, dir, "a.txt", "b")
	r := LookGit(t.Context(), dir, Revision{Changes: 4})
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the filter ran")
	}
	expect(t, "the counter alone", r.String(), "4")
}

// TestWhatGitIgnoresIsNamed when dsh itself wrote it, and nothing is named twice.
func TestWhatGitIgnoresIsNamed(t *testing.T) {
	t.Parallel()
	dir, git := repository(t)
	put(t, dir, ".gitignore", "*.env\n")
	git("add", ".")
	git("commit", "-qm", "ignore")
	before := LookGit(t.Context(), dir, Revision{})
	put(t, dir, "local.env", "x")
	put(t, dir, "a.txt", "changed")
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "sub/a.txt", "new")
	after := LookGit(t.Context(), dir, Revision{Changes: 2, Edits: []string{before.Top + "/local.env", before.Top + "/a.txt", "/elsewhere/x"}})
	expect(t, "changed", before.Changed(after), "[/elsewhere/x a.txt local.env sub/]")
}

// TestALookIsBounded in what it holds, and falls back to the counter.
func TestALookIsBounded(t *testing.T) {
	t.Parallel()
	dir, _ := repository(t)
	long := fmt.Sprintf("%0200d", 0)
	for i := range maxLook/200 + 10 {
		put(t, dir, fmt.Sprintf("%s%d", long, i), "")
	}
	expect(t, "too much", LookGit(t.Context(), dir, Revision{Changes: 1}).String(), "1")
	expect(t, "no repository", LookGit(t.Context(), t.TempDir(), Revision{Changes: 1}).String(), "1")
}

func TestTheCounterNamesWhatDshKnows(t *testing.T) {
	t.Parallel()
	was := Revision{Changes: 2, Edits: []string{"a"}}
	expect(t, "the same", was.Changed(was), "[]")
	expect(t, "a file", was.Changed(Revision{Changes: 3, Edits: []string{"a", "b"}}), "[b]")
	expect(t, "a command", was.Changed(Revision{Changes: 3, Edits: []string{"a"}}), "[files that other commands may have changed]")
	expect(t, "the same file again", was.Changed(Revision{Changes: 3, Edits: []string{"a", "a"}}), "[a]")
	many := Revision{Changes: 99}
	for i := range 50 {
		many.Edits = append(many.Edits, fmt.Sprint(i))
	}
	list := Revision{}.Changed(many)
	expect(t, "bounded", fmt.Sprint(len(list), list[len(list)-1]), "21and 30 more")
}
