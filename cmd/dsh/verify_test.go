package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dsh/internal/llm/llmtest"
	"dsh/internal/session"
)

// steps200 makes 200 tool steps with distinct arguments, then an answer.
const steps200 = `usage in=1000 out=20 cached=900
== step
repeat 200
call read {"file_path":"f{{i}}.txt"}

== answer
text done
`

// served starts a server for a script and points the bench's provider to it.
func (b *bench) served(script string) *llmtest.Server {
	b.t.Helper()
	parsed, err := llmtest.Parse("script.txt", strings.NewReader(script))
	if err != nil {
		b.t.Fatal(err)
	}
	server := llmtest.NewServer(parsed)
	url, err := server.Listen()
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := server.Close(); err != nil {
			b.t.Error(err)
		}
	})
	b.env["DEEPSEEK_BASE_URL"], b.env["DEEPSEEK_API_KEY"] = url, "sk-0123456789abcdef"
	return server
}

func TestTwoHundredStepsShareTheirPrefix(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 200 {
		b.write(fmt.Sprintf("work/f%d.txt", i+1), fmt.Sprintf("file %d\n", i+1))
	}
	server := b.served(steps200)
	b.dsh("run", "--max-steps", "300", "read them all").want(0, "done\n", "")
	if err := server.Done(); err != nil {
		t.Error(err)
	}
	requests := server.Requests()
	if len(requests) != 201 {
		t.Fatalf("%d requests, want 201", len(requests))
	}
	if err := server.PrefixStable(); err != nil {
		t.Error(err)
	}
	const limit = 10 << 10 // of the first request of a fresh session, in bytes
	if n := len(requests[0]); n >= limit {
		t.Errorf("the first request has %d bytes, want fewer than %d", n, limit)
	}
	b.dsh("verify", b.lastSession()).want(0, "201 of 201 requests derived and equal", "")
}

// TestVerifyNamesTheFirstWrongRequest changes one letter of one event at a time and
// wants the first request that held it to be named.
func TestVerifyNamesTheFirstWrongRequest(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.write("work/a.txt", "alpha\n")
	b.served(`== look
reasoning Think of apricots.
text Let me see the bananas.
call read {"file_path":"a.txt"}

== answer
text cherries

== again
text dates
`)
	b.dsh("run", "first prompt").want(0, "cherries\n", "")
	b.dsh("run", "-c", "second prompt").want(0, "dates\n", "")
	log, err := os.ReadFile(b.logPath())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"system prompt", "You are dsh", "turn 1, step 1"},
		{"tool schema", "file_path", "turn 1, step 1"},
		{"prompt", "first prompt", "turn 1, step 1"},
		{"environment", "platform:", "turn 1, step 1"},
		{"reasoning", "of apricots", "turn 1, step 2"},
		{"text", "the bananas", "turn 1, step 2"},
		{"tool result", "alpha", "turn 1, step 2"},
		{"answer", "cherries", "turn 2, step 1"},
		{"second prompt", "second prompt", "turn 2, step 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			changed := changeInMessage(t, log, c.text)
			path := b.write(filepath.Join("changed", strings.ReplaceAll(c.name, " ", "-"), "session.jsonl"), string(changed))
			b.dsh("verify", path).want(exitFailed, "", c.want)
		})
	}
	b.dsh("verify", b.lastSession()).want(0, "3 of 3 requests derived and equal", "")
}

// changeInMessage changes one letter of text where the model saw it: in the header,
// or in an event with a surface op.
func changeInMessage(t *testing.T, log []byte, text string) []byte {
	t.Helper()
	var out []byte
	done := false
	for line := range bytes.Lines(log) {
		seen := bytes.Contains(line, []byte(`"surfaceOp"`)) || bytes.Contains(line, []byte(`"`+session.TypeRequestHeader+`"`))
		if i := bytes.Index(line, []byte(text)); i >= 0 && seen && !done {
			line = bytes.Clone(line)
			line[i] ^= 1 << 5 // the other case
			if line[i] < 'A' {
				t.Fatalf("%q does not begin with a letter", text)
			}
			done = true
		}
		out = append(out, line...)
	}
	if !done {
		t.Fatalf("no message holds %q", text)
	}
	return out
}
