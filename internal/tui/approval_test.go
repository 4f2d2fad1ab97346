package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dsh/internal/session"
	"dsh/internal/tui/term"
)

var (
	edit  = session.Display{Kind: session.ShowDiff, Verb: "Edit", Target: "cart.go"}
	shell = session.Display{Kind: session.ShowCommand, Verb: "Bash", Target: "rm -rf build"}

	editDecision  = session.Decision{Verdict: session.Ask, Effect: session.EffectChange, Offer: "edit(cart.go)"}
	shellDecision = session.Decision{Verdict: session.Ask, Effect: session.EffectUnknown, Reason: "commands ask here"}
)

// asked is a screen on which a question has come.
func asked(t testing.TB, d session.Display, decision session.Decision) *world {
	w := newWorld(t, setup{})
	w.prompt("go")
	w.wait(time.Second)
	w.question("c1", d, decision)
	return w
}

func (w *world) question(id string, d session.Display, decision session.Decision) {
	c := toolCall(id, d)
	w.answered(c)
	w.take(c)
	w.asks(c, decision)
}

func TestAPPR1TypingAheadAnswersNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.typed("hell")
	for i := 0; len(w.m.composer.Text()) > 0; i++ { // the draft is empty again, the last key just pressed
		w.press("backspace")
	}
	w.question("c1", edit, editDecision)
	for range 5 {
		for _, key := range []string{"y", "1", "a", "backspace", "backspace", "backspace"} {
			w.press(key)
			w.now = w.now.Add(10 * time.Millisecond)
		}
	}
	if len(w.answers) != 0 {
		t.Fatalf("answered %+v by typing ahead", w.answers)
	}
	w.shows("alt+a to answer")
	w.wait(quietBefore + spinEvery)
	w.shows("Yes, once")
	w.press("y")
	if len(w.answers) != 0 {
		t.Fatal("answered before the keys are armed")
	}
	w.wait(armAfter + spinEvery)
	w.press("y")
	if len(w.answers) != 1 || w.answers[0].Outcome != session.Once {
		t.Errorf("answers %+v", w.answers)
	}
	w.hides("Yes, once")
}

func TestAPPR1ADraftKeepsTheFocus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.typed("a draft")
	w.question("c1", edit, editDecision)
	w.wait(5 * time.Second)
	w.press("y")
	if len(w.answers) != 0 || w.m.composer.Text() != "a drafty" {
		t.Fatalf("answers %+v, draft %q", w.answers, w.m.composer.Text())
	}
	w.press("alt+a")
	w.wait(armAfter + spinEvery)
	w.press("n")
	if len(w.answers) != 1 || w.answers[0].Outcome != session.No || w.m.composer.Text() != "a drafty" {
		t.Errorf("answers %+v, draft %q", w.answers, w.m.composer.Text())
	}
}

func TestAPPR2(t *testing.T) {
	t.Parallel()
	t.Run("a paste answers nothing", func(t *testing.T) {
		w := asked(t, edit, editDecision)
		w.wait(2 * time.Second)
		w.send(term.PasteMsg("y\n"))
		w.press("enter") // right after it: not an answer either
		if len(w.answers) != 0 || w.m.composer.Text() != "y\n" {
			t.Errorf("answers %+v, draft %q", w.answers, w.m.composer.Text())
		}
	})
	t.Run("an answer is not typing: the next question follows at once", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.wait(time.Second)
		a, b := toolCall("c1", edit), toolCall("c2", edit)
		w.answered(a, b)
		w.take(a)
		w.take(b)
		w.asks(a, editDecision)
		w.asks(b, editDecision)
		for range 2 {
			w.wait(300 * time.Millisecond)
			w.press("y")
		}
		if len(w.answers) != 2 || !w.m.composer.Empty() {
			t.Errorf("answers %+v, draft %q", w.answers, w.m.composer.Text())
		}
	})
	t.Run("a letter that means nothing makes the keys dead again", func(t *testing.T) {
		w := asked(t, edit, editDecision)
		w.wait(2 * time.Second)
		w.press("w", "a", "enter")
		if len(w.answers) != 0 {
			t.Errorf("answers %+v", w.answers)
		}
	})
	t.Run("risk begins on No, what is harmless on Yes", func(t *testing.T) {
		for name, c := range map[string]struct {
			d      session.Display
			offer  string
			effect session.Effect
			yes    bool
		}{
			"an edit in the workspace":     {edit, "edit(cart.go)", session.EffectChange, true},
			"an edit elsewhere":            {edit, "edit(/etc/hosts)", session.EffectChange, false},
			"an edit above":                {edit, "edit(../x)", session.EffectChange, false},
			"an edit no rule can name":     {edit, "", session.EffectChange, false},
			"a command":                    {shell, "bash(rm -rf build)", session.EffectUnknown, false},
			"a command that is remembered": {shell, "bash(go test:*)", session.EffectUnknown, true},
			"what only reads":              {shell, "", session.EffectRead, true},
		} {
			w := asked(t, c.d, session.Decision{Verdict: session.Ask, Effect: c.effect, Offer: c.offer})
			w.wait(2 * time.Second)
			want := "❯ 4 n   No, go on without it"
			if c.yes {
				want = "❯ 1 y   Yes, once"
			}
			if !strings.Contains(w.frame(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, w.frame())
			}
			w.press("enter")
			if len(w.answers) != 1 || (w.answers[0].Outcome == session.Once) != c.yes {
				t.Errorf("%s: enter answers %+v", name, w.answers)
			}
		}
	})
	t.Run("what cannot be offered keeps its place and does nothing", func(t *testing.T) {
		w := asked(t, shell, shellDecision)
		w.wait(2 * time.Second)
		w.shows("2 a   -", "4 n   No, go on")
		w.press("a", "2")
		if len(w.answers) != 0 {
			t.Fatalf("answers %+v", w.answers)
		}
		w.press("up", "enter") // over the dead one, to Yes
		if len(w.answers) != 1 || w.answers[0].Outcome != session.Once {
			t.Errorf("answers %+v", w.answers)
		}
	})
}

func TestApprovalsComeInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.wait(time.Second)
	a, b := toolCall("c1", edit), toolCall("c2", shell)
	w.answered(a, b)
	w.take(a)
	w.take(b)
	w.asks(a, editDecision)
	w.asks(b, shellDecision)
	w.wait(time.Second)
	w.shows("1 of 2 waiting · Edit cart.go")
	w.press("y")
	w.shows("? Bash rm -rf build")
	w.press("n")
	if len(w.answers) != 1 {
		t.Fatal("the key of the first question answered the second before it was armed")
	}
	w.wait(time.Second)
	w.press("n")
	if len(w.answers) != 2 || w.answers[1].Outcome != session.No {
		t.Errorf("answers %+v", w.answers)
	}
}

func TestApprovalSaysNoInWords(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.typed("my draft")
	w.question("c1", shell, shellDecision)
	w.press("alt+a")
	w.wait(time.Second)
	w.press("tab")
	w.shows("instead ❯")
	w.hides("my draft")
	w.typed("move it away")
	w.press("esc")
	w.shows("No, go on without it")
	w.wait(time.Second)
	w.press("tab")
	w.typed("use trash")
	w.press("enter")
	if len(w.answers) != 1 || w.answers[0].Say != "use trash" || w.answers[0].Outcome != session.No {
		t.Fatalf("answers %+v", w.answers)
	}
	if w.m.composer.Text() != "my draft" || w.stops != 0 {
		t.Errorf("draft %q, %d stops", w.m.composer.Text(), w.stops)
	}

	t.Run("words for a question that went away stay", func(t *testing.T) {
		w := asked(t, shell, shellDecision)
		w.wait(2 * time.Second)
		w.press("tab")
		w.typed("because")
		w.waits = nil
		w.stream("x")
		if w.m.composer.Text() != "because" || w.m.errand != nil {
			t.Errorf("draft %q", w.m.composer.Text())
		}
	})
	t.Run("words that could not be sent stay", func(t *testing.T) {
		w := asked(t, shell, shellDecision)
		w.wait(2 * time.Second)
		w.press("tab")
		w.typed("because")
		w.fails = fmt.Errorf("disk full")
		w.press("enter")
		if w.m.composer.Text() != "because" || !strings.Contains(w.scroll(), "disk full") {
			t.Errorf("draft %q, scroll %q", w.m.composer.Text(), w.scroll())
		}
		w.fails = nil
		w.press("enter")
		if len(w.answers) != 1 {
			t.Errorf("answers %+v", w.answers)
		}
	})
	t.Run("esc says no and stops, and once only", func(t *testing.T) {
		w := asked(t, shell, shellDecision)
		w.wait(2 * time.Second)
		w.press("esc", "esc")
		if len(w.answers) != 1 || w.stops != 1 {
			t.Errorf("answers %+v, %d stops", w.answers, w.stops)
		}
	})
}

func TestG02TheWholeDiffIsReachableAndTheAnswersStayInSight(t *testing.T) {
	t.Parallel()
	big := edit
	var lines []string
	for i := range 200 {
		lines = append(lines, fmt.Sprintf("+line %d of the change", i))
	}
	big.Diffs = []session.FileDiff{{Path: "cart.go", Hunks: []session.Hunk{{OldStart: 1, NewStart: 1, Lines: lines}}}}
	w := asked(t, big, editDecision)
	w.wait(2 * time.Second)
	w.shows("line 0 of", "lines · ctrl+o", "1 y   Yes, once", "esc   No, and stop")
	w.press("ctrl+o")
	all := ""
	for range 20 {
		all += w.frame()
		w.press("pgup")
	}
	for i := range 200 {
		if !strings.Contains(all, fmt.Sprintf("line %d of the change", i)) {
			t.Fatalf("line %d is not in the transcript", i)
		}
	}
	w.shows("a question waits")
	w.press("q", "y")
	if len(w.answers) != 0 {
		t.Error("the question was answered as soon as it was back in sight")
	}
	long := shell
	long.Target = strings.Repeat("echo a long command; ", 30) + "true"
	w = asked(t, long, shellDecision)
	w.wait(2 * time.Second)
	if got := strings.Join(strings.Fields(w.frame()), " "); strings.Count(got, "echo a long") < 25 {
		t.Errorf("the command is not whole:\n%s", w.frame())
	}
	for height := 1; height < 40; height++ {
		w.send(sized(80, height))
		if height >= 8 {
			w.shows("say", "stop")
		}
	}
}

func TestNotifications(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.press("x", "backspace")
	w.prompt("go")
	w.wait(15 * time.Second)
	w.endTurn(completed)
	if len(w.term.notes) != 0 {
		t.Errorf("notes %q while somebody looks", w.term.notes)
	}
	blur(w)
	w.prompt("go")
	w.wait(15 * time.Second)
	w.question("c1", shell, shellDecision)
	w.waits = nil
	w.endTurn(completed)
	want := []string{"dsh: waiting for your answer", "dsh: finished in 0:15"}
	if fmt.Sprint(w.term.notes) != fmt.Sprint(want) {
		t.Errorf("notes %q, want %q", w.term.notes, want)
	}
}

func TestTitleAndProgressFollowTheTurn(t *testing.T) {
	t.Parallel()
	w := asked(t, shell, shellDecision)
	w.waits = nil
	w.stream("x")
	w.endTurn(completed)
	want := []string{"dsh", "dsh: go", "* dsh: go", "? dsh: go", "* dsh: go", "dsh: go"}
	if fmt.Sprintf("%q", w.term.titles) != fmt.Sprintf("%q", want) {
		t.Errorf("titles %q, want %q", w.term.titles, want)
	}
	if fmt.Sprint(w.term.bars) != fmt.Sprint([]term.Progress{term.ProgressRunning, term.ProgressOff}) {
		t.Errorf("progress %v", w.term.bars)
	}
}
