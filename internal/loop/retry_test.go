package loop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tools"
)

func broken(code llm.Code) play { return fail(llm.Failure{Code: code, Message: "no"}) }

// askedToWait is a rate limit with the provider's own wait.
func askedToWait(d time.Duration) play {
	ms := d.Milliseconds()
	return fail(llm.Failure{Code: llm.CodeRateLimit, Message: "slow down", Status: 429, ProviderRetryAfterMs: &ms})
}

func repeated(n int, p play) []play {
	plays := make([]play, n)
	for i := range plays {
		plays[i] = p
	}
	return plays
}

// timed notes when each request is made, counted from now.
func timed(plays []play) (clocked []play, at *[]time.Duration) {
	at = new([]time.Duration)
	begin := time.Now()
	for _, p := range plays {
		clocked = append(clocked, func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool) {
			*at = append(*at, time.Since(begin))
			p(ctx, r, yield)
		})
	}
	return clocked, at
}

// gaps are the waits between requests.
func gaps(at []time.Duration) []time.Duration {
	var list []time.Duration
	for i := 1; i < len(at); i++ {
		list = append(list, at[i]-at[i-1])
	}
	return list
}

func random(v float64) option { return func(o *Options) { o.Random = func() float64 { return v } } }

func recovers(list ...recoverFunc) option {
	return func(o *Options) {
		for _, r := range list {
			o.Extensions.RequestError = append(o.Extensions.RequestError, r)
		}
	}
}

type recoverFunc func(ctx context.Context, f RequestFailure) (bool, error)

func (r recoverFunc) RequestError(ctx context.Context, f RequestFailure) (bool, error) {
	return r(ctx, f)
}

// attempts is the part of the log that retries are made of.
func (f *fixture) attempts() string {
	f.t.Helper()
	var words []string
	for _, ev := range f.events() {
		switch p := ev.Data.(type) {
		case session.RequestSent:
			words = append(words, fmt.Sprintf("sent%d", p.Attempt))
		case session.Retry:
			words = append(words, fmt.Sprintf("retry%d:%dms", p.Retry, p.DelayMs))
		case session.RetryStarted:
			words = append(words, fmt.Sprintf("started%d", p.Retry))
		case session.AssistantMessage:
			words = append(words, "answer")
		}
	}
	return strings.Join(words, " ")
}

func TestRT01RetryIsLoggedThenWaitedFor(t *testing.T) {
	inTime(t, func(t *testing.T) {
		plays, at := timed([]play{broken(llm.CodeServer), say("ok")})
		f := newFixture(t, plays)
		f.send("go")
		time.Sleep(799 * time.Millisecond)
		synctest.Wait()
		expect(t, "during the wait", f.attempts(), "sent1 retry1:800ms")
		f.idle()
		expect(t, "after it", f.attempts(), "sent1 retry1:800ms started1 sent2 answer")
		expect(t, "the wait", gaps(*at), "[800ms]")
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
		r := of[session.Retry](f)[0]
		expect(t, "the record", fmt.Sprint(r.Provider, r.Mode, *r.MaxRetries, r.Failure.Code, r.Turn, r.Step), fmt.Sprint("test", "normal", 5, llm.CodeServer, 1, 1))
	})
}

func TestRT02LLM08EmptyAnswerIsRetried(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{broken(llm.CodeEmptyResponse), say("ok")})
		f.prompt("go")
		expect(t, "attempts", f.attempts(), "sent1 retry1:800ms started1 sent2 answer")
	})
}

func TestRT03LLM09FailedAttemptLeavesNothingBehind(t *testing.T) {
	inTime(t, func(t *testing.T) {
		half := func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
			yield(text("half an answer"))
			yield(llm.Chunk{Type: llm.ToolCallDelta, Index: 1, ID: "c1", Name: "probe", HasName: true, ArgumentsDelta: "{}"})
			yield(llm.Chunk{Type: llm.FinishChunk, Reason: &llm.Finish{Kind: llm.Failed, Failure: &llm.Failure{Code: llm.CodeStreamClosed, Message: "cut"}}})
		}
		f := newFixture(t, []play{half, say("whole"), say("later")}, with(&probe{name: "probe", run: never(t)}))
		f.prompt("go")
		f.prompt("more")
		expect(t, "messages", f.story(), "queue:go turn1 claim step1 user:go answer:whole stepend end:completed queue:more turn2 claim step1 user:more answer:later stepend end:completed")
		chunks := 0
		for _, c := range of[session.AssistantChunk](f) {
			if strings.Contains(c.Chunk.Text, "half") || c.Chunk.ArgumentsDelta != "" {
				chunks++
			}
		}
		expect(t, "chunks of the failed attempt in the log", chunks, 2)
		for i := range 3 {
			for _, m := range f.model.request(i).Messages {
				if strings.Contains(m.PlainText(), "half") || len(m.Calls()) > 0 {
					t.Errorf("request %d shows the failed attempt: %s", i+1, m.PlainText())
				}
			}
		}
		for _, ev := range f.events() {
			if ev.Type == session.TypeAssistantMessage && len(ev.Sources) != 2 {
				t.Errorf("the answer cites %v, not the two chunks of its own attempt", ev.Sources)
			}
		}
	})
}

func TestRT04LLM15WaitsDoubleAndEnd(t *testing.T) {
	inTime(t, func(t *testing.T) {
		plays, at := timed(append(repeated(5, broken(llm.CodeServer)), broken(llm.CodeTimeout), say("never")))
		f := newFixture(t, plays)
		f.prompt("go")
		expect(t, "waits", gaps(*at), "[800ms 1.6s 3.2s 6.4s 12.8s]")
		expect(t, "requests", f.model.count(), 6)
		expect(t, "the end", f.lastEnd().Kind, session.Failed)
		expect(t, "it ends with the last failure", f.lastEnd().Failure.Code, llm.CodeTimeout)
	})
}

func TestRT04DelaysOfOurOwn(t *testing.T) {
	t.Parallel()
	var p RetryPolicy
	p.fill()
	p.Attempts, p.Total = 100, 24*time.Hour
	past := &retries{}
	f := &llm.Failure{Code: llm.CodeServer}
	for _, c := range []struct {
		n          int
		low, mid   time.Duration
		almostHigh time.Duration
	}{
		{1, 600 * time.Millisecond, 800 * time.Millisecond, time.Second},
		{2, 1200 * time.Millisecond, 1600 * time.Millisecond, 2 * time.Second},
		{6, 19200 * time.Millisecond, 25600 * time.Millisecond, 30 * time.Second}, // capped after the jitter
		{7, 22500 * time.Millisecond, 30 * time.Second, 30 * time.Second},
		{99, 22500 * time.Millisecond, 30 * time.Second, 30 * time.Second},
	} {
		for v, want := range map[float64]time.Duration{0: c.low, 0.5: c.mid, math.Nextafter(1, 0): c.almostHigh} {
			got, ok := p.delay(f, c.n, past, func() float64 { return v })
			if !ok || got < want-time.Microsecond || got > want {
				t.Errorf("retry %d at %.2f: %v %v, want %v", c.n, v, got, ok, want)
			}
		}
	}
	if _, ok := p.delay(f, 100, past, func() float64 { return 0 }); ok {
		t.Error("100 attempts allow 100 retries")
	}
}

func TestRT04TotalWaitIsBounded(t *testing.T) {
	inTime(t, func(t *testing.T) {
		plays, at := timed(repeated(10, askedToWait(40*time.Second)))
		f := newFixture(t, plays, random(0), func(o *Options) {
			o.Retry.Attempts, o.Retry.Total = 10, 100*time.Second
		})
		f.prompt("go")
		expect(t, "waits", gaps(*at), "[40s 40s]")
		expect(t, "the end", f.lastEnd().Kind, session.Failed)
	})
}

// RT05 adapted: our own waits are never 0, but a provider's may be.
func TestRT05ProviderMayAskForNoWait(t *testing.T) {
	inTime(t, func(t *testing.T) {
		plays, at := timed([]play{askedToWait(0), say("ok")})
		f := newFixture(t, plays)
		f.prompt("go")
		expect(t, "waits", gaps(*at), "[0s]")
		expect(t, "attempts", f.attempts(), "sent1 retry1:0ms started1 sent2 answer")
	})
}

func TestLLM10ProvidersWaitIsKeptOrGivenUp(t *testing.T) {
	for name, c := range map[string]struct {
		asked  time.Duration
		random float64
		waits  string
	}{
		"not shortened":        {7 * time.Second, 0, "[7s]"},
		"a tenth more at most": {10 * time.Second, 0.5, "[10.5s]"},
		"beyond our own cap":   {45 * time.Second, 0, "[45s]"},
		"at the cap":           {60 * time.Second, 0, "[1m0s]"},
		"over the cap":         {60*time.Second + time.Millisecond, 0, "[]"},
		"far over the cap":     {1000 * time.Hour, 0, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				plays, at := timed([]play{askedToWait(c.asked), say("ok")})
				f := newFixture(t, plays, random(c.random))
				f.prompt("go")
				expect(t, "waits", gaps(*at), c.waits)
				if c.waits == "[]" {
					expect(t, "the end", f.lastEnd().Failure.Code, llm.CodeRateLimit)
					expect(t, "retries", len(of[session.Retry](f)), 0)
				}
			})
		})
	}
}

func TestAbsurdWaitsAreGivenUp(t *testing.T) {
	t.Parallel()
	var p RetryPolicy
	p.fill()
	for _, ms := range []int64{math.MaxInt64, math.MaxInt64 / 1000} {
		f := &llm.Failure{Code: llm.CodeRateLimit, ProviderRetryAfterMs: &ms}
		if d, ok := p.delay(f, 1, &retries{}, func() float64 { return 0 }); ok {
			t.Errorf("asked for %d ms, waits %v", ms, d)
		}
	}
}

func TestFewerAttemptsForFailuresThatRarelyPass(t *testing.T) {
	for code, requests := range map[llm.Code]int{llm.CodeMalformed: 2, llm.CodeToolFormat: 2, llm.CodeEmptyResponse: 3, llm.CodeStreamClosed: 6} {
		t.Run(string(code), func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				f := newFixture(t, repeated(7, broken(code)))
				f.prompt("go")
				expect(t, "requests", f.model.count(), requests)
				expect(t, "the end", f.lastEnd().Failure.Code, code)
			})
		})
	}
	t.Run("others do not count", func(t *testing.T) {
		inTime(t, func(t *testing.T) {
			f := newFixture(t, []play{broken(llm.CodeServer), broken(llm.CodeMalformed), broken(llm.CodeServer), broken(llm.CodeMalformed), say("never")})
			f.prompt("go")
			expect(t, "requests", f.model.count(), 4)
		})
	})
}

func TestRT07OtherFailuresAreNotRetried(t *testing.T) {
	for _, code := range []llm.Code{llm.CodeAborted, llm.CodeAuth, llm.CodeQuota, llm.CodeContextOverflow, llm.CodeContentFilter,
		llm.CodeInvalidRequest, llm.CodeConfig, llm.CodeUnknown} {
		t.Run("RT07 "+string(code), func(t *testing.T) {
			inTime(t, func(t *testing.T) {
				plays, at := timed([]play{broken(code), say("never")})
				f := newFixture(t, plays)
				f.prompt("go")
				expect(t, "attempts", f.attempts(), "sent1")
				expect(t, "times", *at, "[0s]")
				expect(t, "the end", f.lastEnd().Failure.Code, code)
			})
		})
	}
	t.Run("RT07 final", func(t *testing.T) {
		inTime(t, func(t *testing.T) {
			f := newFixture(t, []play{fail(llm.Failure{Code: llm.CodeServer, Message: "no", Final: true}), say("never")})
			f.prompt("go")
			expect(t, "attempts", f.attempts(), "sent1")
		})
	})
}

func TestRT08NoProvider(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, nil, func(o *Options) { o.Route.Model = nil })
		f.prompt("go")
		expect(t, "the end", f.lastEnd().Failure.Code, llm.CodeConfig)
		expect(t, "attempts", f.attempts(), "")
	})
}

// switchTo routes the next request to another provider, played by the same model.
func (f *fixture) switchTo(provider string) {
	f.SetRoute(Route{Model: f.model, Config: llm.Config{Provider: provider, Model: "m"}})
}

// RT09, RT10: each provider has a count and a chain of its own, also when the
// session comes back to it.
func TestRT10ProviderSwitchedInAStep(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var f *fixture
		fails := func(next string) play {
			return func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool) {
				f.switchTo(next)
				broken(llm.CodeServer)(ctx, r, yield)
			}
		}
		f = newFixture(t, []play{fails("other"), fails("other"), fails("test"), fails("test"), say("ok")})
		f.prompt("go")
		expect(t, "the turn", f.lastEnd().Kind, session.Completed)
		chains := map[string]string{}
		var list []string
		for _, r := range of[session.Retry](f) {
			list = append(list, fmt.Sprintf("%s %d", r.Provider, r.Retry))
			if id := chains[r.Provider]; id != "" && id != r.RetryID {
				t.Errorf("retry %d of %s begins another chain", r.Retry, r.Provider)
			}
			chains[r.Provider] = r.RetryID
		}
		expect(t, "RT09 the provider that failed", strings.Join(list, ", "), "test 1, other 1, other 2, test 2")
		expect(t, "chains", chains["test"] != chains["other"], true)
	})
}

// RT11 adapted: what the model's code returns as an error is a fault on this side,
// which sending again cannot mend.
func TestRT11ErrorOnThisSideIsNotRetried(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
			yield(llm.Chunk{Type: "nonsense"})
		}})
		f.prompt("go")
		expect(t, "attempts", f.attempts(), "sent1")
		expect(t, "the end", f.lastEnd().Kind, session.Failed)
	})
}

func TestRT14LLM19CancelInTheWait(t *testing.T) {
	inTime(t, func(t *testing.T) {
		plays, at := timed([]play{broken(llm.CodeServer), say("next")})
		f := newFixture(t, plays)
		begin := time.Now()
		f.send("go")
		time.Sleep(300 * time.Millisecond)
		f.cancel(true)
		f.idle()
		expect(t, "the turn ends at once", time.Since(begin), 300*time.Millisecond)
		expect(t, "attempts", f.attempts(), "sent1 retry1:800ms")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go stepend end:aborted")
		f.prompt("next")
		expect(t, "requests", len(*at), 2)
		expect(t, "a new turn starts a new count", f.attempts(), "sent1 retry1:800ms sent1 answer")
	})
}

func TestRT14CancelOnEnteringTheRecovery(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var f *fixture
		f = newFixture(t, []play{broken(llm.CodeServer), say("never")}, recovers(func(context.Context, RequestFailure) (bool, error) {
			f.cancel(true)
			return true, nil
		}))
		f.prompt("go")
		expect(t, "attempts", f.attempts(), "sent1")
		expect(t, "the log", f.story(), "queue:go turn1 claim step1 user:go stepend end:aborted")
	})
}

func TestRT14CancelFromTheRetryEvent(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{broken(llm.CodeServer), say("never")})
		reader := f.log.Reader(0)
		defer reader.Close()
		f.send("go")
		for seen := false; !seen; {
			<-reader.Wake()
			for _, ev := range reader.Next() {
				seen = seen || ev.Type == session.TypeRetry
			}
		}
		f.cancel(true)
		f.idle()
		expect(t, "attempts", f.attempts(), "sent1 retry1:800ms")
		expect(t, "the end", f.lastEnd().Kind, session.Aborted)
	})
}

func TestRT19RecordsOfAChain(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{broken(llm.CodeServer), broken(llm.CodeServer), call("probe", "{}"), broken(llm.CodeServer), say("ok")})
		f.prompt("go")
		expect(t, "attempts", f.attempts(), "sent1 retry1:800ms started1 sent2 retry2:1600ms started2 sent3 answer sent1 retry1:800ms started1 sent2 answer")
		list := of[session.Retry](f)
		expect(t, "one id a chain", list[0].RetryID == list[1].RetryID, true)
		expect(t, "a new step begins a new chain", list[1].RetryID == list[2].RetryID, false)
		for i, s := range of[session.RetryStarted](f) {
			expect(t, "started", fmt.Sprint(s.RetryID, s.Retry), fmt.Sprint(list[i].RetryID, list[i].Retry))
		}
	})
}

func TestRetriesAreAFoldOverTheLog(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, append(repeated(3, broken(llm.CodeEmptyResponse)), say("next")))
		var live retries
		recovers(func(_ context.Context, _ RequestFailure) (bool, error) {
			live = f.d.retries
			return false, nil
		})(&f.o)
		f.recoveries = append(f.o.Extensions.RequestError, f.recoveries...)
		f.prompt("go")
		expect(t, "requests", f.model.count(), 3)
		replayed := func() (r retries) {
			for _, ev := range f.events() {
				r.apply(&ev)
			}
			return r
		}
		expect(t, "live and replayed", fmt.Sprintf("%+v", replayed()), fmt.Sprintf("%+v", live))
		expect(t, "waited", live.waited, 2400*time.Millisecond)

		f = f.reopen(append(repeated(2, broken(llm.CodeEmptyResponse)), say("next")))
		expect(t, "restored", fmt.Sprintf("%+v", f.d.retries), fmt.Sprintf("%+v", live))
		f.prompt("go on")
		expect(t, "a new turn starts fresh", f.model.count(), 3)
		expect(t, "the end", f.lastEnd().Kind, session.Completed)
	})
}

func TestRecoveryOfAnExtensionComesFirst(t *testing.T) {
	inTime(t, func(t *testing.T) {
		var saw []string
		says := func(name string, retry bool) recoverFunc {
			return func(_ context.Context, f RequestFailure) (bool, error) {
				saw = append(saw, fmt.Sprintf("%s %s %d", name, f.Failure.Code, f.Attempt))
				return retry && f.Attempt == 1, nil
			}
		}
		plays, at := timed([]play{broken(llm.CodeServer), broken(llm.CodeServer), say("ok")})
		f := newFixture(t, plays, recovers(says("a", false), says("b", true), says("c", false)))
		f.prompt("go")
		expect(t, "asked", strings.Join(saw, ", "), "a SERVER 1, b SERVER 1, a SERVER 2, b SERVER 2, c SERVER 2")
		expect(t, "waits", gaps(*at), "[0s 800ms]")
		expect(t, "attempts", f.attempts(), "sent1 sent2 retry1:800ms started1 sent3 answer")
	})
}

func TestRecoveryThatFailsEndsTheTurn(t *testing.T) {
	inTime(t, func(t *testing.T) {
		f := newFixture(t, []play{broken(llm.CodeServer), say("never")}, recovers(func(context.Context, RequestFailure) (bool, error) {
			return false, errors.New("the recovery broke")
		}))
		f.prompt("go")
		expect(t, "attempts", f.attempts(), "sent1")
		expect(t, "the end", f.lastEnd().Failure.Message, "the recovery broke")
	})
}

// A18: a call that came whole in an attempt that failed has not run; the one of the
// next attempt runs once.
func TestA18CallOfAFailedAttemptDoesNotRun(t *testing.T) {
	inTime(t, func(t *testing.T) {
		ran := 0
		p := &probe{name: "probe", run: func(context.Context, string) (tools.Result, error) {
			ran++
			return tools.Result{Text: "ok"}, nil
		}}
		cut := func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool) {
			call("probe", "{}")(ctx, r, yield)
			broken(llm.CodeStreamClosed)(ctx, r, yield)
		}
		f := newFixture(t, []play{cut, call("probe", "{}"), say("done")}, with(p))
		f.prompt("go")
		expect(t, "ran", ran, 1)
		expect(t, "calls", len(of[session.ToolCall](f)), 1)
		expect(t, "its id", of[session.ToolCall](f)[0].CallID, "c1")
		paired(t, f.model.request(2).Messages)
	})
}
