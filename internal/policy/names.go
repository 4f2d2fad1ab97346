package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// mcpPrefix begins the names of tools that servers bring.
const mcpPrefix = "mcp__"

// toolClasses are the tools that rules may name: all that dsh has under some
// settings, so that a rule does not depend on which of them a session has.
var toolClasses = map[string]Class{
	"bash": Exec, "read": Read, "write": Write, "edit": Write, "glob": Read, "grep": Read,
	"todo_write": Control, "job_output": Control, "job_list": Control, "job_kill": Control,
	"ask_user_question": Human, "exit_plan_mode": Human, "skill": Control, "subagent": Control,
	"web_fetch": Net, "web_search": Net,
}

// CheckTool fails for a rule whose tool dsh does not have: it would do nothing,
// which of a deny rule nobody would notice. The error names the nearest tool.
func (r Rule) CheckTool() error {
	if err := CheckTool(r.Tool); err != nil && r.Tool != "*" {
		return fmt.Errorf("rule %q: %w", r, err)
	}
	return nil
}

// CheckTool fails for a name that no tool of dsh, and none of a server, can have.
func CheckTool(tool string) error {
	name, server := strings.CutPrefix(tool, mcpPrefix)
	if _, known := toolClasses[tool]; known || server && name != "" {
		return nil
	}
	names := slices.Sorted(maps.Keys(toolClasses))
	for _, name := range names {
		if alike(tool, name) {
			return fmt.Errorf("there is no tool %s: did you mean %s?", tool, name)
		}
	}
	return fmt.Errorf("there is no tool %s: the tools are %s, and %s... for those of a server", tool, strings.Join(names, ", "), mcpPrefix)
}

// alike reports whether a name was meant for a tool's: case, separators and the
// order of letters aside, one letter may be wrong, missing or too many.
func alike(name, tool string) bool {
	a, b := letters(name), letters(tool)
	missing, extra := 0, 0
	for c := range 128 {
		n := strings.Count(a, string(rune(c))) - strings.Count(b, string(rune(c)))
		missing, extra = missing+max(-n, 0), extra+max(n, 0)
	}
	return missing <= 1 && extra <= 1 && len(a) > 2
}

func letters(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '_' || c == '-' {
			return -1
		}
		return c
	}, strings.ToLower(s))
}
