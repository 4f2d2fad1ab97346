package term

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Print puts rows into the scrollback, above the live region. They appear with the
// next Draw, in the same write, so that a row never shows twice or not at all. A row
// may be wider than the window: the terminal wraps it and copying joins it. Sequences
// other than SGR are dropped. Rows wait in memory, in order and without loss, while
// the terminal is slow, away, or on the alternate screen.
func (t *Terminal) Print(rows []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.staged = append(t.staged, rows...)
}

// Draw shows what was printed, and f below it. It does not wait for the terminal: one
// that is slow gets the newest frame when it is ready, and not those between.
func (t *Terminal) Draw(f Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.printed = append(t.printed, t.staged...)
	t.staged = nil
	f.Rows = slices.Clone(f.Rows)
	t.frame, t.drawn = f, true
	t.wakeWriter()
}

// Repaint paints the live region anew, with the next frame.
func (t *Terminal) Repaint() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.painter.fresh = true
	t.wakeWriter()
}

// Clear empties the screen, rows above the live region go into the scrollback, and
// paints the live region at its top: the cure for another program's output.
func (t *Terminal) Clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleared = true
	t.wakeWriter()
}

// wakeWriter is called with mu held, after something was queued.
func (t *Terminal) wakeWriter() {
	select {
	case t.work <- struct{}{}:
	default:
	}
}

// writeLoop is the one goroutine that writes while the program runs.
func (t *Terminal) writeLoop() {
	for {
		select {
		case <-t.done:
			return
		case <-t.work:
		}
		for t.writeSome() {
		}
	}
}

// writeSome composes what is waiting and writes it. It reports whether more waits.
func (t *Terminal) writeSome() bool {
	select {
	case t.pen <- struct{}{}:
	case <-t.done:
		return false
	}
	defer func() { <-t.pen }()
	b, more := t.compose()
	if len(b) == 0 {
		return false
	}
	if err := t.writeAll(b); err != nil {
		t.gone(err)
		return false
	}
	return more
}

// writeAll writes b, also where another program that shares the terminal has made its
// writes fail instead of waiting (O_NONBLOCK).
func (t *Terminal) writeAll(b []byte) error {
	for {
		n, err := t.out.Write(b)
		if !errors.Is(err, unix.EAGAIN) {
			return err
		}
		b = b[n:]
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(t.outFd), Events: unix.POLLOUT}}, -1)
		if err != nil && err != unix.EINTR {
			return err
		}
	}
}

// maxBurst is how many rows are printed in one write: a terminal that cannot keep up
// gets the newest live region after each.
const maxBurst = 2000

// compose takes what is queued and turns it into bytes.
func (t *Terminal) compose() (b []byte, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away {
		return nil, false
	}
	b = append(t.scratch[:0], t.raw...)
	t.raw = t.raw[:0]
	if !t.drawn {
		return b, false
	}
	if t.cleared {
		b = t.painter.clear(b)
		t.cleared = false
	}
	n := min(len(t.printed), maxBurst)
	if t.frame.Alt {
		n = 0
	}
	w, h := t.Size()
	b = t.painter.paint(b, w, h, t.printed[:n], t.frame)
	t.printed = t.printed[n:]
	if len(t.printed) == 0 {
		t.printed = nil
	}
	t.scratch = b
	return b, len(t.printed) > 0 && !t.frame.Alt
}

// How long a way out waits for a terminal that takes no bytes: what it did not take by
// then is thrown away.
const stuckFor = 500 * time.Millisecond

// takePen stops the writer between two writes. It reports false if the terminal takes
// no bytes, not even after those waiting were thrown away.
func (t *Terminal) takePen() bool {
	for range 2 {
		select {
		case t.pen <- struct{}{}:
			return true
		case <-time.After(stuckFor):
			dropOutput(t.outFd)
		}
	}
	return false
}

// writeLast writes b on a way out, and does not wait for ever. It reports whether the
// terminal took it.
func (t *Terminal) writeLast(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	b = append([]byte(nil), b...)
	written := make(chan struct{})
	go func() { // ends when the terminal takes the bytes, or with the program
		defer close(written)
		_ = t.writeAll(b) // a terminal that is gone needs no modes
	}()
	for range 2 {
		select {
		case <-written:
			return true
		case <-time.After(stuckFor):
			dropOutput(t.outFd)
		}
	}
	return false
}
