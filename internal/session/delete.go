package session

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Delete removes a stored session: its log, its lock and its saved outputs, and the
// project's folder when it was the last one. Nothing outside the store is touched,
// wherever links point. A session that is written is not deleted.
//
// Errors: *NotFoundError, *LockedError, *OutsideError, and what the disk said.
func Delete(root, path string) error {
	if err := checkRoot(root); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	rel, err := filepath.Rel(root, dir)
	if err != nil || !filepath.IsLocal(rel) || strings.Count(rel, string(filepath.Separator)) != 1 || filepath.Base(path) != logName {
		return &OutsideError{Path: path}
	}
	for _, d := range []string{filepath.Dir(dir), dir} {
		info, err := os.Lstat(d)
		if errors.Is(err, os.ErrNotExist) {
			return &NotFoundError{What: path}
		}
		if err != nil {
			return fmt.Errorf("delete session: %w", err)
		}
		if !info.IsDir() {
			return &OutsideError{Path: path} // a link may lead anywhere
		}
	}
	lock, err := lockDir(dir)
	if err != nil {
		return err
	}
	err = remove(root, rel)
	return errors.Join(err, lock.f.Close())
}

// remove deletes the log first: without it there is no session, whatever else stays
// when this is cut short.
func remove(root, rel string) error {
	store, err := os.OpenRoot(root)
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	defer store.Close()
	err = store.Remove(filepath.Join(rel, logName))
	if err == nil || errors.Is(err, os.ErrNotExist) {
		err = store.RemoveAll(rel)
	}
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	_ = store.Remove(filepath.Dir(rel)) // stays if it holds anything
	return nil
}

// OutsideError says that a log does not lie in the store, or only by a link: dsh does
// not change it.
type OutsideError struct{ Path string }

func (e *OutsideError) Error() string {
	return fmt.Sprintf("%s is not a session of the store: nothing was changed", e.Path)
}
