package session

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// logFile is the writing end of a log. Its owner serialises write; sync may run
// beside it.
type logFile struct {
	f    *os.File
	path string
	size int64 // bytes that are committed
	torn bool  // a failed write left bytes behind size that could not be cut

	syncing sync.Mutex
	synced  int64 // bytes that are known to be on the medium; under syncing
	named   bool  // the directory entry is too; under syncing
	lost    error // an fsync failed; under syncing
}

// createFile publishes a log that begins with first, complete or not at all, and
// never over an existing one. The directory must exist and be locked.
func createFile(path string, first []byte, last int) (*logFile, error) {
	tmp := path + ".new" // under the lock, so nobody else's
	f, err := os.OpenFile(tmp, os.O_CREATE|os.O_TRUNC|os.O_WRONLY|os.O_APPEND, fileMode)
	if err != nil {
		return nil, &WriteError{Path: path, Cause: err}
	}
	crashPoint("before", 0, last)
	if _, err = f.Write(first); err == nil {
		err = publish(tmp, path)
	} else {
		err = bare(err)
	}
	_ = os.Remove(tmp)
	if err != nil {
		_ = f.Close()
		return nil, &WriteError{Path: path, Cause: err}
	}
	crashPoint("after", 0, last)
	return &logFile{f: f, path: path, size: int64(len(first))}, nil
}

// publish gives tmp its name. A link never replaces; where the file system has no
// links, the lock on the directory makes look-then-rename as good.
func publish(tmp, path string) error {
	err := os.Link(tmp, path)
	if err == nil || errors.Is(err, os.ErrExist) {
		return err
	}
	if _, statErr := os.Lstat(path); statErr == nil {
		return os.ErrExist
	}
	return os.Rename(tmp, path)
}

// maxKept bounds the search for a free name beside a log: nobody has so many.
const maxKept = 1000

// keepTail copies what lies behind offset from in the log at path to a new file
// beside it, and syncs that.
func keepTail(path string, from int64) (kept string, err error) {
	src, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("keep the damaged end of %s: %w", path, err)
	}
	defer src.Close()
	var f *os.File
	for n := 1; ; n++ {
		kept = filepath.Join(filepath.Dir(path), fmt.Sprintf(keptName, n))
		f, err = os.OpenFile(kept, os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
		if !errors.Is(err, os.ErrExist) || n == maxKept {
			break
		}
	}
	if err != nil {
		return "", &WriteError{Path: kept, Cause: err}
	}
	_, err = io.Copy(f, io.NewSectionReader(src, from, math.MaxInt64-from))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		_ = os.Remove(kept)
		return "", &WriteError{Path: kept, Cause: bare(err)}
	}
	return kept, nil
}

// openFile continues a log of size bytes; what lies behind is cut.
func openFile(path string, size int64) (*logFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, &WriteError{Path: path, Cause: err}
	}
	info, err := f.Stat()
	if err == nil && info.Size() > size {
		err = f.Truncate(size)
	}
	if err != nil {
		_ = f.Close()
		return nil, &WriteError{Path: path, Cause: err}
	}
	return &logFile{f: f, path: path, size: size}, nil
}

// write appends the lines of the events first to last with one write(2). On an
// error nothing of them stays in the file.
func (f *logFile) write(lines []byte, first, last int) error {
	if err := f.mend(); err != nil {
		return &WriteError{Path: f.path, Cause: err}
	}
	crashPoint("before", first, last)
	if _, err := f.f.Write(lines); err != nil {
		f.torn = true
		err = bare(err)
		if mendErr := f.mend(); mendErr != nil {
			err = fmt.Errorf("%w; %w", err, mendErr)
		}
		return &WriteError{Path: f.path, Cause: err}
	}
	f.size += int64(len(lines))
	crashPoint("after", first, last)
	return nil
}

// bare is a write's error without the name that the file had when it was made.
func bare(err error) error {
	if named := (*os.PathError)(nil); errors.As(err, &named) {
		return named.Err
	}
	return err
}

// mend cuts what a failed write left behind; until that works, nothing may follow.
func (f *logFile) mend() error {
	if !f.torn {
		return nil
	}
	if err := f.f.Truncate(f.size); err != nil {
		return fmt.Errorf("cut the half-written end: %w", err)
	}
	f.torn = false
	return nil
}

// sync puts the first size bytes, and the file's name, on the medium.
func (f *logFile) sync(size int64) error {
	f.syncing.Lock()
	defer f.syncing.Unlock()
	if f.lost != nil {
		return f.lost
	}
	if f.synced >= size {
		return nil
	}
	err := f.stillNamed()
	if err == nil {
		if err = f.f.Sync(); err != nil {
			// The kernel forgets the pages it could not write: the next fsync
			// would succeed and prove nothing.
			f.lost = &WriteError{Path: f.path, Cause: err}
			return f.lost
		}
	}
	if err == nil && !f.named {
		err = syncDir(filepath.Dir(f.path))
	}
	if err != nil {
		return &WriteError{Path: f.path, Cause: err}
	}
	f.synced, f.named = size, true
	return nil
}

// stillNamed notices that the log was removed or replaced while it is written:
// the kernel would go on accepting events that nobody can read again.
func (f *logFile) stillNamed() error {
	ours, err := f.f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Stat(f.path)
	if err != nil || !os.SameFile(ours, named) {
		return errors.New("the file was removed or replaced while the session was open: nothing written since can be read again; start a new session")
	}
	return nil
}

// syncDir puts the names in a directory on the medium. The directory's own name in
// its parent is synced too: both may be new.
func syncDir(dir string) error {
	for _, d := range []string{dir, filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		f, err := os.Open(d)
		if err != nil {
			return err
		}
		err = f.Sync()
		_ = f.Close()
		if err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, syscall.ENOTSUP) {
			return err // those two: a file system without the notion
		}
	}
	return nil
}

func (f *logFile) close() error { return f.f.Close() }
