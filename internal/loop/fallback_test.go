package loop

import (
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// answered is who answered, in order.
func (f *fixture) answered() string {
	f.t.Helper()
	var list []string
	for _, m := range of[session.AssistantMessage](f) {
		list = append(list, m.Message.Source.Model)
	}
	return strings.Join(list, " ")
}

func falling(second, third *model) option {
	return func(o *Options) {
		o.Retry.Attempts = 2
		o.Fallback = []Route{{Model: second, Config: llm.Config{Provider: "test", Model: "second"}},
			{Model: third, Config: llm.Config{Provider: "else", Model: "third"}}}
	}
}

func TestFallbackTakesOverWhenRetriesAreSpent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		second := &model{plays: []play{call("probe", "{}"), fail(transient), fail(transient)}}
		third := &model{plays: []play{say("done by the third")}}
		f := newFixture(t, []play{fail(transient), fail(transient), say("back")}, falling(second, third))
		f.prompt("go")
		expect(t, "who answered", f.answered(), "second third")
		expect(t, "the end", f.lastEnd().Kind, session.Completed)
		f.prompt("again") // the next turn begins with the first
		expect(t, "who answered", f.answered(), "second third m")
		var changes []string
		for _, h := range of[session.RequestHeader](f) {
			changes = append(changes, h.Header.Config.Model+":"+h.Reason)
		}
		expect(t, "headers", changes, "[m:initial second:change third:change m:change]")
	})
}

func TestFallbackOncePerStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		second, third := &model{plays: []play{fail(transient)}}, &model{}
		f := newFixture(t, []play{fail(transient), fail(transient)}, falling(second, third))
		f.prompt("go")
		expect(t, "the end", f.lastEnd().Kind, session.Failed)
		expect(t, "requests", []int{f.model.count(), second.count(), third.count()}, "[2 1 0]")
	})
}

func TestFallbackNotForWhatIsWrong(t *testing.T) {
	for _, code := range []llm.Code{llm.CodeAuth, llm.CodeInvalidRequest, llm.CodeContentFilter} {
		t.Run(string(code), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				second := &model{}
				f := newFixture(t, []play{fail(llm.Failure{Code: code, Message: "no"})}, falling(second, second))
				f.prompt("go")
				expect(t, "the failure", f.failure().Code, code)
				expect(t, "asked another", second.count(), 0)
			})
		})
	}
}
