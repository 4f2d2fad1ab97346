package loop

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// A log that takes nothing more must not keep the agent busy, and when there is room
// again the session goes on.
func TestSM14FullDiskAtTheEndOfAStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		var room func()
		s := &statuses{}
		f = newFixture(t, []play{then(func() { room = f.fill() }, say("lost")), say("there")}, s.option)
		f.prompt("one")
		expect(t, "statuses", s, "[true false]")
		var full *session.WriteError
		if !errors.As(f.Err(), &full) {
			t.Errorf("the error is not the disk's: %v", f.Err())
		}
		if _, err := f.Followup("two"); err == nil {
			t.Error("a send was accepted that no disk holds")
		}
		room()
		f.prompt("two")
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one queue:two stepend end:error turn2 claim step1 user:two answer:there stepend end:completed")
		has(t, "the first end", of[session.TurnEnd](f)[0].Reason.Failure.Message, "could not be written")
	})
}

// What was claimed when the disk filled up is neither lost nor run twice.
func TestFullDiskAfterTheClaim(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		var room func()
		f = newFixture(t, []play{say("a"), say("b")}, entering(func(b Batch) ([]*llm.Message, string, error) {
			if room == nil {
				room = f.fill()
			}
			return b.Messages, "", nil
		}))
		f.prompt("one")
		expect(t, "requests", f.model.count(), 0)
		room()
		f.prompt("two")
		expect(t, "the log", f.story(), "queue:one turn1 claim queue:two queue:one end:error turn2 claim step1 user:one answer:a stepend end:completed turn3 claim step1 user:two answer:b stepend end:completed")
	})
}

// A step that cannot be closed leaves neither end in the log, and the agent idle. The
// calls that were cut off are paired when the session goes on.
func TestEX20FullDiskInsideAStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		var room func()
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			if room == nil {
				room = f.fill()
			}
			return tools.Result{Text: "ok"}, nil
		}}
		f = newFixture(t, []play{call("probe", `{"n":1}`, "probe", `{"n":2}`), say("b")}, with(p))
		f.prompt("one")
		expect(t, "running", f.Running(), false)
		room()
		expect(t, "the log", f.story(), "queue:one turn1 claim step1 user:one answer: call:c1")
		f.prompt("two")
		results := of[session.ToolResult](f)
		expect(t, "results", len(results), 2)
		expect(t, "the first ran", results[0].Error.Code, session.CodeUnknown)
		expect(t, "the second did not", results[1].Error.Code, session.CodeNotStarted)
		expect(t, "the ends", f.ends(), "error completed")
	})
}

// A disk that is full now and then: what was accepted is still in the log, and what
// the log took is valid.
func TestRandomUseOfAFullDisk(t *testing.T) {
	for seed := range uint64(rides) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				r := newRide(t, seed+2000, false)
				r.full = true
				r.f.send("first") // there is no file before
				stop, stopped := make(chan struct{}), make(chan struct{})
				go func() {
					defer close(stopped)
					r.fillNowAndThen(stop)
				}()
				r.run()
				close(stop)
				<-stopped
				r.full = false
				r.run() // the disk has room again, and all goes on
				r.f.accountFor(r.accepted)
			})
		})
	}
}

func (r *ride) fillNowAndThen(stop <-chan struct{}) {
	rng := rand.New(rand.NewPCG(r.seed, 77))
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(rng.IntN(150)) * time.Millisecond):
		}
		room := r.f.fill()
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		room()
	}
}

// fill makes every write of the log fail, as a full disk does, until the returned
// function makes room again. It puts a descriptor that cannot write in the place of
// the log's own.
func (f *fixture) fill() (room func()) {
	f.t.Helper()
	fd, err := descriptor(f.log.Path())
	must(f.t, err)
	saved, err := syscall.Dup(fd)
	must(f.t, err)
	full, err := os.Open(f.log.Path())
	must(f.t, err)
	must(f.t, syscall.Dup3(int(full.Fd()), fd, syscall.O_CLOEXEC))
	must(f.t, full.Close())
	done := false
	room = func() {
		if !done {
			must(f.t, syscall.Dup3(saved, fd, syscall.O_CLOEXEC))
			must(f.t, syscall.Close(saved))
		}
		done = true
	}
	f.t.Cleanup(room)
	return room
}

// descriptor finds the open file of a path in this process, whatever name it was
// opened under.
func descriptor(path string) (int, error) {
	named, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		return 0, err
	}
	for _, link := range links {
		if open, err := os.Stat(link); err == nil && os.SameFile(named, open) {
			return strconv.Atoi(filepath.Base(link))
		}
	}
	return 0, fmt.Errorf("%s is not open", path)
}
