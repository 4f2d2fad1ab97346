package term

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// reader waits for bytes of the terminal, and stops between two reads when it is told
// to, which a blocked read could not.
type reader struct {
	in       *os.File
	fd, wake int // of in, and of the pipe that ends a wait
	wakeR    *os.File
	wakeW    *os.File
	mu       sync.Mutex // held while bytes are read
	paused   bool
	closed   bool
	buf      [64 << 10]byte
}

func newReader(in *os.File) (*reader, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &reader{in: in, fd: int(in.Fd()), wake: int(r.Fd()), wakeR: r, wakeW: w, paused: true}, nil
}

var errClosed = errors.New("the terminal was given back")

// read waits for bytes, at most for limit if it is not negative. No bytes and no error
// mean that the time is over.
func (r *reader) read(limit time.Duration) ([]byte, error) {
	for {
		r.mu.Lock()
		paused, closed := r.paused, r.closed
		r.mu.Unlock()
		if closed {
			return nil, errClosed
		}
		fds := []unix.PollFd{{Fd: int32(r.wake), Events: unix.POLLIN}, {Fd: int32(r.fd), Events: unix.POLLIN}}
		wait := int(limit.Milliseconds())
		if limit < 0 {
			wait = -1
		}
		if paused {
			fds, wait = fds[:1], -1
		}
		n, err := unix.Poll(fds, wait)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, err
		case n == 0:
			return nil, nil
		}
		if fds[0].Revents != 0 {
			var b [16]byte
			_, _ = r.wakeR.Read(b[:])
			continue
		}
		if b, err := r.take(); len(b) > 0 || err != nil {
			return b, err
		}
	}
}

// take reads what is there, unless the reader was paused meanwhile.
func (r *reader) take() ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.paused || r.closed {
		return nil, nil
	}
	n, err := r.in.Read(r.buf[:])
	if errors.Is(err, unix.EAGAIN) { // another reader of the terminal was faster
		err = nil
	}
	return r.buf[:n], err
}

// pause returns when nothing reads from the terminal any more.
func (r *reader) pause() { r.set(true, false) }

func (r *reader) resume() { r.set(false, false) }

func (r *reader) close() { r.set(true, true) }

func (r *reader) set(paused, closed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.paused, r.closed = paused, r.closed || closed
	_, _ = r.wakeW.Write([]byte{0})
}

// drainFor is how long reports that the terminal has under way are waited for.
const drainFor = 20 * time.Millisecond

// drain throws away what arrives. The reader is paused.
func (r *reader) drain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for end := time.Now().Add(drainFor); ; {
		left := time.Until(end).Milliseconds()
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}}, int(max(left, 0)))
		if err == unix.EINTR {
			continue
		}
		if n <= 0 {
			return
		}
		if n, err := r.in.Read(r.buf[:]); n == 0 || err != nil {
			return
		}
	}
}

// readLoop decodes what arrives and sends it to the model.
func (t *Terminal) readLoop() {
	var d decoder
	for {
		b, err := t.reader.read(d.patience())
		for _, msg := range d.feed(b) {
			t.Send(msg)
		}
		switch {
		case errors.Is(err, errClosed):
			return
		case err != nil:
			t.gone(err)
			return
		}
	}
}
