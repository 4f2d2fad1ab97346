package loop

import (
	"testing"
	"testing/synctest"

	"dsh/internal/session"
)

func TestLO01PromptWithoutTools(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, []play{say("hello")})
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi answer:hello stepend end:completed")
		expect(t, "headers", len(of[session.RequestHeader](f)), 1)
		expect(t, "running", f.Running(), false)
	})
}

func TestLO02OneToolThenAnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", `{"n":1}`), say("done")})
		f.prompt("go")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go answer: call:c1 result:c1 stepend step2 answer:done stepend end:completed")
		last := f.model.request(1).Messages
		result := last[len(last)-1].Content[0]
		expect(t, "the second request ends with the result", result.ToolCallID, "c1")
	})
}
