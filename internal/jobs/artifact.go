package jobs

import (
	"fmt"
	"os"
)

// artifact is the file with a whole output. It is made with the first byte written;
// the first error ends it, and is kept.
type artifact struct {
	dir   string
	limit int64

	file   *os.File
	path   string
	size   int64
	capped bool
	err    error
}

func (a *artifact) write(b []byte) {
	if a.err != nil || a.capped || len(b) == 0 {
		return
	}
	if a.file == nil {
		if a.err = a.open(); a.err != nil {
			return
		}
	}
	if room := a.limit - a.size; int64(len(b)) > room {
		b, a.capped = b[:room], true
	}
	n, err := a.file.Write(b)
	a.size += int64(n)
	if err != nil {
		a.err = fmt.Errorf("the full output could not be saved beyond %d bytes: %w", a.size, err)
	}
}

// open makes the file: private, and never one that exists.
func (a *artifact) open() error {
	err := os.MkdirAll(a.dir, 0o700)
	if err == nil {
		a.file, err = os.CreateTemp(a.dir, "out-*.log") // O_EXCL, 0600, a random name
	}
	if err != nil {
		return fmt.Errorf("the full output could not be saved: %w", err)
	}
	a.path = a.file.Name()
	return nil
}

func (a *artifact) close() {
	if a.file == nil {
		return
	}
	if err := a.file.Close(); err != nil && a.err == nil {
		a.err = fmt.Errorf("the full output may not be saved: %w", err)
	}
}
