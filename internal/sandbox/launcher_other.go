//go:build !linux

package sandbox

import "errors"

// Launcher starts nothing here: ending every descendant of a command needs a child
// subreaper, which only Linux has.
type Launcher struct{ Self string }

var errSystem = errors.New("dsh runs commands on Linux only")

// Start fails.
func (l *Launcher) Start(Spec) (Process, error) {
	return nil, &StartError{StageLaunch, "dsh", errSystem}
}

// Prepare fails.
func (l *Launcher) Prepare() error { return errSystem }

// Close does nothing.
func (l *Launcher) Close() {}

// Harden does nothing.
func Harden() error { return nil }
