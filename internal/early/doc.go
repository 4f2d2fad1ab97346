// Package early runs before everything else: its init answers `dsh --version`
// before the packages behind the other commands have begun to initialise, and keeps
// Bubble Tea from querying the terminal in all of them.
//
// It imports os only. Go initialises packages whose dependencies are ready in the
// order of their paths, so this one comes before every third-party package; a test
// in cmd/dsh holds that.
//
// Start reading at early.go.
package early
