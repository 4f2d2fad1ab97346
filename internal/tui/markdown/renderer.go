package markdown

import (
	"bytes"

	"dsh/internal/termtext"
)

// Options of a Renderer.
type Options struct {
	Width int // columns of the widest row; less than 2 means 80
	Theme Theme
}

// Renderer draws one message while it arrives. The text is divided into segments: one
// top-level block, or one item of a top-level list. A segment that no further text can
// change is rendered once, so what a chunk costs depends on the open segment and not
// on the message. Of an open code block, every whole line is final.
//
// Where segments begin depends on the text alone, so the rows of a finished message
// are the same however it was cut into chunks. A Renderer is for one goroutine.
type Renderer struct {
	width int
	theme Theme

	src   source
	clean *termtext.Writer
	line  int // where the last, unfinished line of src begins
	scan  scanner
	segs  []segment

	flow    flow // of the rows that are final
	next    int  // the first segment that is not rendered
	code    *coder
	codePos int // of the open code block, what is rendered ends here
	rows    []string
	stale   bool
}

// source is clean text. Nothing in it moves: it only grows.
type source []byte

func (s *source) Write(p []byte) (int, error) {
	*s = append(*s, p...)
	return len(p), nil
}

// New makes the Renderer of one message.
func New(o Options) *Renderer {
	r := &Renderer{theme: o.Theme, scan: scanner{ended: true}}
	r.clean = termtext.NewWriter(&r.src)
	r.SetWidth(o.Width)
	return r
}

// Append adds text as it comes, cut anywhere. It costs O(text); the rendering is done
// by Rows, once for all that was added since.
func (r *Renderer) Append(text string) {
	from := len(r.src)
	_, _ = r.clean.Write([]byte(text)) // a source never fails
	r.read(from)
}

// Finish says that the message has ended: all of its rows become final. Text after it
// begins a new block.
func (r *Renderer) Finish() {
	from := len(r.src)
	_ = r.clean.Flush()
	r.clean = termtext.NewWriter(&r.src)
	if len(r.src) > r.line && r.src[len(r.src)-1] != '\n' {
		r.src = append(r.src, '\n')
	}
	r.read(from)
	r.endSegment(len(r.src))
	r.line, r.stale = len(r.src), true
	r.scan = scanner{blank: r.scan.blank, ended: true}
}

// read follows the lines that were added to the source at from.
func (r *Renderer) read(from int) {
	r.stale = r.stale || len(r.src) > from
	for {
		i := bytes.IndexByte(r.src[from:], '\n')
		if i < 0 {
			break
		}
		from += i + 1
		begins := r.scan.line(r.src[r.line : from-1])
		r.begin(begins)
		if r.scan.ended {
			r.endSegment(from)
		}
		r.line = from
	}
	r.begin(r.scan.early(r.src[r.line:]))
}

// begin opens a segment at the current line if there is one to open.
func (r *Renderer) begin(s *segment) {
	if s == nil {
		return
	}
	r.endSegment(r.line)
	s.start = r.line
	r.segs = append(r.segs, *s)
}

func (r *Renderer) endSegment(at int) {
	if n := len(r.segs); n > 0 && r.segs[n-1].end == 0 {
		r.segs[n-1].end = at
	}
}

// SetWidth changes the width. All rows are made anew.
func (r *Renderer) SetWidth(width int) {
	if width < 2 {
		width = defaultWidth
	}
	r.width = width
	r.flow, r.next, r.code, r.codePos, r.stale = flow{}, 0, nil, 0, true
}

const defaultWidth = 80

// Rows are those of the whole message, styled, at most the width wide, without spaces
// at their ends. They belong to the Renderer and hold until its next call.
func (r *Renderer) Rows() []string {
	if r.stale {
		r.settle()
		r.rows = r.tail()
		r.stale = false
	}
	return r.rows
}

// Settled is how many of the rows, from the first on, no further text changes.
func (r *Renderer) Settled() int {
	r.Rows()
	return len(r.flow.rows)
}

// settle renders what has become final.
func (r *Renderer) settle() {
	for ; r.next < len(r.segs); r.next++ {
		s := r.segs[r.next]
		if s.fence.n > 0 {
			r.settleCode(s)
		} else if s.end > 0 {
			r.draw(&r.flow, s, s.end)
		}
		if s.end == 0 {
			return
		}
	}
}

// tail adds the rows of what is still open to the final ones.
func (r *Renderer) tail() []string {
	f := r.flow
	if r.next < len(r.segs) {
		switch s := r.segs[r.next]; {
		case r.code != nil:
			if line := r.src[r.codePos:]; len(line) > 0 && !s.fence.mayClose(line) {
				f.rows = append(f.rows, r.code.peek(s.fence.strip(line))...)
			}
		case r.scan.table:
			f.add(fold(termtext.Expand(string(bytes.TrimSpace(r.src[s.start:]))), r.width), solid, s.blank)
		default:
			r.draw(&f, s, len(r.src))
		}
		return f.rows
	}
	r.draw(&f, segment{start: r.line, blank: r.scan.blank}, len(r.src))
	return f.rows
}

// draw renders a segment up to end.
func (r *Renderer) draw(f *flow, s segment, end int) {
	src := r.src[s.start:end]
	if len(bytes.TrimSpace(src)) == 0 {
		return
	}
	painter{theme: &r.theme, src: src}.document(f, s, r.width)
}

// settleCode renders the whole lines of a code block.
func (r *Renderer) settleCode(s segment) {
	if r.code == nil {
		r.code = newCoder(&r.theme, s.fence.info, r.width)
		r.flow.gap(solid, s.blank)
		r.flow.rows = append(r.flow.rows, r.code.open(s.fence.text)...)
		r.codePos = s.start + bytes.IndexByte(r.src[s.start:], '\n') + 1
	}
	for s.end == 0 || r.codePos < s.end {
		i := bytes.IndexByte(r.src[r.codePos:], '\n')
		if i < 0 {
			break
		}
		line := r.src[r.codePos : r.codePos+i]
		r.codePos += i + 1
		if !s.fence.closes(line) {
			r.flow.rows = append(r.flow.rows, r.code.line(s.fence.strip(line))...)
		}
	}
	if s.end > 0 {
		r.flow.rows = append(r.flow.rows, r.code.close(s.fence.text)...)
		r.code = nil
	}
}

// Plain renders a whole text without any escape sequence.
func Plain(text string, width int) []string { return Render(text, Options{Width: width}) }

// Render renders a whole text.
func Render(text string, o Options) []string {
	r := New(o)
	r.Append(text)
	r.Finish()
	return r.Rows()
}
