package loop

import (
	"context"
	"strings"
	"testing"

	"dsh/internal/session"
	"dsh/internal/tools"
)

// B09: a server with a small window refuses what is too long, as providers do. One huge
// output, then three more turns: each is answered, no request is larger than the
// refused one before it, and no error text becomes part of the history.
func TestB09AHugeResultDoesNotEndTheSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		server := scripted(t, `
window 10000

== summary
when "`+asksForSummary+`"
loop
optional
text The user wants output and gets it.

== run
when not any "call_"
when "go"
loop
call probe {"n":1}

== more
when "continue"
loop
call probe {"n":2}

== answer
loop
text It printed a lot. {{repeat 400 And so on, line by line. }}
`)
		body := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: strings.Repeat("0123456789abcde\n", 200<<10/16)}, nil
		}}
		f := newFixture(t, nil, dialing(t, "http://model.invalid", server.Pipe()), with(body),
			func(o *Options) { o.Route.Config.MaxTokens = 1000 })
		for _, text := range []string{"go", "continue", "continue", "continue"} {
			f.prompt(text)
			expect(t, "the turn", f.lastEnd().Kind, session.Completed)
		}
		mustContain(t, "compactions", f.brackets(), "prune", "start ask summary end")
		for _, m := range mustMessages(f) {
			if strings.Contains(m.PlainText(), "maximum context length") {
				t.Error("the provider's refusal became part of the history")
			}
		}
		f.verify()
	})
}

// The window of the next life may be smaller: a resumed session fits it at once.
func TestCompactionAfterAResumeWithASmallerWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say(words(3000)), say(words(3000)), say(words(3000))})
		f.prompt("one")
		f.prompt("two")
		f.prompt("three")
		g := f.reopen([]play{say("the sum"), say("fits")}, window(10_000))
		g.prompt("four")
		expect(t, "compactions", g.brackets(), "start ask summary end")
		expect(t, "the end", g.lastEnd().Kind, session.Completed)
	})
}
