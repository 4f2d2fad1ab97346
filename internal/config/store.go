package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	lockWait  = 10 * time.Second      // another dsh writes for milliseconds
	lockRetry = 10 * time.Millisecond // between two looks at the lock
)

// Set gives a setting a value in the file at path, which may not exist; lists take
// several. Everything else in the file stays as it is. A file that is no TOML is not
// touched. Bad values and files are an *Error.
func Set(path, name string, values []string) error {
	text, e, err := render(name, values)
	if err != nil {
		return err
	}
	scratch := defaults()
	if err := scratch.set(e); err != nil {
		return &Error{Key: name, Message: err.Error()}
	}
	return update(path, func(old []byte) ([]byte, error) { return edit(path, old, name, text) })
}

// Unset takes a setting out of the file at path. It reports whether it was there.
func Unset(path, name string) (was bool, err error) {
	err = update(path, func(old []byte) ([]byte, error) {
		text, err := edit(path, old, name, "")
		was = err == nil && !bytes.Equal(text, old)
		return text, err
	})
	return was, err
}

// SaveModel makes model the user's in the settings file at path, which may not exist,
// unless it is "", and adds a provider of that name if endpoint is not "". Everything
// else in the file stays as it is.
func SaveModel(path, model, provider, endpoint string, wantsKey bool) error {
	return update(path, func(text []byte) (_ []byte, err error) {
		set := func(key, value string) {
			if err == nil {
				text, err = edit(path, text, key, quote(value))
			}
		}
		if model != "" {
			set("model", model)
		}
		if endpoint != "" {
			set("provider."+provider+".base_url", endpoint)
		}
		if endpoint != "" && !wantsKey {
			set("provider."+provider+".key_env", "")
		}
		return text, err
	})
}

// update changes a file in one step, while no other dsh changes one beside it. change
// gets the text, none if there is no file yet. A new file is the user's alone, an old
// one keeps its mode.
func update(path string, change func(old []byte) ([]byte, error)) error {
	if path == "" {
		return errors.New("there is no home directory to keep this in: set HOME or XDG_CONFIG_HOME")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("cannot store %s: %w", path, err)
	}
	unlock, err := lockDir(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("cannot store %s: %w", path, err)
	}
	defer unlock()
	if path, err = target(path); err != nil {
		return err
	}
	old, err := readSmall(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &Error{File: path, Message: "it cannot be read, so it is not changed: " + err.Error()}
	}
	text, err := change(old)
	if err != nil || bytes.Equal(text, old) {
		return err
	}
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	return replace(path, text, mode)
}

// lockDir takes the directory for this process. The lock is on the directory itself, so
// that no file is left in it; NFS locks only what can be written, and gets a file.
func lockDir(dir string) (unlock func(), err error) {
	for _, lock := range []*flock.Flock{
		flock.New(dir, flock.SetFlag(os.O_RDONLY)),
		flock.New(filepath.Join(dir, ".lock"), flock.SetPermissions(0o600)),
	} {
		ctx, cancel := context.WithTimeout(context.Background(), lockWait)
		_, err = lock.TryLockContext(ctx, lockRetry)
		late := ctx.Err() != nil
		cancel()
		switch {
		case err == nil:
			return func() { _ = lock.Close() }, nil // closing lets go in any case
		case late:
			return nil, fmt.Errorf("another dsh has been writing in %s for %s: try again", dir, lockWait)
		}
	}
	return nil, err
}

// target is the file that a path names, behind symbolic links.
func target(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", &Error{File: path, Message: "it is a symbolic link to nothing, so it is not changed: " + plain(err).Error()}
	}
	return real, nil
}

// replace writes a file in one step.
func replace(path string, data []byte, mode fs.FileMode) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("cannot store %s: %w", path, err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot store %s: %w", path, err), os.Remove(f.Name()))
	}
	return nil
}
