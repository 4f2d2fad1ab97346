//go:build crashtest

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"dsh/internal/session"
)

const (
	cutBytes   = 8 << 10
	resumeEach = 97 // a prime: the cuts that are resumed meet every part of a line
)

// TestCrashTruncation cuts the log of the whole play at every byte of its last 8 KB,
// as a file system may that loses the end of a file: the log opens, is valid, and
// keeps every whole line. Some of the cuts are resumed by a process, whose requests
// must be valid.
func TestCrashTruncation(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	l := s.newLife()
	if died, err := l.play(crash{}); err != nil || died {
		t.Fatal("the play without a crash:", died, err)
	}
	log, err := os.ReadFile(l.log())
	if err != nil {
		t.Fatal(err)
	}
	free := make(chan *life, crashWorkers) // directories are dear: each serves many cuts
	for range crashWorkers {
		free <- s.newLife()
	}
	inParallel(min(cutBytes, len(log)), func(i int) {
		c := <-free
		defer func() { free <- c }()
		n := len(log) - 1 - i
		err := c.openCut(l, log[:n])
		if i%resumeEach == 0 {
			err = errors.Join(err, c.resumeCut(l, log[:n]))
		}
		if err != nil {
			t.Errorf("cut after %d of %d bytes: %v", n, len(log), err)
		}
	})
}

// openCut opens the first bytes of another life's log.
func (l *life) openCut(of *life, log []byte) error {
	path, err := l.put(of, log)
	if err != nil {
		return err
	}
	opened, _, err := session.Open(l.sessions(), path)
	if err != nil {
		return err
	}
	if err := opened.Close(); err != nil {
		return err
	}
	s, err := session.Read(path)
	if err != nil {
		return err
	}
	if err := errors.Join(session.Check(s.Header(), s.Events()), s.Err()); err != nil {
		return err
	}
	now, err := os.ReadFile(path)
	if whole := log[:bytes.LastIndexByte(log, '\n')+1]; err == nil && !bytes.HasPrefix(now, whole) {
		return fmt.Errorf("of %d bytes in whole lines some were lost", len(whole))
	}
	return err
}

// resumeCut continues it in a process. The workspace is that of the whole play and
// may be ahead of the log, so only what the log tells is judged.
func (l *life) resumeCut(of *life, log []byte) error {
	if _, err := l.put(of, log); err != nil {
		return err
	}
	if v, _, _ := l.goOn(1); !v.ok() {
		return fmt.Errorf("resume: %s", &v)
	}
	return nil
}

// put stores a log under the name of another life's, and returns its path.
func (l *life) put(of *life, log []byte) (string, error) {
	name, err := filepath.Rel(of.home, of.log())
	if err != nil {
		return "", err
	}
	path := filepath.Join(l.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", err
	}
	return path, os.WriteFile(path, log, 0o600)
}
