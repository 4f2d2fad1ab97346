package session

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"time"
)

// followEvery is how often Follow looks for new events: soon enough for a person.
const followEvery = 200 * time.Millisecond

// Follow walks the events of a log from seq from on, and goes on with those that
// another process appends, until the context ends. An error ends it too. It is for
// reading along from outside; inside a process, use a Reader.
func Follow(ctx context.Context, path string, from int) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		f := follower{path: path, from: from}
		tick := time.NewTicker(followEvery)
		defer tick.Stop()
		for {
			if err := f.advance(yield); err != nil {
				if err != errStopped {
					yield(Event{}, err)
				}
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}
}

var errStopped = errors.New("the consumer stopped")

type follower struct {
	path   string
	from   int   // seq of the next event to hand out
	stat   int64 // the file's size at the last look
	offset int64 // of the first line that was not read yet
	number int   // of lines before it
	next   int
	time   int64
	failed int64 // offset of a line that could not be read, once
}

// advance hands out the events of the lines that are complete by now.
func (f *follower) advance(yield func(Event, error) bool) error {
	info, err := os.Stat(f.path)
	if errors.Is(err, os.ErrNotExist) {
		return &NotFoundError{What: f.path}
	}
	if err != nil || info.Size() == f.stat {
		return err
	}
	src, err := openSource(f.path)
	if err != nil {
		return err
	}
	defer src.close()
	f.stat = info.Size()
	if src.size < f.offset {
		// A writer took back a batch that did not fit the disk: begin again, and
		// hand out nothing twice.
		f.offset, f.number, f.next = 0, 0, 0
	}
	lines := newLineReader(src, f.offset, src.size)
	for {
		line, ended, err := lines.next()
		if err == io.EOF || err == nil && !ended {
			return nil
		}
		var evs []Event
		if err == nil {
			evs, err = f.decode(line)
		}
		if err != nil {
			return f.again(err)
		}
		f.offset = lines.offset
		f.number++
		for _, ev := range evs {
			if ev.Seq >= f.from {
				f.from = ev.Seq + 1
				if !yield(ev, nil) {
					return errStopped
				}
			}
		}
	}
}

func (f *follower) decode(line []byte) ([]Event, error) {
	if f.number == 0 {
		h, err := DecodeHeader(line)
		f.time = h.CreatedAt
		return nil, err
	}
	evs, err := decodeLine(line, f.next, f.time)
	if err == nil {
		f.next, f.time = evs[len(evs)-1].Seq+1, evs[len(evs)-1].Time
	}
	return evs, err
}

// again forgives a bad line once: it may have been read while a writer took it back.
func (f *follower) again(err error) error {
	if f.failed != f.offset+1 {
		f.failed, f.stat = f.offset+1, -1
		return nil
	}
	var newer *NewerError
	if errors.As(err, &newer) {
		return &NewerError{Path: f.path, Version: newer.Version}
	}
	return &DamagedError{Path: f.path, Line: f.number + 1, Cause: err}
}
