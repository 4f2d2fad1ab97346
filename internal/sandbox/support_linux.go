package sandbox

import "syscall"

// The system call and its flag, by number: importing x/sys would keep this package's
// init, which is the launcher, waiting for its.
const (
	sysLandlockCreateRuleset = 444 // on every architecture
	landlockVersion          = 1
)

// LandlockABI is the version of Landlock that the kernel speaks, 0 if it has none or
// keeps it from this process.
func LandlockABI() int {
	abi, _, errno := syscall.Syscall(sysLandlockCreateRuleset, 0, 0, landlockVersion)
	if errno != 0 {
		return 0
	}
	return int(abi)
}
