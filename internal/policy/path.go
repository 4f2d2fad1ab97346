package policy

import (
	"path/filepath"
	"strings"
	"unicode"
)

// inside is a real path relative to the workspace, if it is in it. A path that is
// not absolute and clean was not resolved by its tool, and counts as outside.
func inside(workspace, p string) (rel string, ok bool) {
	if !filepath.IsAbs(workspace) || !filepath.IsAbs(p) || filepath.Clean(p) != p {
		return "", false
	}
	workspace = filepath.Clean(workspace)
	if p == workspace {
		return ".", true
	}
	if !strings.HasSuffix(workspace, sep) {
		workspace += sep
	}
	return strings.CutPrefix(p, workspace)
}

const sep = string(filepath.Separator)

// protected reports whether a path relative to the workspace is, or is in, something
// that decides over later commands (.git), over dsh's own rules (.dsh), or over
// secrets (.env*). Names are compared as a forgiving file system would: without
// case, invisible characters, or dots and spaces at the end.
func protected(rel string) bool {
	for _, name := range strings.Split(filepath.ToSlash(rel), "/") {
		name = strings.Map(func(c rune) rune {
			if unicode.Is(unicode.Cf, c) {
				return -1
			}
			return c
		}, strings.ToLower(name))
		name = strings.TrimRight(name, ". ")
		if name == ".git" || name == ".dsh" || strings.HasPrefix(name, ".env") {
			return true
		}
	}
	return false
}

// secret reports whether reading p shows a process's environment or memory, and so
// the keys in it, or the keys that dsh stored.
func secret(p string) bool {
	p = filepath.Clean(p)
	base := filepath.Base(p)
	if base == "credentials.toml" && filepath.Base(filepath.Dir(p)) == "dsh" {
		return true
	}
	return strings.HasPrefix(p, "/proc/") && (base == "environ" || base == "mem")
}

// ofProcess reports whether p is of one process: a rule for it would be about
// another one, or none, the next time.
func ofProcess(p string) bool {
	rest, ok := strings.CutPrefix(p, "/proc/")
	return ok && rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

// pathIs is the narrow reading: the real path itself against the pattern.
func pathIs(workspace, p, pattern string) bool {
	if !filepath.IsAbs(p) || filepath.Clean(p) != p {
		return false
	}
	want, open := absolute(workspace, pattern)
	switch {
	case want == "":
		return false
	case open:
		return strings.HasPrefix(p, want)
	}
	return p == want
}

// pathTouches is the wide reading: any spelling, without case, and everything below.
// A pattern without a separator is also a name at any depth.
func pathTouches(workspace, p, pattern string) bool {
	if p == "" {
		return false
	}
	if !filepath.IsAbs(p) && filepath.IsAbs(workspace) {
		p = filepath.Join(workspace, p)
	}
	p = strings.ToLower(filepath.Clean(p))
	want, open := absolute(workspace, pattern)
	if want == "" {
		want, open = pathPattern(pattern)
	}
	want = strings.ToLower(want)
	if p == strings.TrimSuffix(want, sep) || strings.HasPrefix(p, strings.TrimSuffix(want, sep)+sep) || open && strings.HasPrefix(p, want) {
		return true
	}
	name, open := pathPattern(pattern)
	name = strings.ToLower(name)
	if name == "" || strings.Contains(name, sep) {
		return false
	}
	for _, element := range strings.Split(p, sep) {
		if element == name || open && strings.HasPrefix(element, name) {
			return true
		}
	}
	return false
}

// patternNames reports whether a pattern names something protected by itself, and
// does not only happen to cover it.
func patternNames(pattern string) bool {
	literal, _ := pathPattern(pattern)
	return protected(literal)
}

// absolute is a path pattern on the workspace, "" if there is nothing to put it on.
func absolute(workspace, pattern string) (literal string, open bool) {
	literal, open = pathPattern(pattern)
	if filepath.IsAbs(literal) {
		return literal, open
	}
	if !filepath.IsAbs(workspace) {
		return "", false
	}
	joined := filepath.Join(workspace, literal)
	if open && (literal == "" || strings.HasSuffix(literal, sep)) && !strings.HasSuffix(joined, sep) {
		joined += sep
	}
	return joined, open
}

// pathPattern is a pattern as a clean path. A separator at its end means everything
// below, and survives the cleaning.
func pathPattern(pattern string) (literal string, open bool) {
	literal, open = splitPattern(pattern)
	literal = filepath.FromSlash(literal)
	if literal == "" {
		return "", open
	}
	below := strings.HasSuffix(literal, sep)
	literal = filepath.Clean(literal)
	if below && !strings.HasSuffix(literal, sep) {
		literal += sep
	}
	if literal == "."+sep {
		literal = ""
	}
	return literal, open || below
}
