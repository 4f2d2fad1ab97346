package loop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func TestTL20ArgumentsThatAreNotJSON(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ran := false
		p := &probe{name: "probe", safe: always, run: func(context.Context, string) (tools.Result, error) {
			ran = true
			return tools.Result{}, nil
		}}
		f := newFixture(t, []play{call("probe", `{"n":`), say("done")}, with(p))
		f.prompt("go")
		expect(t, "ran", ran, false)
		expect(t, "codes", f.codes(), "INVALID_ARGS")
		expect(t, "the logged arguments", of[session.ToolCall](f)[0].Arguments, `{"n":`)
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
	})
}

func TestTL21EmptyArgumentsAreAnEmptyObject(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var got string
		p := &probe{name: "probe", run: func(_ context.Context, args string) (tools.Result, error) {
			got = args
			return tools.Result{Text: "ok"}, nil
		}}
		f := newFixture(t, []play{call("probe", ""), say("done")}, with(p))
		f.prompt("go")
		expect(t, "arguments", got, "{}")
		expect(t, "codes", f.codes(), "ok")
	})
}

func TestTL23MetaStandsInTheEvent(t *testing.T) {
	inTime(t, func(t *testing.T) {
		display := session.Display{Kind: session.ShowText, Verb: "Probe", Facts: []string{"3 lines"}}
		seen := session.FileVersion{Path: "/repo/a", SHA256: strings.Repeat("a", 64), Size: 1}
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: "ok", Changed: []string{"/repo/a"},
				Meta: session.ResultMeta{Display: &display, Seen: []session.FileVersion{seen}}}, nil
		}}
		f := newFixture(t, []play{call("probe", "{}"), say("done")}, with(p))
		f.prompt("go")
		meta, ok := session.DecodeMeta(of[session.ToolResult](f)[0].Meta)
		if !ok || meta.Display == nil || fmt.Sprint(*meta.Display) != fmt.Sprint(display) {
			t.Errorf("the display: %+v", meta.Display)
		}
		expect(t, "seen", meta.Seen, []session.FileVersion{seen})
		expect(t, "changed", of[session.WorkspaceChanged](f), []session.WorkspaceChanged{{Path: "/repo/a", CallID: "c1"}})
		for _, m := range f.model.request(1).Messages {
			if strings.Contains(resultText(m), "3 lines") {
				t.Error("the model reads what is for people")
			}
		}
	})
}

func TestTL24ResultsCiteTheirCall(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls("safe", "safe", "nosuch", "safe")}, with(s.safe()),
			hooked(around{before: func(_ context.Context, c Call) (string, error) {
				if c.ID == "c2" {
					return "no", nil
				}
				return "", nil
			}}))
		f.send("go")
		s.now()
		s.let(1)
		expect(t, "running", s.now(), "4")
		f.cancel(true)
		s.let(4)
		f.idle()
		seqs, cited := map[string]int{}, 0
		for _, ev := range f.events() {
			switch data := ev.Data.(type) {
			case session.ToolCall:
				seqs[data.CallID] = ev.Seq
			case session.ToolResult:
				cited++
				expect(t, "cited by "+data.Message.Source.CallID, ev.Sources, []int{seqs[data.Message.Source.CallID]})
			}
		}
		expect(t, "results", cited, 4)
	})
}

// withIDs answers with calls to probe: an id and its arguments in turn.
func withIDs(pairs ...string) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		for i := 0; i < len(pairs); i += 2 {
			yield(llm.Chunk{Type: llm.ToolCallDelta, Index: i / 2, ID: pairs[i], Name: "probe", HasName: true, ArgumentsDelta: pairs[i+1]})
		}
	}
}

// TL26, B06: each call runs once, with its own arguments, under an id that the
// session has not used.
func TestTL26DuplicateIDs(t *testing.T) {
	for name, messages := range map[string][]play{
		"TL26 in one message":     {withIDs("x", arg(1), "x", arg(2), "x", arg(3))},
		"B06 across messages":     {withIDs("x", arg(1)), withIDs("x", arg(2)), withIDs("x", arg(3))},
		"B06 both":                {withIDs("x", arg(1)), withIDs("x", arg(2), "x", arg(3))},
		"B06 empty":               {withIDs("", arg(1), "", arg(2)), withIDs("", arg(3))},
		"B06 the name we made up": {withIDs("x#2", arg(1)), withIDs("x", arg(2), "x", arg(3))},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				var ran []string
				p := &probe{name: "probe", run: func(_ context.Context, args string) (tools.Result, error) {
					ran = append(ran, args)
					return tools.Result{Text: "of " + args}, nil
				}}
				f := newFixture(t, append(messages, say("done")), with(p))
				f.prompt("go")
				expect(t, "ran", numbers(ran), "1 2 3")
				expect(t, "the turn", f.lastEnd().Kind, session.Completed)
				ids := map[string]bool{}
				for i, r := range of[session.ToolResult](f) {
					id := r.Message.Source.CallID
					if id == "" || ids[id] {
						t.Errorf("id %q is empty or used twice", id)
					}
					ids[id] = true
					expect(t, "the call of result "+id, of[session.ToolCall](f)[i].CallID, id)
					expect(t, "the text of "+id, resultText(&r.Message), "of "+arg(i+1))
				}
				expect(t, "results", len(ids), 3)
				paired(t, f.model.request(len(messages)).Messages)
			})
		})
	}
}

func TestB06IDsStayUniqueAfterAResume(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{withIDs("x", arg(1)), say("done")})
		f.prompt("one")
		f = f.reopen([]play{withIDs("x", arg(2)), say("done")})
		f.prompt("two")
		list := of[session.ToolCall](f)
		expect(t, "ids", list[0].CallID+" "+list[1].CallID, "x x-2")
	})
}

// A provider that begins to count anew in each answer must not make it slower and
// slower to find a free id. (AllocsPerRun wants no tests beside it.)
func TestB06FreeIDIsFoundAtOnce(t *testing.T) {
	d := driverState{calls: map[string]int{}}
	use := func() {
		id := d.uniqueCallID("call_0")
		if d.calls[id] != 0 {
			t.Fatalf("%s is used", id)
		}
		d.use(id)
	}
	for range 2000 {
		use()
	}
	if n := testing.AllocsPerRun(100, use); n > 20 {
		t.Errorf("%v allocations for one id after 2000", n)
	}
}

func TestPIP06BodyThatPanics(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		bad := &probe{name: "bad", safe: always, run: func(context.Context, string) (tools.Result, error) { panic("boom") }}
		f := newFixture(t, []play{calls("safe", "bad", "safe"), say("done")}, with(s.safe(), bad))
		f.send("go")
		expect(t, "the siblings run", s.now(), "1 3")
		s.let(1, 3)
		f.idle()
		expect(t, "codes", f.codes(), "ok INTERNAL ok")
		text := resultText(&of[session.ToolResult](f)[1].Message)
		if !strings.HasPrefix(text, "Error: ") || !strings.Contains(text, "boom") {
			t.Errorf("the model reads %q", text)
		}
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
	})
}

// never is a body that must not run.
func never(t *testing.T) func(context.Context, string) (tools.Result, error) {
	return func(context.Context, string) (tools.Result, error) {
		t.Error("the body ran")
		return tools.Result{}, nil
	}
}

func TestBadCallsAreAnsweredAndTheTurnGoesOn(t *testing.T) {
	for name, c := range map[string]struct{ tool, args, codes, text string }{
		"TP02 normal call":               {"probe", arg(1), "ok", `ran with {"n":1}`},
		"TP03 unknown tool":              {"nosuch", "{}", "UNKNOWN_TOOL", "Error: there is no tool"},
		"PIP01 unknown tool":             {"nosuch", "{}", "UNKNOWN_TOOL", "The tools are: breaks, probe"},
		"PIP02 empty arguments":          {"probe", "", "ok", "ran with {}"},
		"PIP03 arguments are not JSON":   {"probe", "{n", "INVALID_ARGS", "not valid JSON"},
		"PIP05 unknown property":         {"probe", `{"n":1,"x":2}`, "ok", "ran with"},
		"PIP06 body fails":               {"breaks", "{}", "", "Error: it broke"},
		"PIP06 error with a code":        {"breaks", arg(1), "FS_NOT_FOUND", "not there"},
		"TP38 typed information is kept": {"breaks", arg(1), "FS_NOT_FOUND", "not there"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				good := &probe{name: "probe", run: func(_ context.Context, args string) (tools.Result, error) {
					return tools.Result{Text: "ran with " + args}, nil
				}}
				breaks := &probe{name: "breaks", run: func(_ context.Context, args string) (tools.Result, error) {
					if args == arg(1) {
						return tools.Result{}, &tools.Error{Code: tools.FSNotFound, Text: "not there"}
					}
					return tools.Result{}, errors.New("it broke")
				}}
				var seen string
				f := newFixture(t, []play{call(c.tool, c.args), say("done")}, with(good, breaks),
					hooked(around{after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
						seen = r.Text
						return r, nil
					}}))
				f.prompt("go")
				text := resultText(&of[session.ToolResult](f)[0].Message)
				if !strings.Contains(text, c.text) || strings.HasPrefix(text, "Error:") != (c.codes != "ok") {
					t.Errorf("the result is %q, want %q in it", text, c.text)
				}
				expect(t, "codes", f.codes(), c.codes)
				expect(t, "what the hook saw", seen, text)
				expect(t, "the logged arguments", of[session.ToolCall](f)[0].Arguments, c.args)
				expect(t, "the turn", f.lastEnd().Kind, session.Completed)
				expect(t, "requests", f.model.count(), 2)
			})
		})
	}
}

func deny(pattern string) option {
	return func(o *Options) {
		rule, err := policy.ParseRule(pattern, session.Deny, "test")
		if err != nil {
			panic(err)
		}
		o.Rules.Rules = append(o.Rules.Rules, rule)
	}
}

func TestPIP07DeniedCallDoesNotRun(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := &probe{name: "probe", class: policy.Write, run: never(t)}
		f := newFixture(t, []play{calls("probe"), say("done")}, with(p), deny("probe"))
		f.prompt("go")
		r := of[session.ToolResult](f)[0]
		expect(t, "codes", f.codes(), "DENIED")
		d := of[session.PolicyDecision](f)[0]
		expect(t, "the decision", d.CallID+" "+string(d.Decision), "c1 deny")
		if text := resultText(&r.Message); !strings.HasPrefix(text, "Error: not allowed: ") || !strings.Contains(text, d.Reason) {
			t.Errorf("the result is %q, without the reason %q", text, d.Reason)
		}
		meta, _ := session.DecodeMeta(r.Meta)
		if meta.Refused == nil || meta.Refused.Tool != "probe" || meta.Refused.Target != arg(1) || meta.Refused.Reason != d.Reason {
			t.Errorf("the refusal in the meta: %+v", meta.Refused)
		}
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
	})
}

// asks makes every write ask, with or without somebody to answer.
func asks(person bool) option {
	return func(o *Options) { o.Rules.Preset, o.Asks = policy.PresetAsk, person }
}

func TestTP17AskWithoutAPersonIsADenial(t *testing.T) {
	for _, id := range []string{"TP17 nobody can be asked", "PIP08 nobody can be asked"} {
		t.Run(id, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				p := &probe{name: "probe", class: policy.Write, run: never(t)}
				f := newFixture(t, []play{calls("probe"), say("done")}, with(p), asks(false))
				f.prompt("go")
				expect(t, "codes", f.codes(), "DENIED")
				d := of[session.PolicyDecision](f)[0]
				expect(t, "the decision", d.Decision, session.Ask)
				text := resultText(&of[session.ToolResult](f)[0].Message)
				if !strings.Contains(text, d.Reason) || !strings.Contains(text, "Nobody can be asked") || !strings.Contains(text, "--") {
					t.Errorf("the result is %q: it lacks the reason, that nobody can be asked, or the flag", text)
				}
				expect(t, "questions", len(of[session.ApprovalAsked](f)), 0)
			})
		})
	}
}

func TestTP18Answers(t *testing.T) {
	for name, c := range map[string]struct {
		answer       session.Answer
		codes, text  string
		outcome      string
		bodies, rule int
	}{
		"TP18 once":     {session.Answer{Outcome: session.Once}, "ok", "ok", "allowed-once", 1, 0},
		"TP18 session":  {session.Answer{Outcome: session.ForSession, Pattern: "probe"}, "ok", "ok", "allowed-once", 1, 1},
		"TP18 no":       {session.Answer{Outcome: session.No}, "DENIED", "Error: the user said no", "rejected", 0, 0},
		"TP18 no, why":  {session.Answer{Outcome: session.No, Say: "use b.txt"}, "DENIED", "says: use b.txt", "rejected", 0, 0},
		"TP18 nonsense": {session.Answer{Outcome: "perhaps"}, "DENIED", `"perhaps"`, "rejected", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				bodies := 0
				p := &probe{name: "probe", class: policy.Write, run: func(context.Context, string) (tools.Result, error) {
					bodies++
					return tools.Result{Text: "ok"}, nil
				}}
				f := newFixture(t, []play{calls("probe"), say("done")}, with(p), asks(true))
				f.send("go")
				synctest.Wait()
				questions := f.Waiting()
				if len(questions) != 1 {
					t.Fatalf("%d questions", len(questions))
				}
				// A question may stand again for an answer that means nothing.
				if err := f.Decide(questions[0].ID, c.answer); err != nil {
					if err := f.Decide(questions[0].ID, session.Answer{Outcome: session.No, Say: err.Error()}); err != nil {
						t.Fatal(err)
					}
				}
				f.idle()
				expect(t, "codes", f.codes(), c.codes)
				expect(t, "bodies", bodies, c.bodies)
				if text := resultText(&of[session.ToolResult](f)[0].Message); !strings.Contains(text, c.text) {
					t.Errorf("the result is %q, want %q in it", text, c.text)
				}
				expect(t, "the logged outcome", of[session.ApprovalDecided](f)[0].Outcome, c.outcome)
				expect(t, "rules made", len(of[session.PolicyRule](f)), c.rule)
			})
		})
	}
}

func TestTP19CancelWhileAsking(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := &probe{name: "probe", class: policy.Write, run: never(t)}
		f := newFixture(t, []play{calls("probe", "probe")}, with(p), asks(true))
		f.send("go")
		synctest.Wait()
		f.cancel(true)
		f.idle()
		expect(t, "codes", f.codes(), "ABORTED_BEFORE_DISPATCH ABORTED_BEFORE_DISPATCH")
		expect(t, "the answer", of[session.ApprovalDecided](f)[0].Outcome, "cancelled")
		expect(t, "questions left", len(f.Waiting()), 0)
	})
}

func TestPIP09ResultsInTheModelsOrder(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(3, "safe")...), say("done")}, with(s.safe()))
		f.send("go")
		expect(t, "bodies overlap", s.now(), "1 2 3")
		s.let(3, 2, 1)
		f.idle()
		expect(t, "results", f.outcomes(), "c1: result 1\nc2: result 2\nc3: result 3")
	})
}

func TestPIP12CancelWhileTheFirstOfThreeRuns(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls(times(3, "alone")...), say("next")}, with(s.alone()))
		f.send("go")
		s.now()
		f.cancel(true)
		s.door(arg(1)) <- tools.Result{Text: "Error: exit code 1, 3 tests failed", IsError: true, Code: "EXIT"}
		f.idle()
		expect(t, "bodies", s.begun(), "1")
		expect(t, "codes", f.codes(), "EXIT ABORTED_BEFORE_DISPATCH ABORTED_BEFORE_DISPATCH")
		results := of[session.ToolResult](f)
		expect(t, "the result of its own", resultText(&results[0].Message), "Error: exit code 1, 3 tests failed")
		expect(t, "the name of a stand-in", results[1].Error.Name, "AbortError")
		f.prompt("next")
		paired(t, f.model.request(1).Messages)
	})
}

func TestPIP13OneResultForEachCallWhateverHappens(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := &probe{name: "probe", safe: always, run: func(_ context.Context, args string) (tools.Result, error) {
			switch args {
			case arg(2):
				panic("boom")
			case arg(3):
				return tools.Result{}, errors.New("no")
			case arg(5):
				return tools.Result{}, nil
			}
			return tools.Result{Text: "ok"}, nil
		}}
		f := newFixture(t, []play{calls("probe", "probe", "probe", "nosuch", "probe", "probe", "probe"), say("done")}, with(p),
			hooked(around{before: func(_ context.Context, c Call) (string, error) {
				if c.ID == "c6" {
					return "no", nil
				}
				return "", nil
			}}))
		f.prompt("go")
		paired(t, f.model.request(1).Messages)
		expect(t, "codes", f.codes(), "ok INTERNAL  UNKNOWN_TOOL ok DENIED ok")
	})
}

func TestTP06BlocksThatNoResultMayHold(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Blocks: []llm.Block{{Type: llm.ToolCall, ID: "x", Name: "probe"}}, Changed: []string{"/repo/a"}}, nil
		}}
		f := newFixture(t, []play{calls("probe", "probe"), say("done")}, with(p))
		f.prompt("go")
		expect(t, "codes", f.codes(), "INTERNAL INTERNAL")
		expect(t, "what it changed is known", len(of[session.WorkspaceChanged](f)), 2)
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
		paired(t, f.model.request(1).Messages)
	})
}

func TestTP09HookReplacesTheContent(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: "secret", Meta: session.ResultMeta{Display: &session.Display{Kind: session.ShowText, Verb: "Probe"}}}, nil
		}}
		f := newFixture(t, []play{calls("probe"), say("done")}, with(p),
			hooked(around{after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
				r.Text += "!"
				return r, nil
			}}, around{after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
				r.Text = strings.ReplaceAll(r.Text, "secret", "[redacted]")
				return r, nil
			}}))
		f.prompt("go")
		r := of[session.ToolResult](f)[0]
		expect(t, "the content", resultText(&r.Message), "[redacted]!")
		if meta, ok := session.DecodeMeta(r.Meta); !ok || meta.Display == nil {
			t.Errorf("the meta is lost: %s", r.Meta)
		}
	})
}

func TestTP14HookBlocksAResult(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{calls("probe"), say("done")},
			hooked(around{after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
				blocked := failed("BLOCKED", "the formatter disagrees")
				blocked.Contexts = append(r.Contexts, notice("run the formatter"))
				return blocked, nil
			}}))
		f.prompt("go")
		expect(t, "the result", f.outcomes(), "c1: Error: the formatter disagrees")
		expect(t, "codes", f.codes(), "BLOCKED")
		expect(t, "the note", tail(f.model.request(1), 1), "run the formatter")
	})
}

func TestTP20OrderOfNotes(t *testing.T) {
	inTime(t, func(t *testing.T) {
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: "ok", Contexts: []llm.Message{notice("tool")}}, nil
		}}
		adds := func(text string) around {
			return around{after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
				r.Contexts = append(r.Contexts, notice(text))
				return r, nil
			}}
		}
		f := newFixture(t, []play{calls("probe"), say("done")}, with(p), hooked(adds("first hook"), adds("second hook")))
		f.prompt("go")
		expect(t, "notes", tail(f.model.request(1), 3), "tool | first hook | second hook")
	})
}

// waiting is a hook that decides when the turn is over.
func waiting(deny string, err error) option {
	return hooked(around{before: func(ctx context.Context, _ Call) (string, error) {
		<-ctx.Done()
		return deny, err
	}})
}

func TestHooksThatDecideAfterTheCancel(t *testing.T) {
	for name, c := range map[string]struct {
		deny  string
		err   error
		codes string
		text  string
	}{
		"TP23 it would allow":    {"", nil, "ABORTED_BEFORE_DISPATCH ABORTED_BEFORE_DISPATCH", "the user interrupted on purpose before this call started"},
		"TP24 a denial is kept":  {"not this", nil, "DENIED ABORTED_BEFORE_DISPATCH", "Error: not this"},
		"TP25 a failure is kept": {"", errors.New("it broke"), "HOOK_FAILED ABORTED_BEFORE_DISPATCH", "Error: it broke"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				f := newFixture(t, []play{calls("probe", "probe")}, with(&probe{name: "probe", run: never(t)}), waiting(c.deny, c.err))
				f.send("go")
				synctest.Wait()
				f.cancel(true)
				f.idle()
				expect(t, "codes", f.codes(), c.codes)
				if text := resultText(&of[session.ToolResult](f)[0].Message); !strings.Contains(text, c.text) {
					t.Errorf("the result is %q, want %q in it", text, c.text)
				}
			})
		})
	}
}

func TestTP29SuccessAfterTheCancel(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls("alone"), say("next")}, with(s.alone()))
		f.send("go")
		s.now()
		f.cancel(true)
		s.door(arg(1)) <- tools.Result{Text: "the full text", Changed: []string{"/repo/a"}, Contexts: []llm.Message{notice("a note")}}
		f.idle()
		expect(t, "codes", f.codes(), "ABORTED")
		expect(t, "changed files", len(of[session.WorkspaceChanged](f)), 1)
		f.prompt("next")
		if text := tail(f.model.request(1), 2); !strings.Contains(text, "a note") {
			t.Errorf("the note is lost: %s", text)
		}
	})
}

// D: a result that was there before the cancel is not taken back while a hook looks
// at it, for the call did run to its end.
func TestTP29ResultFromBeforeTheCancelStands(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{calls("probe")},
			hooked(around{after: func(ctx context.Context, _ Call, r tools.Result) (tools.Result, error) {
				<-ctx.Done()
				return r, nil
			}}))
		f.send("go")
		synctest.Wait()
		f.cancel(true)
		f.idle()
		expect(t, "the result", f.outcomes(), "c1: ok")
	})
}

func TestTP30FailureAfterTheCancelIsKept(t *testing.T) {
	t.Run("TP30 of the body", func(t *testing.T) {
		inTime(t, func(t *testing.T) {
			p := &probe{name: "probe", run: func(ctx context.Context, _ string) (tools.Result, error) {
				<-ctx.Done()
				return tools.Result{}, &tools.Error{Code: tools.FSIO, Text: "the disk is gone"}
			}}
			f := newFixture(t, []play{calls("probe")}, with(p))
			f.send("go")
			synctest.Wait()
			f.cancel(true)
			f.idle()
			expect(t, "the result", f.outcomes(), "c1: Error: the disk is gone")
			expect(t, "codes", f.codes(), "FS_IO_ERROR")
		})
	})
	t.Run("TP30 of a hook", func(t *testing.T) {
		inTime(t, func(t *testing.T) {
			f := newFixture(t, []play{calls("probe")},
				hooked(around{after: func(ctx context.Context, _ Call, r tools.Result) (tools.Result, error) {
					<-ctx.Done()
					return r, errors.New("the hook broke")
				}}))
			f.send("go")
			synctest.Wait()
			f.cancel(true)
			f.idle()
			expect(t, "the result", f.outcomes(), "c1: Error: the hook broke")
			expect(t, "codes", f.codes(), "HOOK_FAILED")
		})
	})
}

func TestTP33BodyThatIgnoresTheCancelIsWaitedFor(t *testing.T) {
	inTime(t, func(t *testing.T) {
		s := newStage()
		f := newFixture(t, []play{calls("alone")}, with(s.alone()))
		f.send("go")
		s.now()
		f.cancel(true)
		synctest.Wait()
		expect(t, "running", f.Running(), true)
		expect(t, "results", f.codes(), "")
		s.let(1)
		f.idle()
		expect(t, "codes", f.codes(), "ABORTED")
	})
}

// B08: the text says that it was meant, and how far the call had come.
func TestB08WhatACancelledBodySaysOfItselfIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		result tools.Result
		err    error
		want   string
	}{
		"B08 it had ended":   {tools.Result{Text: "all of it"}, nil, "it had ended by then and what it did stands"},
		"B08 it says little": {tools.Result{}, context.Canceled, "may have taken effect in part or in full"},
		"B08 its own words":  {tools.Result{Text: "Error: killed after 3 lines", IsError: true, Code: tools.Aborted}, nil, "killed after 3 lines"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				p := &probe{name: "probe", run: func(ctx context.Context, _ string) (tools.Result, error) {
					<-ctx.Done()
					return c.result, c.err
				}}
				f := newFixture(t, []play{calls("probe")}, with(p))
				f.send("go")
				synctest.Wait()
				f.cancel(true)
				f.idle()
				text := resultText(&of[session.ToolResult](f)[0].Message)
				for _, want := range []string{"Error: the user interrupted on purpose while this call was running", c.want, "do not repeat it"} {
					if !strings.Contains(text, want) {
						t.Errorf("the result is %q, want %q in it", text, want)
					}
				}
				expect(t, "codes", f.codes(), "ABORTED")
				expect(t, "errors in the text", strings.Count(text, "Error: "), 1)
			})
		})
	}
}

func TestTP38FailingHooks(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var after []string
		p := &probe{name: "probe", class: policy.Write, run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: "ok", Changed: []string{"/repo/a"}}, nil
		}}
		f := newFixture(t, []play{calls("probe", "probe", "refused"), say("done")}, with(p, &probe{name: "refused", run: never(t)}), deny("refused"),
			hooked(around{before: func(_ context.Context, c Call) (string, error) {
				if c.ID == "c1" {
					return "", errors.New("before broke")
				}
				return "", nil
			}, after: func(_ context.Context, c Call, r tools.Result) (tools.Result, error) {
				after = append(after, c.ID)
				return tools.Result{}, errors.New("after broke")
			}}))
		f.prompt("go")
		expect(t, "results", f.outcomes(), "c1: Error: before broke\nc2: Error: after broke\nc3: Error: after broke")
		expect(t, "codes", f.codes(), "HOOK_FAILED HOOK_FAILED HOOK_FAILED")
		expect(t, "results that after-hooks saw", after, "[c2 c3]")
		expect(t, "what a call changed is known", len(of[session.WorkspaceChanged](f)), 1)
		if meta, _ := session.DecodeMeta(of[session.ToolResult](f)[2].Meta); meta.Refused == nil {
			t.Error("that policy refused the call is lost")
		}
	})
}

// TP47: whoever denies first has decided; nobody later can allow.
func TestTP47AnyDenialWins(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var asked []string
		hook := func(name, refuses string) around {
			return around{before: func(_ context.Context, c Call) (string, error) {
				asked = append(asked, name+" "+c.ID)
				if c.ID == refuses {
					return name + " says no", nil
				}
				return "", nil
			}}
		}
		f := newFixture(t, []play{calls("probe", "probe", "refused"), say("done")},
			with(&probe{name: "probe", run: never(t)}, &probe{name: "refused", run: never(t)}), deny("refused"),
			hooked(hook("first", "c1"), hook("second", "c2")))
		f.prompt("go")
		expect(t, "codes", f.codes(), "DENIED DENIED DENIED")
		expect(t, "hooks", strings.Join(asked, ", "), "first c1, first c2, second c2, first c3, second c3")
		decided := of[session.PolicyDecision](f)
		expect(t, "calls that came to policy", len(decided), 1)
		expect(t, "policy", decided[0].CallID+" "+string(decided[0].Decision), "c3 deny")
	})
}

func TestCP04CallIsOnDiskBeforeItsBody(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var f *fixture
		var stored []string
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			snapshot, err := session.Read(f.log.Path())
			if err != nil {
				return tools.Result{}, err
			}
			stored = nil
			for ev := range snapshot.Events() {
				switch data := ev.Data.(type) {
				case session.ToolCall:
					stored = append(stored, "call "+data.CallID)
				case session.PolicyDecision:
					stored = append(stored, string(data.Decision)+" "+data.CallID)
				}
			}
			return tools.Result{Text: "ok"}, nil
		}}
		f = newFixture(t, []play{calls("probe", "probe"), say("done")}, with(p))
		f.prompt("go")
		expect(t, "codes", f.codes(), "ok ok")
		expect(t, "stored before the second body", strings.Join(stored, ", "), "call c1, allow c1, call c2, allow c2")
	})
}

// A log whose name is gone takes events that nobody will read again: its sync fails.
func TestCP06BodyDoesNotRunWhenTheLogIsNotDurable(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{calls("probe"), say("done")}, with(&probe{name: "probe", run: never(t)}),
			hooked(around{
				before: func(context.Context, Call) (string, error) {
					return "", os.Rename(f.log.Path(), f.log.Path()+".gone")
				},
				after: func(_ context.Context, _ Call, r tools.Result) (tools.Result, error) {
					return r, os.Rename(f.log.Path()+".gone", f.log.Path())
				}}))
		f.prompt("go")
		expect(t, "codes", f.codes(), "LOG_NOT_DURABLE")
		if text := resultText(&of[session.ToolResult](f)[0].Message); !strings.HasPrefix(text, "Error: the session log could not be written") {
			t.Errorf("the result is %q", text)
		}
		expect(t, "the turn goes on", f.lastEnd().Kind, session.Completed)
	})
}

// countdown is a context that ends at the nth look.
type countdown struct {
	context.Context
	looks int
}

func (c *countdown) Err() error {
	if c.looks--; c.looks < 0 {
		return context.Canceled
	}
	return nil
}

// A cancel that comes while the disk is waited for cannot be timed from outside, so
// the call is prepared under a context that ends between the hook and the body.
func TestCP05CancelWhileTheLogIsSynced(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var f *fixture
		inner := false
		f = newFixture(t, []play{calls("probe"), say("done")}, with(&probe{name: "probe", run: never(t)}),
			hooked(around{before: func(ctx context.Context, c Call) (string, error) {
				if inner {
					return "", nil
				}
				inner = true
				late := &turn{a: f.Agent, ctx: &countdown{ctx, 2}, n: c.Turn, step: c.Step} // before and after the hooks
				s := &slot{call: llm.Block{Type: llm.ToolCall, ID: c.ID, Name: c.Name, Arguments: c.Arguments}}
				body, err := late.prepare(s)
				if body != nil || err != nil {
					t.Errorf("it would run, or fail: %v", err)
				}
				expect(t, "the code", s.result.Code, session.CodeNotRun)
				return "seen enough", nil
			}}))
		f.prompt("go")
		expect(t, "the decision had been made", of[session.PolicyDecision](f)[0].Decision, session.Allow)
	})
}
