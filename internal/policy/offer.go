package policy

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"dsh/internal/session"
)

// builds are commands whose arguments change from call to call while their risk does
// not: the narrowest useful pattern for them leaves the arguments open.
var builds = []string{
	"go test", "go build", "go vet", "cargo test", "cargo build", "cargo check",
	"npm test", "pytest",
}

// offer is what a person may remember, and what a run without one needs to be told.
// Either is empty when there is no honest answer.
func offer(r Rules, a Action) (pattern, flag string) {
	rules := narrowest(r, a)
	if len(rules) == 1 {
		pattern = rules[0]
	}
	if r.writesInside(a) && (r.Preset == PresetReadOnly || r.presetName() == PresetAsk) {
		return pattern, "--permission workspace"
	}
	var flags []string
	if r.Preset == PresetReadOnly && changes(a.Class) && len(rules) > 0 {
		flags = append(flags, "--permission ask")
	}
	for _, rule := range rules {
		flags = append(flags, "--allow "+shellQuote(rule))
	}
	return pattern, strings.Join(flags, " ")
}

// writesInside reports whether the workspace preset would allow the write.
func (r Rules) writesInside(a Action) bool {
	return a.Class == Write && r.write(a).Verdict == session.Allow
}

// narrowest are the rules that together allow the action, and as little else as
// possible; none if a rule cannot say it.
func narrowest(r Rules, a Action) []string {
	var targets []string
	switch {
	case a.Class == Exec && !r.holds(a.Paths):
		return nil // a pattern would hold in the workspace only
	case a.Class == Exec:
		targets = []string{commandPattern(a.Command)}
	case len(a.Paths) > 0:
		for _, p := range a.Paths {
			targets = append(targets, pathOffer(r.Workspace, p))
		}
	case a.Class == Write || a.Target == "":
		return parsed([]string{a.Tool})
	default:
		targets = []string{escape(a.Target)}
	}
	var rules []string
	for _, target := range targets {
		rules = append(rules, Rule{Tool: a.Tool, Pattern: target}.String())
		if target == "" || !presentable(target) {
			return nil
		}
	}
	return parsed(rules)
}

// parsed drops rules that would not be read back.
func parsed(rules []string) []string {
	for _, rule := range rules {
		if _, err := ParseRule(rule, session.Allow, ""); err != nil {
			return nil
		}
	}
	return rules
}

func commandPattern(command string) string {
	command = strings.Trim(command, blanks)
	for _, b := range builds {
		if commandIs(command, b+":*") {
			return b + ":*"
		}
	}
	return escape(command)
}

func pathOffer(workspace, p string) string {
	if filepath.Clean(p) != p || !filepath.IsAbs(p) || ofProcess(p) {
		return ""
	}
	rel, ok := inside(workspace, p)
	if !ok {
		return escape(p)
	}
	if strings.HasPrefix(rel, "~") || strings.TrimSpace(rel) != rel {
		rel = "." + sep + rel
	}
	return escape(filepath.ToSlash(rel))
}

// presentable reports whether a pattern survives being shown, copied and pasted.
func presentable(s string) bool {
	for _, c := range s {
		if c != '\n' && !unicode.IsPrint(c) {
			return false
		}
	}
	return utf8.ValidString(s) && strings.TrimSpace(s) == s
}

// shellQuote makes one word of s for a POSIX shell.
func shellQuote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
