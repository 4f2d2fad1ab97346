package llmtest

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func mustParse(t *testing.T, text string) *Script {
	t.Helper()
	script, err := Parse("test.txt", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return script
}

func TestParseReadsEveryPart(t *testing.T) {
	t.Parallel()
	script := mustParse(t, `
# settings
dialect openai
lenient
prefix
models a b
window 1000
usage in=10 out=5 cached=3 reasoning=1

== first
  # an indented comment
when results 0
expect any "x"
repeat 3
optional
delay 1s
pace 2ms
chunks 4
split 5
header Retry-After: 1
header X-A: b: c
reasoning why
text "a\nb"
text <<END
one
# no comment

  two
END
call read {"p":"#1"}
call#id7 write <<X
{"a":
1}
X
call bash
pause 3s
hold gate
finish stop

==
status 429
body {"x":1}
usage none
`)
	if script.dialect != OpenAI || !script.lenient || !script.prefix || script.window != 1000 || strings.Join(script.models, " ") != "a b" {
		t.Errorf("settings: %+v", script)
	}
	r := script.replies[0]
	if r.name != "first" || r.line != 10 || len(r.when) != 1 || len(r.expect) != 1 || r.times != 3 || !r.optional ||
		r.delay != time.Second || r.pace != 2*time.Millisecond || r.chunks != 4 || r.split != 5 || r.bare ||
		*r.usage != (usage{10, 5, 3, 1}) || r.header.Get("Retry-After") != "1" || r.header.Get("X-A") != "b: c" {
		t.Errorf("first reply: %+v", r)
	}
	want := []step{
		{kind: stepReasoning, text: "why"},
		{kind: stepText, text: "a\nb"},
		{kind: stepText, text: "one\n# no comment\n\n  two"},
		{kind: stepCall, name: "read", text: `{"p":"#1"}`},
		{kind: stepCall, name: "write", id: "id7", text: "{\"a\":\n1}"},
		{kind: stepCall, name: "bash", text: "{}"},
		{kind: stepPause, wait: 3 * time.Second},
		{kind: stepHold, text: "gate"},
		{kind: stepFinish, text: "stop"},
	}
	if len(r.steps) != len(want) {
		t.Fatalf("%d steps, want %d", len(r.steps), len(want))
	}
	for i, s := range r.steps {
		if s != want[i] {
			t.Errorf("step %d is %+v, want %+v", i, s, want[i])
		}
	}
	second := script.replies[1]
	if second.name != "reply 2" || second.status != 429 || *second.body != `{"x":1}` || second.usage != nil || second.times != 1 {
		t.Errorf("second reply: %+v", second)
	}
}

func TestParseTakesCRLFAndTabs(t *testing.T) {
	t.Parallel()
	script := mustParse(t, "== a\r\ntext\t<<END\r\none\r\ntwo\r\nEND\r\n")
	if got := script.replies[0].steps[0].text; got != "one\ntwo" {
		t.Errorf("%q", got)
	}
}

func TestParseErrorsNameFileAndLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", "test.txt:1: no reply"},
		{"# only\nlenient\n", "test.txt:3: no reply"},
		{"== a\nspeak x", `test.txt:2: unknown directive "speak"`},
		{"text x\n", "test.txt:1: text belongs to a reply"},
		{"call#1 read {}\n", "test.txt:1: a call belongs to a reply"},
		{"== a\n\ndialect openai", "test.txt:3: dialect is a setting"},
		{"dialect latin", `test.txt:1: unknown dialect "latin": know deepseek, openai`},
		{"lenient yes", `test.txt:1: unexpected "yes"`},
		{"lenient\nlenient", "test.txt:2: lenient is given twice"},
		{"== a\ndelay 1s\ndelay 2s", "test.txt:3: delay is given twice"},
		{"== a\ndelay soon", "test.txt:2: want a duration"},
		{"== a\npause -1s", "test.txt:2: want a duration"},
		{"== a\npace 1000h", "test.txt:2: want a duration"},
		{"== a\nrepeat 0", "test.txt:2: want a number from 1"},
		{"== a\nchunks many", "test.txt:2: want a number from 1"},
		{"== a\nstatus 99", "test.txt:2: want a status"},
		{"== a\nheader X", "test.txt:2: want Name: value"},
		{"== a\nfinish", "test.txt:2: want one word"},
		{"== a\nhold a b", "test.txt:2: want one word"},
		{"== a\ncall", "test.txt:2: want call NAME"},
		{"== a\nusage in=x", `test.txt:2: want in=N`},
		{"== a\nusage tokens=1", `test.txt:2: want in=N`},
		{"== a\nusage in=1 cached=2", "test.txt:2: cached is a part of in"},
		{"== a\ntext \"a\" and \"b\"", "test.txt:2: \"a\" and \"b\" is not one quoted text"},
		{"== a\ntext x\ntext <<END\nb\n", "test.txt:3: <<END has no line that is only END"},
		{"== a\ntext {{repeat 99999999 xx}}", "test.txt:2: {{repeat 99999999 ...}} makes more than"},
		{"== a\nraw \\q", "test.txt:2: bad escape"},
		{"== a\nraw \\x4", "test.txt:2: bad escape"},
		{"== a\nraw x\\", "test.txt:2: bad escape"},
		{"== a\ncut\ntext x", "test.txt:3: nothing can follow cut"},
		{"== a\neof\npause 1s", "test.txt:3: nothing can follow eof"},
		{"== a\nhang\ncut", "test.txt:3: nothing can follow hang"},
		{"== a\nhang now", `test.txt:2: unexpected "now"`},
		{"== a\nexpect something", "test.txt:2: want \"text\""},
		{"== a\nexpect any", "test.txt:2: want \"text\""},
		{"== a\nwhen not", "test.txt:2: want \"text\""},
		{"== a\nwhen \"\"", "test.txt:2: want \"text\""},
		{"== a\nwhen tool", "test.txt:2: want one name"},
		{"== a\nwhen results ..3", "test.txt:2: want N, N.. or N..M"},
		{"== a\nrepeat 2\nloop\n== b", `test.txt:1: reply "a" has repeat and loop`},
		{"\n== a\nstatus 500\ntext x", `test.txt:2: reply "a" streams and has a status`},
	} {
		_, err := Parse("test.txt", strings.NewReader(c.text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%q: %v, want %s", c.text, err, c.want)
		}
	}
}

func TestParseReportsTheReader(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	if _, err := Parse("x", iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("%v does not wrap the reader's error", err)
	}
	if _, err := Parse("x", strings.NewReader(strings.Repeat("#", maxScript+1))); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a script above the limit: %v", err)
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	t.Parallel()
	if _, err := Load(filepath.Join(t.TempDir(), "none.txt")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is not ErrNotExist", err)
	}
	file := filepath.Join(t.TempDir(), "bad.txt")
	if err := os.WriteFile(file, []byte("== a\nbad"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(file); err == nil || !strings.HasPrefix(err.Error(), "bad.txt:2: ") {
		t.Errorf("%v does not begin with bad.txt:2", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("== a\ntext <<END\nx\nEND\ncall read {}\n")
	f.Add("usage none\n== a\nraw \\x41{{repeat 2 x}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if script, err := Parse("f", strings.NewReader(text)); err == nil && len(script.replies) == 0 {
			t.Error("a script without replies is accepted")
		}
	})
}
