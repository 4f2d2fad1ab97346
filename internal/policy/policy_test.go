package policy

import (
	"strings"
	"testing"

	"dsh/internal/session"
)

const ws = "/home/u/ws"

func read(p string) Action {
	return Action{Tool: "read", Class: Read, Paths: []string{p}, Target: p}
}
func edit(p string) Action {
	return Action{Tool: "edit", Class: Write, Paths: []string{p}, Target: p}
}
func bash(c string) Action { return Action{Tool: "bash", Class: Exec, Command: c, Target: c} }

// rules reads lines such as "allow bash(go test:*)".
func rules(t *testing.T, p Preset, lines ...string) Rules {
	t.Helper()
	r := Rules{Preset: p, Workspace: ws}
	for _, line := range lines {
		verdict, text, _ := strings.Cut(line, " ")
		rule, err := ParseRule(text, session.Verdict(verdict), "test")
		if err != nil {
			t.Fatal(err)
		}
		r.Rules = append(r.Rules, rule)
	}
	return r
}

func TestPresetTable(t *testing.T) {
	t.Parallel()
	type row struct {
		name      string
		a         Action
		readOnly  session.Verdict
		ask       session.Verdict
		workspace session.Verdict
		full      session.Verdict
		effect    session.Effect
	}
	const allow, ask, deny = session.Allow, session.Ask, session.Deny
	const rd, ch, un = session.EffectRead, session.EffectChange, session.EffectUnknown
	for _, c := range []row{
		{"read inside", read(ws + "/a.go"), allow, allow, allow, allow, rd},
		{"read outside", read("/usr/include/stdio.h"), allow, allow, allow, allow, rd},
		{"read of a process's environment", read("/proc/self/environ"), ask, ask, ask, allow, rd},
		{"edit inside", edit(ws + "/src/a.go"), deny, ask, allow, allow, ch},
		{"edit outside", edit("/home/u/other/a.go"), deny, ask, ask, allow, ch},
		{"edit of nothing named", Action{Tool: "edit", Class: Write}, deny, ask, ask, allow, ch},
		{"edit inside and outside", Action{Tool: "edit", Class: Write, Paths: []string{ws + "/a", "/b"}}, deny, ask, ask, allow, ch},
		{"command", bash("make"), deny, ask, ask, allow, un},
		{"command that reads", bash("ls"), allow, allow, allow, allow, rd},
		{"command that reads elsewhere", Action{Tool: "bash", Class: Exec, Command: "ls", Paths: []string{"/usr/include"}}, allow, allow, allow, allow, rd},
		{"command that reads devices", Action{Tool: "bash", Class: Exec, Command: "cat x", Paths: []string{"/proc/1"}}, deny, ask, ask, allow, un},
		{"command at the root", Action{Tool: "bash", Class: Exec, Command: "cat proc/1/environ", Paths: []string{"/"}}, deny, ask, ask, allow, un},
		{"empty command", bash(""), deny, ask, ask, allow, un},
		{"network", Action{Tool: "web_fetch", Class: Net, Target: "https://a.example/"}, ask, ask, ask, allow, un},
		{"session only", Action{Tool: "todo_write", Class: Control}, allow, allow, allow, allow, rd},
		{"question", Action{Tool: "ask_user_question", Class: Human}, allow, allow, allow, allow, rd},
		{"unknown class", Action{Tool: "x", Class: "y"}, deny, ask, ask, allow, un},
	} {
		for p, want := range map[Preset]session.Verdict{PresetReadOnly: c.readOnly, PresetAsk: c.ask, PresetWorkspace: c.workspace, PresetFull: c.full, "": c.ask} {
			d := Decide(Rules{Preset: p, Workspace: ws}, c.a)
			if d.Verdict != want || d.Effect != c.effect {
				t.Errorf("%s under %q: %s, %s; want %s, %s", c.name, p, d.Verdict, d.Effect, want, c.effect)
			}
			if d.Reason == "" || !strings.HasPrefix(d.Rule, "preset ") || !strings.HasSuffix(d.Reason, ".") {
				t.Errorf("%s under %q: rule %q, reason %q", c.name, p, d.Rule, d.Reason)
			}
		}
	}
	if d := Decide(Rules{Preset: PresetWorkspace, Workspace: ws, Confined: true}, bash("make")); d.Verdict != allow {
		t.Errorf("a confined command in the workspace preset: %+v", d)
	}
	if d := Decide(Rules{Preset: PresetAsk, Workspace: ws, Confined: true}, bash("make")); d.Verdict != ask {
		t.Errorf("a confined command in the ask preset: %+v", d)
	}
}

func TestPRM16UnknownPresetIsRefused(t *testing.T) {
	t.Parallel()
	for _, p := range Presets() {
		if got, err := ParsePreset(string(p)); err != nil || got != p {
			t.Errorf("%s: %q, %v", p, got, err)
		}
	}
	_, err := ParsePreset("nope")
	for _, p := range Presets() {
		if err == nil || !strings.Contains(err.Error(), string(p)) {
			t.Errorf("the error does not list %s: %v", p, err)
		}
	}
}

// The tool resolves links; policy must then go by the real path alone.
func TestE05WorkspaceIsContainedByRealPath(t *testing.T) {
	t.Parallel()
	r := rules(t, PresetWorkspace, "allow edit(outbox/*)")
	for p, want := range map[string]session.Verdict{
		ws + "/a":                session.Allow,
		ws:                       session.Allow,
		ws + "-evil/a":           session.Ask,
		ws + "/../other/a":       session.Ask,
		ws + "/a/../../x":        session.Ask,
		ws + "/a/./b":            session.Ask, // not resolved by its tool
		"a":                      session.Ask,
		"":                       session.Ask,
		"/":                      session.Ask,
		"/proc/self/root" + ws:   session.Ask,
		"/tmp/OUT/x":             session.Ask,
		"/home/u/WS/a":           session.Ask,
		ws + "/sub/.git-not/a":   session.Allow,
		ws + "/environment/a.go": session.Allow,
	} {
		a := edit(p)
		a.Target = "outbox/x" // what the model wrote, through a link
		d := Decide(r, a)
		if d.Verdict != want {
			t.Errorf("%q: %s, want %s", p, d.Verdict, want)
		}
		if p == "/tmp/OUT/x" && !strings.Contains(d.Reason, p) {
			t.Errorf("the real path is not named: %q", d.Reason)
		}
	}
	if d := Decide(Rules{Preset: PresetWorkspace}, edit("/a")); d.Verdict != session.Ask {
		t.Errorf("without a workspace: %+v", d)
	}
	if d := Decide(Rules{Preset: PresetWorkspace, Workspace: "/"}, edit("/a")); d.Verdict != session.Allow {
		t.Errorf("in the root as workspace: %+v", d)
	}
}

func TestE06ProtectedNamesAsk(t *testing.T) {
	t.Parallel()
	names := []string{".git", ".git/config", ".GIT/hooks/pre-commit", "sub/.git/config", ".g\u200cit/config", ".git./config", ".git /config",
		".env", ".ENV", ".Env.local", "sub/.env", ".envrc", ".env/x", ".dsh/config.toml"}
	for _, name := range names {
		a := edit(ws + "/" + name)
		for _, r := range []Rules{
			rules(t, PresetWorkspace),
			rules(t, PresetWorkspace, "allow edit"),
			rules(t, PresetAsk, "allow edit(*)", "allow edit(./*)", "allow edit("+ws+"/*)", "allow edit(.e*)", "allow edit(.g*)"),
		} {
			if d := Decide(r, a); d.Verdict != session.Ask {
				t.Errorf("%q with %v: %+v", name, r.Rules, d)
			}
		}
		if d := Decide(rules(t, PresetFull), a); d.Verdict != session.Allow {
			t.Errorf("%q in full: %+v", name, d)
		}
	}
	if d := Decide(rules(t, PresetAsk, "allow edit(.git/*)"), edit(ws+"/.git/config")); d.Verdict != session.Allow {
		t.Errorf("a rule that names .git: %+v", d)
	}
	for _, p := range []string{ws + "/.env", ws + "/.ENV", ws + "/sub/.env", ws + "/x/../.env", "/other/.env"} {
		if d := Decide(rules(t, PresetFull, "deny read(.env)"), read(p)); d.Verdict != session.Deny {
			t.Errorf("deny read(.env), %q: %+v", p, d)
		}
	}
	link := read(ws + "/.env")
	link.Target = "harmless"
	if d := Decide(rules(t, PresetFull, "deny read(.env)"), link); d.Verdict != session.Deny {
		t.Errorf("a link to .env: %+v", d)
	}
	for _, p := range []string{"/proc/1/environ", "/proc/self/task/3/environ", "/proc/7/mem"} {
		if d := Decide(rules(t, PresetWorkspace), read(p)); d.Verdict != session.Ask {
			t.Errorf("%q: %+v", p, d)
		}
	}
}

// A person is told where a write really goes and why that matters, also where every
// write asks.
func TestE05AskSaysWhereAWriteGoes(t *testing.T) {
	t.Parallel()
	through := func(link, real string) Action {
		return Action{Tool: "write", Class: Write, Paths: []string{real}, Target: link, Linked: true}
	}
	for _, c := range []struct {
		a    Action
		says []string
	}{
		{edit("/etc/hosts"), []string{"/etc/hosts is outside the workspace " + ws + "."}},
		{edit(ws + "/Sub/.git/config"), []string{"Sub/.git/config is protected"}},
		{edit(ws + "/a.go"), []string{"edit needs an answer under the permission preset"}},
		{through("out/x", "/tmp/x"), []string{"/tmp/x is outside the workspace", "out/x leads to /tmp/x."}},
		{through("notes", ws+"/.git/config"), []string{".git/config is protected", "notes leads to " + ws + "/.git/config."}},
		{through("link", ws+"/a.go"), []string{"write needs an answer", "link leads to " + ws + "/a.go."}},
	} {
		for _, p := range []Preset{PresetAsk, PresetWorkspace} {
			d := Decide(Rules{Preset: p, Workspace: ws}, c.a)
			if d.Verdict == session.Allow && p == PresetWorkspace {
				continue
			}
			for _, part := range c.says {
				if d.Verdict != session.Ask || !strings.Contains(" "+d.Reason, " "+part) {
					t.Errorf("%s: %+v: %+v; want %q", p, c.a, d, part)
				}
			}
		}
	}
	d := Decide(rules(t, PresetFull, "deny write(/tmp/*)"), through("out/x", "/tmp/x"))
	if !strings.HasSuffix(d.Reason, " out/x leads to /tmp/x.") {
		t.Errorf("a rule's refusal: %+v", d)
	}
	if d := Decide(Rules{Preset: PresetFull}, through("link", ws+"/a.go")); strings.Contains(d.Reason, "leads") {
		t.Errorf("nobody is asked: %+v", d)
	}
}

func TestDenyBeatsAskBeatsAllow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preset Preset
		rules  []string
		want   session.Verdict
	}{
		{PresetFull, []string{"allow bash", "ask bash(make:*)", "deny bash(make x)"}, session.Deny},
		{PresetFull, []string{"allow bash(make x)", "ask bash(make:*)"}, session.Ask},
		{PresetFull, []string{"deny *"}, session.Deny},
		{PresetAsk, []string{"allow bash(make x)"}, session.Allow},
		{PresetAsk, []string{"allow bash"}, session.Allow},
		{PresetAsk, []string{"allow bas"}, session.Ask},
		{PresetReadOnly, []string{"allow bash", "allow bash(make x)"}, session.Deny},
		{PresetReadOnly, []string{"ask bash"}, session.Deny},
	} {
		d := Decide(rules(t, c.preset, c.rules...), bash("make x"))
		if d.Verdict != c.want {
			t.Errorf("%s %v: %+v", c.preset, c.rules, d)
		}
		explicit := strings.HasPrefix(d.Rule, "deny ") || strings.HasPrefix(d.Rule, "ask ")
		if explicit && (d.Flag != "" || d.Offer != "") {
			t.Errorf("%s %v: offers a way round an explicit rule: %+v", c.preset, c.rules, d)
		}
	}
}

func TestFlagAndOfferWouldAllowIt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		preset      Preset
		a           Action
		flag, offer string
	}{
		{PresetAsk, edit(ws + "/a b.go"), "--permission workspace", "edit(a b.go)"},
		{PresetReadOnly, edit(ws + "/a.go"), "--permission workspace", "edit(a.go)"},
		{PresetWorkspace, edit("/tmp/it's"), `--allow 'edit(/tmp/it'\''s)'`, "edit(/tmp/it's)"},
		{PresetWorkspace, edit(ws + "/.git/config"), "--allow 'edit(.git/config)'", "edit(.git/config)"},
		{PresetAsk, edit(ws + "/.env"), "--allow 'edit(.env)'", "edit(.env)"},
		{PresetWorkspace, Action{Tool: "edit", Class: Write, Paths: []string{"/a", "/b*"}}, `--allow 'edit(/a)' --allow 'edit(/b\*)'`, ""},
		{PresetAsk, bash("go test -run X ./..."), "--allow 'bash(go test:*)'", "bash(go test:*)"},
		{PresetAsk, bash("go test ./... && go vet"), "--allow 'bash(go test ./... && go vet)'", "bash(go test ./... && go vet)"},
		{PresetAsk, bash("git push --force"), "--allow 'bash(git push --force)'", "bash(git push --force)"},
		{PresetAsk, bash(`ls \*  *`), `--allow 'bash(ls \\*  \*)'`, `bash(ls \\*  \*)`},
		{PresetReadOnly, bash("make"), "--permission ask --allow 'bash(make)'", "bash(make)"},
		{PresetAsk, bash("~/bin/x"), "", ""},
		{PresetAsk, bash("a\x1bb"), "", ""},
		{PresetAsk, bash(""), "", ""},
		{PresetAsk, edit(ws + "/~/x"), "--permission workspace", "edit(./~/x)"},
		{PresetAsk, Action{Tool: "web_fetch", Class: Net, Target: "https://a.example/?q=*"}, `--allow 'web_fetch(https://a.example/?q=\*)'`, `web_fetch(https://a.example/?q=\*)`},
		{PresetAsk, Action{Tool: "x", Class: "y"}, "--allow 'x'", "x"},
		{PresetAsk, read("/proc/123/environ"), "", ""}, // another process has the number next time
		{PresetWorkspace, edit("/proc/123/oom_score_adj"), "", ""},
	} {
		r := Rules{Preset: c.preset, Workspace: ws}
		d := Decide(r, c.a)
		if d.Flag != c.flag || d.Offer != c.offer {
			t.Errorf("%v: flag %q, offer %q", c.a, d.Flag, d.Offer)
		}
		if d.Offer == "" {
			continue
		}
		rule, err := ParseRule(d.Offer, session.Allow, "")
		if err != nil {
			t.Fatal(err)
		}
		r.Rules = []Rule{rule}
		if r.Preset == PresetReadOnly {
			r.Preset = PresetAsk
		}
		if d := Decide(r, c.a); d.Verdict != session.Allow {
			t.Errorf("%v: what was offered does not allow it: %+v", c.a, d)
		}
	}
}
