package sandbox

import "syscall"

// Numbers of prctl(2) that package syscall does not name.
const (
	prSetDumpable       = 4
	prSetChildSubreaper = 36
)

// Harden makes this process undumpable: no core file, and no process of the same
// user can read its memory or its environment (which may hold keys) or trace it.
// Call it before anything else runs.
func Harden() error { return prctl(prSetDumpable, 0) }

func prctl(option, value uintptr) error {
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRCTL, option, value, 0, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
