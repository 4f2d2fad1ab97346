package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dsh/internal/session"
)

// bothWrites are a write and an edit of the same file, for what holds for both.
var bothWrites = map[string][]any{
	"write": {"file_path", "f", "content", "new text\n"},
	"edit":  {"file_path", "f", "old_string", "old", "new_string", "new"},
}

func forBothWrites(t *testing.T, test func(t *testing.T, b *bench, tool string, args []any)) {
	for tool, args := range bothWrites {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			test(t, newBench(t), tool, args)
		})
	}
}

func TestWR01WriteCreatesWithParents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	r := b.must("write", "file_path", "a/b/new.txt", "content", "one\ntwo")
	wantText(t, r.Text, "Created file "+b.path("a/b/new.txt"), "2 lines")
	b.holds("a/b/new.txt", "one\ntwo")
	if len(r.Changed) != 1 || r.Changed[0] != b.path("a/b/new.txt") {
		t.Errorf("changed %q", r.Changed)
	}
	b.must("write", "file_path", "empty", "content", "")
	b.holds("empty", "")
}

func TestWR02UnreadFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
		b.put("f", "old text\n")
		r := b.fails(FSNotObserved, tool, args...)
		if !strings.HasSuffix(r.Text, "Read it first, then try again.") {
			t.Errorf("no remedy at the end of %q", r.Text)
		}
		b.holds("f", "old text\n")
		b.only("f")
	})
}

func TestWR03ReadFileIsReplaced(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("f", numbered(100))
	b.must("read", "file_path", "f", "offset", 50, "limit", 1)
	wantText(t, b.must("write", "file_path", "f", "content", "all new\n").Text, "Updated file", "1 line")
	b.holds("f", "all new\n")
	b.must("write", "file_path", "f", "content", "and again\n")
	b.only("f")
}

func TestWR04ChangedFileIsNotReplaced(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
		b.put("f", "old text\n")
		b.must("read", "file_path", "f")
		b.put("f", "old text\nUSER LINE\n")
		r := b.fails(FSStaleVersion, tool, args...)
		if !strings.HasSuffix(r.Text, "Read it again, then try again.") {
			t.Errorf("no remedy at the end of %q", r.Text)
		}
		b.holds("f", "old text\nUSER LINE\n")
		b.must("read", "file_path", "f")
		b.must(tool, args...)
	})
}

func TestWR04TouchedFileIsTheSameVersion(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
		path := b.put("f", "old text\n")
		b.must("read", "file_path", "f")
		if err := os.Chtimes(path, time.Now(), time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
		b.must(tool, args...)
	})
}

func TestWR05DeletedFileIsNotRecreated(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
		path := b.put("f", "old text\n")
		b.must("read", "file_path", "f")
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		b.fails(FSStaleVersion, tool, args...)
		b.only()
		if tool == "write" { // once the model knows, it may
			b.fails(FSNotFound, "read", "file_path", "f")
			b.must(tool, args...)
		}
	})
}

func TestWR07RacingCreatorWins(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	p := place{abs: b.path("f"), real: b.path("f")}
	absent := current{version: session.FileVersion{Path: p.real, Absent: true}}
	b.put("f", "competitor\n") // between look and publish
	if _, err := publish(t.Context(), p, absent, []byte("mine\n")); codeOf(err) != FSNotObserved {
		t.Errorf("got %v", err)
	}
	temp := b.put("temp", "mine\n")
	if err := create(temp, p.real); !errors.Is(err, fs.ErrExist) { // between check and link
		t.Errorf("got %v", err)
	}
	b.holds("f", "competitor\n")
	b.only("f", "temp")
}

func TestWR07ManyCreatorsOneWins(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	results := make([]Result, 8)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = b.other().call("write", "file_path", "f", "content", fmt.Sprint(i)) })
	}
	wg.Wait()
	won := -1
	for i, r := range results {
		switch {
		case !r.IsError && won >= 0:
			t.Errorf("%d and %d both created the file", won, i)
		case !r.IsError:
			won = i
		case r.Code != FSNotObserved:
			t.Errorf("%d: %s", i, r.Text)
		}
	}
	b.holds("f", fmt.Sprint(won))
	b.only("f")
}

func TestWR08DirectoryAndSpecialTargets(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("dir/x", "x")
	if err := syscall.Mkfifo(b.path("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{"dir", "pipe", "/dev/null"} {
		b.fails(FSNotRegular, "write", "file_path", target, "content", "x")
		b.fails(FSNotRegular, "edit", "file_path", target, "old_string", "x", "new_string", "y")
	}
	b.fails(FSNotDirectory, "write", "file_path", "dir/x/y", "content", "x")
	b.only("dir", "pipe")
}

func TestWR09DanglingLinkIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	if err := os.Symlink("nowhere", b.path("link")); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.fails(FSNotFound, "write", "file_path", "link", "content", "x").Text, b.path("nowhere"))
	if target, err := os.Readlink(b.path("link")); err != nil || target != "nowhere" {
		t.Errorf("link is %q, %v", target, err)
	}
	b.only("link")
}

func TestWR10LinkIsFollowedAndKept(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
		b.put("target", "old text\n")
		if err := os.Symlink("target", b.path("f")); err != nil {
			t.Fatal(err)
		}
		b.must("read", "file_path", "f")
		r := b.must(tool, args...)
		b.holds("target", "new text\n")
		if target, err := os.Readlink(b.path("f")); err != nil || target != "target" {
			t.Errorf("link is %q, %v", target, err)
		}
		if r.Changed[0] != b.path("target") {
			t.Errorf("changed %q", r.Changed)
		}
	})
}

func mode(t *testing.T, path string) fs.FileMode {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode()
}

func TestWR11ModeIsKept(t *testing.T) {
	t.Parallel()
	for _, perm := range []fs.FileMode{0o755, 0o600, 0o640, 0o666, 0o755 | fs.ModeSetuid} {
		forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
			path := b.put("f", "old text\n")
			if err := os.Chmod(path, perm); err != nil {
				t.Fatal(err)
			}
			b.must("read", "file_path", "f")
			b.must(tool, args...)
			if got := mode(t, path); got != perm {
				t.Errorf("mode %v became %v", perm, got)
			}
		})
	}
}

// C09: the umask is the process's, so this test does not run in parallel.
func TestC09ModesUnderAUmask(t *testing.T) {
	for _, umask := range []int{0o022, 0o077} {
		t.Run(fmt.Sprintf("%03o", umask), func(t *testing.T) {
			defer syscall.Umask(syscall.Umask(umask))
			b := newBench(t)
			b.must("write", "file_path", "new", "content", "x")
			if got, want := mode(t, b.path("new")), fs.FileMode(0o666&^umask); got != want {
				t.Errorf("a new file has mode %v, want %v", got, want)
			}
			for _, perm := range []fs.FileMode{0o755, 0o600, 0o640} {
				if err := os.Chmod(b.path("new"), perm); err != nil {
					t.Fatal(err)
				}
				b.must("write", "file_path", "new", "content", "a")
				b.must("edit", "file_path", "new", "old_string", "a", "new_string", "b")
				if got := mode(t, b.path("new")); got != perm {
					t.Errorf("mode %v became %v", perm, got)
				}
			}
		})
	}
}

func TestC09ReadOnlyTargetIsRefused(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
		path := b.put("f", "old text\n")
		b.must("read", "file_path", "f")
		if err := os.Chmod(path, 0o444); err != nil {
			t.Fatal(err)
		}
		wantText(t, b.fails(FSPermission, tool, args...).Text, "read-only (mode 0444)")
		b.holds("f", "old text\n")
		b.only("f")
	})
}

func TestC09OwnerIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("f", "old text\n")
	if os.Geteuid() == 0 {
		if err := os.Chown(path, 12345, 54321); err != nil {
			t.Fatal(err)
		}
	}
	owner := func() (uint32, uint32) {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		st := info.Sys().(*syscall.Stat_t)
		return st.Uid, st.Gid
	}
	uid, gid := owner()
	b.must("read", "file_path", "f")
	b.must("write", "file_path", "f", "content", "x")
	if u, g := owner(); u != uid || g != gid {
		t.Errorf("owner %d:%d became %d:%d", uid, gid, u, g)
	}
}

func TestWR13FailedPublishLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	path := b.put("f", "old\n")
	p := place{abs: path, real: path}
	old, err := look(t.Context(), p, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	// A directory has taken the name: the change must fail after the new content
	// has been staged.
	if err := errors.Join(os.Rename(path, b.path("kept")), os.MkdirAll(filepath.Join(path, "x"), 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := publish(t.Context(), p, old, []byte("new\n")); codeOf(err) != FSNotRegular {
		t.Errorf("got %v", err)
	}
	b.holds("kept", "old\n")
	b.only("f", "kept")

	// Without hard links a new name is reserved first: a rename that fails gives it back.
	if err := create(b.path("no-such-temp"), b.path("h")); err == nil {
		t.Error("a missing file was given a name")
	}
	b.only("f", "kept")
}

func TestWR14TwoWritesOfOneVersion(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
		b.put("f", "old text\n")
		b.must("read", "file_path", "f")
		results := make([]Result, 6)
		var wg sync.WaitGroup
		for i := range results {
			call, bad := b.reg.Prepare(tool, argsWith(args, i))
			if bad != nil {
				t.Fatal(bad.Text)
			}
			env := b.env() // all have seen the same version
			wg.Go(func() { results[i] = call.Run(t.Context(), env) })
		}
		wg.Wait()
		won := 0
		for _, r := range results {
			if !r.IsError {
				won++
			} else if r.Code != FSStaleVersion {
				t.Errorf("a loser got %s: %s", r.Code, r.Text)
			}
		}
		if won != 1 {
			t.Errorf("%d calls changed the same version", won)
		}
		b.only("f")
	})
}

// argsWith are a call's arguments whose result depends on i.
func argsWith(pairs []any, i int) string {
	own := append([]any{}, pairs...)
	own[len(own)-1] = fmt.Sprintf("new %d", i)
	return args(own...)
}

func TestWR15SameSizeAndTimeIsStillAChange(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, args []any) {
		path := b.put("f", "old text\n")
		then := time.Unix(1.7e9, 0)
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		b.must("read", "file_path", "f")
		b.put("f", "old TEXT\n")
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
		b.fails(FSStaleVersion, tool, args...)
		b.holds("f", "old TEXT\n")
	})
}

func TestWR16BinaryOrLargeOldContentHasNoHunks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must("write", "file_path", "bin", "content", "a\x00b\n")
	b.put("big", strings.Repeat("x\n", maxOldBytes/2+1))
	b.must("read", "file_path", "big")
	for _, name := range []string{"bin", "big"} {
		raw := args("file_path", name, "content", "text\n")
		r := b.must("write", "file_path", name, "content", "text\n")
		b.holds(name, "text\n")
		d := b.reg.Present("write", raw, logged(r))
		if d.Kind != session.ShowDiff || len(d.Diffs) != 1 || d.Diffs[0].Hunks != nil || fmt.Sprint(d.Facts) != "[1 line]" {
			t.Errorf("%s: card %+v", name, d)
		}
	}
}

func TestWR17CancelledWriteLeavesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call, bad := b.reg.Prepare("write", args("file_path", "a/f", "content", "x"))
	if bad != nil {
		t.Fatal(bad.Text)
	}
	if r := call.Run(ctx, b.env()); r.Code != Aborted || !r.IsError || len(r.Changed) != 0 {
		t.Errorf("got %+v", r)
	}
	p := place{abs: b.path("a/f"), real: b.path("a/f")}
	if _, err := publish(ctx, p, current{version: session.FileVersion{Path: p.real, Absent: true}}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	b.only()
}

func TestC03WriteKeepsByteOrderMarkAndLineEndings(t *testing.T) {
	t.Parallel()
	const bom = "\xef\xbb\xbf"
	large := strings.Repeat("a\r\n", maxOldBytes/3+1) // a CRLF falls on the border of two chunks
	for name, c := range map[string]struct{ old, content, want, said string }{
		"byte order mark":         {bom + "hello\n\u4e2d\u6587\n", "new\n", bom + "new\n", "byte order mark was kept"},
		"given byte order mark":   {bom + "hello\n", bom + "new\n", bom + "new\n", ""},
		"no byte order mark":      {"hello\n", "new\n", "new\n", ""},
		"CRLF":                    {"a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n", "CRLF line endings were kept"},
		"CRLF and mark":           {bom + "a\r\n", "x\ny", bom + "x\r\ny", "CRLF line endings were kept. Its byte order mark"},
		"mixed endings":           {"a\r\nb\n", "x\ny\n", "x\ny\n", ""},
		"content has its own CR":  {"a\r\n", "x\ny\r\n", "x\ny\r\n", ""},
		"LF":                      {"a\nb", "x\r\ny", "x\r\ny", ""},
		"old has one line":        {"a", "x\ny", "x\ny", ""},
		"too large for a diff":    {bom + large, "x\ny\n", bom + "x\r\ny\r\n", "CRLF line endings were kept. Its byte order mark"},
		"large, mixed at its end": {large + "\n", "x\ny\n", "x\ny\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.put("f", c.old)
			b.must("read", "file_path", "f")
			r := b.must("write", "file_path", "f", "content", c.content)
			b.holds("f", c.want)
			wantText(t, r.Text, c.said)
			if c.said == "" && strings.Contains(r.Text, "kept") {
				t.Errorf("got %q", r.Text)
			}
			b.must("write", "file_path", "f", "content", "again") // what was written counts as seen
		})
	}
}

func TestWriteCards(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	raw := args("file_path", "f", "content", "a\nb\n")
	pending := b.reg.Present("write", raw, nil)
	if pending.Kind != session.ShowDiff || fmt.Sprint(pending.Facts) != "[2 lines]" || fmt.Sprint(pending.Diffs[0].Hunks[0].Lines) != "[+a +b]" {
		t.Errorf("pending %+v", pending)
	}
	r := b.must("write", "file_path", "f", "content", "a\nb\n")
	if r.Meta.Display.Diffs[0].Hunks != nil {
		t.Error("the content of a new file is logged twice")
	}
	made := b.reg.Present("write", raw, logged(r))
	if fmt.Sprint(made.Facts) != "[new, 2 lines]" || !made.Diffs[0].Created || fmt.Sprint(made.Diffs[0].Hunks[0].Lines) != "[+a +b]" {
		t.Errorf("created %+v", made)
	}
	raw = args("file_path", "f", "content", "a\nc\n")
	replaced := b.reg.Present("write", raw, logged(b.must("write", "file_path", "f", "content", "a\nc\n")))
	if fmt.Sprint(replaced.Facts) != "[+1 -1]" || fmt.Sprint(replaced.Diffs[0].Hunks[0].Lines) != "[ a -b +c]" {
		t.Errorf("replaced %+v", replaced)
	}
	b.put("f", "else")
	refused := b.reg.Present("write", raw, logged(b.fails(FSStaleVersion, "write", "file_path", "f", "content", "a\nc\n")))
	if refused.Kind != session.ShowText || fmt.Sprint(refused.Facts) != "[changed since it was read]" || refused.Diffs != nil {
		t.Errorf("refused %+v", refused)
	}
}

// What policy judged is what is changed: a link that moves in between stops the call.
func TestMovedLinkIsNotFollowedAfterItWasJudged(t *testing.T) {
	t.Parallel()
	forBothWrites(t, func(t *testing.T, b *bench, tool string, pairs []any) {
		b.put("one", "old text\n")
		b.put("two", "old text\n")
		link := b.path("f")
		if err := os.Symlink("two", link); err != nil {
			t.Fatal(err)
		}
		b.must("read", "file_path", "two")
		b.must("read", "file_path", "one")
		call, bad := b.reg.Prepare(tool, args(pairs...))
		if bad != nil {
			t.Fatal(bad.Text)
		}
		action, bad := call.Action(b.env())
		if bad != nil || len(action.Paths) != 1 || action.Paths[0] != b.path("two") || action.Target != "f" || action.Tool != tool {
			t.Fatalf("action %+v, %v", action, bad)
		}
		if err := errors.Join(os.Remove(link), os.Symlink("one", link)); err != nil {
			t.Fatal(err)
		}
		if r := call.Run(t.Context(), b.env()); r.Code != FSStaleVersion {
			t.Errorf("got %+v", r)
		}
		b.holds("one", "old text\n")
		b.holds("two", "old text\n")
	})
}

func TestRealPath(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("real/f", "x")
	for link, target := range map[string]string{
		"dir": "real", "abs": b.path("real/f"), "loop": "loop", "dangling": "real/none/deep", "chain": "dir/f",
	} {
		if err := os.Symlink(target, b.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"real/f": "real/f", "dir/f": "real/f", "abs": "real/f", "chain": "real/f",
		"dir/new/deep.txt": "real/new/deep.txt", "dangling": "real/none/deep", "dangling/x": "real/none/deep/x", "none/x": "none/x",
	} {
		if got, err := realPath(b.path(path)); err != nil || got != b.path(want) {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	b.fails(FSIO, "read", "file_path", "loop")
}

// Policy tells a person where a path leads; links above the working directory are
// not news.
func TestE05ActionSaysWhetherLinksLeadElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.put("real/f", "")
	for link, target := range map[string]string{"link": "real", "file": "real/f", "out": "/tmp", "nowhere": "real/new", "self": "."} {
		if err := os.Symlink(target, b.path(link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, linked := range map[string]bool{
		"real/f": false, "./real/../real/f": false, "new/file": false, b.path("real/f"): false,
		"link/f": true, "link/new": true, "file": true, "out/x": true, "nowhere": true, b.path("link/f"): true,
	} {
		for _, cwd := range []string{b.dir, b.path("self")} {
			env := b.env()
			env.Cwd = cwd
			call, bad := b.reg.Prepare("write", args("file_path", path, "content", "x"))
			if bad != nil {
				t.Fatal(bad.Text)
			}
			a, bad := call.Action(env)
			if bad != nil || a.Linked != linked {
				t.Errorf("%s in %s: %+v, want linked %v", path, cwd, a, linked)
			}
		}
	}
}

// The other names of a file keep what they had: nobody may find that out later.
func TestHardLinksThatPartAreNamed(t *testing.T) {
	t.Parallel()
	for tool, pairs := range map[string][]any{
		"write": {"content", "new\n"},
		"edit":  {"old_string", "old", "new_string", "new"},
	} {
		b := newBench(t)
		b.put("f", "old\n")
		for _, name := range []string{"g", "h"} {
			if err := os.Link(b.path("f"), b.path(name)); err != nil {
				t.Fatal(err)
			}
		}
		b.must("read", "file_path", "f")
		r := b.must(tool, append([]any{"file_path", "f"}, pairs...)...)
		b.holds("f", "new\n")
		b.holds("g", "old\n")
		wantText(t, r.Text, "Its 2 other names (hard links) keep the old content.")
		b.must("read", "file_path", "f")
		if r := b.must("write", "file_path", "f", "content", "alone\n"); strings.Contains(r.Text, "other name") {
			t.Errorf("%s: %s", tool, r.Text)
		}
	}
}
