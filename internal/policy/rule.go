package policy

import (
	"fmt"
	"strings"
	"unicode"

	"dsh/internal/session"
)

// Rule is one pattern with its verdict.
//
// The pattern of a tool that runs commands is a command; `go test:*` is `go test`
// alone or with anything after it. The pattern of a tool that works on files is a
// path, relative to the workspace or absolute. `*` at the end stands for any rest;
// `\*` is a star of the text itself.
//
// Allow rules are read narrowly: every path must match by its real path, a pattern
// with `*` matches only commands of plain words, and a command's pattern holds only
// inside the workspace. Deny and ask rules are read widely: any path, in any
// spelling, a command anywhere in a longer one, a path of write or edit for every
// tool that changes files, and one of read, glob or grep for every tool that reads.
type Rule struct {
	Tool    string // a tool's name, or * for all
	Pattern string // empty for every call of the tool
	Verdict session.Verdict
	Origin  string // where the rule stands, for people: "--allow", "config.toml:12"
}

// ParseRule reads `tool` or `tool(pattern)`.
func ParseRule(s string, v session.Verdict, origin string) (Rule, error) {
	s = strings.TrimSpace(s)
	tool, rest, hasPattern := strings.Cut(s, "(")
	rule := Rule{Tool: strings.TrimSpace(tool), Verdict: v, Origin: origin}
	if !toolName(rule.Tool) {
		return Rule{}, fmt.Errorf("rule %q does not begin with a tool: write tool or tool(pattern), such as edit(docs/*)", s)
	}
	if !hasPattern {
		return rule, nil
	}
	pattern, closed := strings.CutSuffix(rest, ")")
	if !closed {
		return Rule{}, fmt.Errorf("rule %q has no closing parenthesis at its end", s)
	}
	rule.Pattern = strings.TrimSpace(pattern)
	switch literal, _ := splitPattern(rule.Pattern); {
	case rule.Pattern == "" || rule.Pattern == ":*":
		return Rule{}, fmt.Errorf("rule %q has an empty pattern: write %s for every call", s, rule.Tool)
	case innerStar(rule.Pattern):
		return Rule{}, fmt.Errorf(`rule %q has a * that is not at its end: write \* for a star of the text itself`, s)
	case literal == "~" || strings.HasPrefix(literal, "~/"):
		return Rule{}, fmt.Errorf("rule %q begins with ~, which rules do not expand: write the full path", s)
	}
	return rule, nil
}

// String is the form that ParseRule reads.
func (r Rule) String() string {
	if r.Pattern == "" {
		return r.Tool
	}
	return r.Tool + "(" + r.Pattern + ")"
}

func toolName(s string) bool {
	if s == "*" {
		return true
	}
	for _, c := range s {
		if c != '_' && c != '-' && !unicode.IsLetter(c) && !unicode.IsDigit(c) {
			return false
		}
	}
	return s != ""
}

// restricts finds a deny or ask rule that covers the action.
func (r Rules) restricts(v session.Verdict, a Action) (Rule, bool) {
	for _, rule := range r.Rules {
		if rule.Verdict == v && rule.restrictsTool(a) && (rule.Pattern == "" || r.touches(rule.Pattern, a)) {
			return rule, true
		}
	}
	return Rule{}, false
}

// restrictsTool reports whether a deny or ask rule is about the action's tool. Of
// tools that change files, whoever protects a path means the path, and so of tools
// that read them.
func (r Rule) restrictsTool(a Action) bool {
	return r.covers(a.Tool) || r.Pattern != "" && (a.Class == Write || a.Class == Read) && toolClasses[r.Tool] == a.Class
}

func (r Rules) touches(pattern string, a Action) bool {
	switch a.Class {
	case Exec:
		return commandContains(a.Command, pattern)
	case Read, Write:
		for _, p := range a.Paths {
			if pathTouches(r.Workspace, p, pattern) {
				return true
			}
		}
		return pathTouches(r.Workspace, a.Target, pattern)
	}
	return textMatches(strings.ToLower(a.Target), strings.ToLower(pattern))
}

// allows finds the allow rules that cover all of the action, and names one of them:
// a rule for every call of the tool only if no pattern does it.
func (r Rules) allows(a Action) (Rule, bool) {
	if a.Class != Exec && len(a.Paths) > 0 {
		return r.allowsPaths(a)
	}
	var whole Rule
	for _, rule := range r.Rules {
		switch {
		case rule.Verdict != session.Allow || !rule.covers(a.Tool):
		case rule.Pattern == "":
			whole = rule
		case a.Class == Exec && r.holds(a.Paths) && commandIs(a.Command, rule.Pattern):
			return rule, true
		case a.Class != Exec && a.Class != Write && textMatches(a.Target, rule.Pattern):
			return rule, true
		}
	}
	return whole, whole.Tool != ""
}

// holds reports whether all paths are inside the workspace.
func (r Rules) holds(paths []string) bool {
	for _, p := range paths {
		if _, ok := inside(r.Workspace, p); !ok {
			return false
		}
	}
	return true
}

// allowsPaths wants a rule for each path. A protected path needs one that names it.
func (r Rules) allowsPaths(a Action) (found Rule, ok bool) {
	for _, p := range a.Paths {
		rule, ok := r.allowsPath(a, p)
		if !ok {
			return Rule{}, false
		}
		found = rule
	}
	return found, true
}

func (r Rules) allowsPath(a Action, p string) (Rule, bool) {
	rel, within := inside(r.Workspace, p)
	guarded := a.Class == Write && within && protected(rel)
	for _, rule := range r.Rules {
		if rule.Verdict != session.Allow || !rule.covers(a.Tool) {
			continue
		}
		if rule.Pattern == "" && !guarded {
			return rule, true
		}
		if rule.Pattern != "" && pathIs(r.Workspace, p, rule.Pattern) && (!guarded || patternNames(rule.Pattern)) {
			return rule, true
		}
	}
	return Rule{}, false
}

// cannotCheck finds a deny or ask rule that a computed command could slip past.
func (r Rules) cannotCheck(a Action) (Rule, bool) {
	if a.Class != Exec || !computed(a.Command) {
		return Rule{}, false
	}
	for _, rule := range r.Rules {
		if rule.Verdict != session.Allow && rule.covers(a.Tool) && rule.Pattern != "" {
			return rule, true
		}
	}
	return Rule{}, false
}

func (r Rule) covers(tool string) bool { return r.Tool == "*" || r.Tool == tool }

// splitPattern undoes the escapes; open says that the pattern ends in a free star.
func splitPattern(pattern string) (literal string, open bool) {
	var sb strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern) && pattern[i+1] == '*':
			sb.WriteByte('*')
			i++
		case pattern[i] == '*' && i == len(pattern)-1:
			return sb.String(), true
		default:
			sb.WriteByte(pattern[i])
		}
	}
	return sb.String(), false
}

// escape makes a pattern that matches exactly s.
func escape(s string) string { return strings.ReplaceAll(s, "*", `\*`) }

func innerStar(pattern string) bool {
	for i := 0; i < len(pattern)-1; i++ {
		if pattern[i] == '*' && (i == 0 || pattern[i-1] != '\\') {
			return true
		}
	}
	return false
}

func textMatches(s, pattern string) bool {
	literal, open := splitPattern(pattern)
	if open {
		return strings.HasPrefix(s, literal)
	}
	return s == literal
}
