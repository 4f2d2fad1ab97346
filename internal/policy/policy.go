package policy

import (
	"fmt"
	"path/filepath"
	"strings"

	"dsh/internal/session"
)

// Preset is how much is allowed when no rule speaks.
type Preset string

const (
	PresetReadOnly  Preset = "read-only" // nothing changes; no allow rule widens it
	PresetAsk       Preset = "ask"       // reads and plainly read-only commands run, everything else asks
	PresetWorkspace Preset = "workspace" // edits inside the workspace run, and commands if a sandbox confines them
	PresetFull      Preset = "full"      // everything runs
)

// Presets are all presets, the strictest first.
func Presets() []Preset {
	return []Preset{PresetReadOnly, PresetAsk, PresetWorkspace, PresetFull}
}

// ParsePreset is the preset named s; the error lists the names.
func ParsePreset(s string) (Preset, error) {
	var names []string
	for _, p := range Presets() {
		if s == string(p) {
			return p, nil
		}
		names = append(names, string(p))
	}
	return "", fmt.Errorf("unknown permission preset %q: use one of %s", s, strings.Join(names, ", "))
}

// Rules are what Decide judges by. The zero value asks for everything but reads.
type Rules struct {
	Preset    Preset
	Workspace string // real path; empty means that no path is inside it
	Confined  bool   // every command runs in a fully enforced sandbox
	Rules     []Rule // their order does not matter: deny beats ask beats allow
}

// Decide judges one action. The order: deny rules, the read-only preset, ask rules,
// allow rules, the preset. Offer and Flag are set when an allow rule or a wider
// preset would change the verdict, and there is an honest way to write it.
func Decide(r Rules, a Action) session.Decision {
	d, final := r.judge(a)
	d.Effect = effect(a)
	if d.Verdict != session.Allow && a.Linked {
		d.Reason += fmt.Sprintf(" %s leads to %s.", a.Target, strings.Join(a.Paths, ", "))
	}
	if d.Verdict != session.Allow && !final {
		d.Offer, d.Flag = offer(r, a)
	}
	return d
}

// judge finds the verdict. It is final if no allow rule could change it.
func (r Rules) judge(a Action) (d session.Decision, final bool) {
	if rule, ok := r.restricts(session.Deny, a); ok {
		return byRule(rule, session.Deny, "denies it"), true
	}
	if r.Preset == PresetReadOnly && changes(a.Class) && !readsOnly(a) {
		return r.byPreset(session.Deny, fmt.Sprintf("%s may change something, and the permission preset is read-only", name(a))), false
	}
	if rule, ok := r.restricts(session.Ask, a); ok {
		return byRule(rule, session.Ask, "asks for a person's answer"), true
	}
	rule, allowed := r.allows(a)
	if !allowed || rule.Pattern == "" {
		if hidden, ok := r.cannotCheck(a); ok {
			return byRule(hidden, session.Ask, "cannot be checked, because parts of the command are known only when it runs"), false
		}
	}
	if allowed {
		return byRule(rule, session.Allow, "allows it"), false
	}
	return r.preset(a), false
}

// preset judges what no rule spoke about.
func (r Rules) preset(a Action) session.Decision {
	switch {
	case a.Class == Control || a.Class == Human:
		return r.byPreset(session.Allow, "It changes only the session")
	case r.Preset == PresetFull:
		return r.byPreset(session.Allow, "The permission preset is full")
	case a.Class == Read:
		for _, p := range a.Paths {
			if secret(p) {
				return r.byPreset(session.Ask, fmt.Sprintf("%s may hold secrets", p))
			}
		}
		return r.byPreset(session.Allow, "It only reads")
	case readsOnly(a):
		return r.byPreset(session.Allow, "The command only reads")
	case a.Class == Write:
		if d := r.write(a); r.Preset == PresetWorkspace || d.Verdict == session.Ask {
			return d
		}
	case a.Class == Exec && r.Preset == PresetWorkspace && r.Confined:
		return r.byPreset(session.Allow, "The sandbox confines it to the workspace")
	case a.Class == Exec && r.Preset == PresetWorkspace:
		return r.byPreset(session.Ask, "No sandbox confines commands here, so each one is asked about")
	}
	return r.byPreset(session.Ask, fmt.Sprintf("%s needs an answer under the permission preset %s", name(a), r.presetName()))
}

func (r Rules) write(a Action) session.Decision {
	if len(a.Paths) == 0 {
		return r.byPreset(session.Ask, fmt.Sprintf("%s does not say which files it changes", name(a)))
	}
	for _, p := range a.Paths {
		rel, ok := inside(r.Workspace, p)
		if !ok {
			return r.byPreset(session.Ask, fmt.Sprintf("%s is outside the workspace %s", p, r.Workspace))
		}
		if protected(rel) {
			return r.byPreset(session.Ask, fmt.Sprintf("%s is protected: it can change how commands run, or hold secrets", filepath.ToSlash(rel)))
		}
	}
	return r.byPreset(session.Allow, "It is inside the workspace")
}

func (r Rules) presetName() Preset {
	if r.Preset == "" {
		return PresetAsk
	}
	return r.Preset
}

// byPreset takes the reason without its full stop. One that begins with a path or a
// tool's name begins as that is spelled.
func (r Rules) byPreset(v session.Verdict, reason string) session.Decision {
	return session.Decision{Verdict: v, Rule: "preset " + string(r.presetName()), Reason: reason + "."}
}

func byRule(rule Rule, v session.Verdict, does string) session.Decision {
	text := string(rule.Verdict) + " " + rule.String()
	origin := ""
	if rule.Origin != "" {
		origin = " (" + rule.Origin + ")"
	}
	return session.Decision{Verdict: v, Rule: text, Reason: "The rule " + text + origin + " " + does + "."}
}

func name(a Action) string {
	if a.Tool == "" {
		return "This action"
	}
	return a.Tool
}

// changes reports whether an action of the class may change more than the session.
// A class that is not known may.
func changes(c Class) bool {
	switch c {
	case Read, Net, Control, Human:
		return false
	}
	return true
}

func effect(a Action) session.Effect {
	switch a.Class {
	case Read, Control, Human:
		return session.EffectRead
	case Exec:
		if readsOnly(a) {
			return session.EffectRead
		}
	case Write:
		return session.EffectChange
	}
	return session.EffectUnknown
}
