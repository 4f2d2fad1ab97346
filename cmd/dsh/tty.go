//go:build linux

package main

import (
	"io"
	"os"
	"syscall"
)

// discardTyped throws away what was typed and not read, half lines included, if in
// is a terminal.
func discardTyped(in io.Reader) {
	if f, ok := in.(*os.File); ok && isTerminal(f) {
		const tcflsh, inputQueue = 0x540b, 0 // TCFLSH, TCIFLUSH of asm-generic
		_, _, _ = syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), tcflsh, inputQueue)
	}
}
