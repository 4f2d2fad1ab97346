package jobs

import (
	"fmt"
	"io"
	"sync"
)

const (
	// headSize and tailSize are the bytes kept of a long output: how it began, and
	// how it ended, which is where errors are. Together they fit in an observation.
	headSize = 15 << 10
	tailSize = 15 << 10
	// readSize is the size of one read: what a pipe holds.
	readSize = 64 << 10
)

// capture keeps the head and the tail of an output, and the whole of it in an
// artifact once it is longer than both. One goroutine writes; any may peek.
type capture struct {
	mu    sync.Mutex
	total int64
	head  []byte
	tail  ring
	ended bool
	saved Saved // as far as it is

	file   artifact // of the writing goroutine, until it has ended
	filter Filter   // nil: everything is kept as it comes
}

// Filter takes an output piece by piece and returns what is to be kept of it so far;
// with end, the rest. The result is good until the next call.
type Filter func(piece []byte, end bool) []byte

func newCapture(store *Artifacts) *capture {
	return &capture{file: artifact{store: store}}
}

// readFrom takes everything from an output, whatever happens to the artifact: a
// command must not stall on our disk.
func (c *capture) readFrom(out io.ReadCloser) {
	defer out.Close()
	buf := make([]byte, readSize)
	for {
		n, err := out.Read(buf)
		piece := buf[:n]
		if c.filter != nil {
			piece = c.filter(piece, err != nil)
		}
		c.write(piece)
		if err != nil {
			break
		}
	}
	c.file.close()
	c.mu.Lock()
	c.ended, c.saved = true, c.file.saved()
	c.mu.Unlock()
}

func (c *capture) write(b []byte) {
	if len(b) == 0 {
		return
	}
	if c.total+int64(len(b)) > headSize+tailSize { // only this goroutine changes total
		if c.total <= headSize+tailSize {
			c.file.write(c.head)
			c.file.write(c.tail.bytes())
		}
		c.file.write(b)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.total += int64(len(b))
	c.saved = c.file.saved()
	if room := headSize - len(c.head); room > 0 {
		n := min(room, len(b))
		c.head = append(c.head, b[:n]...)
		b = b[n:]
	}
	c.tail.write(b)
}

// result is called after readFrom.
func (c *capture) result() Result {
	text, omitted, _ := c.kept(0)
	return Result{Output: text, Omitted: omitted, Saved: c.file.saved()}
}

// release gives the memory back: of the output it is only known from then on how long
// it was.
func (c *capture) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.head, c.tail = nil, ring{}
}

func (c *capture) peek(from int64) (string, int64) {
	text, _, next := c.kept(from)
	return text, next
}

// size is the bytes so far, and what has them all, if they are too many to keep here.
func (c *capture) size() (total int64, saved Saved) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.total, c.saved
}

// end is the last n bytes, or what memory holds of them.
func (c *capture) end(n int64) string {
	c.mu.Lock()
	from := c.total - n
	c.mu.Unlock()
	text, _, _ := c.kept(from)
	return text
}

// kept renders what memory holds of the output from byte from on. Cuts are at runes.
func (c *capture) kept(from int64) (text string, omitted, next int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from = max(0, min(from, c.total))
	tail := c.tail.bytes()
	tailAt := c.total - int64(len(tail))
	var head []byte
	if from < int64(len(c.head)) {
		head = c.head[from:]
	}
	if from > tailAt {
		tail = tail[from-tailAt:]
	}
	next = c.total
	if tailAt == int64(len(c.head)) || from >= tailAt {
		whole := append(append([]byte(nil), head...), tail...)
		if !c.ended {
			n := cutEnd(whole)
			next -= int64(len(whole) - n)
			whole = whole[:n]
		}
		return Text(whole), 0, next
	}
	head = head[:cutEnd(head)]
	tail = tail[cutStart(tail):]
	if !c.ended {
		n := cutEnd(tail)
		next -= int64(len(tail) - n)
		tail = tail[:n]
	}
	omitted = next - from - int64(len(head)) - int64(len(tail))
	return Text(head) + fmt.Sprintf("\n[... %d bytes omitted ...]\n", omitted) + Text(tail), omitted, next
}

// ring holds the last tailSize bytes written to it.
type ring struct {
	buf []byte // grows to tailSize, then wraps
	at  int    // where the oldest byte is, once it wraps
}

func (r *ring) write(b []byte) {
	if len(b) > tailSize {
		b = b[len(b)-tailSize:]
	}
	if room := tailSize - len(r.buf); room > 0 {
		n := min(room, len(b))
		r.buf = append(r.buf, b[:n]...)
		b = b[n:]
	}
	for len(b) > 0 {
		n := copy(r.buf[r.at:], b)
		r.at = (r.at + n) % tailSize
		b = b[n:]
	}
}

// bytes returns a copy, oldest first.
func (r *ring) bytes() []byte {
	return append(append(make([]byte, 0, len(r.buf)), r.buf[r.at:]...), r.buf[:r.at]...)
}
