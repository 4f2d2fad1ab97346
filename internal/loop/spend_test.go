package loop

import (
	"context"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// charged streams text, reports a usage unless it is nil, and ends as told.
func charged(said string, u *llm.Usage, end llm.Chunk) play {
	return func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
		if said != "" {
			yield(text(said))
		}
		if u != nil {
			yield(llm.Chunk{Type: llm.UsageChunk, Usage: u})
		}
		yield(end)
	}
}

func failing(f llm.Failure) llm.Chunk {
	return llm.Chunk{Type: llm.FinishChunk, Reason: &llm.Finish{Kind: llm.Failed, Failure: &f}}
}

// spending is what the session cost, which must be the same live and read again.
func (f *fixture) spending() session.Spending {
	f.t.Helper()
	must(f.t, f.log.Sync())
	snapshot, err := session.Read(f.log.Path())
	must(f.t, err)
	live, read := f.log.State(), snapshot.State()
	expect(f.t, "live and replayed", live.Spending, read.Spending)
	expect(f.t, "the turn, live and replayed", live.ThisTurn.Spending, read.ThisTurn.Spending)
	expect(f.t, "the context, live and replayed", live.InUse.Tokens(), read.InUse.Tokens())
	return live.Spending
}

func TestU11WhatAFailedRequestTookIsOnTheBill(t *testing.T) {
	u := &llm.Usage{InputTokens: 100, OutputTokens: 7}
	ok := charged("done", u, finish(llm.Stop))
	for name, c := range map[string]struct {
		first         play
		input, output int // counted
		guess         int // of output
		unknown       int
	}{
		"U11 counted":         {charged("half of", u, failing(transient)), 200, 14, 0, 0},
		"U11 counted, silent": {charged("", u, failing(transient)), 200, 14, 0, 0},
		"U11 not counted":     {charged("twelve bytes", nil, failing(transient)), 100, 7, 3, 1},
		"U11 refused":         {fail(transient), 100, 7, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{c.first, ok}, func(o *Options) { o.Route.Config.Provider, o.Route.Config.Model = "deepseek", "deepseek-flash" })
				f.prompt("go")
				expect(t, "the end", f.lastEnd().Kind, session.Completed)
				s := f.spending()
				expect(t, "input", s.Usage.InputTokens, c.input)
				expect(t, "output", s.Usage.OutputTokens, c.output)
				expect(t, "guessed", s.Guess.Output, c.guess)
				expect(t, "without a price", s.Bill.Unknown, c.unknown)
			})
		})
	}
}

// What is cut in the middle of a call leaves no message.
func TestU11ACancelInACallIsOnTheBill(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(delta(0, "c", "probe", `{"text":`))})
		f.send("go")
		synctest.Wait()
		f.cancel(false)
		f.idle()
		s := f.spending()
		expect(t, "guessed", s.Guess.Output, 2)
		expect(t, "cost", s.Bill.String(), "n/a")
	})
}

func TestU11ASummaryThatIsNotUsedIsOnTheBill(t *testing.T) {
	u := &llm.Usage{InputTokens: 100, OutputTokens: 7}
	for name, c := range map[string]struct {
		play   play
		output int
		guess  int
	}{
		"U11 it failed":       {charged("half", u, failing(llm.Failure{Code: llm.CodeAuth, Message: "no"})), 7, 0},
		"U11 it was blank":    {charged(" ", u, finish(llm.Stop)), 7, 0},
		"U11 it was too long": {charged(words(9000), u, finish(llm.Stop)), 7, 0},
		"U11 nobody counted":  {charged(words(9000), nil, finish(llm.Stop)), 0, 9000},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f := newFixture(t, []play{say(words(1000)), say(words(1000)), c.play})
				f.prompt("one")
				f.prompt("two")
				before := f.spending()
				if err := f.Compact(context.Background(), ""); err == nil {
					t.Fatal("it was used")
				}
				s := f.spending()
				expect(t, "output", s.Usage.OutputTokens-before.Usage.OutputTokens, c.output)
				expect(t, "guessed", s.Guess.Output-before.Guess.Output, c.guess)
				expect(t, "on the bill", s.Bill.Answers-before.Bill.Answers, 1)
			})
		})
	}
}

func TestU08WhatNobodyCountedIsGuessedAndMarked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		u := &llm.Usage{InputTokens: 100, OutputTokens: 7}
		f := newFixture(t, []play{charged("one", u, finish(llm.Stop)), charged(words(10), nil, finish(llm.Stop)), charged("three", u, finish(llm.Stop))}, window(1000))
		f.prompt("go")
		s := f.spending()
		expect(t, "counted", s.Guess.In(s.Usage.InputTokens)+" "+f.log.State().InUse.Share(), "100 10%")
		f.prompt("on")
		s = f.spending()
		expect(t, "the provider's own number", s.Usage.OutputTokens, 7)
		expect(t, "what people see", s.Guess.Out(s.Usage.OutputTokens)+" "+s.Bill.String(), "~17 n/a")
		expect(t, "the context", f.log.State().InUse.Tokens(), "~117")
		f.prompt("again")
		f.spending()
		expect(t, "exact again", f.log.State().InUse.Tokens(), "107")
	})
}
