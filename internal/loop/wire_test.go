package loop

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/llm/llmtest"
	"dsh/internal/llm/openai"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// routeTo is a route to a scripted server through the real client, over pipes.
func routeTo(t *testing.T, server *llmtest.Server, profile, model string) Route {
	t.Helper()
	p, ok := openai.ProfileNamed(profile)
	if !ok {
		t.Fatalf("no profile %q", profile)
	}
	client, err := openai.New(openai.Options{BaseURL: llmtest.PipeURL, Key: "sk-test", Profile: p, Transport: server.Pipe(), UserAgent: "dsh/test"})
	must(t, err)
	t.Cleanup(client.Close)
	return Route{Model: client, Config: llm.Config{Provider: profile, Model: model}}
}

// The history that one provider made is valid for the other, and for the first again:
// calls in parallel, reasoning, ids of any length. Both servers refuse what a strict
// provider refuses.
func TestModelChangesInMidSession(t *testing.T) {
	inTime(t, func(t *testing.T) {
		deepseek := scripted(t, `
prefix
== one
expect "first"
reasoning I look at both.
text Looking.
call probe {"n":1}
call probe {"n":2}
== two
expect results 2
reasoning Both are there.
text Seen both.
== five
expect "third"
expect any "Seen three."
expect body "I look at both."
expect not body "Another mind."
expect results 5
call probe {"n":6}
== six
expect results 6
text The end.
`)
		long := "call_" + strings.Repeat("x", 60)
		other := scripted(t, `
dialect openai
== three
expect "second"
expect any "Seen both."
expect results 2
expect not body "reasoning"
expect not body "thinking"
reasoning Another mind.
call probe {"n":3}
call probe {"n":4}
call#`+long+` probe {"n":5}
== four
expect results 5
expect not body "reasoning"
text Seen three.
`)
		first, second := routeTo(t, deepseek, "deepseek", "deepseek-flash"), routeTo(t, other, "openai", "gpt-5.4-mini")
		p := &probe{name: "probe", safe: always, run: func(_ context.Context, args string) (tools.Result, error) {
			return tools.Result{Text: "of " + args}, nil
		}}
		f := newFixture(t, nil, with(p), func(o *Options) { o.Route = first })
		f.prompt("first")
		f.SetRoute(second)
		f.prompt("second")
		f.SetRoute(first)
		f.prompt("third")
		expect(t, "turns", f.ends(), "completed completed completed")
		expect(t, "answers", f.answers(), "Looking., Seen both., , Seen three., , The end.")
		expect(t, "retried", f.retried(), "")
		var routes []string
		for _, h := range of[session.RequestHeader](f) {
			routes = append(routes, h.Header.Config.Model+" "+h.Reason)
		}
		expect(t, "headers", strings.Join(routes, ", "), "deepseek-flash initial, gpt-5.4-mini change, deepseek-flash change")
		var profiles []string
		for _, r := range of[session.RequestSent](f) {
			profiles = append(profiles, r.Profile+fmt.Sprint(r.Repairs))
		}
		expect(t, "profiles", strings.Join(profiles, " "), "deepseek[] deepseek[] openai[] openai[] deepseek[] deepseek[]")
	})
}

// One turn in which everything happens to a provider: it stalls, dies inside a call,
// limits, recovers, fails again behind the tool, queues with keep-alives, and answers.
func TestAProviderStallsDiesLimitsAndRecoversInOneTurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ran := 0
		p := &probe{name: "probe", run: func(_ context.Context, args string) (tools.Result, error) {
			ran++
			return tools.Result{Text: "ran with " + args}, nil
		}}
		f := wired(t, `
== stalls
text Let me
hang
== dies
text Let me see.
call probe {"n":1}
cut
== limits
status 429
header Retry-After: 7
== recovers
expect results 0
text Let me see.
call probe {"n":1}
== fails behind the tool
expect results 1
status 503
== queues, then answers
expect results 1
raw : keep-alive\n\n
pause 100s
raw : keep-alive\n\n
pause 100s
text All done.
finish stop
done
`, with(p))
		begin := time.Now()
		f.prompt("go")
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
		expect(t, "the command ran", ran, 1)
		expect(t, "the story", f.story(), "queue:go turn1 claim step1 user:go answer:Let me see. call:call_2 result:call_2 stepend step2 answer:All done. stepend end:completed")
		expect(t, "retried", f.retried(), "TIMEOUT 800ms, STREAM_CLOSED 1600ms, RATE_LIMIT 7350ms, SERVER 800ms")
		expect(t, "took", time.Since(begin), 120*time.Second+(800+1600+7350+800)*time.Millisecond+200*time.Second)
		var why []string
		for _, r := range of[session.Retry](f) {
			why = append(why, r.Failure.Message)
		}
		for i, words := range []string{"sent nothing for 2m0s", "closed the connection before the answer was complete", "it asks to wait 7s", "(503)"} {
			has(t, "the log's reason", why[i], words)
		}
		expect(t, "requests", len(of[session.RequestSent](f)), 6)
		expect(t, "attempts began", len(of[session.RetryStarted](f)), 4)
	})
}

// A call that leaked as text is not run and not history; it is asked for once more.
func TestS24ALeakedCallIsAskedForOnceMore(t *testing.T) {
	const leak = "text <｜DSML｜tool_calls><｜DSML｜invoke name=\"probe\">\n"
	inTime(t, func(t *testing.T) {
		f := wired(t, "== leaks\n"+leak+"== asked again\nexpect not any \"DSML\"\ncall probe {\"n\":1}\n== end\nexpect results 1\ntext ok\n")
		f.prompt("go")
		expect(t, "retried", f.retried(), "MODEL_TOOL_FORMAT 800ms")
		expect(t, "answers", f.answers(), ", ok")
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
	})
	t.Run("twice", func(t *testing.T) {
		inTime(t, func(t *testing.T) {
			f := wired(t, "== leaks\nrepeat 2\n"+leak)
			f.prompt("go")
			expect(t, "the end", f.failure().Code, llm.CodeToolFormat)
			expect(t, "ran", len(of[session.ToolCall](f)), 0)
		})
	})
}

func TestT21ACallOfAnUnknownToolGoesOn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := wired(t, "== \ncall Nosuch {}\n== \nexpect \"there is no tool\"\nexpect results 1\ntext ok\n")
		f.prompt("go")
		expect(t, "answers", f.answers(), ", ok")
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
	})
}

// A local server that reads its model from the disk gets the time it takes.
func TestE44ALoadingModelIsWaitedFor(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := wired(t, "== \nstatus 503\nbody {\"error\":{\"message\":\"Loading model\",\"type\":\"unavailable_error\",\"code\":503}}\nrepeat 5\n== \ntext ok\n")
		begin := time.Now()
		f.prompt("go")
		expect(t, "answers", f.answers(), "ok")
		expect(t, "took", time.Since(begin), 5*21*time.Second)
	})
}

// What nobody can mend by asking again is asked once.
func TestLLM12LLM13NoRetryOfWhatStaysAsItIs(t *testing.T) {
	for name, c := range map[string]struct {
		reply string
		code  llm.Code
	}{
		"E01 key":            {"status 401\nbody {\"error\":{\"message\":\"Authentication Fails\",\"type\":\"authentication_error\"}}\n", llm.CodeAuth},
		"E02 balance":        {"status 402\nbody {\"error\":{\"message\":\"Insufficient Balance\"}}\n", llm.CodeQuota},
		"E09 quota as a 429": {"status 429\nheader Retry-After: 1\nbody {\"error\":{\"code\":\"insufficient_quota\",\"message\":\"m\"}}\n", llm.CodeQuota},
		"E14 quota as a 401": {"status 401\nbody {\"type\":\"CreditsError\",\"message\":\"Insufficient balance\"}\n", llm.CodeQuota},
		"E07 an hour":        {"status 429\nheader Retry-After: 3600\n", llm.CodeRateLimit},
		"E15 the header":     {"status 500\nheader x-should-retry: false\n", llm.CodeServer},
		"E31 content":        {"status 400\nbody {\"error\":{\"code\":\"content_filter\",\"message\":\"m\"}}\n", llm.CodeContentFilter},
		"E35 reasoning only": {"reasoning hm\nfinish length\n", llm.CodeEmptyResponse},
		"E48 region":         {"status 403\nbody {\"error\":{\"message\":\"region not allowed\"}}\n", llm.CodeAuth},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				f := wired(t, "== \n"+c.reply)
				f.prompt("go")
				expect(t, "the end", f.failure().Code, c.code)
				expect(t, "requests", len(of[session.RequestSent](f)), 1)
			})
		})
	}
}

// A repair is one more request in the same attempt, and the log has both.
func TestE42ARepairIsLogged(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := wired(t, "== \nstatus 400\nbody {\"error\":{\"message\":\"Invalid max_tokens value, the valid range of max_tokens is [1, 8192]\"}}\n"+
			"== \nexpect body \"\\\"max_tokens\\\":8192\"\ntext ok\n")
		f.prompt("go")
		var sent []string
		for _, r := range of[session.RequestSent](f) {
			sent = append(sent, fmt.Sprintf("%d%v", r.Attempt, r.Repairs))
		}
		expect(t, "requests", strings.Join(sent, " "), "1[] 1[max-tokens=8192]")
		expect(t, "retried", f.retried(), "")
		expect(t, "answers", f.answers(), "ok")
	})
}

// What Gemini signs comes back to it, also after the session was closed and opened.
func TestT24ASignatureOutlivesTheProcess(t *testing.T) {
	inTime(t, func(t *testing.T) {
		server := scripted(t, `
lenient
== signs
delta {"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"probe","arguments":"{}"},"extra_content":{"google":{"thought_signature":"a<b&c=="}}}]}
finish tool_calls
done
== wants it back
repeat 2
expect body "\"extra_content\":{\"google\":{\"thought_signature\":\"a"
text ok
`)
		gemini := func(o *Options) { o.Route = routeTo(t, server, "lenient", "gemini-3") }
		f := newFixture(t, nil, gemini)
		f.prompt("go")
		f = f.reopen(nil, gemini)
		f.prompt("again")
		expect(t, "answers", f.answers(), ", ok, ok")
		bodies := server.Requests()
		_, first, _ := strings.Cut(string(bodies[1]), `"extra_content"`)
		_, second, _ := strings.Cut(string(bodies[2]), `"extra_content"`)
		expect(t, "the bytes before and after", first[:60], second[:60])
	})
}

// The details of what a model thought come back to it as they came, also after the
// session was closed and opened; the log that holds them is whole.
func TestS08LO48ReasoningDetailsOutliveTheProcess(t *testing.T) {
	inTime(t, func(t *testing.T) {
		server := scripted(t, `
lenient
== thinks
delta {"reasoning":"A","reasoning_details":[{"type":"reasoning.text","text":"A","index":0}]}
delta {"reasoning":"B","reasoning_details":[{"type":"reasoning.text","text":"B","index":0,"signature":"s<g=="}]}
delta {"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"probe","arguments":"{}"}}]}
finish tool_calls
done
== wants them back
repeat 2
expect body "\"reasoning_details\":[{\"index\":0,\"signature\":\"s"
text ok
`)
		route := func(o *Options) { o.Route = routeTo(t, server, "lenient", "claude") }
		f := newFixture(t, nil, route)
		f.prompt("go")
		f = f.reopen(nil, route)
		f.prompt("again")
		expect(t, "answers", f.answers(), ", ok, ok")
		mustContain(t, "the log", f.raw(), `"replayState":{"reasoning_details":[{`)
		bodies := server.Requests()
		_, first, _ := strings.Cut(string(bodies[1]), `"reasoning_details"`)
		_, second, _ := strings.Cut(string(bodies[2]), `"reasoning_details"`)
		expect(t, "the bytes before and after", first[:60], second[:60])
		f.verify()
	})
}
