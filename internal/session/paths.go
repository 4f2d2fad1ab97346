package session

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A session's files: <root>/<project slug>/<id>/{session.jsonl, lock, out/}, and what
// was cut off a damaged log.
const (
	logName  = "session.jsonl"
	lockName = "lock"
	outName  = "out"
	keptName = "cut-%d.jsonl"

	dirMode  = 0o700
	fileMode = 0o600
)

const (
	maxID   = 128 // bytes; a file name may have 255
	maxSlug = 64  // bytes; long enough to recognise a project
	shortID = 8   // characters of an id that people see
)

// NewID is a random UUID, version 4.
func NewID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:16])
}

// checkID refuses ids that are no plain file name: an id becomes a directory.
func checkID(id string) error {
	if id == "" || len(id) > maxID || id[0] == '.' {
		return fmt.Errorf("session id %q: want 1 to %d characters, not beginning with a dot", id, maxID)
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.') {
			return fmt.Errorf("session id %q: only letters, digits, '-', '_' and '.' are allowed", id)
		}
	}
	return nil
}

func uuidLike(id string) bool {
	return len(id) == 36 && id[8] == '-' && id[13] == '-' && id[18] == '-' && id[23] == '-'
}

// slug names a project directory for people: the end of its path, with everything
// but letters, digits, '.' and '_' made into '-'. Two projects may share a slug;
// ids keep their sessions apart.
func slug(cwd string) string {
	var sb strings.Builder
	for _, r := range filepath.Clean(cwd) {
		switch {
		case r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '.' || r == '_'):
			sb.WriteRune(r)
		case sb.Len() > 0 && !strings.HasSuffix(sb.String(), "-"):
			sb.WriteByte('-')
		}
	}
	s := sb.String()
	if len(s) > maxSlug {
		s = s[len(s)-maxSlug:]
		for !utf8.RuneStart(s[0]) {
			s = s[1:]
		}
	}
	s = strings.Trim(s, "-.")
	switch {
	case cwd == "":
		return "no-project"
	case s == "":
		return "root"
	}
	return s
}

// sessionDir is where a session of that project is stored.
func sessionDir(root, cwd, id string) string {
	return filepath.Join(root, slug(cwd), id)
}

// checkRoot refuses a relative store: it would move with the working directory.
func checkRoot(root string) error {
	if !filepath.IsAbs(root) {
		return fmt.Errorf("the session store %q is not an absolute path: set DSH_HOME to one", root)
	}
	return nil
}

// idOf is the id under which a log is stored.
func idOf(path string) string { return filepath.Base(filepath.Dir(path)) }

// stored finds the log with exactly that id, in whatever project; "" if none.
func stored(root, id string) string {
	projects, err := os.ReadDir(root)
	if err != nil {
		return ""
	}
	for _, p := range projects {
		path := filepath.Join(root, p.Name(), id, logName)
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}

// inStore reports whether path names <root>/<slug>/<id>/session.jsonl, through
// whatever links; in is that name. The lock beside it is then the session's only one.
func inStore(root, path string) (in string, ok bool) {
	rel, err := filepath.Rel(realPath(root), realPath(path))
	if err != nil {
		return "", false
	}
	parts := strings.Split(rel, string(filepath.Separator))
	if len(parts) != 3 || parts[0] == ".." || parts[2] != logName {
		return "", false
	}
	return filepath.Join(root, rel), true
}

// realPath resolves symbolic links as far as the path exists.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
