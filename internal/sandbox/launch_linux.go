package sandbox

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// launchArg is the hidden argument that makes this binary a launcher.
const launchArg = "__launch"

// The launcher's files besides 0 (/dev/null), 1 and 2 (the command's output).
const (
	controlFD = 3 // Spec, then orders
	reportFD  = 4
)

// oomScore makes the kernel end a command before dsh when memory runs out.
const oomScore = "500"

func init() {
	if len(os.Args) == 2 && os.Args[1] == launchArg {
		syscall.Exit(launch()) // at once: nothing of the runtime's exit is needed
	}
}

// launch is the whole life of a launcher: it waits for a Spec (a launcher may be
// started ahead), runs it, and leaves when no descendant is left. Its exit code
// says nothing; everything is in its reports.
func launch() int {
	closeFrom(controlFD)
	_ = syscall.SetNonblock(controlFD, true) // a blocking read would take a thread
	control := os.NewFile(controlFD, "control")
	reports := os.NewFile(reportFD, "reports")
	frame, err := readFrame(control)
	if err != nil {
		return 1 // dsh ended, or somebody typed the hidden argument
	}
	spec, err := decodeSpec(frame)
	if err != nil {
		return 1
	}
	if writeFrame(reports, nil) != nil {
		return 1
	}
	signals := catchSignals()
	started := time.Now()
	pid, failed := begin(spec)
	if err := writeFrame(reports, encodeStarted(failed)); failed != nil {
		return 0
	} else if err != nil {
		reports.Close() // dsh is gone: the control pipe says so too, and obey stops the command
	}
	_ = Harden() // the command may not trace or read its supervisor
	s := &supervisor{pid: pid, grace: spec.Grace, exit: Exit{Code: -1, Started: started}}
	s.finish = func(exit Exit) {
		// Let go of the output first: its reader sees the end no later than the report.
		syscall.Close(1)
		syscall.Close(2)
		_ = writeFrame(reports, exit.encode()) // if dsh is gone, there is nobody else to tell
		syscall.Exit(0)
	}
	go s.obey(control, signals)
	s.wait()
	return 0
}

// begin prepares this process and starts the command. The command inherits: no
// terminal (the launcher leads a session without one), /dev/null as stdin, no core
// dumps, a raised oom score.
func begin(spec Spec) (int, *StartError) {
	if err := prctl(prSetChildSubreaper, 1); err != nil {
		return 0, &StartError{StageLaunch, "(subreaper)", err}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return 0, &StartError{StageLaunch, "(core limit)", err}
	}
	if err := os.Chdir(spec.Dir); err != nil {
		return 0, &StartError{StageDir, spec.Dir, errno(err)}
	}
	path, err := lookPath(spec.Argv[0], spec.Env)
	if err != nil {
		return 0, &StartError{StageExec, spec.Argv[0], errno(err)}
	}
	restore := raiseOOM()
	defer restore()
	pid, err := syscall.ForkExec(path, spec.Argv, &syscall.ProcAttr{
		Env: spec.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return 0, &StartError{StageExec, path, errno(err)}
	}
	return pid, nil
}

// closeFrom keeps files from the command: the launcher's own, and what dsh itself
// inherited without knowing, such as a terminal.
func closeFrom(fd int) {
	const closeRange, onExec = 436, 4 // close_range(2), since Linux 5.11
	if _, _, errno := syscall.Syscall(closeRange, uintptr(fd), uintptr(^uint32(0)), onExec); errno != 0 {
		syscall.CloseOnExec(controlFD)
		syscall.CloseOnExec(reportFD)
	}
}

// raiseOOM raises this process's oom score for what it starts, and returns how to
// take it back: a launcher that is killed cannot end its descendants. Neither can
// fail in a way that should keep a command from running.
func raiseOOM() (restore func()) {
	const file = "/proc/self/oom_score_adj"
	old, err := os.ReadFile(file)
	if err != nil {
		return func() {}
	}
	_ = os.WriteFile(file, []byte(oomScore), 0)
	return func() { _ = os.WriteFile(file, old, 0) }
}

// lookPath finds a program as a shell would, in the PATH of env and not in the
// launcher's own, which has none. A name with a slash is taken as it is.
func lookPath(name string, env []string) (string, error) {
	for i := range len(name) {
		if name[i] == '/' {
			return name, nil
		}
	}
	path := ""
	for _, kv := range env {
		if len(kv) > 5 && kv[:5] == "PATH=" {
			path = kv[5:]
		}
	}
	var found error = syscall.ENOENT
	for start, i := 0, 0; i <= len(path); i++ {
		if i < len(path) && path[i] != ':' {
			continue
		}
		dir := path[start:i]
		start = i + 1
		if dir == "" {
			dir = "."
		}
		file := dir + "/" + name
		info, err := os.Stat(file)
		if err != nil || info.IsDir() {
			continue
		}
		if info.Mode()&0o111 != 0 {
			return file, nil
		}
		found = syscall.EACCES
	}
	return "", found
}

// errno is the system's word behind an error of package os.
func errno(err error) error {
	var n syscall.Errno
	if errors.As(err, &n) {
		return n
	}
	return syscall.EINVAL
}
