package tools

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"dsh/internal/session"
)

// publishing makes "is it still the version that was seen" and the change one step
// for all agents of this process. It is held for a check and a rename only.
var publishing sync.Mutex

// publish puts content at p in one step: a reader finds the old bytes or the new
// ones. What stands there must still be old, or nothing is changed. ctx is
// looked at until the moment of the change.
func publish(ctx context.Context, p place, old current, content []byte) (note string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if old.info != nil {
		if err := mayWrite(p, old.info); err != nil {
			return "", err
		}
	} else if err := os.MkdirAll(filepath.Dir(p.real), 0o777); err != nil {
		return "", fsError("create the directory of", p.abs, err)
	}
	temp, note, err := stage(p, old.info, content)
	if err != nil {
		return "", fsError("write", p.abs, err)
	}
	defer os.Remove(temp) // fails when it has become the file
	publishing.Lock()
	defer publishing.Unlock()
	now, err := look(ctx, p, -1)
	if err != nil {
		return "", err
	}
	if err := unchanged(p, old.version, now.version); err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if old.info != nil {
		err = os.Rename(temp, p.real)
	} else {
		err = create(temp, p.real)
	}
	if errors.Is(err, fs.ErrExist) {
		err = unchanged(p, old.version, session.FileVersion{Path: p.real})
	}
	if err != nil {
		return "", fsError("write", p.abs, err)
	}
	return note, nil
}

// unchanged fails if a file is not as it was when this call read it.
func unchanged(p place, then, now session.FileVersion) error {
	if then == now {
		return nil
	}
	if then.Absent {
		return fail(FSNotObserved, "%s appeared while it was being created: it is unchanged. Read it first, then try again.", p.abs)
	}
	return fail(FSStaleVersion, "%s changed while it was being written: it is as that change left it. Read it again, then try again.", p.abs)
}

// stage writes content to a private file beside the target, on disk when it returns.
// It takes over what can be of the file it will replace.
func stage(p place, old fs.FileInfo, content []byte) (temp, note string, err error) {
	perm := fs.FileMode(0o600) // until it has the old file's
	if old == nil {
		perm = 0o666 // and the kernel applies the umask
	}
	f, err := createTemp(filepath.Dir(p.real), perm)
	if err != nil {
		return "", "", err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(content); err != nil {
		return "", "", err
	}
	if old != nil {
		if note, err = takeOver(f, p.real, old); err != nil {
			return "", "", err
		}
	}
	return f.Name(), note, f.Sync()
}

// createTemp makes a new file with a name that nobody else uses.
func createTemp(dir string, perm fs.FileMode) (*os.File, error) {
	for {
		name := filepath.Join(dir, ".dsh-"+randomName()+".tmp")
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

// create gives a new file its name, unless somebody else took the name meanwhile.
func create(temp, target string) error {
	err := os.Link(temp, target)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	// A file system without hard links: reserve the name, then take it. Only who
	// writes into the empty file in between could lose something.
	f, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	f.Close()
	if err = os.Rename(temp, target); err != nil {
		os.Remove(target)
	}
	return err
}
