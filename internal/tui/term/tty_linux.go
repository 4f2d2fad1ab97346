package term

import "golang.org/x/sys/unix"

// dropOutput throws away what the terminal has not taken yet, which frees a write that
// waits for it.
func dropOutput(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCOFLUSH) }

// dropInput throws away what was typed and not read.
func dropInput(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
