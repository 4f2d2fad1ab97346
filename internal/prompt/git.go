package prompt

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// maxGitFile bounds what is read of .git and HEAD: one short line each. A checkout
// may come from anyone.
const maxGitFile = 4096

// branch is the branch of the repository that holds dir, read from its files.
func branch(dir string) string {
	git := gitDir(dir)
	if git == "" {
		return ""
	}
	head := line(filepath.Join(git, "HEAD"))
	if name, ok := strings.CutPrefix(head, "ref: refs/heads/"); ok {
		if name == ".invalid" { // the reftable format keeps its branches elsewhere
			return ""
		}
		return name
	}
	if len(head) >= 40 && strings.Trim(head, "0123456789abcdef") == "" {
		return "detached at " + head[:12]
	}
	return ""
}

// gitDir finds the git directory of the nearest repository at or above dir. In
// worktrees and submodules .git is a file that names it.
func gitDir(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		if info, err := os.Stat(git); err == nil {
			if info.IsDir() {
				return git
			}
			target, ok := strings.CutPrefix(line(git), "gitdir: ")
			if !ok {
				return ""
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(dir, target)
			}
			return target
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// line is the first line of a small regular file, "" if there is none. Opening
// anything else, a pipe say, could block for ever.
func line(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxGitFile))
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(data), "\n")
	return strings.TrimRight(first, "\r")
}
