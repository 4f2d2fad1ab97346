// Package sandboxtest plays processes for tests: they live in a synctest bubble, as
// real ones cannot, and do what the test says.
//
// Never imports: anything but sandbox. Start reading at starter.go.
package sandboxtest
