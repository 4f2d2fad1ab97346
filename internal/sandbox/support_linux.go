package sandbox

import (
	"context"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// LandlockABI is the version of Landlock that the kernel speaks, 0 if it has none or
// keeps it from this process.
func LandlockABI() int {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(abi)
}

// Namespaces tries whether this user may cut a process off the network, by doing it:
// the settings that forbid it differ between systems. nil if it works.
func Namespaces(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "true")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("no user and network namespaces: %w", err)
	}
	return nil
}
