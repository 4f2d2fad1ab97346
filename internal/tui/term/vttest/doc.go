// Package vttest holds internal/tui/term against a terminal emulator that others wrote.
// It is a module of its own, since the emulator needs newer versions of what we pin.
package vttest
