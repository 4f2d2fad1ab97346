package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

// output is where a command writes, and remembers whether that worked: lists and
// reports need not look at every line's error, since run looks at the end. It is for
// one goroutine.
type output struct {
	to  io.Writer
	err error // the first; nothing is written after it
}

func (o *output) Write(p []byte) (int, error) {
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	o.err = err
	return n, err
}

func isTerminal(stream any) bool {
	if o, ok := stream.(*output); ok {
		stream = o.to
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
