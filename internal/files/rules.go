package files

import (
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// rule is one line of an ignore file.
type rule struct {
	kind    ruleKind
	prefix  string // of a whole path, before the first special character
	pattern string // what follows it
	negated bool   // what it matches is not ignored
	dirOnly bool
	whole   bool // matches the path from the file's directory on, else the name
}

type ruleKind uint8

const (
	ruleGlob    ruleKind = iota
	ruleLiteral          // no special characters: most rules
	ruleSuffix           // "*" and no other special character
)

// rules are an ignore file, in its order: the last match decides.
type rules []rule

// verdict is what rules say of a path.
type verdict uint8

const (
	unsaid verdict = iota
	ignored
	wanted
)

// special are the characters that make a pattern.
const special = `*?[\`

// maxRules bounds what is used of one file, in lines.
const maxRules = 10_000

// parseRules reads an ignore file as git does. A pattern that can match nothing is
// left out.
func parseRules(text string) rules {
	var rs rules
	text = strings.TrimPrefix(text, "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		if r, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			rs = append(rs, r)
		}
		if len(rs) == maxRules {
			break
		}
	}
	return rs
}

func parseRule(line string) (rule, bool) {
	if strings.HasPrefix(line, "#") {
		return rule{}, false
	}
	line = trimSpaces(line)
	var r rule
	line, r.negated = strings.CutPrefix(line, "!")
	line, r.dirOnly = strings.CutSuffix(line, "/")
	r.whole = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return rule{}, false
	}
	switch {
	case !strings.ContainsAny(line, special):
		r.kind, r.pattern = ruleLiteral, line
		return r, true
	case !r.whole && line[0] == '*' && !strings.ContainsAny(line[1:], special):
		r.kind, r.pattern = ruleSuffix, line[1:]
		return r, true
	}
	if r.whole {
		i := strings.IndexAny(line, special)
		r.prefix, line = line[:i], line[i:]
	}
	r.pattern = translate(line)
	return r, doublestar.ValidatePattern(r.pattern)
}

// trimSpaces drops the spaces at the end that no backslash protects.
func trimSpaces(s string) string {
	for strings.HasSuffix(s, " ") {
		slashes := len(s) - 1 - len(strings.TrimRight(s[:len(s)-1], `\`))
		if slashes%2 == 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

// translate writes a pattern of an ignore file as a glob: braces mean nothing in the
// former, several stars are two only if they stand alone between slashes, and what ends
// in "/**" does not match the directory itself.
func translate(pattern string) string {
	parts := strings.Split(pattern, "/")
	for i, part := range parts {
		if len(part) > 1 && strings.Trim(part, "*") == "" {
			parts[i] = "**"
			continue
		}
		parts[i] = translatePart(part)
	}
	pattern = strings.Join(parts, "/")
	if strings.HasSuffix(pattern, "/**") {
		pattern += "/*"
	}
	return pattern
}

func translatePart(part string) string {
	var b strings.Builder
	star := false
	for i := 0; i < len(part); i++ {
		c := part[i]
		switch {
		case c == '*' && star:
			continue
		case c == '\\' && i+1 < len(part):
			b.WriteByte(c)
			i++
		case c == '{' || c == '}':
			b.WriteByte('\\')
		}
		star = c == '*'
		b.WriteByte(part[i])
	}
	return b.String()
}

// judge says what the rules say of a path, relative to their file's directory.
func (rs rules) judge(path, name string, dir bool) verdict {
	for i := len(rs) - 1; i >= 0; i-- {
		if r := &rs[i]; (dir || !r.dirOnly) && r.match(path, name) {
			if r.negated {
				return wanted
			}
			return ignored
		}
	}
	return unsaid
}

func (r *rule) match(path, name string) bool {
	if !r.whole {
		path = name
	}
	// Git takes the prefix off first, so that "a**" matches over slashes as "**" does.
	path, ok := strings.CutPrefix(path, r.prefix)
	if !ok {
		return false
	}
	switch r.kind {
	case ruleLiteral:
		return path == r.pattern
	case ruleSuffix:
		return strings.HasSuffix(path, r.pattern)
	}
	return doublestar.MatchUnvalidated(r.pattern, path)
}
