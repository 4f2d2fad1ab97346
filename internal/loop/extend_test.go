package loop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func TestEX01WithoutExtensionsInputIsUnchanged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		item, err := f.Followup("as it is\n")
		must(t, err)
		f.idle()
		m := of[session.UserMessage](f)[0]
		expect(t, "text", m.PlainText(), "as it is\n")
		expect(t, "id", m.ID, item.ID)
		expect(t, "source", m.Source.Kind, llm.FromUser)
	})
}

func TestEX02ExtensionSeesTurnAndStep(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var at []string
		f := newFixture(t, []play{call("probe", "{}"), say("a"), say("b")}, entering(func(b Batch) ([]*llm.Message, string, error) {
			at = append(at, fmt.Sprintf("%d.%d:%d", b.Turn, b.Step, len(b.Messages)))
			return b.Messages, "", nil
		}))
		f.prompt("one")
		f.prompt("two")
		expect(t, "seen", at, "[1.1:1 1.2:0 2.1:1]")
	})
}

func TestEX03MessagesKeepTheirIdentity(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []string
		f := newFixture(t, nil, entering(func(b Batch) ([]*llm.Message, string, error) {
			for _, m := range b.Messages {
				seen = append(seen, m.ID)
			}
			return b.Messages, "", nil
		}))
		f.inject("first")
		f.send("second")
		f.idle()
		var logged []string
		for _, p := range of[session.InboxSpliced](f) {
			for _, m := range p.Inserted {
				logged = append(logged, m.ID)
			}
		}
		var entered []string
		for _, m := range of[session.UserMessage](f) {
			entered = append(entered, m.ID)
		}
		expect(t, "the extension saw", seen, logged)
		expect(t, "entered", entered, logged)
	})
}

func TestEX04ExtensionRewrites(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, entering(func(b Batch) ([]*llm.Message, string, error) {
			m := *b.Messages[0]
			m.Content = []llm.Block{llm.TextBlock("rewritten")}
			return []*llm.Message{&m}, "", nil
		}))
		f.prompt("as typed")
		expect(t, "recorded", userTexts(f), "[rewritten]")
		expect(t, "sent", texts(f.model.request(0)), "[user:rewritten]")
	})
}

func TestEX05ExtensionAddsAMessage(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil, entering(func(b Batch) ([]*llm.Message, string, error) {
			extra := note("context")
			extra.ID = session.NewID()
			return append(b.Messages[:len(b.Messages):len(b.Messages)], &extra), "", nil
		}))
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi turn1 claim step1 user:hi user:context answer:(the script is over) stepend end:completed")
		expect(t, "source", of[session.UserMessage](f)[1].Source.Plugin, "test")
	})
}

func TestEX07ExtensionRejects(t *testing.T) {
	bubble(t, func(t *testing.T) {
		second := false
		f := newFixture(t, nil,
			entering(func(b Batch) ([]*llm.Message, string, error) { return b.Messages, "not this", nil }),
			entering(func(b Batch) ([]*llm.Message, string, error) { second = true; return b.Messages, "", nil }))
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi turn1 claim end:blocked")
		expect(t, "requests", f.model.count(), 0)
		expect(t, "waiting", f.queued(), "[]")
		expect(t, "later extensions are not asked", second, false)
	})
}

func TestEX08FailingExtensionKeepsTheQueue(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, nil, entering(func(b Batch) ([]*llm.Message, string, error) {
			f.send("two")
			return nil, "", errTest
		}))
		f.prompt("one")
		expect(t, "the log", f.story(), "queue:one turn1 claim queue:two queue:one end:error")
		expect(t, "waiting, in order", f.queued(), "[one two]")
		expect(t, "the failure", f.failure().Message, errTest)
	})
}

func TestEX10NoteBeforeTheFirstTurn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.inject("from a start hook")
		f.prompt("hi")
		expect(t, "the first request", texts(f.model.request(0)), "[user:from a start hook user:hi]")
	})
}

func TestEX13ContextsStandAfterTheResult(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			return tools.Result{Text: "ok", Contexts: []llm.Message{note("a"), note("b")}}, nil
		}}
		f := newFixture(t, []play{call("probe", "{}")}, with(p))
		f.prompt("go")
		expect(t, "what the model reads", texts(f.model.request(1)), "[user:go assistant: user:ok user:a user:b]")
	})
}

func TestEX14HookDenies(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ran := false
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			ran = true
			return tools.Result{}, nil
		}}
		f := newFixture(t, []play{call("probe", "{}")}, with(p),
			hooking(hooks{before: func(Call) (string, error) { return "not on a Sunday", nil }}))
		f.prompt("go")
		expect(t, "ran", ran, false)
		result := of[session.ToolResult](f)[0]
		expect(t, "is an error", result.Message.Content[0].IsError, true)
		expect(t, "what the model reads", texts(f.model.request(1))[2], "user:Error: not on a Sunday")
		expect(t, "the end", f.ends(), "completed")
	})
}

func TestEX15EveryExtensionOnceInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var order []string
		at := func(s string) { order = append(order, s) }
		hook := func(name string) hooks {
			return hooks{
				before: func(Call) (string, error) { at("before " + name); return "", nil },
				after:  func(_ Call, r tools.Result) (tools.Result, error) { at("after " + name); return r, nil },
			}
		}
		pre := func(name string) preStep {
			return func(b Batch) ([]*llm.Message, string, error) { at("pre " + name); return b.Messages, "", nil }
		}
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) { at("run"); return tools.Result{Text: "ok"}, nil }}
		f := newFixture(t, []play{call("probe", "{}"), say("done")}, with(p), entering(pre("1")), entering(pre("2")),
			hooking(hook("1")), hooking(hook("2")),
			ending(func(Stopping) (Ending, error) { at("stop"); return Ending{}, nil }),
			recovering(func(RequestFailure) (bool, error) { at("recover"); return false, nil }))
		f.prompt("go")
		expect(t, "the order", strings.Join(order, ", "),
			"pre 1, pre 2, before 1, before 2, run, after 1, after 2, pre 1, pre 2, stop")
	})
}

// A step that the log refuses leaves no half of a step behind.
func TestEX19RefusedStepStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		broken := true
		f := newFixture(t, nil, entering(func(b Batch) ([]*llm.Message, string, error) {
			if broken {
				return []*llm.Message{b.Messages[0], {Role: llm.User}}, "", nil // no id, no source
			}
			return b.Messages, "", nil
		}))
		f.prompt("hi")
		expect(t, "the log", f.story(), "queue:hi turn1 claim queue:hi end:error")
		expect(t, "requests", f.model.count(), 0)
		broken = false
		f.prompt("again")
		expect(t, "steps", len(of[session.StepStart](f)), 2)
		expect(t, "the ends", f.ends(), "error completed completed")
	})
}

func TestEX21EndThatIsNotDurable(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		var putBack func()
		f = newFixture(t, []play{then(func() { putBack = f.pluck() }, say("a")), say("b")})
		f.send("one")
		f.idle()
		if f.Err() == nil {
			t.Error("nobody says that the end of the turn is not safe")
		}
		putBack()
		f.prompt("two")
		expect(t, "the ends", f.ends(), "completed completed")
	})
}

func TestEX23StoppingExtensionFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		broken := true
		f := newFixture(t, nil, ending(func(Stopping) (Ending, error) {
			if broken {
				return Ending{}, errTest
			}
			return Ending{}, nil
		}))
		f.prompt("one")
		expect(t, "the failure", f.failure().Message, errTest)
		broken = false
		f.prompt("two")
		expect(t, "the ends", f.ends(), "error completed")
	})
}

func TestEX25EventsAreInTheLogWhenReadersHear(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang()})
		reader := f.log.Reader(0)
		defer reader.Close()
		f.send("go")
		for {
			<-reader.Wake()
			for _, ev := range reader.Next() {
				if ev.Type != session.TypeStepStart {
					continue
				}
				expect(t, "open", f.log.OpenStep().Step, 1)
				snapshot, err := session.Read(f.log.Path())
				must(t, err)
				found := false
				for stored := range snapshot.Events() {
					found = found || stored.Seq == ev.Seq
				}
				expect(t, "in the file", found, true)
				f.cancel(false)
				return
			}
		}
	})
}

func TestEX29FaultOfTheProviderIsNotRecovered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := false
		f := newFixture(t, nil, provided(chunks(errTest)),
			recovering(func(RequestFailure) (bool, error) { asked = true; return true, nil }))
		f.prompt("go")
		expect(t, "asked", asked, false)
		expect(t, "the failure", f.failure().Message, errTest)
	})
}

func TestEX31RecoveryFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{fail(llm.Failure{Code: llm.CodeServer, Message: "down"})},
			recovering(func(RequestFailure) (bool, error) { return true, errTest }))
		f.prompt("go")
		expect(t, "requests", f.model.count(), 1)
		expect(t, "the failure", f.failure().Message, errTest)
	})
}

func TestEX32NobodyRecovers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var seen []RequestFailure
		f := newFixture(t, []play{fail(llm.Failure{Code: llm.CodeAuth, Message: "bad key"})},
			recovering(func(r RequestFailure) (bool, error) { seen = append(seen, r); return false, nil }))
		f.prompt("go")
		expect(t, "the failure", f.failure(), llm.Failure{Code: llm.CodeAuth, Message: "bad key"})
		expect(t, "asked", len(seen), 1)
		expect(t, "about", fmt.Sprint(seen[0].Turn, seen[0].Step, seen[0].Attempt, seen[0].Failure), "1 1 1 AUTH: bad key")
	})
}

// A recovery hears of the route that failed, not of one that was chosen since.
func TestRecoveryHearsOfTheRouteThatFailed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{
			then(func() { f.SetRoute(Route{Model: f.model, Config: llm.Config{Provider: "other", Model: "n"}}) },
				fail(llm.Failure{Code: llm.CodeServer, Message: "down"})),
			say("up"),
		})
		f.prompt("go")
		expect(t, "the end", f.ends(), "completed")
		expect(t, "retried for", of[session.Retry](f)[0].Provider, "test")
		expect(t, "answered by", of[session.AssistantMessage](f)[0].Message.Source.Provider, "other")
	})
}

func TestStoppingExtensionChoosesTheEnd(t *testing.T) {
	bubble(t, func(t *testing.T) {
		unverified := session.EndReason{Kind: session.Failed, Failure: &llm.Failure{Code: "UNVERIFIED", Message: "the tests fail"}}
		var was []session.EndKind
		f := newFixture(t, []play{cut(text("a"))}, ending(func(s Stopping) (Ending, error) {
			was = append(was, s.Reason.Kind)
			return Ending{Reason: &unverified}, nil
		}))
		f.prompt("go")
		expect(t, "asked about", was, "[max-tokens]")
		expect(t, "the failure", f.failure().Code, "UNVERIFIED")
	})
}

// The extensions that decide about an end are not asked when there is nothing to
// decide: the turn was blocked, failed, was cancelled, or did nothing.
func TestStoppingExtensionIsNotAskedAboutOtherEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		asked := false
		f := newFixture(t, []play{fail(llm.Failure{Code: llm.CodeAuth, Message: "x"}), hang()},
			ending(func(Stopping) (Ending, error) { asked = true; return Ending{}, nil }),
			entering(func(b Batch) ([]*llm.Message, string, error) {
				switch b.Turn {
				case 3:
					return nil, "blocked", nil
				case 4:
					return nil, "", nil
				}
				return b.Messages, "", nil
			}))
		f.prompt("fails")
		f.send("is cancelled")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		f.prompt("is blocked")
		f.prompt("is emptied")
		expect(t, "the ends", f.ends(), "error aborted{user,} blocked completed")
		expect(t, "asked", asked, false)
	})
}
