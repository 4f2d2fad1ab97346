package sandbox

import (
	"errors"
	"io"
)

// The two sides talk in frames: a length, then fields. It is written by hand
// because the packages that would do it for us delay this package's init.

// maxFrame bounds a frame: the kernel takes no more than 2 MiB of arguments and
// environment by default, and 6 MiB at most.
const maxFrame = 8 << 20

var errFrame = errors.New("malformed frame between dsh and its launcher")

// fields is a frame under construction, or what is left of one being read.
type fields []byte

func (f *fields) putInt(v int64) {
	for shift := 0; shift < 64; shift += 8 {
		*f = append(*f, byte(v>>shift))
	}
}

func (f *fields) putString(s string) {
	f.putInt(int64(len(s)))
	*f = append(*f, s...)
}

func (f *fields) putList(list []string) {
	f.putInt(int64(len(list)))
	for _, s := range list {
		f.putString(s)
	}
}

func (f *fields) int() (v int64, err error) {
	if len(*f) < 8 {
		return 0, errFrame
	}
	for i, b := range (*f)[:8] {
		v |= int64(b) << (8 * i)
	}
	*f = (*f)[8:]
	return v, nil
}

func (f *fields) string() (string, error) {
	n, err := f.int()
	if err != nil || n < 0 || n > int64(len(*f)) {
		return "", errFrame
	}
	s := string((*f)[:n])
	*f = (*f)[n:]
	return s, nil
}

func (f *fields) list() ([]string, error) {
	n, err := f.int()
	if err != nil || n < 0 || n > int64(len(*f)) {
		return nil, errFrame
	}
	list := make([]string, n)
	for i := range list {
		if list[i], err = f.string(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func writeFrame(w io.Writer, f fields) error {
	var frame fields
	frame.putInt(int64(len(f)))
	_, err := w.Write(append(frame, f...))
	return err
}

// readFrame returns io.EOF if the other side closed before a frame began.
func readFrame(r io.Reader) (fields, error) {
	head := make(fields, 8)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, err
	}
	n, err := head.int()
	if err != nil || n < 0 || n > maxFrame {
		return nil, errFrame
	}
	f := make(fields, n)
	if _, err := io.ReadFull(r, f); err == io.EOF && n > 0 {
		return nil, io.ErrUnexpectedEOF
	} else if err != nil {
		return nil, err
	}
	return f, nil
}
