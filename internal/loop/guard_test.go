package loop

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// reminders are the guard's notes that reached the model.
func (f *fixture) reminders() []string {
	f.t.Helper()
	var list []string
	for _, m := range of[session.UserMessage](f) {
		if strings.Contains(m.PlainText(), "in a row with the same arguments") {
			list = append(list, m.PlainText())
		}
	}
	return list
}

// counting is a tool whose result is what next says of the call's number, from 1.
func counting(next func(n int) (tools.Result, error)) *probe {
	n := 0
	return &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
		n++
		return next(n)
	}}
}

const stoppedAtEight = "guard: probe was called 8 times in a row with the same arguments and the same result"

func TestGD01RemindersAtThreeAndFive(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, append(repeated(6, call("probe", `{"n":7}`)), say("done")))
		f.prompt("go")
		list := f.reminders()
		if len(list) != 2 {
			t.Fatalf("%d reminders: %v", len(list), list)
		}
		if !strings.Contains(list[0], "probe 3 times") || strings.Contains(list[0], `{"n":7}`) || strings.Contains(list[0], "stops") {
			t.Errorf("the first is not gentle: %s", list[0])
		}
		if !strings.Contains(list[1], "probe 5 times") || !strings.Contains(list[1], `{"n":7}`) || !strings.Contains(list[1], "stops the turn") {
			t.Errorf("the second lacks details: %s", list[1])
		}
		for i := range 7 {
			messages := f.model.request(i).Messages
			fresh := strings.Contains(messages[len(messages)-1].PlainText(), "in a row")
			expect(t, fmt.Sprintf("request %d ends with a reminder", i+1), fresh, i == 3 || i == 5)
		}
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
	})
}

func TestPIP15ReminderComesAfterTheThirdResult(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{call("probe", `{"n":1,"x":{"a":1,"b":2}}`), call("probe", `{"x":{"b":2,"a":1},"n":1}`),
			call("probe", ` { "n": 1, "x": {"a":1, "b":2} }`), say("done")})
		f.prompt("go")
		messages := f.model.request(3).Messages
		result, note := messages[len(messages)-2], messages[len(messages)-1]
		expect(t, "a result", result.Source.Kind, llm.FromTool)
		if !strings.Contains(note.PlainText(), "3 times in a row") {
			t.Errorf("after it stands %q", note.PlainText())
		}
	})
}

func TestGD03Keys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		a, b string
		same bool
	}{
		"GD03 order of properties": {`{"a":1,"b":[{"c":2,"d":3}]}`, `{ "b":[{"d":3,"c":2}], "a":1 }`, true},
		"GD03 order of elements":   {`{"a":[1,2]}`, `{"a":[2,1]}`, false},
		"GD03 long numbers":        {`{"id":9007199254740993}`, `{"id":9007199254740992}`, false},
		"GD03 not JSON":            {`{"a":`, `{"a":`, true},
		"GD03 not JSON, otherwise": {`{"a":`, `{"b":`, false},
		"GD03 more than one value": {`{"a":1} x`, `{"a":1} y`, false},
		"GD03 one brace too many":  {`{"a":1}}`, `{"a":1}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			if canonical(c.a) == canonical(c.b) != c.same {
				t.Errorf("%s gives %s\n%s gives %s", c.a, canonical(c.a), c.b, canonical(c.b))
			}
		})
	}
}

// H01: the turn ends, and says why.
func TestH01IdenticalCallsEndTheTurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, repeated(30, call("probe", "{}")))
		f.prompt("go")
		expect(t, "requests", f.model.count(), 8)
		expect(t, "results", f.codes(), "ok ok ok ok ok ok ok ok")
		end := f.lastEnd()
		expect(t, "the end", fmt.Sprint(end.Kind, end.Cause.Kind, end.Cause.Reason), fmt.Sprint(session.Aborted, session.ByHook, stoppedAtEight))
	})
}

func TestH01WhatEndsATurnIsTheSameResult(t *testing.T) {
	for name, c := range map[string]struct {
		result   func(n int) (tools.Result, error)
		requests int
	}{
		"H01 polling whose result changes": {func(n int) (tools.Result, error) { return tools.Result{Text: fmt.Sprint(n)}, nil }, 21},
		"H01 an edit that always fails": {func(int) (tools.Result, error) {
			return tools.Result{}, &tools.Error{Code: tools.FSEditNotFound, Text: "not found"}
		}, 8},
		"H01 an edit that fails after its first time": {func(n int) (tools.Result, error) {
			if n == 1 {
				return tools.Result{Text: "edited"}, nil
			}
			return tools.Result{}, &tools.Error{Code: tools.FSEditNotFound, Text: "not found"}
		}, 9},
		"H01 polling that comes to a halt": {func(n int) (tools.Result, error) { return tools.Result{Text: fmt.Sprint(min(n, 10))}, nil }, 17},
		"H01 a success and a failure of the same text": {func(n int) (tools.Result, error) {
			return tools.Result{Text: "x", IsError: n%2 == 0, Code: "X"}, nil
		}, 21},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				f := newFixture(t, append(repeated(20, call("probe", "{}")), say("done")), with(counting(c.result)))
				f.prompt("go")
				expect(t, "requests", f.model.count(), c.requests)
				expect(t, "reminders", len(f.reminders()), 2)
				kind := session.Aborted
				if c.requests == 21 {
					kind = session.Completed
				}
				expect(t, "the end", f.lastEnd().Kind, kind)
			})
		})
	}
}

func TestGD04ResetByAnotherCall(t *testing.T) {
	inTime(t, func(t *testing.T) {
		same, other := call("probe", arg(1)), call("probe", arg(2))
		f := newFixture(t, []play{same, same, other, same, same, other, say("done")})
		f.prompt("go")
		expect(t, "reminders", len(f.reminders()), 0)
	})
}

func TestGD04ResetByAPrompt(t *testing.T) {
	inTime(t, func(t *testing.T) {
		same := call("probe", arg(1))
		f := newFixture(t, []play{same, same, say("done"), same, same, say("done")})
		f.prompt("go")
		f.prompt("again")
		expect(t, "reminders", len(f.reminders()), 0)
	})
}

func TestPIP17SteerRestartsTheCount(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var f *fixture
		p := counting(func(n int) (tools.Result, error) {
			if n == 2 || n == 4 {
				if _, err := f.Steer("keep trying"); err != nil {
					return tools.Result{}, err
				}
			}
			return tools.Result{Text: "ok"}, nil
		})
		f = newFixture(t, append(repeated(6, call("probe", "{}")), say("done")), with(p))
		f.prompt("go")
		expect(t, "steers", strings.Count(f.story(), "user:keep trying"), 2)
		expect(t, "reminders", len(f.reminders()), 0)
	})
}

// Only a person restarts the count: notes do not, nor does the guard's own.
func TestGD04NotesDoNotReset(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := counting(func(int) (tools.Result, error) {
			return tools.Result{Text: "ok", Contexts: []llm.Message{notice("a note")}}, nil
		})
		f := newFixture(t, repeated(30, call("probe", "{}")), with(p))
		f.prompt("go")
		expect(t, "requests", f.model.count(), 8)
		expect(t, "the end", f.lastEnd().Cause, stoppedAtEight)
	})
}

func TestRefusedCallsCount(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, repeated(30, call("probe", "{}")), with(&probe{name: "probe", run: never(t)}), deny("probe"))
		f.prompt("go")
		expect(t, "requests", f.model.count(), 8)
		expect(t, "reminders", len(f.reminders()), 2)
	})
}

func TestGD08ReminderIsAddedToWhatHooksSay(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, append(repeated(3, call("probe", "{}")), say("done")),
			hooked(around{after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
				blocked := failed("BLOCKED", "no")
				blocked.Contexts = []llm.Message{notice("the hook")}
				return blocked, nil
			}}))
		f.prompt("go")
		last := tail(f.model.request(3), 2)
		if !strings.HasPrefix(last, "the hook | You have now called probe 3 times") {
			t.Errorf("the notes are %q", last)
		}
		expect(t, "the result stays", resultText(&of[session.ToolResult](f)[2].Message), "Error: no")
	})
}

func TestGD10LongArgumentsAreShownInPart(t *testing.T) {
	inTime(t, func(t *testing.T) {
		long := strings.Repeat("x", 3000)
		same := call("probe", `{"s":"`+long+`1"}`)
		f := newFixture(t, append(repeated(5, same), say("done")))
		f.prompt("go")
		last := f.reminders()[1]
		if n := strings.Count(last, "x"); n < 400 || n > 510 || !strings.Contains(last, "…") {
			t.Errorf("%d characters of the arguments are shown: %s", n, last)
		}
	})
}

func TestGD10KeyIsOfTheFullArguments(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var plays []play
		for i := range 6 {
			plays = append(plays, call("probe", fmt.Sprintf(`{"s":"%s%d"}`, strings.Repeat("x", 3000), i)))
		}
		f := newFixture(t, append(plays, say("done")))
		f.prompt("go")
		expect(t, "reminders", len(f.reminders()), 0)
	})
}

func TestIdenticalCallsInOneMessage(t *testing.T) {
	for n, c := range map[int]struct{ reminders, requests int }{2: {0, 2}, 3: {1, 2}, 5: {2, 2}, 8: {0, 1}, 12: {0, 1}} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				var pairs []string
				for range n {
					pairs = append(pairs, "probe", "{}")
				}
				f := newFixture(t, []play{call(pairs...), say("done")}, with(&probe{name: "probe", safe: always}))
				f.prompt("go")
				expect(t, "reminders", len(f.reminders()), c.reminders)
				expect(t, "requests", f.model.count(), c.requests)
				expect(t, "results", len(of[session.ToolResult](f)), n)
				if c.requests == 1 {
					expect(t, "the end", f.lastEnd().Cause, stoppedAtEight)
				}
			})
		})
	}
}

func TestGuardIsAFoldOverTheLog(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, append(append(repeated(2, call("probe", arg(1))), repeated(4, call("probe", arg(2)))...), say("done")))
		f.prompt("go")
		live := fmt.Sprintf("%+v", f.d.repeat)
		if f.d.repeat.count != 4 {
			t.Errorf("the count is %d", f.d.repeat.count)
		}
		var replayed repeats
		for _, ev := range f.events() {
			replayed.apply(&ev)
		}
		expect(t, "replayed from the file", fmt.Sprintf("%+v", replayed), live)
		f = f.reopen(nil)
		expect(t, "after a resume", fmt.Sprintf("%+v", f.d.repeat), live)
	})
}

func TestGD09TwoAgentsHaveTheirOwnChains(t *testing.T) {
	bubble(t, func(t *testing.T) {
		repeat := []play{call("probe", `{"n":1}`), call("probe", `{"n":1}`), say("done")}
		one, other := newFixture(t, repeat), newFixture(t, repeat)
		one.prompt("go")
		other.prompt("go")
		for _, f := range []*fixture{one, other} {
			if text := strings.Join(texts(f.model.request(2)), "\n"); strings.Contains(text, "in a row") {
				t.Errorf("two calls of each agent make no chain of three: %s", text)
			}
		}
	})
}
