package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

// stdinWait is how long a run that has a prompt waits for a pipe's first byte. A
// pipe that a script left open must not hang it; the argument "-" waits for ever.
const stdinWait = 200 * time.Millisecond

// maxStdin bounds what a pipe may add to a prompt: more than any model reads.
const maxStdin = 8 << 20

// slowStdin is how long reading standard input to its end may take before the user is
// told what dsh waits for.
const slowStdin = 2 * time.Second

// readPrompt joins the arguments with standard input, when that has something to
// say. warn is a line for the user about input that was left alone. slow is called
// once if the input takes long to end.
func readPrompt(args []string, in io.Reader, slow func()) (prompt, warn string, err error) {
	var words []string
	insist := false
	for _, arg := range args {
		if arg == "-" {
			insist = true
			continue
		}
		words = append(words, arg)
	}
	prompt = strings.TrimSpace(strings.Join(words, " "))
	if !utf8.ValidString(prompt) {
		return "", "", usage(errors.New("the prompt is not UTF-8 text: save it as UTF-8, or name the file that holds it"))
	}
	piped := ""
	switch source := kindOf(in); {
	case source == fromTerminal && prompt == "":
		return "", "", usage(errors.New("no prompt: give it as an argument or on standard input (dsh run \"fix the test\")"))
	case source == fromTerminal || source == fromNowhere:
	case prompt == "" || insist || source == fromFile:
		piped, err = slurp(in, slow)
	default:
		var late bool
		piped, late, err = slurpSoon(in.(*os.File), slow)
		if late {
			warn = "standard input had nothing to read yet and was ignored (add - to wait for it)"
		}
	}
	if err != nil {
		return "", "", err
	}
	switch piped = strings.TrimRight(piped, "\n"); {
	case prompt == "":
		prompt = strings.TrimSpace(piped)
	case strings.TrimSpace(piped) != "":
		prompt += "\n\n" + piped
	}
	if prompt == "" {
		return "", "", usage(errors.New("the prompt is empty: give it as an argument or on standard input"))
	}
	return prompt, warn, nil
}

type stdinKind int

const (
	fromNowhere stdinKind = iota
	fromTerminal
	fromFile
	fromPipe
)

func kindOf(in io.Reader) stdinKind {
	f, ok := in.(*os.File)
	if !ok {
		if in == nil {
			return fromNowhere
		}
		return fromFile // a test's reader: it ends
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return fromNowhere // closed
	case info.Mode()&os.ModeCharDevice != 0:
		if isTerminal(f) {
			return fromTerminal
		}
		return fromFile // /dev/null
	case info.Mode().IsRegular():
		return fromFile
	}
	return fromPipe
}

// slurp reads to the end, however long that takes.
func slurp(in io.Reader, slow func()) (string, error) {
	var data []byte
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		data, err = io.ReadAll(io.LimitReader(in, maxStdin+1))
	}()
	timer := time.NewTimer(slowStdin)
	defer timer.Stop()
	select {
	case <-read:
	case <-timer.C:
		slow()
		<-read
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("read standard input: %w", err)
	case len(data) > maxStdin:
		return "", usage(fmt.Errorf("standard input is larger than %d MiB: give the agent a file to read instead", maxStdin>>20))
	case !utf8.Valid(data):
		return "", usage(errors.New("standard input is not UTF-8 text: give the agent a file to read instead"))
	}
	return string(data), nil
}

// slurpSoon reads a pipe if its first byte or its end comes soon. The goroutine
// that waits for the first byte may outlive the call: nothing can interrupt a read
// of a blocking pipe, and it holds nothing but one byte.
func slurpSoon(f *os.File, slow func()) (text string, late bool, err error) {
	type first struct {
		b   [1]byte
		n   int
		err error
	}
	got := make(chan first, 1)
	go func() {
		var r first
		r.n, r.err = f.Read(r.b[:])
		got <- r
	}()
	timer := time.NewTimer(stdinWait)
	defer timer.Stop()
	select {
	case r := <-got:
		if r.n == 0 {
			return "", false, nil
		}
		text, err = slurp(io.MultiReader(bytes.NewReader(r.b[:r.n]), f), slow)
		return text, false, err
	case <-timer.C:
		return "", true, nil
	}
}
