package files

import (
	"fmt"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Glob is a pattern for paths: "*" and "?" within a name, "**" over directories,
// "[a-z]", "{a,b}". One without "/" is for names in any directory.
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
	case !doublestar.ValidatePattern(p):
		return Glob{}, fmt.Errorf("the pattern %q is not a glob: a bracket or a brace is not closed, or it ends in a backslash", pattern)
	}
	return Glob{pattern: p, name: !strings.Contains(p, "/")}, nil
}

// Match reports whether the pattern matches a path relative to the root.
func (g Glob) Match(p string) bool {
	if g.name {
		p = path.Base(p)
	}
	return doublestar.MatchUnvalidated(g.pattern, p)
}

// Dir is the directory below which everything lies that can match, "." if that is the
// root: a walk may begin there. It is named in full by the pattern, so a walk that
// begins there shows it even if it is hidden or ignored.
func (g Glob) Dir() string {
	if g.name {
		return "."
	}
	dir, _ := doublestar.SplitPattern(g.pattern)
	return dir
}

// Hidden reports whether the pattern asks for hidden names, by a part that begins with
// ".".
func (g Glob) Hidden() bool {
	return strings.HasPrefix(g.pattern, ".") || strings.Contains(g.pattern, "/.")
}
