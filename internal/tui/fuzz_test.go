package tui

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tui/term"
)

// randomKeys are what a hand may press: everything that is bound, and some text.
var randomKeys = func() (list []string) {
	for _, b := range keymap {
		if b.action != "editor" && b.action != "page-editor" && b.action != "suspend" {
			list = append(list, b.keys...)
		}
	}
	return append(list, "/", "!", "@", "?", "q", "中", "é", "👩‍👩‍👧"[:4])
}()

// happen lets one thing happen to the session, as far as it may now.
func (w *world) happen(r *rand.Rand) {
	calls := len(w.calls)
	switch n := r.IntN(9); {
	case !w.open:
		for _, it := range w.queue {
			if it.Target == session.NextTurn && !it.Held {
				w.startTurn()
				return
			}
		}
	case w.m.progress.phase == phaseStopping && n < 5:
		w.waits = nil
		w.endTurn(aborted)
	case n == 0:
		w.waits = nil
		w.endTurn([]session.EndReason{completed, {Kind: session.Failed, Failure: &llm.Failure{Code: "X", Message: "m"}}, {Kind: session.MaxTokens}}[r.IntN(3)])
	case n < 5:
		w.stream([]string{"words ", "\n\n", "```\ncode\n", "| a | b |\n|---|---|\n", "中文字符，", "\x1b[31m\t"}[r.IntN(6)])
	case n == 5 && len(w.waits) == 0:
		d := []session.Display{edit, shell}[r.IntN(2)]
		w.question(fmt.Sprint("c", calls), d, []session.Decision{editDecision, shellDecision}[r.IntN(2)])
	case n == 6 && len(w.waits) > 0:
		w.waits = w.waits[1:] // somebody else answered
		w.stream("x")
	case n == 7 && len(w.waits) == 0:
		w.nextStep()
	}
}

// jobsHappen lets one thing happen to the jobs.
func (w *world) jobsHappen(r *rand.Rand) {
	var running []string
	for i := range w.jobs {
		if w.jobs[i].Status.Active() {
			running = append(running, w.jobs[i].ID)
		}
	}
	switch n := r.IntN(4); {
	case n == 0 || len(running) == 0:
		w.job(fmt.Sprint("bash-", len(w.jobs)+1), []string{"make", "echo 你好\n\x1b[31m", strings.Repeat("长", 300)}[r.IntN(3)], "")
	case n == 1:
		w.settles(exited(running[r.IntN(len(running))], r.IntN(2)))
	case n == 2 && w.open:
		w.add(session.TodoWrite{Todos: []session.Todo{{Content: "a\nb\x1b[2J", Status: session.TodoActive}, {Content: strings.Repeat("字", 90), Status: "?"}}})
		w.pump()
	default:
		w.prints(running[r.IntN(len(running))], []string{"line\n", "中文字符", "10%\r", "\x1b[31m\t", strings.Repeat("x", 3000)}[r.IntN(5)])
	}
}

// kept is every text of the user that is somewhere.
func (w *world) kept() []string {
	var texts []string
	text := func(t string) { texts = append(texts, t) }
	text(w.m.composer.Text())
	if w.m.errand != nil {
		for _, p := range w.m.errand.draft.Parts {
			text(p.Text)
		}
	}
	for _, left := range w.m.composer.Aside() {
		text(left)
	}
	for _, it := range w.queue {
		text(it.Text)
	}
	for _, e := range w.m.history.own {
		text(e.Text)
	}
	for _, a := range w.answers {
		text(a.Say)
	}
	for i := range w.events {
		switch d := w.events[i].Data.(type) {
		case session.UserMessage:
			text(d.PlainText())
		}
	}
	return texts
}

// deletes reports whether a key takes text away because somebody wants it.
func deletes(m *model, key string) bool {
	switch m.keys.action(inIdle, key) {
	case "delete-back", "delete", "delete-word-back", "delete-word", "kill-to-start", "kill-to-end", "undo", "redo", "yank-older", "leave":
		return true
	}
	return false
}

// play presses random keys while random things happen, and holds what is true of every
// frame (check), and that a marked text is never lost.
func play(t *testing.T, seed uint64, n int) {
	r := rand.New(rand.NewPCG(seed, 1))
	w := newWorld(t, setup{})
	var marks []string
	for i := range n {
		switch r.IntN(12) {
		case 0:
			w.send(sized(r.IntN(100), r.IntN(50)))
		case 1:
			w.happen(r)
			w.jobsHappen(r)
		case 2:
			w.happen(r)
		case 3:
			w.wait(time.Duration(r.IntN(2000)) * time.Millisecond)
		case 4:
			mark := fmt.Sprintf("mark-%d-%d ", seed, i)
			before := w.m.composer.Text()
			w.send(term.PasteMsg(mark))
			if w.m.composer.Text() != before {
				marks = append(marks, strings.TrimSpace(mark))
			}
		default:
			key := randomKeys[r.IntN(len(randomKeys))]
			if deletes(w.m, key) {
				continue
			}
			w.press(key)
		}
		w.m.quitting = false
		all := w.kept()
		for _, mark := range marks {
			if !slices.ContainsFunc(all, func(text string) bool { return scattered(text, mark) }) {
				t.Fatalf("seed %d, step %d: %q is lost; kept is %q", seed, i, mark, all)
			}
		}
	}
}

// scattered reports whether a mark is in a text, with something typed into it perhaps.
func scattered(text, mark string) bool {
	for _, c := range mark {
		i := strings.IndexRune(text, c)
		if i < 0 {
			return false
		}
		text = text[i+1:]
	}
	return true
}

func TestRandomKeysLoseNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			play(t, seed, 250)
		})
	}
}

func FuzzScreen(f *testing.F) {
	f.Add(uint64(541)) // the blocks of a failed request go away under the transcript
	f.Add(uint64(803)) // a command of many lines
	for seed := range uint64(8) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) { play(t, seed, 120) })
}
