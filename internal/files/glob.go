package files

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/text/unicode/norm"
)

// Glob is a pattern for paths: "*" and "?" within a name, "**" over directories,
// "[a-z]", "{a,b}". One without "/" is for names in any directory. Accents match
// however they are composed.
type Glob struct {
	pattern string
	name    bool
}

// NewGlob reads a pattern for paths relative to a root.
func NewGlob(pattern string) (Glob, error) {
	p := strings.TrimPrefix(pattern, "./")
	switch {
	case p == "":
		return Glob{}, fmt.Errorf("the pattern is empty: %q finds all files", "**")
	case strings.HasPrefix(p, "/"):
		return Glob{}, fmt.Errorf("the pattern %q is absolute: give the directory apart, and a pattern below it", pattern)
	case slices.Contains(strings.Split(p, "/"), ".."):
		return Glob{}, fmt.Errorf("the pattern %q leads upwards: give the directory apart, and a pattern below it", pattern)
	case !doublestar.ValidatePattern(p):
		return Glob{}, fmt.Errorf("the pattern %q is not a glob: a bracket or a brace is not closed, or it ends in a backslash", pattern)
	}
	return Glob{pattern: norm.NFC.String(p), name: !strings.Contains(p, "/")}, nil
}

// Match reports whether the pattern matches a path relative to the root.
func (g Glob) Match(p string) bool {
	if g.name {
		p = path.Base(p)
	}
	return doublestar.MatchUnvalidated(g.pattern, p) || !ascii(p) && doublestar.MatchUnvalidated(g.pattern, norm.NFC.String(p))
}

// Split gives the directory below which everything lies that can match, "." if that is
// the root, and the pattern for what is below it. The directory is named in full, so a
// walk that begins there shows it even if it is hidden or ignored.
func (g Glob) Split() (dir string, rest Glob) {
	if g.name {
		return ".", g
	}
	dir, pattern := doublestar.SplitPattern(g.pattern)
	return dir, Glob{pattern: pattern}
}

// Hidden reports whether the pattern asks for hidden names, by a part that begins with
// ".".
func (g Glob) Hidden() bool {
	return strings.HasPrefix(g.pattern, ".") || strings.Contains(g.pattern, "/.") ||
		strings.Contains(g.pattern, "{.") || strings.Contains(g.pattern, ",.")
}

// literal reports whether the pattern is one path, spelled out.
func (g Glob) literal() bool { return !strings.ContainsAny(g.pattern, `*?[{\`) }

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
