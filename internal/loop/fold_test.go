package loop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// folds is what the driver decides by, as text; without the flags that are about
// this process and not about the log.
func folds(t *testing.T, d *driverState) string {
	t.Helper()
	header, err := json.Marshal(d.frozen)
	must(t, err)
	capacity, err := json.Marshal(d.context)
	must(t, err)
	return fmt.Sprintf("open %d\nheader %s\ncontext %s\ncalls %v\npreset %s\nrules %+v\nrepeat %+v\nretries %+v\nspent %+v\nmeter %+v\nsaid %+v",
		d.open, header, capacity, slices.Sorted(maps.Keys(d.calls)), d.preset, d.rules, d.repeat, d.retries, d.spent, d.meter, d.said)
}

// replayed folds the log of now, as it lies in the file.
func (f *fixture) replayed() *driverState {
	d := &driverState{calls: maps.Clone(f.d.calls)}
	clear(d.calls)
	for _, ev := range f.events() {
		d.apply(&ev)
	}
	return d
}

// What the driver knows at each request and after each turn follows from the log
// alone: a resumed session decides as this one does.
func TestFoldsLiveAndReplayed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		compared := 0
		compare := func() {
			compared++
			expect(t, fmt.Sprint("folds at comparison ", compared), folds(t, &f.d), folds(t, f.replayed()))
		}
		down := fail(llm.Failure{Code: llm.CodeServer, Message: "down"})
		plays := []play{
			call("probe", "{}", "probe", "{}"), call("probe", "{}"), call("probe", "{}"), call("probe", "{}"), // reminders
			down, down, say("up again"),
			call("risky", "{}"), call("risky", "{}"), say("allowed for the session"),
			call("probe", `{"n":1}`, "nothing", "{}", "probe", `{"n":"no"}`), cut(text("too long")),
			call("probe", `{"n":2}`), call("probe", `{"n":3}`), call("probe", `{"n":4}`), call("probe", `{"n":5}`), call("probe", `{"n":6}`), // the budget
			hang(text("half")),
			say("done"),
		}
		for i, p := range plays {
			plays[i] = func(ctx context.Context, r *llm.Request, yield func(llm.Chunk) bool) {
				compare()
				p(ctx, r, yield)
			}
		}
		risky := &probe{name: "risky", class: policy.Write}
		setup := []option{with(&probe{name: "probe"}, risky), budgets(Budgets{Steps: 5, Time: time.Hour}),
			func(o *Options) { o.Rules.Preset, o.Asks, o.Route.Window = policy.PresetAsk, true, 100_000 }}
		f = newFixture(t, plays, setup...)
		for n := 0; f.model.count() < len(plays); n++ {
			f.send(fmt.Sprint("prompt ", n))
			f.settle()
			compare()
		}
		expect(t, "the ends", f.ends(), "completed completed max-tokens aborted{hook,budget: steps 5} aborted{user,} completed")
		expect(t, "rules", len(f.d.rules), 1)
		live := folds(t, &f.d)
		g := f.reopen(nil, setup...)
		expect(t, "folds of the next life", folds(t, &g.d), live)
	})
}

// settle waits for the agent to be idle, answers what is asked, and cancels what
// does not end.
func (f *fixture) settle() {
	f.t.Helper()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		err := f.WhenIdle(ctx)
		cancel()
		if err == nil {
			return
		}
		waiting := f.Waiting()
		for _, q := range waiting {
			must(f.t, f.Decide(q.ID, session.Answer{Outcome: session.ForSession, Pattern: "risky"}))
		}
		if len(waiting) == 0 {
			f.cancel(false)
		}
	}
}

// A budget and a guard that a crash interrupted start anew: they are of a turn.
// What is of the session goes on: call ids, session rules, the count of a model that
// repeats itself.
func TestFoldsAcrossACrash(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f, g *fixture
		same := `{"n":7}`
		f = newFixture(t, []play{call("probe", same), call("probe", same), then(func() {
			g = f.died([]play{call("probe", same), say("done")})
		}, say("a"))})
		f.prompt("go")
		expect(t, "counted before the user speaks", g.d.repeat.count, 2)
		g.prompt("again")
		expect(t, "counted since", g.d.repeat.count, 1)
		calls := of[session.ToolCall](g)
		expect(t, "ids", []string{calls[0].CallID, calls[1].CallID, calls[2].CallID}, "[c1 c1-2 c1-3]")
	})
}

// A model that uses an id again, in one message or across turns, gets distinct ones.
func TestCallIDsAreNeverUsedTwice(t *testing.T) {
	bubble(t, func(t *testing.T) {
		twice := func(_ context.Context, _ *llm.Request, yield func(llm.Chunk) bool) {
			yield(delta(0, "x", "probe", "{}"))
			yield(delta(1, "x", "probe", "{}"))
			yield(delta(2, "", "probe", "{}"))
		}
		f := newFixture(t, []play{twice, twice, say("done")})
		f.prompt("go")
		seen := map[string]bool{}
		for _, c := range of[session.ToolCall](f) {
			if seen[c.CallID] {
				t.Errorf("id %s is used twice", c.CallID)
			}
			seen[c.CallID] = true
		}
		expect(t, "calls", len(seen), 6)
		expect(t, "results", len(of[session.ToolResult](f)), 6)
		expect(t, "the end", f.ends(), "completed")
	})
}

// A follow-up that the user moves up while its turn is ending is not left lying.
func TestMoveIntoATurnThatIsEnding(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{say("a"), say("b")})
		act := newActivity(context.Background())
		f.mu.Lock()
		f.act = act
		f.mu.Unlock()
		f.send("one")
		f.close(act)
		ok, err := f.Move(f.Queue()[0].ID, session.NextStep, 0)
		must(t, err)
		expect(t, "moved", ok, true)
		f.finish(act)
		f.idle()
		expect(t, "read", userTexts(f), "[one]")
	})
}
