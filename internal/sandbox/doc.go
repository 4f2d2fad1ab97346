// Package sandbox starts every child process of dsh, and ends it.
//
// Holds: the launcher (this binary executed again with a hidden argument, taken
// over in this package's init) which supervises one command and everything that
// descends from it, and the side of dsh that starts launchers and talks to them.
// Never imports: anything of ours, nor any package that would delay its init; only
// os, syscall and what they need, so that a launcher is at work before the packages
// behind the commands have initialised. A test in cmd/dsh holds that.
//
// Start reading at sandbox.go (what callers see), then launch_linux.go (the
// launcher itself).
package sandbox
