package sandbox

import (
	"context"
	"errors"
	"io"
	"syscall"
	"time"
)

const (
	// DefaultGrace is how long a stopped command has between TERM and KILL.
	DefaultGrace = 3 * time.Second
	// LeftGrace is the same for descendants that a command left behind when it
	// ended by itself: they were given up already, and the caller waits for them.
	LeftGrace = 300 * time.Millisecond
)

// Spec is one command.
type Spec struct {
	Argv  []string      // the program and its arguments; a bare name is looked up in Env's PATH
	Dir   string        // working directory, absolute; "" is dsh's own
	Env   []string      // the whole environment as KEY=VALUE; PWD is set from Dir
	Grace time.Duration // between TERM and KILL; 0 is DefaultGrace
}

// Exit tells how a command ended.
type Exit struct {
	Code    int            // exit code; -1 if a signal ended it
	Signal  syscall.Signal // the signal that ended it, or 0
	Stopped bool           // a Stop or Kill came before the command ended by itself
	Left    int            // descendants that outlived the command and were ended after it
	Orphans int            // descendants that could not be ended (another user's, or stuck in the kernel)
	Started time.Time
	Ended   time.Time // when the command itself ended; the descendants may have taken longer
}

// Starter starts commands. Launcher is the real one; tests of its users fake it.
type Starter interface {
	// Start runs a command and returns once it runs. A command that cannot be
	// started is a *StartError.
	Start(Spec) (Process, error)
}

// Process is a running command with everything that descends from it. Its methods
// may be called from several goroutines.
type Process interface {
	// Output is stdout and stderr as they were written, interleaved. The caller
	// reads it to its end and closes it. It ends when every writer has closed it,
	// or shortly after Wait returns, whoever still holds it open. Bytes written
	// before the command ended are never lost.
	Output() io.ReadCloser
	// Stop sends TERM to the command and its descendants, KILL to what is left of
	// them after the grace. It returns at once; more calls change nothing.
	Stop()
	// Kill sends KILL at once.
	Kill()
	// Wait returns when the command has ended and its descendants with it. Its
	// error is ctx's, ErrLost, or nil.
	Wait(ctx context.Context) (Exit, error)
}

// ErrLost means that the launcher of a command ended before the command did (it was
// killed). The command's session was killed then; descendants that had left the
// session may run on.
var ErrLost = errors.New("the process that supervised the command was killed, and the command with it")

// Stage is the part of a start that failed.
type Stage string

const (
	StageLaunch Stage = "launcher"  // dsh could not start or reach its launcher
	StageDir    Stage = "directory" // the working directory cannot be entered
	StageExec   Stage = "program"   // the program cannot be executed
)

var errNUL = errors.New("a NUL byte in the command, its directory or its environment")

// StartError is a command that did not start.
type StartError struct {
	Stage Stage
	Path  string // the directory or program
	Err   error  // a syscall.Errno where the system said no
}

func (e *StartError) Error() string {
	switch e.Stage {
	case StageDir:
		return "cannot run in directory " + e.Path + ": " + e.Err.Error()
	case StageExec:
		return "cannot run program " + e.Path + ": " + e.Err.Error()
	}
	return "cannot start the launcher of commands (" + e.Path + "): " + e.Err.Error()
}

func (e *StartError) Unwrap() error { return e.Err }
