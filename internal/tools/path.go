package tools

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/text/unicode/norm"
)

// maxLinks bounds how many symbolic links a path may lead through: the kernel's.
const maxLinks = 40

// place is what a path argument leads to.
type place struct {
	raw  string // as the model wrote it
	abs  string // absolute, links not followed: what results show
	real string // every link resolved as far as it exists: the key of a file
	note string // set if a look-alike of the name was taken; a sentence

	linked bool // real is not where abs says, whatever links lead to the working directory
}

// locate resolves a path argument. A name that does not exist is also looked for
// under its look-alikes (composed accents, unusual spaces and apostrophes, which
// models retype as plain ones): exactly one is taken and named, several are an error.
func locate(env Env, raw string) (place, error) {
	if strings.TrimSpace(raw) == "" {
		return place{}, fail(InvalidArgs, "the path is blank")
	}
	if strings.ContainsRune(raw, 0) {
		return place{}, fail(InvalidArgs, "the path holds a NUL character")
	}
	abs := absolute(env, raw)
	if name, ok := unquoted(raw); ok {
		if _, err := os.Lstat(abs); err != nil {
			abs = absolute(env, name)
		}
	}
	taken, err := lookalike(abs)
	if err != nil {
		return place{}, err
	}
	p := place{raw: raw, abs: taken}
	if taken != abs {
		p.note = "There is no " + abs + "; this is " + taken + ", whose name looks the same."
	}
	p.real, err = realPath(taken)
	if err != nil {
		return place{}, fsError("resolve", taken, err)
	}
	p.linked = p.real != taken && p.real != fromReal(env.Cwd, taken)
	return p, nil
}

func absolute(env Env, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(env.Cwd, path)
}

// named is a path as results name it: as it is, or, if a reader could not tell what it
// is, in quotes with escapes. locate takes both.
func named(path string) string {
	quoted := strconv.Quote(path)
	plain := strings.TrimSpace(path) == path && !strings.HasPrefix(path, `"`) &&
		strings.NewReplacer(`\"`, `"`, `\\`, `\`).Replace(quoted[1:len(quoted)-1]) == path
	if plain {
		return path
	}
	return quoted
}

// unquoted is the path that was shown in quotes.
func unquoted(raw string) (path string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	path, err := strconv.Unquote(raw)
	return path, err == nil && path != "" && !strings.ContainsRune(path, 0)
}

// fromReal is abs, if it is below dir, with dir's links resolved.
func fromReal(dir, abs string) string {
	rest, below := strings.CutPrefix(abs, filepath.Clean(dir)+string(filepath.Separator))
	real, err := filepath.EvalSymlinks(dir)
	if !below || err != nil {
		return abs
	}
	return filepath.Join(real, rest)
}

// judgedToo fails if policy judged another file than the path leads to now.
func (p place) judgedToo(env Env) error {
	if env.judged == nil || slices.Contains(env.judged, p.real) {
		return nil
	}
	return fail(FSStaleVersion, "%s leads to another file than when it was checked: nothing was done. Try again.", p.abs)
}

// realPath resolves links in the part of path that exists, and keeps the rest. A
// link to nothing counts as existing by the name of what it points to.
func realPath(path string) (string, error) {
	rest := ""
	for links := 0; ; {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if target, err := os.Readlink(path); err == nil {
			if links++; links > maxLinks {
				return "", syscall.ELOOP
			}
			if !filepath.IsAbs(target) {
				target = filepath.Join(filepath.Dir(path), target)
			}
			path = target
			continue
		}
		parent := filepath.Dir(path)
		if parent == path {
			return filepath.Join(path, rest), nil
		}
		path, rest = parent, filepath.Join(filepath.Base(path), rest)
	}
}

// lookalike replaces each part of abs that does not exist by the one sibling that
// looks the same, if there is one.
func lookalike(abs string) (string, error) {
	if _, err := os.Lstat(abs); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return abs, nil
	}
	parent := filepath.Dir(abs)
	if parent == abs {
		return abs, nil
	}
	dir, err := lookalike(parent)
	if err != nil {
		return "", err
	}
	exact := filepath.Join(dir, filepath.Base(abs))
	if dir != parent {
		if _, err := os.Lstat(exact); err == nil {
			return exact, nil
		}
	}
	names, err := namesLike(dir, filepath.Base(abs))
	switch {
	case err != nil || len(names) == 0:
		return exact, nil // creating it, or using it, says what is wrong
	case len(names) > 1:
		return "", fail(FSAmbiguousName, "there is no %s, but several names look the same: %q. Use one of them exactly.", exact, names)
	}
	return filepath.Join(dir, names[0]), nil
}

func namesLike(dir, name string) ([]string, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	want := plainName(name)
	same := all[:0]
	for _, n := range all {
		if plainName(n) == want {
			same = append(same, n)
		}
	}
	slices.Sort(same)
	return same, nil
}

// plainName maps names that look the same to one.
func plainName(name string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '\u00a0', '\u2007', '\u2009', '\u202f', '\u3000':
			return ' '
		case '\u2018', '\u2019', '\u02bc':
			return '\''
		case '\u201c', '\u201d':
			return '"'
		}
		return r
	}, norm.NFC.String(name))
}
