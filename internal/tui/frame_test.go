package tui

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/termtext"
	"dsh/internal/tui/term"
	"dsh/internal/tui/transcript"
)

func sized(width, height int) tea.Msg { return tea.WindowSizeMsg{Width: width, Height: height} }
func blur(w *world)                   { w.send(tea.BlurMsg{}) }

// scenes are states of the screen worth looking at.
var scenes = []struct {
	name string
	play func(w *world)
}{
	{"welcome", func(w *world) {}},
	{"streaming", func(w *world) {
		w.prompt("购物车测试不稳定：找出原因并修复")
		c := toolCall("c1", session.Display{Kind: session.ShowText, Verb: "Read", Target: "internal/购物车/expiry_test.go"})
		w.answered(llm.TextBlock("先读测试，再看它覆盖的代码。I'll read the test first."), c)
		w.take(c)
		w.result(c, "package cart")
		w.nextStep()
		w.wait(48 * time.Second)
		w.stream("时钟被读了两次，所以在同一瞬间创建的购物车看起来已经过期。 The clock is read twice, so a cart made in the same tick can look ")
	}},
	{"waiting", func(w *world) {
		w.prompt("fix the cart")
		c := toolCall("c1", session.Display{Kind: session.ShowCommand, Verb: "Bash", Target: "go test ./..."})
		w.answered(c)
		w.take(c)
		w.typed("use a fake clock")
		w.press("enter")
		for _, text := range []string{"then update CHANGELOG.md", "再跑二十次测试", "and commit"} {
			w.typed(text)
			w.press("tab")
		}
		w.typed("also bump the version")
	}},
	{"held", func(w *world) {
		w.prompt("fix the cart")
		w.typed("one more")
		w.press("tab", "esc")
		w.endTurn(aborted)
	}},
	{"edit-question", func(w *world) {
		w.prompt("fix it")
		w.wait(time.Second)
		d := edit
		d.Facts = []string{"+2 -1"}
		d.Diffs = []session.FileDiff{{Path: "cart.go", Hunks: []session.Hunk{{OldStart: 36, NewStart: 36, Lines: []string{
			" // Expired reports whether the cart is past its deadline.", "-func (c *Cart) Expired() bool {", "+func (c *Cart) Expired(now time.Time) bool {", "+	// 购物车在截止时刻过期"}}}}}
		w.question("c1", d, editDecision)
		w.wait(2 * time.Second)
	}},
	{"command-question", func(w *world) {
		w.prompt("clean")
		w.wait(time.Second)
		d := shell
		d.Target = "rm -rf build && make release VERSION=$(git describe --tags) && echo done with everything"
		w.question("c1", d, shellDecision)
		w.wait(2 * time.Second)
	}},
	{"popup", func(w *world) { w.typed("/re") }},
	{"queue-list", func(w *world) {
		w.prompt("go")
		for _, text := range []string{"first", "第二条消息：把所有测试再跑二十遍，然后告诉我结果", "third"} {
			w.typed(text)
			w.press("tab")
		}
		w.typed("/queue")
		w.press("enter", "down")
	}},
	{"jobs", func(w *world) {
		w.jobsOf07()
		w.press("down")
	}},
	{"jobs-stopping", func(w *world) {
		w.jobsOf07()
		w.press("down", "x")
	}},
	{"jobs-leaving", func(w *world) {
		w.jobsOf07()
		w.press("ctrl+d")
	}},
	{"todo", func(w *world) {
		w.plan()
		w.press("ctrl+t")
	}},
	{"sessions", func(w *world) { w.typed("/resume"); w.press("enter", "tab") }},
}

func TestScreens(t *testing.T) {
	t.Parallel()
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			for _, size := range [][2]int{{40, 20}, {80, 24}, {120, 40}} {
				w := newWorld(t, setup{})
				w.send(sized(size[0], size[1]))
				scene.play(w)
				fmt.Fprintf(&b, "--- %dx%d, in the scrollback ---\n%s\n--- live ---\n%s\n", size[0], size[1], w.scroll(), w.frame())
			}
			golden(t, "screen-"+scene.name+".txt", b.String())
		})
	}
}

func TestRSZ3EverySizeHoldsEveryScene(t *testing.T) {
	t.Parallel()
	for _, scene := range scenes {
		t.Run(scene.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, setup{})
			scene.play(w)
			for height := 0; height <= 60; height++ {
				step := 1
				if height%7 != 0 { // all widths at some heights, some widths at all
					step = 13
				}
				for width := 0; width <= 200; width += step {
					w.send(sized(width, height)) // check looks at the frame
				}
			}
			w.press("ctrl+o")
			for height := 1; height <= 60; height += 3 {
				for width := 1; width <= 200; width += 17 {
					w.send(sized(width, height))
				}
			}
		})
	}
}

// TestINL4 holds that within a turn the composer only moves down.
func TestINL4TheComposerDoesNotJump(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	above := 0
	look := func(what string) {
		t.Helper()
		n := 0
		for _, row := range strings.Split(w.frame(), "\n") {
			if strings.HasPrefix(row, "❯") {
				break
			}
			n++
		}
		if n < above {
			t.Errorf("%s: %d rows above the composer, %d before\n%s", what, n, above, w.frame())
		}
		above = n
	}
	look("start")
	for i := range 30 {
		w.stream(fmt.Sprintf("A sentence, number %d, of some length. ", i))
		if i%5 == 4 {
			w.stream("\n\n")
		}
		look("streaming")
	}
	a, b := toolCall("c1", edit), toolCall("c2", shell)
	w.answered(llm.TextBlock("done"), a, b)
	look("answered")
	w.take(a)
	w.take(b)
	look("running")
	w.typed("steer")
	look("typed")
	w.press("enter")
	look("steered")
	w.result(a, "ok")
	look("one result")
	w.result(b, "ok")
	w.nextStep()
	look("next step")
	w.stream("short")
	look("short")
	w.endTurn(completed)
	if n := strings.Count(w.frame(), "\n"); n > 3 {
		t.Errorf("%d rows are left after the turn:\n%s", n+1, w.frame())
	}
}

func TestWIDTHRowsHoldWhateverIsWritten(t *testing.T) {
	t.Parallel()
	text := "你好|👨‍👩‍👧|🎙️|❤️|🇩🇪|🫠|é|ｱ|한글|\u200b|ไทย|عربي"
	for width := 10; width <= 44; width++ {
		w := newWorld(t, setup{})
		w.send(sized(width, 20))
		for _, c := range text {
			w.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{c}})
		}
		if want := min(w.m.composer.columnOf(w.m.composer.cur)+2, width-1); w.m.Frame().Cursor.Col > want {
			t.Errorf("G05: the cursor at %d, want %d at most", w.m.Frame().Cursor.Col, want)
		}
		w.press("enter")
		w.startTurn()
		w.stream("| a | b |\n|---|---|\n| " + text + " | x |\n\n" + text)
		w.typed(text[:9])
		w.press("tab")
		w.typed("/queue")
		w.press("esc", "enter")
	}
}

func TestSTALL(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.wait(20 * time.Second)
	w.hides("no data")
	w.wait(15 * time.Second)
	w.shows(" 0:35 · no data for 0:35", "esc interrupt")
	w.stream("lost words\n\nmore lost words")
	w.hides("no data")
	w.add(session.Retry{RetryID: "r", Turn: w.turn, Step: w.step, Retry: 1, DelayMs: 8000,
		Failure: llm.Failure{Code: "OVERLOADED", Message: "503"}})
	w.pump()
	w.shows("Retrying in 0:08")
	w.wait(3 * time.Second)
	w.shows("Retrying in 0:05")
	w.press("esc")
	if w.stops != 1 {
		t.Error("esc does not stop the retries")
	}
	w.wait(5 * time.Second)
	w.add(session.RetryStarted{RetryID: "r", Turn: w.turn, Step: w.step, Retry: 1}, session.RequestSent{Turn: w.turn, Step: w.step, Attempt: 2})
	w.pump()
	w.stream("found words")
	w.answered(llm.TextBlock("found words"))
	got := w.scroll()
	if i := strings.Index(got, "lost words"); i >= 0 && !strings.Contains(got[i:], "cut off") {
		t.Errorf("nothing says that the first lines are not part of the answer:\n%s", got)
	}
	if strings.Contains(got, "lost wordsfound") || !strings.Contains(got, "found words") {
		t.Errorf("the failed attempt is joined to the next:\n%s", got)
	}
}

func TestRES1TheScreenOfALogIsTheScreenThatWasSeen(t *testing.T) {
	t.Parallel()
	live := newWorld(t, setup{})
	for i := range 3 {
		live.prompt(fmt.Sprint("prompt ", i))
		c := toolCall("c1", edit)
		live.answered(llm.TextBlock(fmt.Sprint("answer ", i)), c)
		live.take(c)
		live.result(c, "ok")
		live.endTurn(completed)
	}
	for cut := range len(live.events) + 1 {
		again := newWorld(t, setup{old: live.events[:cut:cut]})
		var p, q transcript.Projection
		p.Apply(live.events[:cut]...)
		for _, ev := range live.events[:cut] {
			q.Apply(ev)
		}
		if fmt.Sprintf("%+v", p.Blocks()) != fmt.Sprintf("%+v", again.m.project.Blocks()) || fmt.Sprintf("%+v", p.Blocks()) != fmt.Sprintf("%+v", q.Blocks()) {
			t.Fatalf("the blocks of the first %d events differ", cut)
		}
	}
	again := newWorld(t, setup{old: live.events})
	got := again.scroll()
	if !strings.Contains(got, "… 6 earlier blocks · ctrl+o shows all") || strings.Contains(got, "answer 1") || !strings.Contains(got, "answer 2") {
		t.Errorf("resumed:\n%s", got)
	}
	again.press("ctrl+o", "g")
	again.shows("prompt 0", "answer 0")
	if err := session.Check(session.Header{ID: "x"}, func(yield func(session.Event) bool) {
		for _, ev := range live.events {
			if !yield(ev) {
				return
			}
		}
	}); err != nil {
		t.Errorf("the test's own log is none: %v", err)
	}
}

func TestCOPY3(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	answer := "Look:\n\n```go\nx := 1\n```\n\nand\n\n```sh\nls  -l\n```\n"
	w.answered(llm.TextBlock(answer))
	c := toolCall("c1", session.Display{Kind: session.ShowText, Verb: "Read", Target: "a.go"})
	w.nextStep()
	w.answered(c)
	w.take(c)
	w.result(c, "raw\toutput \x1b[31mred\n")
	w.endTurn(completed)
	w.typed("/copy")
	w.press("enter", "enter")
	w.shows("not confirmed")
	w.typed("/copy code")
	w.press("enter")
	w.press("ctrl+o")
	w.m.pager.list.JumpTo(len(w.m.project.Blocks())-1, 0)
	w.send(sized(80, 4))
	w.m.pager.list.JumpTo(len(w.m.project.Blocks())-1, 0)
	w.press("y")
	want := []string{answer, "ls  -l\n", "raw\toutput \x1b[31mred\n"}
	if fmt.Sprintf("%q", w.term.copied) != fmt.Sprintf("%q", want) {
		t.Errorf("copied %q, want %q", w.term.copied, want)
	}
}

func TestDUMBNoColourAndNoLocale(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{env: term.Env{Depth: term.NoColor, UTF8: false, SSH: true}})
	w.prompt("go")
	c := toolCall("c1", session.Display{Kind: session.ShowText, Verb: "Read", Target: "a.go"})
	w.answered(llm.TextBlock("words"), c)
	w.take(c)
	for _, row := range append(w.m.Frame().Rows, w.term.printed...) {
		for _, m := range styles.FindAllString(row, -1) {
			if strings.ContainsAny(m, "3489") && m != "\x1b[0m" {
				t.Errorf("a colour %q in %q", m, row)
			}
		}
	}
	for _, size := range [][2]int{{0, 0}, {1, 1}, {2, 2}} {
		w.send(sized(size[0], size[1]))
	}
	if w.m.width != 2 {
		t.Errorf("width %d", w.m.width)
	}
}

func TestDraftSurvives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := newWorld(t, setup{dir: dir})
	first.typed("not yet sent")
	first.wait(2 * time.Second)
	second := newWorld(t, setup{dir: dir}) // as after a crash: nothing was ended
	if got := second.m.composer.Text(); got != "not yet sent" {
		t.Errorf("restored %q", got)
	}
	second.shows("draft restored")
	second.wait(4 * time.Second)
	if second.m.ticking {
		t.Error("an idle screen ticks")
	}
	second.press("enter")
	second.startTurn()
	second.endTurn(completed)
	third := newWorld(t, setup{dir: dir})
	if !third.m.composer.Empty() {
		t.Errorf("what was sent comes back as a draft: %q", third.m.composer.Text())
	}
}

func TestADraftIsNotLostWhenSendingFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.fails = fmt.Errorf("no space left on device")
	w.typed("words")
	w.press("enter")
	if w.m.composer.Text() != "words" || !strings.Contains(w.scroll(), "no space left") {
		t.Errorf("draft %q, scroll %q", w.m.composer.Text(), w.scroll())
	}
	w.press("ctrl+u")
	w.send(promptMsg("from the command line"))
	if w.m.composer.Text() != "from the command line" {
		t.Errorf("draft %q", w.m.composer.Text())
	}
}

func TestAnotherSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.typed("/new")
	w.press("enter", "enter")
	w.received(1)
	if !strings.Contains(w.scroll(), "left session 11111111") {
		t.Errorf("scroll %q", w.scroll())
	}
	w.m.work.Wait()
	if len(w.closed) != 1 || w.closed[0][:8] != "11111111" {
		t.Errorf("closed %q", w.closed)
	}
	if w.m.said() {
		t.Error("nothing was said in the new session")
	}
}

func TestRowsOfTheScreenHaveNoTrailingSpace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.answered(llm.TextBlock("words\n\n- a list\n- of two"))
	w.endTurn(completed)
	for _, row := range w.term.printed {
		if row = styles.ReplaceAllString(row, ""); strings.HasSuffix(row, " ") || strings.Contains(row, "\u00a0") || termtext.Width(row) > 79 {
			t.Errorf("T-COPY-2: %q", row)
		}
	}
}

func TestARunningCallShowsTheEndOfItsOutput(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.m.open.Output = func(callID string) string { return "of " + callID + "\none\ntwo\nthree\n" }
	w.prompt("run the tests")
	c := toolCall("c1", session.Display{Kind: session.ShowCommand, Verb: "Bash", Target: "go test ./..."})
	w.answered(c)
	w.take(c)
	w.shows("Bash go test ./...", "one", "two", "three")
	w.hides("of c1")
	w.result(c, "ok")
	w.hides("three")
}
