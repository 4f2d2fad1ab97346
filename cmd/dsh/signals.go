package main

import (
	"os"
	"os/signal"
	"syscall"

	"dsh/internal/session"
)

// interrupts is what signals do to a run: the first ends the turn in good order, the
// second ends its commands without grace and then the process, whatever it waits for.
// The log is then repaired on resume.
type interrupts struct {
	signals chan os.Signal
	done    chan struct{}
	first   syscall.Signal // obey's, until it is done
}

// catchSignals keeps signals for obey, so that none is lost before there is a turn
// to end. Writing to a pipe that nobody reads becomes an error of the write instead
// of a signal, so that the session is closed properly.
func catchSignals() *interrupts {
	i := &interrupts{signals: make(chan os.Signal, 4), done: make(chan struct{})}
	signal.Notify(i.signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	return i
}

// obey does what the signals say until stop.
func (i *interrupts) obey(e *engine) {
	defer close(i.done)
	for got := range i.signals {
		switch sig := got.(syscall.Signal); {
		case sig == syscall.SIGPIPE:
		case i.first != 0:
			e.commands.kill()
			os.Exit(exitSignal + int(sig))
		case sig == syscall.SIGINT:
			i.first = sig
			e.cancel(session.ByUser)
		default:
			i.first = sig
			e.cancel(session.Disposed)
		}
	}
}

// stop ends the watch and returns the signal that ended the turn, 0 if none did.
func (i *interrupts) stop() syscall.Signal {
	signal.Stop(i.signals)
	close(i.signals)
	<-i.done
	return i.first
}
