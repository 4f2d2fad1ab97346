package jobs

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// save keeps n bytes and returns where.
func save(t *testing.T, s *Artifacts, n int) string {
	t.Helper()
	path, err := s.Save("test", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("x", n))
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("%q, %v", path, err)
	}
	return path
}

func TestTheOldestArtifactsGoBeyondTheQuota(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	first := NewArtifacts(dir, 100, 250)
	a, b := save(t, first, 100), save(t, first, 100)
	other := filepath.Join(dir, "command-1.sh")
	past := time.Unix(1, 0)
	if err := errors.Join(os.WriteFile(other, []byte(strings.Repeat("x", 500)), 0o600), os.Chtimes(b, past, past)); err != nil {
		t.Fatal(err)
	}
	// A later process of the session goes on counting, with the oldest first.
	second := NewArtifacts(dir, 100, 250)
	c := save(t, second, 50)
	wantFiles(t, true, a, b, c, other)
	d := save(t, second, 60)
	wantFiles(t, false, b)
	wantFiles(t, true, a, c, d, other)
	e := save(t, second, 100)
	wantFiles(t, false, a)
	wantFiles(t, true, c, d, e)
}

func TestWhatIsBeingWrittenIsNotRemoved(t *testing.T) {
	t.Parallel()
	s := NewArtifacts(t.TempDir(), 100, 100)
	path, err := s.Save("outer", func(w io.Writer) error {
		_, err := io.WriteString(w, strings.Repeat("x", 90))
		save(t, s, 90)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	wantFiles(t, true, path)
	wantFiles(t, true, save(t, s, 10))
	wantFiles(t, false, path)
}

func TestSaveTellsABeginningFromAWhole(t *testing.T) {
	t.Parallel()
	fails := errors.New("the walk broke")
	for name, c := range map[string]struct {
		write func(io.Writer) error
		err   error
		size  int64
	}{
		"whole":    {func(w io.Writer) error { _, err := io.WriteString(w, "12345"); return err }, nil, 5},
		"too long": {func(w io.Writer) error { _, err := io.WriteString(w, "1234567890+"); return err }, ErrTooLong, 10},
		"broken":   {func(w io.Writer) error { _, _ = io.WriteString(w, "123"); return fails }, fails, 3},
		"empty":    {func(io.Writer) error { return nil }, nil, 0},
	} {
		path, err := NewArtifacts(t.TempDir(), 10, 0).Save("test", c.write)
		info, statErr := os.Stat(path)
		if !errors.Is(err, c.err) || statErr != nil || info.Size() != c.size || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v, %v", name, err, info, statErr)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if path, err := NewArtifacts(file, 0, 0).Save("test", func(io.Writer) error { return nil }); path != "" || err == nil {
		t.Errorf("in a file: %q, %v", path, err)
	}
}

func wantFiles(t *testing.T, there bool, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s there: %v, want %v", path, err == nil, there)
		}
	}
}
