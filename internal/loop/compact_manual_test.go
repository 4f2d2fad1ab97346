package loop

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// talked is an idle fixture after two exchanges that are worth a summary.
func talked(t *testing.T, plays ...play) *fixture {
	t.Helper()
	f := newFixture(t, append([]play{say(words(1000)), say(words(1000))}, plays...))
	f.prompt("one")
	f.prompt("two")
	return f
}

// compactLater runs Compact beside the test and tells what it said.
func (f *fixture) compactLater(ctx context.Context) <-chan error {
	done := make(chan error, 1)
	go func() { done <- f.Compact(ctx, "") }()
	synctest.Wait()
	return done
}

func TestMC01APromptMeanwhileRunsAfterIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		release := make(chan struct{})
		f := talked(t, func(_ context.Context, _ *llm.Request, y func(llm.Chunk) bool) {
			<-release
			y(text("the sum"))
		}, say("three it is"))
		done := f.compactLater(context.Background())
		f.send("three")
		f.inject("by the way")
		expect(t, "running", f.Running(), false)
		close(release)
		must(t, <-done)
		f.idle()
		expect(t, "compactions", f.brackets(), "start(idle) ask summary end")
		read := texts(f.model.request(3))
		expect(t, "read after it", read[len(read)-2:], "[user:by the way user:three]")
		checkFates(t, f)
	})
}

func TestMC02AnInjectMeanwhileWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		f = talked(t, then(func() { f.inject("by the way") }, say("the sum")))
		must(t, f.Compact(context.Background(), ""))
		f.idle()
		expect(t, "waits", f.waits(), "by the way")
		expect(t, "requests", f.model.count(), 3)
	})
}

func TestMC03CMP06BusyWhileATurnRuns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := talked(t, hang(text("on it")))
		f.send("three")
		synctest.Wait()
		err := f.Compact(context.Background(), "")
		expect(t, "while a turn runs", errors.Is(err, ErrBusy), true)
		f.cancel(true)
		f.idle()
		expect(t, "compactions", f.brackets(), "")
		expect(t, "requests", f.model.count(), 3)
	})
}

func TestMC04CMP08NothingToCompact(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("hello")})
		expect(t, "an empty session", f.Compact(context.Background(), ""), ErrNothingToCompact)
		f.prompt("hi")
		n := f.log.NextSeq()
		expect(t, "a short one", f.Compact(context.Background(), ""), ErrNothingToCompact)
		expect(t, "events", f.log.NextSeq(), n)
		expect(t, "requests", f.model.count(), 1)
	})
}

func TestMC05CompactBetweenTurns(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := talked(t, say("the sum"), say("three it is"))
		must(t, f.Compact(context.Background(), "the names"))
		mustContain(t, "the request", texts(f.asides()[0])[3], "keep above all: the names")
		expect(t, "compactions", f.brackets(), "start(idle) ask summary end")
		expect(t, "a second one", f.Compact(context.Background(), ""), ErrNothingToCompact)
		f.prompt("three")
		turns := of[session.TurnStart](f)
		expect(t, "turns", turns, "[{1} {2} {3}]")
		read := texts(f.model.request(3))
		expect(t, "what is left", len(read), 3)
		mustContain(t, "the first", read[0], "the sum")
		expect(t, "the last answer stays", read[1], "assistant:"+words(1000))
		f.check()
		g := f.reopen([]play{say("still here")})
		g.prompt("four")
		g.sent(0)
	})
}

func TestMC07AFailureGivesTheAgentBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := talked(t, fail(llm.Failure{Code: llm.CodeAuth, Message: "bad key"}), say("three it is"))
		err := f.Compact(context.Background(), "")
		var failure *llm.Failure
		expect(t, "the failure", errors.As(err, &failure) && failure.Code == llm.CodeAuth, true)
		f.prompt("three")
		expect(t, "the end", f.lastEnd().Kind, session.Completed)
		expect(t, "read", len(texts(f.model.request(3))), 5)
	})
}

func TestMC11CancelsBeforeAndDuring(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := talked(t, hang(text("half")), hang(text("half")))
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		expect(t, "before", errors.Is(f.Compact(gone, ""), context.Canceled), true)

		ctx, cancel := context.WithCancel(context.Background())
		done := f.compactLater(ctx)
		cancel()
		expect(t, "by the caller", errors.Is(<-done, context.Canceled), true)

		done = f.compactLater(context.Background())
		f.cancel(true)
		var cause *session.Cause
		expect(t, "by the user", errors.As(<-done, &cause) && cause.Kind == session.ByUser, true)
		f.idle()
		if strings.Contains(f.brackets(), "summary") {
			t.Error("a summary of a cancelled request was kept")
		}
		f.prompt("three")
		expect(t, "the end", f.lastEnd().Kind, session.Completed)
	})
}

func TestMC11CloseEndsIt(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := talked(t, hang())
		done := f.compactLater(context.Background())
		must(t, f.Close(context.Background()))
		if err := <-done; err == nil {
			t.Error("it succeeded")
		}
	})
}

func TestMC14TwoAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := talked(t, hang())
		done := f.compactLater(context.Background())
		expect(t, "the second", errors.Is(f.Compact(context.Background(), ""), ErrBusy), true)
		f.cancel(true)
		<-done
	})
}

// A log that was cut after any line of a compaction, between turns or in one, opens:
// the surface is the old or the new one, a stale start does not lock, and the next
// request is valid.
func TestMC13CMP09KilledAtAnyEventOfACompaction(t *testing.T) {
	t.Parallel()
	var whole logFile
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, []play{say(words(1000)), say(words(1000)), say("the first sum"),
			call("probe", "{}"), fail(tooLong), say("the second sum"), say("done")}, printing(3000))
		f.prompt("one")
		f.prompt("two")
		must(t, f.Compact(context.Background(), ""))
		f.prompt(words(2400))
		expect(t, "compactions", f.brackets(), "start(idle) ask summary end prune start ask summary end")
		expect(t, "the end", f.lastEnd().Kind, session.Completed)
		whole = f.file()
	})
	lines := bytes.SplitAfter(whole.bytes, []byte{'\n'})
	for n := 2; n < len(lines); n++ {
		t.Run(fmt.Sprint("after line ", n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				f, _ := logFile{whole.path, slices.Concat(lines[:n]...)}.open(t, []play{say("a sum"), say("fine")})
				if err := f.Compact(context.Background(), ""); err != nil && !errors.Is(err, ErrNothingToCompact) {
					t.Error(err)
				}
				checkFates(t, f)
				f.prompt("go on")
				expect(t, "the turn", f.lastEnd().Kind, session.Completed)
				f.sent(f.model.count() - 1)
			})
		})
	}
}

// The summary is in the log and may not survive a power cut: Compact says so, and what
// the model sees is short all the same.
func TestMC10TheLastBarrierFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		var putBack func()
		f = talked(t, then(func() { putBack = f.pluck() }, say("the sum")), say("three it is"))
		err := f.Compact(context.Background(), "")
		if err == nil {
			t.Error("it says that the summary is on disk")
		}
		putBack()
		expect(t, "compactions", f.brackets(), "start(idle) ask summary end")
		f.prompt("three")
		expect(t, "the end", f.lastEnd().Kind, session.Completed)
	})
}
