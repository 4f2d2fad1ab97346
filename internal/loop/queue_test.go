package loop

import (
	"context"
	"testing"
	"testing/synctest"

	"dsh/internal/policy"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// An interrupt keeps what was sent ahead, held: nothing is sent that was meant for
// another moment, and nothing is lost.
func TestINB09InterruptHoldsWhatWaits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, []play{hang(text("half")), say("second"), say("third"), say("fourth")})
		f.send("first")
		synctest.Wait()
		f.steer("steer")
		f.send("later")
		f.inject("note")
		must(t, f.Interrupt())
		f.idle()
		expect(t, "the queue", f.waits(), "[steer] note [later]")
		expect(t, "requests", f.model.count(), 1)
		f.prompt("now")
		expect(t, "the held ones stay", f.waits(), "[steer] [later]")
		items := f.Queue()
		must(t, f.Release(items[0].ID, items[1].ID))
		f.idle()
		expect(t, "all went", f.waits(), "")
		expect(t, "each in a turn of its own", f.sent(3), "user(first) assistant(half) user(note) user(now) assistant(second) user(steer) assistant(third) user(later)")
	})
}

func TestHoldAndReleaseAreOneEventEach(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := newFixture(t, nil)
		f.inject("a")
		id := f.Queue()[0].ID
		must(t, f.Hold(id))
		must(t, f.Hold(id, "unknown"))
		must(t, f.Release(id))
		f.idle()
		held := of[session.InboxHeld](f)
		expect(t, "events", len(held), 2)
	})
}

func TestSetPresetCountsFromTheNextCall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var f *fixture
		body := &probe{name: "probe", class: policy.Write, run: func(context.Context, string) (tools.Result, error) {
			f.SetPreset(policy.PresetReadOnly)
			return tools.Result{Text: "ok"}, nil
		}}
		f = newFixture(t, []play{call("probe", `{"n":1}`, "probe", `{"n":2}`), say("done")}, with(body))
		f.prompt("go")
		codes, _ := f.results()
		expect(t, "results", codes, []string{"ok", codeDenied})
		presets := of[session.PolicyPreset](f)
		expect(t, "logged", presets, []session.PolicyPreset{{Preset: "full"}, {Preset: "read-only"}})
	})
}
