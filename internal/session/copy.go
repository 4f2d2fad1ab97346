package session

import (
	"bufio"
	"cmp"
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
	to = filepath.Join(sessionDir(root, h.Cwd, h.ID), logName)
	err = storeLog(to, func(w io.Writer) error {
		return copyBehind(w, line, io.NewSectionReader(src, skip, ld.size-skip))
	})
	if err != nil {
		return "", cut, fmt.Errorf("copy %s into the session store: %w", path, err)
	}
	return to, ld.tail, nil
}

// copyBehind writes a header's line and what is to stand behind it.
func copyBehind(w io.Writer, header []byte, rest io.Reader) error {
	_, err := w.Write(append(header, '\n'))
	if err == nil {
		_, err = io.Copy(w, rest)
	}
	return err
}

// storeLog makes the file to, and its directory, of what write writes: whole or not at
// all. The directory is of an id that nobody else has. An error of write is returned
// as it is.
func storeLog(to string, write func(io.Writer) error) error {
	dir := filepath.Dir(to)
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return &WriteError{Path: to, Cause: err}
	}
	f, err := os.OpenFile(to+".new", os.O_CREATE|os.O_EXCL|os.O_WRONLY, fileMode)
	if err != nil {
		return &WriteError{Path: to, Cause: err}
	}
	w := bufio.NewWriter(f)
	failed := write(w)
	err = cmp.Or(w.Flush(), f.Close())
	if err == nil && failed == nil {
		err = publish(to+".new", to)
	}
	_ = os.Remove(to + ".new")
	if err != nil {
		failed = &WriteError{Path: to, Cause: bare(err)}
	}
	if failed != nil {
		_ = os.RemoveAll(dir)
		_ = os.Remove(filepath.Dir(dir)) // a project that has no other
	}
	return failed
}
