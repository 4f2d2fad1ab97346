package jobs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// DefaultCap bounds an artifact: enough for any log a person would read, and a
	// runaway command does not fill the disk.
	DefaultCap = 64 << 20
	// DefaultQuota bounds all artifacts of a session: a day of noisy test runs.
	DefaultQuota = 512 << 20
	// artifactPrefix is how artifacts are told from other files of the folder.
	artifactPrefix = "out-"
)

// ErrTooLong says that an artifact is the beginning of a text that was longer than
// an artifact may be.
var ErrTooLong = errors.New("it was too long to keep whole")

// Artifacts keeps outputs that are too long for a result, each in a private file of
// one folder, which belongs to one session. Beyond the quota the oldest go: what
// the model asks for is what it saw last. Safe for concurrent use, within one
// process: a session has one writer.
type Artifacts struct {
	dir        string
	cap, quota int64 // bytes of one, of all

	mu      sync.Mutex
	counted bool
	used    int64
	all     []*kept // the oldest first
}

// kept is an artifact as the quota sees it.
type kept struct {
	path string
	size int64
	open bool // being written
}

// NewArtifacts keeps artifacts in dir, which is made (0700) for the first one. A cap
// or quota of 0 is the default.
func NewArtifacts(dir string, limit, quota int64) *Artifacts {
	if limit <= 0 {
		limit = DefaultCap
	}
	if quota <= 0 {
		quota = DefaultQuota
	}
	return &Artifacts{dir: dir, cap: limit, quota: max(limit, quota)}
}

// Save keeps what write writes and returns the file's path. With a path the error
// says why the file has the beginning only: ErrTooLong, or what the disk said.
// Without one nothing was kept. A text of nothing is kept too. The kind becomes a
// part of the file's name: lower-case letters.
func (s *Artifacts) Save(kind string, write func(io.Writer) error) (path string, err error) {
	a := &artifact{store: s, kind: kind}
	if err := a.open(); err != nil {
		return "", err
	}
	err = write(a)
	a.close()
	switch {
	case a.err != nil:
		err = a.err
	case a.capped:
		err = ErrTooLong
	}
	return a.path, err
}

// artifact is one file. It is made with the first byte written; the first error ends
// it, and is kept. One goroutine writes it.
type artifact struct {
	store *Artifacts
	kind  string

	file   *os.File
	path   string
	size   int64
	entry  *kept
	capped bool
	err    error
}

// Write takes everything, whatever becomes of the file: who writes has better things
// to do than to stop.
func (a *artifact) Write(b []byte) (int, error) {
	a.write(b)
	return len(b), nil
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
	if room := a.store.cap - a.size; int64(len(b)) > room {
		b, a.capped = b[:room], true
	}
	a.store.book(a.entry, int64(len(b)))
	n, err := a.file.Write(b)
	a.size += int64(n)
	if err != nil {
		a.err = fmt.Errorf("the full output could not be saved beyond %d bytes: %w", a.size, err)
	}
}

func (a *artifact) saved() Saved { return Saved{Artifact: a.path, Capped: a.capped, Lost: a.err} }

// open makes the file: private, and never one that exists.
func (a *artifact) open() error {
	err := os.MkdirAll(a.store.dir, 0o700)
	if err == nil {
		a.file, err = os.CreateTemp(a.store.dir, artifactPrefix+a.kind+"*.log") // O_EXCL, 0600, a random name
	}
	if err != nil {
		return fmt.Errorf("the full output could not be saved: %w", err)
	}
	a.path = a.file.Name()
	a.entry = a.store.add(a.path)
	return nil
}

func (a *artifact) close() {
	if a.file == nil {
		return
	}
	if err := a.file.Close(); err != nil && a.err == nil {
		a.err = fmt.Errorf("the full output may not be saved: %w", err)
	}
	a.store.close(a.entry)
}

func (s *Artifacts) add(path string) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.counted {
		s.counted = true
		s.count(path)
	}
	k := &kept{path: path, open: true}
	s.all = append(s.all, k)
	return k
}

func (s *Artifacts) close(k *kept) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.open = false
}

// book adds n bytes to a file that is being written, and removes the oldest others
// while all are beyond the quota. What is being written stays, so that many long
// outputs at once may go beyond it.
func (s *Artifacts) book(k *kept, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	k.size += n
	s.used += n
	for i := 0; i < len(s.all) && s.used > s.quota; {
		old := s.all[i]
		if old.open {
			i++
			continue
		}
		_ = os.Remove(old.path) // what cannot be removed is not worth trying again
		s.used -= old.size
		s.all = slices.Delete(s.all, i, i+1)
	}
}

// count finds what earlier processes of the session left beside the first file of
// this one. What cannot be read is not counted: the quota guards the disk, it does
// not keep books.
func (s *Artifacts) count(first string) {
	entries, _ := os.ReadDir(s.dir)
	changed := map[*kept]time.Time{}
	for _, e := range entries {
		path := filepath.Join(s.dir, e.Name())
		info, err := e.Info()
		if err != nil || path == first || !info.Mode().IsRegular() || !strings.HasPrefix(e.Name(), artifactPrefix) {
			continue
		}
		k := &kept{path: path, size: info.Size()}
		changed[k] = info.ModTime()
		s.all = append(s.all, k)
		s.used += k.size
	}
	slices.SortFunc(s.all, func(a, b *kept) int { return changed[a].Compare(changed[b]) })
}
