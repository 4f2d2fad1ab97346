package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestBSH05TheExitCodeIsReported(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	for code := 0; code < 256; code += 5 { // 0 and 255 included
		_, exit := finish(t, start(t, l, Spec{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("exit %d", code)}}))
		if exit.Code != code || exit.Signal != 0 {
			t.Errorf("exit %d: %+v", code, exit)
		}
	}
}

func TestBSH06EverySignalIsReported(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP,
		syscall.SIGSEGV, syscall.SIGABRT, syscall.SIGPIPE, syscall.SIGUSR1, syscall.SIGQUIT} {
		_, exit := finish(t, start(t, l, Spec{Argv: []string{"/bin/sh", "-c", fmt.Sprintf("kill -%d $$", int(sig))}}))
		if exit.Code != -1 || exit.Signal != sig {
			t.Errorf("%v: %+v", sig, exit)
		}
	}
}

// TestBSH17StdinIsEmpty and no terminal can be opened: nothing waits for a person.
func TestBSH17StdinIsEmpty(t *testing.T) {
	t.Parallel()
	out, exit := run(t, `cat; read x || echo eof; (: </dev/tty) 2>/dev/null || echo no tty; readlink /proc/self/fd/0`)
	if out != "eof\nno tty\n/dev/null\n" || exit.Code != 0 {
		t.Errorf("%q, %+v", out, exit)
	}
}

func TestD02ACommandHasASessionOfItsOwn(t *testing.T) {
	t.Parallel()
	out, _ := run(t, `cut -d' ' -f5,6,7 /proc/$$/stat; echo $$ $PPID`)
	var group, session, tty, pid, parent int
	if _, err := fmt.Sscan(out, &group, &session, &tty, &pid, &parent); err != nil {
		t.Fatalf("%v: %q", err, out)
	}
	if group != pid || session != parent || tty != 0 {
		t.Errorf("group %d of %d, session %d of %d, terminal %d", group, pid, session, parent, tty)
	}
}

func TestACommandIsLimitedNotItsLauncher(t *testing.T) {
	t.Parallel()
	mine, err := os.ReadFile("/proc/self/oom_score_adj")
	if err != nil {
		t.Fatal(err)
	}
	out, _ := run(t, `ulimit -c; cat /proc/self/oom_score_adj; cat /proc/$PPID/oom_score_adj`)
	if want := "0\n" + oomScore + "\n" + string(mine); out != want {
		t.Errorf("%q, want %q", out, want)
	}
}

// TestACommandInheritsNothingElse: three files that block, the environment it was
// given, PWD; and its launcher has no environment to read.
func TestACommandInheritsNothingElse(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	dir := t.TempDir()
	env := []string{path, "A=1", "PWD=/wrong", "B=x=y"}
	out, _ := finish(t, start(t, l, Spec{Argv: []string{"env"}, Dir: dir, Env: env}))
	got := strings.Split(strings.TrimSpace(out), "\n")
	if want := []string{path, "A=1", "B=x=y", "PWD=" + dir}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	out, _ = run(t, `echo /proc/$$/fd/*; grep flags /proc/$$/fdinfo/1; (wc -c < /proc/$PPID/environ) 2>/dev/null || echo 0`)
	lines := strings.Split(out, "\n")
	if n := len(strings.Fields(lines[0])); n > 4 { // bash keeps 255 for a script, not here
		t.Errorf("%d files are open in a command: %s", n, lines[0])
	}
	var flags int
	if _, err := fmt.Sscanf(lines[1], "flags: %o", &flags); err != nil || flags&syscall.O_NONBLOCK != 0 {
		t.Errorf("the output does not block: %q, %v", lines[1], err)
	}
	if strings.TrimSpace(lines[2]) != "0" {
		t.Errorf("the launcher has an environment of %s bytes", lines[2])
	}
}

// TestD08AStartThatFailsNamesWhat and gives everything back.
func TestD08AStartThatFailsNamesWhat(t *testing.T) {
	t.Parallel()
	l := newLauncher(t)
	dir := t.TempDir()
	gone := filepath.Join(dir, "gone")
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spec  Spec
		stage Stage
		path  string
		errno syscall.Errno
	}{
		"no such directory":    {Spec{Argv: []string{"true"}, Dir: gone}, StageDir, gone, syscall.ENOENT},
		"a file as directory":  {Spec{Argv: []string{"true"}, Dir: file}, StageDir, file, syscall.ENOTDIR},
		"no such program":      {Spec{Argv: []string{"no-such-program"}, Dir: dir}, StageExec, "no-such-program", syscall.ENOENT},
		"no such path":         {Spec{Argv: []string{"./gone"}, Dir: dir}, StageExec, "./gone", syscall.ENOENT},
		"not executable":       {Spec{Argv: []string{"./file"}, Dir: dir}, StageExec, "./file", syscall.EACCES},
		"not executable, PATH": {Spec{Argv: []string{"file"}, Dir: dir, Env: []string{"PATH=/gone::" + gone}}, StageExec, "file", syscall.EACCES},
		"no PATH":              {Spec{Argv: []string{"true"}, Dir: dir, Env: []string{"A=1"}}, StageExec, "true", syscall.ENOENT},
		"too much":             {Spec{Argv: []string{"true", strings.Repeat("x", 1<<20)}, Dir: dir}, StageExec, "true", syscall.E2BIG},
		"no command":           {Spec{Dir: dir}, StageExec, "(none)", syscall.EINVAL},
		"NUL":                  {Spec{Argv: []string{"echo", "a\x00b"}, Dir: dir}, StageExec, "echo", 0},
	} {
		if c.spec.Env == nil {
			c.spec.Env = []string{path}
		}
		_, err := l.Start(c.spec)
		failed, ok := err.(*StartError)
		if !ok || failed.Stage != c.stage || filepath.Base(failed.Path) != filepath.Base(c.path) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.errno != 0 && failed.Err != c.errno {
			t.Errorf("%s: %v, want %v", name, failed.Err, c.errno)
		}
		if !strings.Contains(err.Error(), string(c.stage)) || !strings.Contains(err.Error(), failed.Path) {
			t.Errorf("%s: the message does not say what failed: %s", name, err)
		}
	}
}

func TestAStartWithoutLauncherIsAnError(t *testing.T) {
	t.Parallel()
	l := &Launcher{Self: filepath.Join(t.TempDir(), "gone")}
	_, err := l.Start(Spec{Argv: []string{"true"}})
	if failed, ok := err.(*StartError); !ok || failed.Stage != StageLaunch || !strings.Contains(err.Error(), l.Self) {
		t.Error(err)
	}
	l = &Launcher{Self: "/bin/true"} // starts, and knows nothing of us
	if _, err = l.Start(Spec{Argv: []string{"true"}}); err == nil {
		t.Error("a launcher that does not answer started a command")
	}
	l.Close()
	if _, err = l.Start(Spec{Argv: []string{"true"}}); err == nil {
		t.Error("a closed launcher started a command")
	}
}
