package session

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// copyIn copies a log into the store as a new session whose parent it is: the
// events keep their bytes, the header gets a new id. A torn end stays behind, its
// size is returned; anything else that Open refuses is refused before copying.
func copyIn(root, path string) (to string, cut Tail, err error) {
	src, err := openSource(path)
	if err != nil {
		return "", cut, err
	}
	defer src.close()
	ld, err := load(src, src.size, path)
	if err != nil {
		return "", cut, err
	}
	h := ld.header // its seed length stays: the inbox behind it is the copy's too
	h.ID, h.ParentSession = NewID(), ld.header.ID
	line, err := json.Marshal(h)
	if err != nil {
		return "", cut, fmt.Errorf("copy %s: %w", path, err)
	}
	old, _, err := newLineReader(src, 0, ld.size).next()
	if err != nil {
		return "", cut, fmt.Errorf("copy %s: %w", path, err)
	}
	skip := min(int64(len(old))+1, ld.size)
	dir := sessionDir(root, h.Cwd, h.ID)
	to = filepath.Join(dir, logName)
	if err := copyBehind(to, append(line, '\n'), io.NewSectionReader(src, skip, ld.size-skip)); err != nil {
		_ = os.RemoveAll(dir)
		return "", cut, fmt.Errorf("copy %s into the session store: %w", path, err)
	}
	return to, ld.tail, nil
}

// copyBehind makes the file to of a first line and a rest, whole or not at all.
func copyBehind(to string, first []byte, rest io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(to), dirMode); err != nil {
		return &WriteError{Path: to, Cause: err}
	}
	f, err := os.OpenFile(to+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return &WriteError{Path: to, Cause: err}
	}
	_, err = f.Write(first)
	if err == nil {
		_, err = io.Copy(f, rest)
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = publish(to+".new", to)
	}
	_ = os.Remove(to + ".new")
	if err != nil {
		return &WriteError{Path: to, Cause: err}
	}
	return nil
}
