package files

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// ignoreFiles are the files with rules that a directory may hold, the stronger last.
var ignoreFiles = []string{".gitignore", ".ignore"}

// maxIgnoreFile is how much of an ignore file is read, in bytes.
const maxIgnoreFile = 1 << 20

// level is the rules of one directory, and those of the directories above it.
type level struct {
	above *level
	dir   string // relative to the root of the walk, "" or with a "/" at its end
	below string // what leads from the directory to the root of the walk, if it is above
	files []rules
}

// ignores reports whether the rules exclude a path, relative to the root of the walk.
// The nearest directory that says something decides.
func (l *level) ignores(path, name string, dir bool) bool {
	for ; l != nil; l = l.above {
		rel := l.below + strings.TrimPrefix(path, l.dir)
		for i := len(l.files) - 1; i >= 0; i-- {
			if v := l.files[i].judge(rel, name, dir); v != unsaid {
				return v == ignored
			}
		}
	}
	return false
}

// enter adds the rules of a directory, whose names are given, to those above it.
func (l *level) enter(abs, rel string, has func(name string) bool) *level {
	var files []rules
	for _, name := range ignoreFiles {
		if has(name) {
			if rs := readRules(filepath.Join(abs, name)); rs != nil {
				files = append(files, rs)
			}
		}
	}
	if files == nil {
		return l
	}
	if rel != "" {
		rel += "/"
	}
	return &level{above: l, dir: rel, files: files}
}

// outer is the rules that hold at a root before its own: in a repository the user's for
// all of them, its private ones, and those of the directories between its top and the
// root; elsewhere those of the directories between a project and the root. A root that
// they exclude was asked for by name: then none.
func outer(root, project string) *level {
	var l *level
	top := repoTop(root)
	if top == "" {
		top = project
	} else {
		for _, file := range []string{userExcludes(), filepath.Join(gitDir(top), "info", "exclude")} {
			if rs := readRules(file); rs != nil {
				l = &level{above: l, files: []rules{rs}}
			}
		}
	}
	rel, err := filepath.Rel(top, root)
	if err != nil || !filepath.IsLocal(rel) {
		return l
	}
	parts := []string{}
	if rel != "." {
		parts = strings.Split(filepath.ToSlash(rel), "/")
	}
	dir := top
	for i, name := range parts {
		l = l.enter(dir, strings.Join(parts[:i], "/"), func(string) bool { return true })
		if l.ignores(strings.Join(parts[:i+1], "/"), name, true) {
			return nil
		}
		dir = filepath.Join(dir, name)
	}
	return l.seenFrom(strings.Join(parts, "/"))
}

// seenFrom makes rules for paths relative to a root out of those for paths relative to
// the top above it.
func (l *level) seenFrom(root string) *level {
	if l == nil || root == "" {
		return l
	}
	return &level{above: l.above.seenFrom(root), below: strings.TrimPrefix(root+"/", l.dir), files: l.files}
}

// repoTop is the directory of the repository that holds dir, "" if there is none.
func repoTop(dir string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
}

// gitDir is where a repository keeps what its worktrees share.
func gitDir(top string) string {
	dir := filepath.Join(top, ".git")
	if at, ok := strings.CutPrefix(readSmall(dir), "gitdir: "); ok {
		dir = within(top, at)
		if common := readSmall(filepath.Join(dir, "commondir")); common != "" {
			dir = within(dir, common)
		}
	}
	return dir
}

func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// userExcludes is where git looks for a user's ignore file unless it is told otherwise.
func userExcludes() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git", "ignore")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".config", "git", "ignore")
}

// readRules reads an ignore file. One that cannot be read has no rules, as for git.
func readRules(path string) rules { return parseRules(readText(path)) }

// readSmall is the text of a file of one line, "" if it cannot be read.
func readSmall(path string) string { return strings.TrimSpace(readText(path)) }

// readText is the start of a regular file, "" if it cannot be read.
func readText(path string) string {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return "" // also a pipe, which would never end
	}
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return ""
	}
	return string(text)
}
