package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"os"
	"syscall"

	"dsh/internal/session"
)

// chunkSize is how much of a file is read at once; a cancel is noticed between two.
const chunkSize = 64 << 10

// openRegular opens an existing regular file for reading, by its real path. It does
// not wait for anything a special file might wait for, and follows no link.
func openRegular(p place) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(p.real, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		if info, statErr := os.Lstat(p.real); statErr == nil && !info.Mode().IsRegular() {
			return nil, nil, notRegular(p, info) // a socket, for one, cannot be opened
		}
		return nil, nil, fsError("open", p.abs, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = notRegular(p, info)
	}
	if err != nil {
		f.Close()
		return nil, nil, fsError("open", p.abs, err)
	}
	return f, info, nil
}

// unwaiting reads a file that was opened by openRegular, and fails where it would have to
// wait: what looks like a file may be a stream, such as the kernel's messages, and never
// end.
type unwaiting struct{ *os.File }

func (u unwaiting) Read(b []byte) (n int, err error) {
	conn, err := u.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		for {
			if n, failed = syscall.Read(int(fd), b); failed != syscall.EINTR {
				return true
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case failed == syscall.EAGAIN:
		return 0, errors.New("it is a stream that never ends, not a file: a command with a time limit can read it")
	case failed != nil:
		return 0, &fs.PathError{Op: "read", Path: u.Name(), Err: failed}
	case n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return n, nil
}

func notRegular(p place, info fs.FileInfo) error {
	what := "a special file"
	switch mode := info.Mode(); {
	case mode.IsDir():
		what = "a directory"
	case mode&fs.ModeNamedPipe != 0:
		what = "a named pipe"
	case mode&fs.ModeSocket != 0:
		what = "a socket"
	case mode&fs.ModeDevice != 0:
		what = "a device"
	}
	return fail(FSNotRegular, "%s is %s, not a file", p.abs, what)
}

// digest takes the version of content that passes through it.
type digest struct {
	sum  hash.Hash
	size int64
}

func newDigest() *digest { return &digest{sum: sha256.New()} }

func (d *digest) Write(b []byte) (int, error) {
	d.size += int64(len(b))
	return d.sum.Write(b)
}

func (d *digest) version(path string) session.FileVersion {
	return session.FileVersion{Path: path, SHA256: hex.EncodeToString(d.sum.Sum(nil)), Size: d.size}
}

// versionOf is the version of content that stands at the real path.
func versionOf(path string, content []byte) session.FileVersion {
	d := newDigest()
	d.Write(content)
	return d.version(path)
}

// current is a file as it is now.
type current struct {
	version session.FileVersion // Absent if there is none
	info    fs.FileInfo         // nil if there is none
	content []byte              // nil if larger than was asked for
	style   style
}

// look reads a file's version, and its content if it has at most keep bytes.
func look(ctx context.Context, p place, keep int64) (current, error) {
	f, info, err := openRegular(p)
	if codeOf(err) == FSNotFound {
		return current{version: session.FileVersion{Path: p.real, Absent: true}}, nil
	}
	if err != nil {
		return current{}, err
	}
	defer f.Close()
	cur := current{info: info}
	sum := newDigest()
	if info.Size() <= keep {
		cur.content = make([]byte, 0, info.Size()+1)
	}
	buf := make([]byte, chunkSize)
	for {
		if err := ctx.Err(); err != nil {
			return current{}, err
		}
		n, err := f.Read(buf)
		sum.Write(buf[:n])
		cur.style.Write(buf[:n])
		if cur.content != nil {
			cur.content = append(cur.content, buf[:n]...)
		}
		if sum.size > keep {
			cur.content = nil
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return current{}, fsError("read", p.abs, err)
		}
	}
	cur.version = sum.version(p.real)
	return cur, nil
}

// mayReplace holds the rule that only a version the model has seen is changed. The
// content decides: a file that was only touched is the same version.
func mayReplace(env Env, p place, now session.FileVersion) error {
	var seen session.FileVersion
	known := false
	if env.Seen != nil {
		seen, known = env.Seen(p.real)
	}
	switch {
	case !known && now.Absent:
		return nil
	case !known:
		return fail(FSNotObserved, "%s exists, and you have not read it: it is unchanged. Read it first, then try again.", p.abs)
	case seen.Absent && now.Absent:
		return nil
	case seen.Absent:
		return fail(FSNotObserved, "%s was not there when you looked, but is now: it is unchanged. Read it first, then try again.", p.abs)
	case now.Absent:
		return fail(FSStaleVersion, "%s has been deleted since you read it: it was not created again. Read it again to confirm, then try again.", p.abs)
	case seen.SHA256 != now.SHA256 || seen.Size != now.Size:
		return fail(FSStaleVersion, "%s has changed since you read it: it is as that change left it. Read it again, then try again.", p.abs)
	}
	return nil
}

func codeOf(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}
