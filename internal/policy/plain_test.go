package policy

import (
	"testing"

	"dsh/internal/session"
)

func TestReadsOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []string{
		"ls", " ls -la src \n", "ls --color=never", "pwd", "cat a.go b.go", "cat 'a b' \"c d\"", "head -n 20 a", "tail -5 a", "wc -l a", "stat a", "file -b a",
		"date", "date -u", "date +%F", "date -Iseconds", "whoami", "uname -a", "echo hi", "grep -rn 'a|b; $x' src", "which go", "sort -k2 a", "sort -t, -k 2 a",
		"find . -name '*.go' -type f", "true", "cat dev", "cat dev/a proc/b",
		"git status", "git status --short", "git --no-pager log --oneline -5", "git log -n 3 --format='%h %s' -- a.go", "git diff", "git diff --cached --stat",
		"git diff main..origin/dev", "git show HEAD:a.go", "git branch --show-current", "git branch -vv", "git remote -v", "git ls-files -m", "git rev-parse --short HEAD",
	} {
		if !ReadsOnly(c) {
			t.Errorf("%q only reads", c)
		}
	}
	for _, c := range []string{
		"", " ", "''", "make", "./ls", "/bin/ls", "src/cat a", "LS", "ls; rm d", "ls && rm d", "ls | sh", "ls & rm d", "ls\nrm d", "ls\r", "ls\trm",
		"ls $(x)", "ls `x`", "ls $HOME", "echo \"$(x)\"", "cat a > b", "cat a >> b", "cat <(x)", "cat < a", "cat a 2>b", "ls *", "ls ~", "ls {a,b}", "!ls", "ls # x", "ls \\x",
		"X=1 ls", "PATH=. ls", "LD_PRELOAD=./x ls", "env ls", "command ls", "exec ls", "sudo ls", "xargs ls", "time ls", "bash -c ls", "eval ls", "'ls' 'a", "l's; x'",
		"find . -exec rm {} +", "find . -exec rm a", "find . -delete", "find . -fprint a", "find . -fls a", "find . -ok rm", "find . -execdir x",
		"date -s 12:00", "date --set=12:00", "date 01010000", "date -us 12:00", "date --se=x", "date -f a", "date -d tomorrow",
		"sort -o a b", "sort -oa b", "sort --output=a b", "sort --outp=a b", "sort -no a b", "sort --compress-program=x a", "sort -T d a", "uniq a b", "tee a", "sed -n 1p a",
		"file -C -m x", "file -z a", "file --compile", "hostname x", "tree -o a", "rg --pre x y", "awk x", "env", "printenv", "ps e", "touch a",
		"cat /proc/self/environ", "cat /proc/1/mem", "cat ../../proc/1/environ", "cat //proc/1/environ", "cat a/../../../dev/sda", "cat /dev/sda", "grep -f/proc/1/environ a", "grep --file=/proc/1/environ a",
		"git", "git -c core.pager=x log", "git -c diff.external=x diff", "git -C d status", "git --exec-path=d status", "git --git-dir=d status", "git -p log", "git --paginate log",
		"git diff --ext-diff", "git diff --ext-dif", "git show --textconv", "git diff --output=a", "git diff --outpu=a", "git diff -o a", "git log --output a", "git log --show-signature", "git log --format=%G?", "git log '--pretty=a %GK'",
		"git branch x", "git branch -D x", "git branch -m x", "git branch --edit-description", "git branch --list x", "git remote add a b", "git remote -v update",
		"git commit", "git push", "git checkout x", "git stash", "git config a b", "git grep -O x", "git status; x", "git st", "git --no-pager", "git log --no-pager -c x", "git ls-files --recurse-submodules",
	} {
		if ReadsOnly(c) {
			t.Errorf("%q is not plainly harmless", c)
		}
	}
}

func TestDenyAndAskRulesBeatReading(t *testing.T) {
	t.Parallel()
	for _, p := range Presets() {
		if d := Decide(rules(t, p, "deny bash(git log:*)"), bash("git log")); d.Verdict != session.Deny || d.Effect != session.EffectRead {
			t.Errorf("%s: %+v", p, d)
		}
		if d := Decide(rules(t, p, "ask bash(ls:*)"), bash("ls -l")); d.Verdict != session.Ask {
			t.Errorf("%s: %+v", p, d)
		}
	}
}

// Who allows a command in the workspace has not allowed it where others decide what
// it does.
func TestCommandPatternsHoldInTheWorkspaceOnly(t *testing.T) {
	t.Parallel()
	at := func(dir string) Action {
		a := bash("go test ./...")
		a.Paths = []string{dir}
		return a
	}
	r := rules(t, PresetAsk, "allow bash(go test:*)")
	if d := Decide(r, at(ws+"/sub")); d.Verdict != session.Allow {
		t.Errorf("inside: %+v", d)
	}
	if d := Decide(r, at("/tmp/x")); d.Verdict != session.Ask || d.Offer != "" {
		t.Errorf("outside: %+v", d)
	}
	if d := Decide(rules(t, PresetAsk, "allow bash"), at("/tmp/x")); d.Verdict != session.Allow {
		t.Errorf("outside, all commands allowed: %+v", d)
	}
}
