package main

import (
	"io"
	"sync/atomic"
	"testing"
)

func TestALineKnowsWhichQuestionsItCannotAnswer(t *testing.T) {
	t.Parallel()
	var asks atomic.Int64
	in, person := io.Pipe()
	lines := readLines(in, &asks)
	want := func(text string, n int64) {
		t.Helper()
		if got := <-lines; got != (typed{text, n}) {
			t.Errorf("got %+v, want %q after %d questions", got, text, n)
		}
	}
	write := func(text string) {
		t.Helper()
		if _, err := io.WriteString(person, text); err != nil {
			t.Error(err)
		}
	}
	write("first\ny\nn") // read at once; the rest waits to be taken when the question comes
	want("first\n", 0)
	asks.Add(1)
	want("y\n", 0)
	write("o\n")
	want("no\n", 0) // begun before the question
	write("y\n")    // the read for it began when nothing was asked
	want("y\n", 1)
	person.Close()
	if _, more := <-lines; more {
		t.Error("a line after the end")
	}
}
