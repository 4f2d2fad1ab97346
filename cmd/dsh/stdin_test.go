package main

import (
	"os"
	"strings"
	"sync"
	"testing"
)

// pipeOf is a pipe that holds text and ends. It has something to read, or its end, when
// it is returned.
func pipeOf(t *testing.T, text string) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	const first = 1 << 10 // any pipe has room for it
	now, later := text[:min(len(text), first)], text[min(len(text), first):]
	if _, err := w.WriteString(now); err != nil {
		t.Fatal(err)
	}
	if later == "" {
		w.Close()
		return r
	}
	var done sync.WaitGroup
	done.Go(func() {
		_, _ = w.WriteString(later) // an error: who reads had enough
		w.Close()
	})
	t.Cleanup(func() { r.Close(); done.Wait() })
	return r
}

func TestJ01APipeIsReadAsAWhole(t *testing.T) {
	t.Parallel()
	full := strings.Repeat("a", maxStdin)
	for name, c := range map[string]struct{ piped, want, why string }{
		"a wide first character":  {"中文\n", "hi\n\n中文", ""},
		"no text in its 1st byte": {"\xe9abc", "", "not UTF-8"},
		"as much as may be":       {full, "hi\n\n" + full, ""},
		"one byte more":           {full + "a", "", "larger than 8 MiB"},
		"nothing":                 {"", "hi", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			prompt, _, err := readPrompt([]string{"hi"}, pipeOf(t, c.piped), func() {})
			if prompt != c.want || (c.why == "") != (err == nil) {
				t.Errorf("got %d bytes, %v", len(prompt), err)
			}
			if err != nil && (exitCode(err) != exitUsage || !strings.Contains(err.Error(), c.why)) {
				t.Errorf("got %v", err)
			}
		})
	}
}
