package llmtest

import (
	"fmt"
	"strings"
	"testing"
)

func TestFacts(t *testing.T) {
	t.Parallel()
	body := asks(`"tools":[`+tool+`]`,
		`{"role":"system","content":"be brief"}`, `{"role":"user","content":"fix the test"}`,
		called(callWith("call_7", "read", `{"p":"deep.go"}`)), strings.Replace(result, "c1", "call_7", 1),
		`{"role":"user","content":[{"type":"text","text":"and "},{"type":"text","text":"quickly"}]}`)
	q := readRequest(3, []byte(body))
	for _, c := range []struct {
		fact string
		want bool
	}{
		{`"r"`, true},
		{`"and quickly"`, true},
		{`"fix"`, false},
		{`any "fix"`, true},
		{`any "deep.go"`, true},
		{`any "brief"`, true},
		{`any "slow"`, false},
		{`system "brief"`, true},
		{`system "fix"`, false},
		{`body "\"model\":\"m\""`, true},
		{`body "xyz"`, false},
		{`tool read`, true},
		{`tool write`, false},
		{`model m`, true},
		{`model n`, false},
		{`results 1`, true},
		{`results 0`, false},
		{`results 1..`, true},
		{`results 2..`, false},
		{`results 0..1`, true},
		{`results 2..3`, false},
		{`not "fix"`, true},
		{`not results 1`, false},
		{`not not model m`, true},
	} {
		f, err := parseFact(c.fact)
		if err != nil {
			t.Errorf("%s: %v", c.fact, err)
		} else if f.holds(q) != c.want {
			t.Errorf("%s holds: %v, want %v", c.fact, !c.want, c.want)
		}
	}
	if q.lastCall() != 7 {
		t.Errorf("last call %d, want 7", q.lastCall())
	}
}

func TestConditionsBeatOrder(t *testing.T) {
	t.Parallel()
	s := newServer(t, `
== plain one
text P1
== plain two
text P2
== picky
when "hi"
when model m
text W
== never
when "bye"
optional
`)
	c := pipeClient(t, s)
	for i, want := range []string{"W", "P1", "P2"} {
		if _, _, answer, _ := c.post(valid); !strings.Contains(answer, `"content":"`+want+`"`) {
			t.Errorf("request %d is not answered %s: %s", i+1, want, answer)
		}
	}
	if err := s.Done(); err != nil {
		t.Error(err)
	}
}

// TestStatelessScriptGoesOn serves each request by a server that knows nothing of
// the ones before, as after a kill.
func TestStatelessScriptGoesOn(t *testing.T) {
	t.Parallel()
	const script = `
== look
when results 0
loop
optional
call read {"step":{{results}}}
== change
when results 1
loop
optional
call edit {"step":{{results}}}
== answer
when results 2..
loop
optional
text done after {{results}}
`
	messages := []string{sys, hi}
	for step, want := range []string{`"name":"read"`, `"name":"edit"`, `"content":"2"`} {
		s := newServer(t, script)
		_, _, answer, _ := pipeClient(t, s).post(asks(`"stream":true`, messages...))
		if !strings.Contains(answer, want) {
			t.Errorf("step %d is not answered with %s: %s", step, want, answer)
		}
		id := fmt.Sprintf("call_%d", step+1)
		if step < 2 && !strings.Contains(answer, `"id":"`+id+`"`) {
			t.Errorf("step %d has no new id %s: %s", step, id, answer)
		}
		messages = append(messages, called(callWith(id, "x", "{}")), strings.Replace(result, "c1", id, 1))
		if err := s.Done(); err != nil {
			t.Error(err)
		}
	}
}

func TestPrefixStable(t *testing.T) {
	t.Parallel()
	with := `"tools":[` + tool + `]`
	first := asks(with, sys, hi)
	for _, c := range []struct{ name, second, want string }{
		{"the same again", first, ""},
		{"extended", asks(with, sys, hi, said, hi), ""},
		{"a message changed", asks(with, sys, strings.Replace(hi, "hi", "ho", 1), said, hi), "request 2 does not extend request 1: message 1 changed at byte 27"},
		{"a space more", strings.Replace(asks(with, sys, hi, said, hi), "},{", "}, {", 1), "bytes between messages changed at byte"},
		{"a message less", asks(with, sys), "messages from 1 on are gone"},
		{"tools changed", asks(`"tools":[`+toolNamed("write")+`]`, sys, hi), "tools changed at byte"},
		{"not JSON", "{", "not a request"},
	} {
		s := newServer(t, "lenient\nprefix\n== a\nrepeat 2")
		client := pipeClient(t, s)
		client.post(first)
		if err := s.PrefixStable(); err != nil {
			t.Errorf("%s: one request alone: %v", c.name, err)
		}
		client.post(c.second)
		err := s.PrefixStable()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		if done := s.Done(); (done == nil) != (c.want == "") {
			t.Errorf("%s: Done is %v", c.name, done)
		}
	}
}
