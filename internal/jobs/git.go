package jobs

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// lookTime bounds a look at the workspace: in a repository that takes longer, the
	// counter has to do.
	lookTime = 2 * time.Second
	// maxLook bounds what git may list, in bytes: thousands of changed files say no
	// more than that the tree is not clean.
	maxLook = 512 << 10
)

// LookGit adds what git knows of a directory to a revision. It takes two seconds at
// most, writes nothing, and runs no program that the repository names. Where that is
// not possible the revision stays as it was.
func LookGit(ctx context.Context, dir string, r Revision) Revision {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	if !noFilters(ctx, dir) {
		return r
	}
	top, err := gitOutput(ctx, dir, "rev-parse", "--show-toplevel")
	if err != nil {
		return r
	}
	status, err := gitOutput(ctx, dir, "status", "--porcelain=v2", "--branch", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=all")
	if err != nil {
		return r
	}
	r.Top = strings.TrimSuffix(top, "\n")
	r.Head, r.Files = states(r.Top, status)
	return r
}

// before is how many fields stand before the path in a line of git's status, by its
// first.
var before = map[string]int{"1": 8, "u": 10, "?": 1}

// states gives the commit, and to each file that git lists what it is now: git's
// letters, size and time.
func states(top, status string) (head string, files map[string]string) {
	files = map[string]string{}
	for _, line := range strings.Split(status, "\x00") {
		if oid, ok := strings.CutPrefix(line, "# branch.oid "); ok {
			head = oid
			continue
		}
		kind, _, _ := strings.Cut(line, " ")
		fields := strings.SplitN(line, " ", before[kind]+1)
		if before[kind] == 0 || len(fields) <= before[kind] {
			continue
		}
		path, state := fields[before[kind]], strings.Join(fields[:before[kind]], " ")
		if info, err := os.Lstat(filepath.Join(top, path)); err == nil {
			state += fmt.Sprintf(" %d %d", info.Size(), info.ModTime().UnixNano())
		}
		files[path] = state
	}
	return head, files
}

// noFilters reports whether git compares files without running a program that the
// repository names: who looks at a checkout must not run what came with it.
func noFilters(ctx context.Context, dir string) bool {
	list, err := gitOutput(ctx, dir, "config", "-z", "--show-scope", "--name-only", "--get-regexp", `^filter\..*\.(clean|process)$`)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return true // there is none
	}
	fields := strings.Split(list, "\x00")
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i] != "system" && fields[i] != "global" {
			return false
		}
	}
	return err == nil
}

var errTooLong = errors.New("git lists too much")

// gitOutput is what a git command prints that only reads.
func gitOutput(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fixed := []string{"-C", dir, "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "safe.bareRepository=explicit"}
	cmd := exec.CommandContext(ctx, "git", append(fixed, args...)...)
	cmd.Env = append(slices.DeleteFunc(Environ(os.Environ()), func(v string) bool { return strings.HasPrefix(v, "GIT_") }),
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := cmd.Start(); err != nil {
		return "", err
	}
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(out, maxLook+1))
	if n > maxLook {
		cancel()
		err = errTooLong
	}
	if waitErr := cmd.Wait(); err == nil {
		err = waitErr
	}
	return b.String(), err
}

// digest is over the states of all files.
func (r Revision) digest() string {
	h := sha256.New()
	for _, path := range slices.Sorted(maps.Keys(r.Files)) {
		fmt.Fprintf(h, "%s\x00%s\x00", path, r.Files[path])
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}
