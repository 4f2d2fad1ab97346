package policy

import (
	"strings"
	"testing"

	"dsh/internal/session"
)

func TestParseRule(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"bash", "*", "bash(go test:*)", "edit(docs/*)", `bash(ls \*.go)`, "bash(echo (a) b)", "mcp__x-y(a)", "web_fetch"} {
		r, err := ParseRule(" "+s+" ", session.Deny, "here")
		if err != nil || r.String() != s || r.Verdict != session.Deny || r.Origin != "here" {
			t.Errorf("%s: %+v, %v", s, r, err)
		}
	}
	for s, says := range map[string]string{
		"": "begin with a tool", "(x)": "begin with a tool", "go test": "begin with a tool", "b;c(x)": "begin with a tool",
		"bash(go": "closing", "bash(go) x": "closing", "bash()": "empty", "bash( )": "empty", "bash(:*)": "empty",
		"edit(**/.env)": "at its end", "read(*.pem)": "at its end", "read(~/.ssh/*)": "full path", "read(~)": "full path",
	} {
		if r, err := ParseRule(s, session.Allow, ""); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %+v, %v; want an error that says %q", s, r, err, says)
		}
	}
}

// A rule for a tool that is nowhere would do nothing, and nobody would notice.
func TestRulesNameToolsThatExist(t *testing.T) {
	t.Parallel()
	check := func(text string) error {
		r, err := ParseRule(text, session.Deny, "")
		if err != nil {
			t.Fatal(err)
		}
		return r.CheckTool()
	}
	for _, s := range []string{"*", "bash(make)", "write(a)", "web_fetch", "mcp__files__put(x)", "exit_plan_mode"} {
		if err := check(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for s, says := range map[string]string{
		"Write(x)": "did you mean write?", "wirte(x)": "did you mean write?", "webfetch": "did you mean web_fetch?", "Bash": "did you mean bash?",
		"job-kill": "did you mean job_kill?", "exec": "the tools are ask_user_question, bash, edit, ", "mcp__": "the tools are ", "MCP__a__b": "the tools are ",
	} {
		if err := check(s); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), s) {
			t.Errorf("%s: %v; want an error that says %q", s, err, says)
		}
	}
}

func TestPathPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		allow, deny   bool
	}{
		{"src/*", ws + "/src/a", true, true},
		{"./src/*", ws + "/src/a/b", true, true},
		{"src/", ws + "/src/a", true, true},
		{"src/*", ws + "/src", false, true},
		{"src/*", ws + "/srcx", false, false},
		{"src/*", "/src/a", false, false},
		{"src/*", ws + "/src/../.profile", false, false},
		{"src*", ws + "/srcx/a", true, true},
		{"src", ws + "/src", true, true},
		{"src", ws + "/src/a", false, true},
		{"src", ws + "/sub/SRC/a", false, true},
		{"sub/a", ws + "/sub/A", false, true},
		{"*", ws + "/a", true, true},
		{"*", ws + "-evil/a", false, false},
		{"*", "/etc/passwd", false, false},
		{"/a/b*", "/a/bc/d", true, true},
		{"/a/b/../c", "/a/c", true, true},
		{"../twin/*", "/home/u/twin/a", true, true},
		{"../*", ws + "/a", true, true},
		{`a\*`, ws + "/a*", true, true},
		{`a\*`, ws + "/ab", false, false},
		{"/", "/x", true, true},
	} {
		if d := Decide(rules(t, PresetAsk, "allow edit("+c.pattern+")"), edit(c.path)); (d.Verdict == session.Allow) != c.allow {
			t.Errorf("allow edit(%s), %s: %+v", c.pattern, c.path, d)
		}
		if d := Decide(rules(t, PresetFull, "deny edit("+c.pattern+")"), edit(c.path)); (d.Verdict == session.Deny) != c.deny {
			t.Errorf("deny edit(%s), %s: %+v", c.pattern, c.path, d)
		}
	}
	both := Action{Tool: "edit", Class: Write, Paths: []string{ws + "/a", ws + "/b"}}
	if d := Decide(rules(t, PresetAsk, "allow edit(a)"), both); d.Verdict != session.Ask {
		t.Errorf("one of two paths is allowed: %+v", d)
	}
	if d := Decide(rules(t, PresetAsk, "allow edit(a)", "allow edit(b)"), both); d.Verdict != session.Allow {
		t.Errorf("both paths are allowed: %+v", d)
	}
	if d := Decide(rules(t, PresetFull, "deny edit(b)"), both); d.Verdict != session.Deny {
		t.Errorf("one of two paths is denied: %+v", d)
	}
}

// Who protects a path from write means the path, whichever tool changes it; who
// allows edit there has said nothing of write.
func TestPathRulesOfWriteAndEditRestrictBoth(t *testing.T) {
	t.Parallel()
	write := func(p string) Action { return Action{Tool: "write", Class: Write, Paths: []string{p}, Target: p} }
	other := Action{Tool: "mcp__fs__put", Class: Write, Paths: []string{ws + "/migrations/1.sql"}}
	for _, tool := range []string{"write", "edit"} {
		for _, v := range []session.Verdict{session.Deny, session.Ask} {
			r := rules(t, PresetFull, string(v)+" "+tool+"(migrations/*)")
			for _, a := range []Action{write(ws + "/migrations/1.sql"), edit(ws + "/migrations/1.sql"), other} {
				if d := Decide(r, a); d.Verdict != v {
					t.Errorf("%s %s(migrations/*), %s: %+v", v, tool, a.Tool, d)
				}
			}
			for _, a := range []Action{write(ws + "/src/1.sql"), read(ws + "/migrations/1.sql")} {
				if d := Decide(r, a); d.Verdict != session.Allow {
					t.Errorf("%s %s(migrations/*), %s: %+v", v, tool, a.Tool, d)
				}
			}
		}
	}
	if d := Decide(rules(t, PresetFull, "deny write"), edit(ws+"/a")); d.Verdict != session.Allow {
		t.Errorf("a rule without a path is about its tool: %+v", d)
	}
	if d := Decide(rules(t, PresetFull, "deny read(a)"), edit(ws+"/a")); d.Verdict != session.Allow {
		t.Errorf("a rule for reading restricts a change: %+v", d)
	}
	if d := Decide(rules(t, PresetAsk, "allow edit(a)"), write(ws+"/a")); d.Verdict != session.Ask {
		t.Errorf("an allow rule is read widely: %+v", d)
	}
}

// An allow rule must hold for exactly what it says.
func TestE02AllowedCommandsAreNarrow(t *testing.T) {
	t.Parallel()
	allow := []string{"allow bash(go test:*)", "allow bash(git *)", "allow bash(echo:*)", "allow bash(npm --version)", "allow bash(touch src/*)", "allow bash(make && make check)"}
	for _, c := range []string{
		"go test", "  go test  ", "go test ./...", "go test -run 'A|B;$x' ./...", `go test -run "A|B"`,
		"git status", "echo hi", "npm --version", "touch src/a.go", "make && make check",
	} {
		if d := Decide(rules(t, PresetAsk, allow...), bash(c)); d.Verdict != session.Allow {
			t.Errorf("%q should run: %+v", c, d)
		}
	}
	for _, c := range []string{
		"go testx", "go", "go  test", "go\ttest", "/usr/bin/go test", "X=1 go test",
		"go test; rm -rf d", "go test && rm d", "go test || rm d", "go test | sh", "go test & rm d", "go test\nrm d", "go test\r\nrm d",
		"go test > P", "go test < P", "go test >> P", "go test 2>P", "go test <(touch P)", "go test (x)", "go test {a,b}",
		"git status $(touch P)", "git status `touch P`", `echo "$(rm -rf d)"`, `echo "` + "`rm d`" + `"`, "X=`touch P` npm --version",
		"FOO[$(touch P)]=1 npm --version", "npm --version x", "echo $HOME", "echo ${IFS}", "echo 'a' ; rm d", `echo "a" ; rm d`,
		`echo 'a'"'"'; rm d`, `echo \'; rm d`, `echo "a\"; rm d"`, "echo 'unterminated", "echo !x", "echo #", "echo a\x00b", "echo 'a\nb'",
		"echo *", "echo ~root", "echo \u2063; touch P", "echo 'a\u202eb'", "echo \u00a0x",
		"touch src/a /etc/passwd", "touch src/../../etc/passwd", "make && make check; rm d", "make  && make check",
		"env git status", "command git status", "bash -c 'git status'", "eval 'git status'",
	} {
		if d := Decide(rules(t, PresetAsk, allow...), bash(c)); d.Verdict != session.Ask {
			t.Errorf("%q must ask: %+v", c, d)
		}
	}
}

// A deny rule must hold through everything that hides a command.
func TestE02DeniedCommandsAreFound(t *testing.T) {
	t.Parallel()
	r := rules(t, PresetFull, "deny bash(rm:*)", "deny bash(git push:*)", "deny bash(shutdown*)", "deny bash(make clean)")
	for _, c := range []string{
		"rm d", "rm", "/bin/rm d", "  rm d", "ls; rm d", "ls&&rm d", "ls\nrm d", "ls|rm d", "(rm d)", "{ rm d; }", "if true; then rm d; fi",
		"timeout 5 rm d", "env rm d", "X=1 rm d", `\rm d`, "r''m d", `"rm" d`, `r\m d`, "r\\\nm d", "command rm d", "bash -c 'rm d'", `eval "rm d"`, "xargs rm <<< d", "a=rm; $a d",
		"git status $(rm d)", "git status `rm d`", "{rm,d}", "RM d", "find . -exec rm {} +", "ls >x;rm d", "echo | xargs -n1 rm", "x=$(rm d)",
		"git push", "git push --force", "git -C dir push", "git -c a=b push origin", "git --git-dir=x push", "/usr/bin/git push",
		"shutdown", "shutdown-now", "make clean", "cd x && make clean", "make clean; ls", "make clean 2>&1", "make -j4 clean", "timeout 5 make clean >log",
	} {
		if d := Decide(r, bash(c)); d.Verdict != session.Deny {
			t.Errorf("%q must be denied: %+v", c, d)
		}
	}
	for _, c := range []string{`$'\x72m' d`, "r${x}m d", "read a; $a d", "/bin/r? d", "ls; /bin/[r]m d", "$(echo cm0= | base64 -d) d"} {
		if d := Decide(r, bash(c)); d.Verdict != session.Ask {
			t.Errorf("%q cannot be checked and must ask: %+v", c, d)
		}
	}
	for _, c := range []string{"ls", "git status", "git commit -m 'no push'", "git log --grep push", "make cleaner", "make clean all", "rmdir d", "npm run build", "ls *.go"} {
		if d := Decide(r, bash(c)); d.Verdict != session.Allow {
			t.Errorf("%q should run: %+v", c, d)
		}
	}
	if d := Decide(rules(t, PresetFull), bash("a=rm; $a d")); d.Verdict != session.Allow {
		t.Errorf("full without rules: %+v", d)
	}
	exact := rules(t, PresetAsk, "deny bash(rm:*)", "allow bash(echo $HOME)")
	if d := Decide(exact, bash("echo $HOME")); d.Verdict != session.Allow {
		t.Errorf("a person has allowed exactly this: %+v", d)
	}
}

func FuzzStarNeverAllowsASecondCommand(f *testing.F) {
	for _, s := range []string{" ./...", "; rm d", "\nrm", " 'a;b'", ` "a$b"`, "\u2000"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, rest string) {
		if !commandIs("go test"+rest, "go test:*") {
			return
		}
		quote := byte(0)
		for i := 0; i < len(rest); i++ {
			switch c := rest[i]; {
			case quote != 0 && c == quote:
				quote = 0
			case quote == 0 && (c == '\'' || c == '"'):
				quote = c
			case quote == '\'':
			case c == '$' || c == '`' || c == '\\':
				t.Fatalf("%q: expansion", rest)
			case quote == 0 && (c < ' ' || c > '~' || strings.IndexByte(";&|<>(){}*?[]~#!", c) >= 0) && strings.Trim(rest[i:], blanks) != "":
				t.Fatalf("%q: %q outside quotes", rest, c)
			}
		}
		if quote != 0 {
			t.Fatalf("%q: open quote", rest)
		}
	})
}
