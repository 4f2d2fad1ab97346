package tools

import (
	"crypto/rand"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// mayWrite refuses what the file's owner has protected: renaming another file over
// it needs no permission on the file itself, and root needs none at all.
func mayWrite(p place, old fs.FileInfo) error {
	if old.Mode().Perm()&0o222 == 0 {
		return fail(FSPermission, "%s is read-only (mode %04o) and unchanged. Change its mode first if it is meant to be written.", p.abs, old.Mode().Perm())
	}
	if err := unix.Access(p.real, unix.W_OK); err != nil {
		return fsError("write", p.abs, err)
	}
	return nil
}

// takeOver gives the new file the owner, the extended attributes (access lists
// among them) and the mode of the one it will replace. Only the mode is vital; the
// note says if the owner could not be kept, and whose content now parts.
func takeOver(f *os.File, from string, old fs.FileInfo) (note string, err error) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		if err := f.Chown(int(st.Uid), int(st.Gid)); err != nil {
			note = fmt.Sprintf(" Its owner (user %d, group %d) could not be kept.", st.Uid, st.Gid)
		}
		note += parted(int(st.Nlink) - 1)
	}
	copyAttributes(int(f.Fd()), from)
	return note, f.Chmod(old.Mode() & (fs.ModePerm | fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky))
}

// parted says that a file had other names: only one of them has the new content.
func parted(others int) string {
	switch {
	case others <= 0:
		return ""
	case others == 1:
		return " Its other name (a hard link) keeps the old content."
	}
	return fmt.Sprintf(" Its %d other names (hard links) keep the old content.", others)
}

// copyAttributes copies what it may; file systems and privileges differ.
func copyAttributes(to int, from string) {
	buf := make([]byte, maxAttribute)
	n, err := unix.Llistxattr(from, buf)
	if err != nil {
		return
	}
	for _, name := range strings.FieldsFunc(string(buf[:n]), func(r rune) bool { return r == 0 }) {
		if n, err := unix.Lgetxattr(from, name, buf); err == nil {
			unix.Fsetxattr(to, name, buf[:n], 0)
		}
	}
}

// maxAttribute is the largest list of attributes, and value of one, on Linux.
const maxAttribute = 64 << 10

func randomName() string { return rand.Text()[:12] }
