package termtext

import "io"

// Writer cleans what is written to it, as Clean does, and passes it on. A sequence or
// a character that is cut between two writes waits for its end. It is not safe for
// concurrent use.
type Writer struct {
	to      io.Writer
	state   cleaner
	pending string // shorter than maxCSI
	err     error
}

// NewWriter makes a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{to: w} }

// Write uses all of p or fails. After a failure every write fails.
func (w *Writer) Write(p []byte) (int, error) {
	s := w.pending + string(p)
	out, used := w.state.append(nil, s, false)
	w.pending = s[used:]
	if err := w.pass(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush ends the text: what waits for more is written as it is, made visible.
func (w *Writer) Flush() error {
	out, _ := w.state.append(nil, w.pending, true)
	w.pending = ""
	return w.pass(out)
}

func (w *Writer) pass(out []byte) error {
	if w.err == nil && len(out) > 0 {
		_, w.err = w.to.Write(out)
	}
	return w.err
}
