package term

import (
	"os"

	"golang.org/x/sys/unix"
)

// dropOutput throws away what the terminal has not taken yet, which frees a write that
// waits for it.
func dropOutput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCOFLUSH) }

// dropInput throws away what was typed and not read.
func dropInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
