package main

import (
	"bufio"
	"io"
	"sync/atomic"
)

// typed is a line of input, and how many questions had been put when its beginning
// arrived.
type typed struct {
	text string
	asks int64
}

// readLines reads input until its end. Its goroutine ends with the process at the
// latest: nothing can interrupt a blocking read of a terminal.
func readLines(in io.Reader, asks *atomic.Int64) <-chan typed {
	lines := make(chan typed)
	go func() {
		defer close(lines)
		arrivals := &arrivals{in: in, asks: asks}
		r := bufio.NewReader(arrivals)
		for {
			if _, err := r.Peek(1); err != nil {
				return // a terminal says it once: another read would wait for more
			}
			line := typed{asks: arrivals.last}
			var err error
			line.text, err = r.ReadString('\n')
			lines <- line
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// arrivals notes when input arrives, in questions put. A read waits for the answer from
// before its question on, so what counts is its end.
type arrivals struct {
	in   io.Reader
	asks *atomic.Int64
	last int64
}

func (a *arrivals) Read(p []byte) (int, error) {
	n, err := a.in.Read(p)
	a.last = a.asks.Load()
	return n, err
}
