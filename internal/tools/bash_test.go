package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"dsh/internal/jobs"
	"dsh/internal/sandbox"
	"dsh/internal/session"
)

// newShell is a bench whose registry has bash, over real processes.
func newShell(t *testing.T, env ...string) *bench {
	t.Helper()
	b := newBench(t)
	o := BashOptions{Jobs: newTable(t, b.path("out")), Root: b.dir, Dir: b.path("out")}
	o.Env = jobs.Environ(append(os.Environ(), env...), "DSH_SESSION_ID=id-1", "DSH_SESSION_JSONL="+b.path("session.jsonl"))
	b.reg = shellTools(t, o)
	return b
}

func shellTools(t *testing.T, o BashOptions) *Registry {
	t.Helper()
	reg, err := New(Bash(o), Read())
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func newTable(t *testing.T, out string) *jobs.Table {
	t.Helper()
	launcher := &sandbox.Launcher{}
	table := jobs.New(jobs.Options{Starter: launcher, Artifacts: jobs.NewArtifacts(out, 0, 0)})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := table.Close(ctx); err != nil {
			t.Error(err)
		}
		launcher.Close()
	})
	return table
}

// run is a command through the whole pipeline; pairs are further arguments.
func (b *bench) run(command string, pairs ...any) Result {
	b.t.Helper()
	return b.call("bash", append([]any{"command", command, "description", "Do something"}, pairs...)...)
}

// yields runs a command that has to give exactly this text.
func (b *bench) yields(want, command string, pairs ...any) Result {
	b.t.Helper()
	r := b.run(command, pairs...)
	if r.IsError || r.Text != want {
		b.t.Errorf("%s\n got %q (%s)\nwant %q", clip(command), clip(r.Text), r.Code, clip(want))
	}
	return r
}

func TestBashText(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	for _, c := range []struct{ id, command, want string }{
		{"BSH01 output as it is", "echo hi", "hi\n"},
		{"BSH02 no output", "true", "(no output)"},
		{"BSH02 no output but a failure", "exit 1", "(no output)\n[exit code: 1]"},
		{"BSH03 stderr is in its place", "echo a; echo b >&2; echo c", "a\nb\nc\n"},
		{"BSH03 stderr only", "echo b >&2", "b\n"},
		{"BSH05 a failure is no error result", "echo a; exit 3", "a\n[exit code: 3]"},
		{"BSH05 no newline before the marker", "printf a; exit 3", "a\n[exit code: 3]"},
		{"BSH06 a signal", "echo a; kill -9 $$", "a\n[killed by signal: SIGKILL]"},
		{"BSH17 stdin is at its end", "cat; read x; echo $?", "1\n"},
		{"D10 not a login shell", "shopt -q login_shell; echo $?; echo $-", "1\nhBc\n"},
	} {
		t.Run(c.id, func(t *testing.T) { b.yields(c.want, c.command) })
	}
}

func TestBSH07TimeoutIsToldBeforeTheKill(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	r := b.yields("a\n[timed out after 200ms]\n[killed by signal: SIGTERM]", "echo a; sleep 100; echo b", "timeoutMs", 200)
	if d := r.Meta.Display; !d.Command.TimedOut || d.Facts[0] != "timed out" {
		t.Errorf("%+v", d)
	}
}

func TestBSH08TrappedTimeoutIsStillTold(t *testing.T) {
	t.Parallel()
	newShell(t).yields("bye\n[timed out after 300ms]", "trap 'echo bye; exit 0' TERM; while :; do :; done", "timeoutMs", 300)
}

func TestBSH09TermIsFollowedByKill(t *testing.T) {
	t.Parallel()
	begun := time.Now()
	newShell(t).yields("(no output)\n[timed out after 100ms]\n[killed by signal: SIGKILL]", "trap '' TERM; while :; do sleep 1; done", "timeoutMs", 100)
	if took := time.Since(begun); took < sandbox.DefaultGrace {
		t.Errorf("killed after %s: there was no grace", took)
	}
}

func TestBSH11TimeoutIsCapped(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]time.Duration{"": defaultTimeout, "5": 5 * time.Millisecond, "600000": maxTimeout, "600001": maxTimeout, "1e300": maxTimeout} {
		var a bashArgs
		if given != "" {
			v, _ := strconv.ParseFloat(given, 64)
			a.TimeoutMs = &v
		}
		if got := a.timeout(); got != want {
			t.Errorf("timeoutMs %q: %s, want %s", given, got, want)
		}
	}
}

func TestBashArguments(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	for _, c := range []struct {
		id, says string
		pairs    []any
	}{
		{"BSH12 timeout of nothing", "timeoutMs", []any{"command", "touch x", "description", "d", "timeoutMs", 0}},
		{"BSH12 negative timeout", "timeoutMs", []any{"command", "touch x", "description", "d", "timeoutMs", -5}},
		{"BSH13 blank command", "command is blank", []any{"command", " \n", "description", "d"}},
		{"BSH13 blank description", "description is blank", []any{"command", "touch x", "description", " "}},
		{"BSH13 no description", "description", []any{"command", "touch x"}},
		{"BSH37 forced background", "run_in_background", []any{"command", "touch x", "description", "d", "run_in_background", true}},
		{"BSH37 odd background", "run_in_background", []any{"command", "touch x", "description", "d", "run_in_background", "yes"}},
		{"D05 NUL", "NUL", []any{"command", "touch x\x00", "description", "d"}},
	} {
		t.Run(c.id, func(t *testing.T) { wantText(t, b.fails(InvalidArgs, "bash", c.pairs...).Text, c.says) })
	}
	if strings.Contains(string(bashSchema), "background") {
		t.Error("BSH37: the parameter is offered")
	}
	b.yields("(no output)", "true", "run_in_background", false)
	b.only()
}

func TestBSH14LongOutputHasBothEndsAndAFile(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	r := b.run("seq -w 1 40000; exit 3") // 240,000 bytes
	c := r.Meta.Display.Command
	wantText(t, r.Text, "00001\n00002\n", "39999\n40000\n[output truncated; full output: "+c.Artifact+"]\n[exit code: 3]", "bytes omitted")
	if len(r.Text) > 31<<10 || !c.Truncated {
		t.Errorf("%d bytes, %+v", len(r.Text), c)
	}
	info, err := os.Stat(c.Artifact)
	if err != nil || info.Size() != 240000 || info.Mode().Perm() != 0o600 || filepath.Dir(c.Artifact) != b.path("out") {
		t.Errorf("artifact %s: %v, %v", c.Artifact, info, err)
	}
}

func TestBSH14LostArtifactIsSaid(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	b.put("out", "a file where the directory would be")
	wantText(t, b.run("seq 1 40000").Text, "40000\n[output truncated; full output: (unavailable: ")
}

func TestBSH15CutsAreBetweenCharacters(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	for _, pad := range []string{"", "x", "xx"} {
		r := b.run("printf '" + pad + "'; yes é☃ | head -n 20000 | tr -d '\\n'; printf '" + pad + "'")
		if !utf8.ValidString(r.Text) || strings.ContainsRune(r.Text, utf8.RuneError) || !r.Meta.Display.Command.Truncated {
			t.Errorf("pad %q: %q", pad, clip(r.Text))
		}
	}
}

func TestBashEnvironment(t *testing.T) {
	t.Parallel()
	b := newShell(t, "API_KEY=k1", "MY_TOKEN=k2", "DB_PASSWORD=k3", "CLIENT_SECRET=k4", "my_api_key=k5", "DSH_SECRETLESS=k6", "DSH_HOME=k7", "OTHER=kept")
	for _, c := range []struct{ id, command, want string }{
		{"BSH18 secrets are unset", "env | grep -c 'k[1-5]$'; echo $OTHER", "0\nkept\n"},
		{"BSH19 plain text", "echo $NO_COLOR $TERM $PAGER $GIT_PAGER $DSH_SHELL $DSH_SESSION_ID", "1 dumb cat cat 1 id-1\n"},
		{"BSH20 the log is named before it is there", "test -e $DSH_SESSION_JSONL || basename $DSH_SESSION_JSONL", "session.jsonl\n"},
		{"BSH21 dsh's own are not inherited", "env | grep -c 'k[67]$'", "0\n[exit code: 1]"},
	} {
		t.Run(c.id, func(t *testing.T) { b.yields(c.want, c.command) })
	}
}

func TestBashDirectory(t *testing.T) {
	t.Parallel()
	b, other := newShell(t), newShell(t)
	sub := filepath.Dir(b.put("sub/a.txt", ""))
	b.yields(b.dir+"\n", "pwd")
	t.Run("BSH23 absolute", func(t *testing.T) { b.yields(sub+"\n", "pwd", "workdir", sub) })
	t.Run("BSH24 relative", func(t *testing.T) { b.yields(sub+"\n", "pwd", "workdir", "sub/../sub") })
	t.Run("BSH25 each session in its own", func(t *testing.T) { other.yields(other.dir+"\n", "pwd") })
	t.Run("BSH26 missing", func(t *testing.T) {
		wantText(t, b.fails(FSNotFound, "bash", "command", "touch x", "description", "d", "workdir", "none").Text, b.path("none"))
		b.fails(FSNotDirectory, "bash", "command", "touch x", "description", "d", "workdir", "sub/a.txt")
	})
	t.Run("BSH47 no session directory", func(t *testing.T) {
		call, _ := b.reg.Prepare("bash", args("command", "pwd", "description", "d"))
		if r := call.Run(t.Context(), Env{}); r.Text != b.dir+"\n" {
			t.Errorf("%q", r.Text)
		}
	})
	b.only("sub")
}

func TestD08LostDirectoryIsReplacedAndToldOnce(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	root := b.dir
	b.dir = filepath.Dir(b.put("work/a", ""))
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	b.yields(root+"\n[the working directory "+b.dir+" is gone: this ran in "+root+"]\n[exit code: 3]", "pwd; exit 3")
	b.yields(root+"\n", "pwd")
	b.yields("/\n", "pwd", "workdir", "/")
	b.put("a", "")
	b.yields(b.dir+"\n", "pwd") // it is there again
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.run("pwd").Text, "is gone")
	// Named by the model, it is not replaced.
	wantText(t, b.fails(FSNotFound, "bash", "command", "pwd", "description", "d", "workdir", b.dir).Text, b.dir)
}

func TestD08NothingLeftToRunIn(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	if err := os.RemoveAll(b.dir); err != nil {
		t.Fatal(err)
	}
	wantText(t, b.fails(FSNotFound, "bash", "command", "pwd", "description", "d").Text, "cannot run in directory "+b.dir)
	b.yields("/\n", "pwd", "workdir", "/")
}

func TestBSH27AbortEndsTheCommandAndKeepsItsOutput(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	call, bad := b.reg.Prepare("bash", args("command", "echo $$ > pid; echo so far; touch begun; sleep 1000 & wait", "description", "d"))
	if bad != nil {
		t.Fatal(bad.Text)
	}
	go func() {
		defer cancel()
		awaitFile(b.path("begun"))
	}()
	r := call.Run(ctx, b.env())
	if !r.IsError || r.Code != Aborted || !strings.HasSuffix(r.Text, "\nso far\n[killed by signal: SIGTERM]") {
		t.Errorf("%s: %q", r.Code, r.Text)
	}
	pid, _ := os.ReadFile(b.path("pid"))
	n, err := strconv.Atoi(strings.TrimSpace(string(pid)))
	if err != nil || syscall.Kill(-n, 0) != syscall.ESRCH {
		t.Errorf("the group of %q is alive (%v)", pid, err)
	}
	if d := b.reg.Present("bash", string(call.args), logged(r)); d.Facts[0] != "stopped" || !strings.Contains(d.Text, "so far") {
		t.Errorf("%+v", d)
	}
}

func TestBSH35AbortedCallStartsNothing(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	call, _ := b.reg.Prepare("bash", args("command", "touch x", "description", "d"))
	if r := call.Run(ctx, b.env()); r.Code != Aborted {
		t.Errorf("%+v", r)
	}
	b.only()
}

// awaitFile returns when a file is there, or after a while.
func awaitFile(path string) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for range 2000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		<-tick.C
	}
}

func TestD01BackgroundDoesNotHoldTheCall(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	for _, c := range []struct{ command, want string }{
		{"sleep 1000 & echo done", "done\n[ended 1 process that it left running]"},
		{"setsid sleep 1000 & echo x", "x\n[ended 1 process that it left running]"},
		{"nohup sh -c 'sleep 1000; true' >/dev/null 2>&1 & disown; echo y", "y\n[ended 2 processes that it left running]"},
		{"sleep 1000 & exit 4", "(no output)\n[ended 1 process that it left running]\n[exit code: 4]"},
	} {
		begun := time.Now()
		r := b.run(c.command)
		// What has not been forked yet when the shell ends is not counted.
		if got := strings.ReplaceAll(r.Text, "ended 1 process ", "ended 2 processes "); r.IsError || got != strings.ReplaceAll(c.want, "ended 1 process ", "ended 2 processes ") {
			t.Errorf("%s: %q, want %q", c.command, r.Text, c.want)
		}
		if took := time.Since(begun); took > 30*time.Second {
			t.Errorf("%s took %s", c.command, took)
		}
	}
	r := b.run("(while :; do echo tick; sleep 0.02; done) & sleep 0.2; echo fg")
	wantText(t, r.Text, "tick\n", "fg\n", "[ended ")
}

// It counts what the process holds, so it is not parallel.
func TestD01HundredCommandsLeaveNothingBehind(t *testing.T) {
	b := newShell(t)
	b.run("sleep 1000 & echo x") // what is made once is there
	holds := func() (files, goroutines int) {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list), runtime.NumGoroutine()
	}
	filesBefore, before := holds()
	for range 100 {
		wantText(t, b.run("sleep 1000 & echo x").Text, "x\n")
	}
	// The last goroutines end just after their command's result is there.
	for tries := 0; ; tries++ {
		files, after := holds()
		if files <= filesBefore && after <= before {
			return
		}
		if tries == 500 {
			t.Fatalf("%d files, then %d; %d goroutines, then %d", filesBefore, files, before, after)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestD02NothingWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := newShell(t, "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	for _, c := range []struct{ command, says string }{
		{"cat", "(no output)"},
		{"read x; echo got $?", "got 1\n"},
		{"bash -c 'read x </dev/tty'; echo $?", "1\n"},
		{"git init -q . && git config user.email a@b && git config user.name c && touch f && git add f && git commit", "[exit code: 1]"},
		{"git commit -qm one && touch g && git add g && git commit -qm two && git rebase -i HEAD~1", "[exit code: 1]"},
		{"git clone -q https://127.0.0.1:1/x", "[exit code: 128]"},
		{"$EDITOR f", "[exit code: 1]"},
		{"tty", "not a tty"},
	} {
		if r := b.run(c.command, "timeoutMs", 30000); r.IsError || !strings.Contains(r.Text, c.says) || strings.Contains(r.Text, "timed out") {
			t.Errorf("%s: %q, want %q", c.command, r.Text, c.says)
		}
	}
}

func TestD04OutputIsBounded(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	r := b.run("yes", "timeoutMs", 500)
	wantText(t, r.Text, "y\ny\n", "bytes omitted", "[timed out after 500ms]")
	if len(r.Text) > 32<<10 {
		t.Errorf("%d bytes of text", len(r.Text))
	}
	r = b.run("head -c 70000000 /dev/zero | tr '\\0' a")
	wantText(t, r.Text, "aaa", "(its beginning only: it was too long to keep)]")
	if info, err := os.Stat(r.Meta.Display.Command.Artifact); err != nil || info.Size() != jobs.DefaultCap {
		t.Errorf("the artifact: %v, %v", info, err)
	}
}

func TestD05AnyByteMakesAValidResult(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	b.yields("a\u2400b\u2401\ufffd\u00e9(\n", `printf 'a\x00b\x01\xff\xfe\xc3\xa9(\n'`)
	for _, command := range []string{`printf 'a\x00b\x01\xff\xfe\xc3(\n'`, "head -c 4096 /bin/ls", `printf '\xed\xa0\x80'`, "head -c 100000 /bin/ls"} {
		r := b.run(command)
		if !utf8.ValidString(r.Text) || strings.ContainsAny(r.Text, "\x00\x01\x1b\r") || len(r.Text) == 0 {
			t.Errorf("%s: %q", command, clip(r.Text))
		}
	}
}

func TestD10RcFilesAreNotRead(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	for _, name := range []string{".bashrc", ".bash_profile", ".profile", "env"} {
		if err := os.WriteFile(filepath.Join(home, name), []byte("echo RCNOISE; alias ls='rm -i'; exit 7\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := newShell(t, "HOME="+home, "BASH_ENV="+home+"/env", "ENV="+home+"/env", "SHELL=/nonexistent", "PROMPT_COMMAND=echo RCNOISE",
		"SHELLOPTS=nounset:noexec", "BASHOPTS=extdebug", "BASH_FUNC_ls%%=() { echo RCNOISE; }")
	b.yields("ok\n", "ls /dev/null >/dev/null; echo $unset ok")
}

// It changes the process's PATH, so it is not parallel.
func TestD10MissingBashIsSaid(t *testing.T) {
	b := newShell(t)
	dir := t.TempDir()
	if err := os.Symlink("/bin/sh", filepath.Join(dir, "sh")); err != nil {
		t.Fatal(err)
	}
	b.reg = shellTools(t, BashOptions{Jobs: newTable(t, b.path("out")), Root: b.dir, Env: jobs.Environ(nil, "PATH="+dir)})
	wantText(t, b.fails(SpawnFailed, "bash", "command", "touch x", "description", "d").Text, "bash", "no other shell")
	b.only()
}

func TestD11CommandsArriveUnchanged(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	for i, command := range []string{
		"cat <<'EOF'\nprint(\"it's $HOME `x`\")\nEOF", "cat <<A <<B\na\nA\nb\nB", "cat <<EOF\nno end", "echo a # c", `echo a \`, `echo a \\`, `echo "unterminated`,
		"exit 3", "set -e; false; echo no", "trap 'echo bye' EXIT", "trap 'echo bye' EXIT; exit 4", "-x", "--version", "echo a\r\necho b\r\n", "echo a\n\n", "  echo a", "echo $0 $#", "nosuchprogram",
		"echo 'a\nb'\\''c'", "(exit 5)", "false | true", "echo a &&", "f() { return 6; }; f", "exec 2>&1; echo e >&2", "kill -TERM $$",
	} {
		direct := exec.Command("bash", "--noprofile", "--norc", "-c", "--", command)
		direct.Dir, direct.Env = b.dir, jobs.Environ(os.Environ())
		out, _ := direct.CombinedOutput()
		want := jobs.Text(out)
		status := direct.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case status.Signaled():
			want = noEmpty(want) + "[killed by signal: SIGTERM]"
		case status.ExitStatus() != 0:
			want = noEmpty(want) + fmt.Sprintf("[exit code: %d]", status.ExitStatus())
		case want == "":
			want = noOutput
		}
		t.Run(fmt.Sprint("D11 ", i), func(t *testing.T) { b.yields(want, command) })
	}
}

func noEmpty(text string) string {
	if text == "" {
		text = noOutput
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}

func TestD11LongCommands(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	for _, n := range []int{maxArgument - 100, 131072, 200 << 10, 3 << 20} {
		command := "x='" + strings.Repeat("a", n) + "'; echo ${#x} $#; cat; exit 3 # é"
		b.yields(fmt.Sprintf("%d 0\n[exit code: 3]", n), command)
	}
	if left, _ := os.ReadDir(b.path("out")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestBSH42CardHasTheOutputWithoutTheMarker(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	raw := args("command", "echo a; exit 3", "description", "Fail at once", "workdir", ".")
	pending := b.reg.Present("bash", raw, nil)
	if pending.Kind != session.ShowCommand || pending.Verb != "Run" || pending.Target != "echo a; exit 3" || pending.Command.Description != "Fail at once" || pending.Command.Dir != "." {
		t.Errorf("pending: %+v", pending)
	}
	d := b.reg.Present("bash", raw, logged(b.run("echo a; exit 3", "workdir", ".")))
	if d.Text != "a\n" || d.Facts[0] != "exit 3" || d.Command.ExitCode != 3 || d.Target != "echo a; exit 3" {
		t.Errorf("ended: %+v, %+v", d, d.Command)
	}
	d = b.reg.Present("bash", raw, logged(b.run("true")))
	if d.Text != "" || fmt.Sprint(d.Facts) != "[no output]" {
		t.Errorf("silent: %+v", d)
	}
	foreign := logged(Result{Text: "a\n[timed out after 5ms]\n[killed by signal: SIGTERM]"})
	foreign.Meta = json.RawMessage(`{"exitCode":1}`)
	if d = b.reg.Present("bash", raw, foreign); d.Text != "a\n[timed out after 5ms]\n" || d.Command.Signal != "SIGTERM" || d.Facts[0] != "killed by SIGTERM" {
		t.Errorf("foreign: %+v, %+v", d, d.Command)
	}
}

func TestBSH43OtherMarkersStayInTheBody(t *testing.T) {
	t.Parallel()
	foreign := logged(Result{Text: "a\n[timed out after 5ms]"})
	foreign.Meta = nil
	b := newShell(t)
	raw := args("command", "sleep 9", "description", "Sleep")
	if d := b.reg.Present("bash", raw, foreign); d.Text != "a\n[timed out after 5ms]" || len(d.Facts) != 0 {
		t.Errorf("foreign: %+v", d)
	}
	d := b.reg.Present("bash", raw, logged(b.run("echo a; sleep 9", "timeoutMs", 100)))
	if d.Text != "a\n[timed out after 100ms]\n" || d.Facts[0] != "timed out" || !d.Command.TimedOut {
		t.Errorf("%+v", d)
	}
}

func TestBSH44OutputThatLooksLikeAMarkerIsNone(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	for _, line := range []string{"[exit code: 3]", "[killed by signal: SIGKILL]", "[exit code: 0]"} {
		r := b.run("echo '" + line + "'")
		d := b.reg.Present("bash", args("command", "x", "description", "d"), logged(r))
		if d.Text != line+"\n" || len(d.Facts) != 0 || d.Command.ExitCode != 0 || d.Command.Signal != "" {
			t.Errorf("%s: %+v, %+v", line, d, d.Command)
		}
	}
}

func TestBSH48ModelIsToldToLookAtTheMarker(t *testing.T) {
	t.Parallel()
	wantText(t, (&bashTool{}).Description(), "Look at the last line", "[exit code: N]")
}

func TestOnlyCommandsThatReadOverlap(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	for command, want := range map[string]bool{"ls -l": true, "git status": true, "make": false, "ls > x": false, "": false, "git branch x": false} {
		if got := b.reg.Concurrent("bash", args("command", command, "description", "d")); got != want {
			t.Errorf("%q: %v", command, got)
		}
	}
}

func TestReadsDoNotTouchTheRepository(t *testing.T) {
	t.Parallel()
	b := newShell(t, "HOME="+t.TempDir(), "GIT_CONFIG_NOSYSTEM=1")
	b.run("git init -q . && git config user.email a@b && git config user.name c && git config core.fsmonitor 'touch monitor;false' && echo a > f && git -c core.fsmonitor=false add f && git -c core.fsmonitor=false commit -qm one && touch -d 2001-01-01 f")
	before, err := os.ReadFile(b.path(".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	b.yields("(no output)", "git status --short")
	after, _ := os.ReadFile(b.path(".git/index"))
	if string(before) != string(after) {
		t.Error("git status wrote the index")
	}
	b.only(".git", "f")
	// A tracked folder must not be taken for a repository with settings of its own.
	b.run("git init -q --bare sub && git -C sub config core.bare true")
	if r := b.run("git status", "workdir", "sub"); !strings.Contains(r.Text, "safe.bareRepository") {
		t.Errorf("a bare repository inside the project: %q", r.Text)
	}
}

func TestActionNamesTheDirectory(t *testing.T) {
	t.Parallel()
	b := newShell(t)
	b.put("sub/a", "")
	if err := os.Symlink(b.path("sub"), b.path("link")); err != nil {
		t.Fatal(err)
	}
	call, _ := b.reg.Prepare("bash", args("command", "pwd", "description", "d", "workdir", "link"))
	a, bad := call.Action(b.env())
	if bad != nil || a.Command != "pwd" || a.Target != "pwd" || len(a.Paths) != 1 || a.Paths[0] != b.path("sub") {
		t.Fatalf("%+v, %v", a, bad)
	}
	if err := os.Remove(b.path("link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/", b.path("link")); err != nil {
		t.Fatal(err)
	}
	if r := call.Run(t.Context(), b.env()); !r.IsError {
		t.Errorf("it ran elsewhere than was judged: %q", r.Text)
	}
}

// TestBSH45AJobHasACardOfItsOwn: nothing of it has ended yet.
func TestBSH45AJobHasACardOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	table := newTable(t, b.path("out"))
	b.reg = shellTools(t, BashOptions{Jobs: table, Root: b.dir, Dir: b.path("out"), Env: jobs.Environ(os.Environ()), Background: true})
	registry := jobs.NewRegistry(jobs.RegistryOptions{Hooks: jobs.Hooks{
		Started: func(session.JobStarted) error { return nil },
		Settled: func(*jobs.Job, session.JobSettled) {},
		Known:   func(string) {},
	}})
	call, bad := b.reg.Prepare("bash", args("command", "exit 3", "description", "Fail", "run_in_background", true))
	if bad != nil {
		t.Fatal(bad.Text)
	}
	env := b.env()
	env.Jobs = registry
	if _, bad := call.Action(env); bad != nil {
		t.Fatal(bad.Text)
	}
	r := call.Run(t.Context(), env)
	if err := registry.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if r.IsError || r.Text != "started background job bash-1" {
		t.Errorf("%+v", r)
	}
	d := b.reg.Present("bash", args("command", "exit 3", "description", "Fail", "run_in_background", true), logged(r))
	if d.Kind != session.ShowJob || d.Target != "exit 3" || strings.Join(d.Facts, " ") != "started bash-1 in the background" || d.Text != "" || d.Command != nil {
		t.Errorf("%+v", d)
	}
}
