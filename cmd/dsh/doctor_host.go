package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"dsh/internal/early"
	"dsh/internal/sandbox"
	tuiterm "dsh/internal/tui/term"
)

const (
	lowDisk  = 1 << 30  // bytes: a build in a session needs more
	fullDisk = 16 << 20 // bytes: a session's log may not fit any more
)

func checkVersions(context.Context, *patient) finding {
	what := fmt.Sprintf("%s, built with %s, %s/%s", early.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	if name := osName(); name != "" {
		what += ", " + name
	}
	var u syscall.Utsname
	if syscall.Uname(&u) == nil {
		what += ", kernel " + text(u.Release[:])
	}
	return finding{Status: healthy, What: what}
}

// text is a string of the kernel's; how its bytes are typed depends on the machine.
func text[char int8 | uint8](chars []char) string {
	var b strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

// osName is what the distribution calls itself, "" if it does not.
func osName() string {
	data, err := os.ReadFile("/etc/os-release")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "PRETTY_NAME="); ok {
			return strings.Trim(name, `"'`)
		}
	}
	return ""
}

func checkTerminal(_ context.Context, p *patient) finding {
	env := tuiterm.Detect(p.s.getenv)
	facts := []string{"TERM=" + p.s.getenv("TERM")}
	if p.s.getenv("TERM") == "" {
		facts[0] = "TERM is not set"
	}
	in, out := isTerminal(p.s.in), isTerminal(p.s.out)
	switch {
	case in && out:
		facts = append(facts, "a terminal"+windowSize())
	case in:
		facts = append(facts, "output is no terminal")
	case out:
		facts = append(facts, "input is no terminal")
	default:
		facts = append(facts, "no terminal")
	}
	facts = append(facts, map[tuiterm.Depth]string{tuiterm.NoColor: "no colours", tuiterm.Color16: "16 colours", tuiterm.Color256: "256 colours", tuiterm.TrueColor: "true colours"}[env.Depth])
	for _, m := range [][2]string{{"tmux", "TMUX"}, {"screen", "STY"}, {"zellij", "ZELLIJ"}} {
		if p.s.getenv(m[1]) != "" {
			facts = append(facts, "in "+m[0])
		}
	}
	if env.SSH {
		facts = append(facts, "over ssh")
	}
	what := strings.Join(facts, ", ")
	switch {
	case env.Dumb && in && out:
		return finding{Status: worry, What: what, Do: "export TERM, as xterm-256color say: without it dsh talks line by line"}
	case !env.UTF8:
		return finding{Status: worry, What: what + ", no UTF-8 locale", Do: "export LANG=C.UTF-8: without it dsh draws in ASCII"}
	}
	return finding{Status: healthy, What: what + ", UTF-8"}
}

func windowSize() string {
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" of %dx%d", width, height)
}

// say runs a program that only tells something.
func say(ctx context.Context, argv ...string) (out, problems string, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.Env = append(os.Environ(), "LC_ALL=C") // its words are read below
	cmd.WaitDelay = graceWait
	err = cmd.Run()
	return strings.TrimSpace(stdout.String()), strings.TrimSpace(stderr.String()), err
}

func checkGit(ctx context.Context, p *patient) finding {
	version, problems, err := say(ctx, "git", "--version")
	if errors.Is(err, exec.ErrNotFound) {
		return finding{Status: worry, What: "not on PATH", Do: "install git: changes cannot be compared or taken back without it"}
	}
	if err != nil {
		return finding{Status: worry, What: "git --version fails: " + problems + " " + err.Error(), Do: "repair git"}
	}
	version = strings.TrimPrefix(version, "git version ")
	if p.cwd == "" {
		return finding{Status: healthy, What: version}
	}
	root, problems, err := say(ctx, "git", "-C", p.cwd, "rev-parse", "--show-toplevel")
	switch {
	case err == nil:
		return finding{Status: healthy, What: version + ", repository " + root}
	case strings.Contains(problems, "dubious ownership"):
		return finding{Status: worry, What: version + ", which refuses this repository: another user owns it", Do: "git config --global --add safe.directory '" + p.paths.Project + "'"}
	case strings.Contains(problems, "not a git repository"):
		return finding{Status: healthy, What: version + ", no repository here"}
	}
	return finding{Status: worry, What: version + ", which cannot use this repository: " + problems, Do: "run git status here"}
}

// checkGo is a fact for a report: dsh itself needs no go.
func checkGo(ctx context.Context, _ *patient) finding {
	version, _, err := say(ctx, "go", "env", "GOVERSION")
	if err != nil {
		return finding{Status: healthy, What: "not on PATH (only dsh demo wants it)"}
	}
	return finding{Status: healthy, What: version}
}

// checkSandbox runs a command as a session would, and says what this system could
// enforce besides.
func checkSandbox(ctx context.Context, p *patient) finding {
	start := time.Now()
	if err := launch(ctx, p.s.getenv("PATH")); err != nil {
		return finding{Status: broken, What: "commands cannot be run: " + err.Error(), Do: "check that /proc is mounted and that this user may start processes"}
	}
	facts := []string{fmt.Sprintf("commands run under a supervisor (%d ms)", time.Since(start).Milliseconds())}
	if abi := sandbox.LandlockABI(); abi > 0 {
		facts = append(facts, fmt.Sprintf("the kernel has Landlock (ABI %d)", abi))
	} else {
		facts = append(facts, "the kernel has no Landlock")
	}
	if namespaces(ctx) == nil {
		facts = append(facts, "user and network namespaces work")
	} else {
		facts = append(facts, "no user namespaces")
	}
	return finding{Status: healthy, What: strings.Join(facts, ", ") + "; dsh does not confine commands with them yet"}
}

// namespaces tries whether this user may cut a process off the network, by doing it:
// the settings that forbid it differ between systems.
func namespaces(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET}
	return cmd.Run()
}

// launch runs one command that does nothing.
func launch(ctx context.Context, path string) error {
	launcher := &sandbox.Launcher{}
	process, err := launcher.Start(sandbox.Spec{Argv: []string{"true"}, Dir: "/", Env: []string{"PATH=" + path}})
	if err != nil {
		return err
	}
	out := process.Output()
	_, _ = io.Copy(io.Discard, out)
	_ = out.Close()
	exit, err := process.Wait(ctx)
	if err != nil {
		process.Kill()
		return err
	}
	launcher.Close()
	if exit.Code != 0 {
		return fmt.Errorf("true ended with %d", exit.Code)
	}
	return nil
}

// checkDisk looks at the place of dsh's state without making it.
func checkDisk(_ context.Context, p *patient) finding {
	if p.homeErr != nil {
		return finding{Status: broken, What: p.homeErr.Error(), Do: "set HOME or DSH_HOME"}
	}
	dir, what := existing(p.paths.Home), p.paths.Home
	if dir != p.paths.Home {
		what += " (not made yet)"
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return finding{Status: broken, What: dir + " is not a directory", Do: "move it away, or set DSH_HOME to a directory"}
	}
	const mayWrite = 2 // W_OK
	if err := syscall.Access(dir, mayWrite); err != nil {
		return finding{Status: broken, What: fmt.Sprintf("%s is not writable (%v)", dir, err), Do: "make it so, or move the state with DSH_HOME"}
	}
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return finding{Status: worry, What: fmt.Sprintf("%s, free space unknown (%v)", what, err), Do: "look at the disk"}
	}
	free := int64(s.Bavail) * s.Bsize
	what = fmt.Sprintf("%s, %s free", what, inBytes(free))
	switch {
	case free < fullDisk:
		return finding{Status: broken, What: what, Do: "make room: sessions cannot be written"}
	case free < lowDisk:
		return finding{Status: worry, What: what, Do: "make room soon"}
	}
	return finding{Status: healthy, What: what}
}

// existing is the nearest directory that is there.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}
