package tui

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
	"dsh/internal/tui/term"
)

// jobsOf07 are the jobs of mock-ups 07 and 19.
func (w *world) jobsOf07() {
	w.t.Helper()
	w.prompt("start it")
	w.job("bash-1", "npm run dev", "VITE v5.2.0\n")
	w.wait(161 * time.Second)
	w.settles(session.JobSettled{ID: "bash-1", Status: session.JobKilled, Detail: "signal: SIGTERM", By: session.JobByUser})
	w.job("bash-3", "npm run dev", "VITE v5.2.0  ready in 412 ms\nLocal: http://localhost:5173/\nbuilding 10%\rbuilding 90%\n14:02:11 [vite] hmr update /src/App.tsx\n")
	w.job("bash-4", "make lint", "all good\n")
	w.wait(63 * time.Second)
	w.settles(exited("bash-4", 0))
	w.wait(158 * time.Second)
	w.job("bash-5", "go test ./... -race -count=5 所有的测试", "ok shop/internal/api\nok 购物车/过期\n")
	w.wait(31 * time.Second)
	w.endTurn(completed)
}

// plan is a todo list of four.
func (w *world) plan() {
	w.t.Helper()
	w.prompt("fix it")
	w.add(session.TodoWrite{Todos: []session.Todo{{Content: "reproduce", Status: session.TodoCompleted}, {Content: "find the cause 找出原因", Status: session.TodoCompleted},
		{Content: "fix expiry and its callers, those in the tests too, and those that nobody has looked at for years", Status: session.TodoActive}, {Content: "test", Status: session.TodoPending}}})
	w.pump()
	w.endTurn(completed)
}

func TestJobsPanel(t *testing.T) {
	t.Parallel()
	t.Run("down on an empty draft opens it, running first, esc closes it", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.jobsOf07()
		w.press("down")
		w.shows("Jobs · 2 running · 2 finished", "❯ bash-3  running  4:12  npm run dev", "bash-4  exit 0", "-- bash-3 --", "hmr update", "enter full output")
		if f := w.frame(); strings.Index(f, "bash-5") > strings.Index(f, "bash-4") || strings.Index(f, "bash-4") > strings.Index(f, "bash-1") {
			t.Errorf("the order:\n%s", f)
		}
		if !w.m.Frame().Cursor.Hidden {
			t.Error("the cursor is in a composer that does not have the keys")
		}
		w.press("z", "esc")
		w.hides("Jobs ·")
		if w.m.composer.Text() != "" {
			t.Errorf("draft %q", w.m.composer.Text())
		}
	})
	t.Run("the command opens it; without jobs both say so", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.press("down")
		w.shows(noJobs)
		w.typed("/jobs")
		w.press("enter")
		if !strings.Contains(w.scroll(), noJobs) || w.m.panel != nil {
			t.Errorf("%q", w.scroll())
		}
		w.job("bash-1", "make", "")
		w.typed("/jobs")
		w.press("enter")
		w.shows("❯ bash-1", "(no output yet)")
	})
	t.Run("down in a text, or in the history, stays there", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.job("bash-1", "make", "")
		w.typed("draft")
		w.press("down")
		w.hides("Jobs ·")
	})
	t.Run("the chosen job stays it as others end", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.jobsOf07()
		w.press("down", "down")
		w.shows("❯ bash-5")
		w.settles(exited("bash-3", 0))
		w.shows("❯ bash-5", "1 running · 3 finished")
		w.settles(exited("bash-5", 1))
		w.shows("❯ bash-5  exit 1")
	})
	t.Run("tab goes round what is listed", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.jobsOf07()
		w.press("down", "tab")
		w.shows("running only", "bash-3")
		w.hides("bash-4")
		w.press("tab")
		w.shows("finished only", "bash-4", "by you")
		w.hides("bash-3")
		w.press("tab")
		w.shows("bash-3", "bash-4")
	})
	t.Run("x twice stops, another key between does not", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.jobsOf07()
		w.press("down", "x")
		w.shows("x again stops bash-3")
		w.press("down", "up", "x")
		w.wait(stopTwice + time.Second)
		w.press("x")
		if len(w.stopped) != 0 {
			t.Errorf("stopped: %q", w.stopped)
		}
		w.press("x")
		w.shows("❯ bash-3  stopping")
		if !slices.Equal(w.stopped, []string{"bash-3"}) {
			t.Errorf("stopped: %q", w.stopped)
		}
	})
	t.Run("a job that has ended is not stopped", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.job("bash-1", "make", "done\n")
		w.settles(exited("bash-1", 0))
		w.press("down", "x", "x", "w")
		w.shows("bash-1 has ended")
		if len(w.stopped) != 0 || w.m.panel == nil {
			t.Errorf("stopped: %q", w.stopped)
		}
	})
	t.Run("i and w put the job into the editor, and send nothing", func(t *testing.T) {
		for key, want := range map[string]string{"i": "@bash-3 ", "w": "When bash-3 ends, "} {
			w := newWorld(t, setup{})
			w.jobsOf07()
			w.press("down", key)
			w.hides("Jobs ·")
			if w.m.composer.Text() != want || len(w.queue) != 0 {
				t.Errorf("%s: draft %q, queue %v", key, w.m.composer.Text(), w.queue)
			}
		}
	})
	t.Run("a question comes before it, and it is there again after", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.job("bash-1", "make", "")
		w.prompt("clean")
		w.press("down")
		w.question("c1", shell, shellDecision)
		w.wait(2 * time.Second)
		w.hides("Jobs ·")
		w.press("y")
		if len(w.answers) != 1 {
			t.Errorf("answers: %v", w.answers)
		}
		w.shows("Jobs ·")
	})
	t.Run("a paste goes to the composer", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.jobsOf07()
		w.press("down")
		w.send(term.PasteMsg("pasted"))
		if w.m.composer.Text() != "pasted" || w.m.panel != nil {
			t.Errorf("draft %q", w.m.composer.Text())
		}
	})
}

func TestJobOutputInThePager(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.job("bash-1", "make 全部", "one\nt")
	w.press("down", "enter")
	w.shows("bash-1 · make 全部", "one")
	w.prints("bash-1", "wo\nthree \x1b[31m\n")
	w.wait(time.Second)
	w.shows("two", "three", "end")
	w.prints("bash-1", "10%\r20%\n")
	w.wait(time.Second)
	w.settles(exited("bash-1", 0))
	w.wait(time.Second)
	w.shows("20%")
	w.hides("10%")
	peeks := w.peeks
	if w.wait(time.Second); w.m.ticking || w.peeks != peeks {
		t.Error("a job that has ended is still looked at")
	}
	w.press("q")
	w.shows("Jobs ·")
}

// TestAFrameCostsWhatIsInSight: not the number of jobs, nor what they put out.
func TestAFrameCostsWhatIsInSight(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	for i := range 500 {
		w.job(fmt.Sprint("bash-", i+1), "make", strings.Repeat("line\n", 10_000))
		if i >= 20 {
			w.settles(exited(fmt.Sprint("bash-", i+1), 0))
		}
	}
	w.peeks = 0
	w.press("down")
	if len(w.m.panel.glances) > maxPanel {
		t.Errorf("%d outputs are held", len(w.m.panel.glances))
	}
	for _, g := range w.m.panel.glances {
		if len(g.text) > glanceBytes {
			t.Errorf("%d bytes of an output are held", len(g.text))
		}
	}
	w.peeks = 0
	for range 50 {
		w.frame()
	}
	if w.peeks != 0 {
		t.Errorf("drawing looked %d times", w.peeks)
	}
	w.wait(spinEvery)
	if w.peeks == 0 || w.peeks > maxPanel {
		t.Errorf("a tick looked %d times", w.peeks)
	}
	w.press("esc")
	w.wait(10 * time.Second)
	w.peeks = 0
	if w.wait(time.Minute); w.peeks != 0 || w.m.ticking {
		t.Errorf("a closed panel looked %d times, ticking %v", w.peeks, w.m.ticking)
	}
}

func TestCommandToBackground(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("test it")
	w.hides("to background")
	c := toolCall("c1", session.Display{Kind: session.ShowCommand, Verb: "Run", Target: "go test ./..."})
	w.answered(c)
	w.take(c)
	w.shows("ctrl+b to background")
	w.typed("x")
	w.shows("enter steer · tab queue · ctrl+b to background")
	w.press("ctrl+b")
	w.shows("goes on in the background")
	w.fails = fmt.Errorf("no")
	w.press("ctrl+b")
	w.shows("no command runs that could go on in the background")
	if len(w.moved) != 2 || w.m.composer.Text() != "x" {
		t.Errorf("asked %d times, draft %q", len(w.moved), w.m.composer.Text())
	}
	w.result(c, "done")
	w.wait(3 * time.Second)
	w.hides("to background")
	w.m.open.Handover = false
	w.take(toolCall("c2", session.Display{Kind: session.ShowCommand, Verb: "Run", Target: "make"}))
	w.hides("to background")
}

func TestJobsInTheStatusLine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.hides("&")
	w.job("bash-1", "make", "")
	w.shows("ask  & 1 job  flash")
	w.job("bash-2", "make", "")
	w.plan()
	w.shows("ask  & 2 jobs  flash  todo 2/4")
	w.send(sized(40, 20))
	w.shows("ask  &2  todo 2/4")
	w.send(sized(80, 24))
	w.settles(exited("bash-1", 0))
	w.settles(exited("bash-2", 0))
	w.hides("&")
	w.typed("/status")
	w.press("enter")
	for _, want := range []string{"jobs         bash-2 · exit 0 · 0:00 · make", "todo         2/4"} {
		if !strings.Contains(w.scroll(), want) {
			t.Errorf("no %q in\n%s", want, w.scroll())
		}
	}
}

func TestTodoPanel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.press("ctrl+t")
	w.shows(noTodo)
	w.plan()
	w.press("ctrl+t")
	w.shows("Todo · 2 of 4 done", "[x] reproduce", "[~] fix expiry", "[ ] test")
	w.typed("draft") // the composer keeps the keys
	w.press("esc")
	w.hides("[x]")
	if w.m.composer.Text() != "draft" {
		t.Errorf("draft %q", w.m.composer.Text())
	}
	w.press("ctrl+t", "ctrl+t")
	w.hides("[x]")
	w.press("ctrl+t")
	w.prompt("next") // the list goes when the next turn starts
	w.hides("[x]", "todo 2/4")
	w.endTurn(completed)
	w.press("ctrl+c")
	w.typed("/todo")
	w.press("enter")
	if !strings.Contains(w.scroll(), noTodo) {
		t.Errorf("%q", w.scroll())
	}
}

func TestTodoPanelOfALongList(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	var todos []session.Todo
	for i := range 60 {
		status := session.TodoCompleted
		if i == 40 {
			status = session.TodoActive
		} else if i > 40 {
			status = session.TodoPending
		}
		todos = append(todos, session.Todo{Content: fmt.Sprint("step ", i), Status: status})
	}
	w.add(session.TodoWrite{Todos: todos})
	w.pump()
	w.press("ctrl+t")
	w.shows("Todo · 40 of 60 done · +50 more", "[~] step 40")
}

func TestLeavingWhileJobsRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		keys []string
		quit bool
	}{
		{"asks once", []string{"ctrl+d"}, false},
		{"enter leaves", []string{"ctrl+d", "enter"}, true},
		{"ctrl+d again leaves", []string{"ctrl+d", "ctrl+d"}, true},
		{"esc stays", []string{"ctrl+d", "esc", "enter"}, false},
		{"letters do nothing", []string{"ctrl+d", "y", "x"}, false},
		{"ctrl+c twice asks", []string{"ctrl+c", "ctrl+c"}, false},
		{"ctrl+c three times leaves", []string{"ctrl+c", "ctrl+c", "ctrl+c"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, setup{})
			w.job("bash-1", "make", "")
			w.job("bash-2", "make", "")
			w.press(c.keys...)
			if w.m.quitting != c.quit || w.m.composer.Text() != "" || len(w.stopped) > 0 {
				t.Errorf("quits: %v, draft %q, stopped %v", w.m.quitting, w.m.composer.Text(), w.stopped)
			}
			if strings.HasPrefix(c.name, "asks once") {
				w.shows("2 jobs still run: enter stops them and exits · esc stays")
				w.settles(exited("bash-1", 0))
				w.shows("1 job still runs: enter stops it and exits")
				w.settles(exited("bash-2", 0))
				w.shows("No job runs any more: enter exits")
			}
		})
	}
	t.Run("without jobs nobody is asked", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.job("bash-1", "make", "")
		w.settles(exited("bash-1", 0))
		w.press("ctrl+d")
		if !w.m.quitting {
			t.Error("it did not leave")
		}
	})
	t.Run("another session asks too", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.job("bash-1", "make", "")
		w.typed("/new")
		w.press("enter")
		w.shows("1 job still runs: enter stops it and goes on")
		w.press("esc")
		if len(w.closed) != 0 {
			t.Error("the session was closed")
		}
	})
	t.Run("esc does not stop a job", func(t *testing.T) {
		w := newWorld(t, setup{})
		w.prompt("go")
		w.job("bash-1", "make", "")
		w.press("esc")
		w.endTurn(aborted)
		w.wait(time.Second)
		w.press("esc", "esc")
		if len(w.stopped) != 0 {
			t.Errorf("stopped: %v", w.stopped)
		}
		w.shows("& 1 job")
	})
}

// TestAJobThatEndsWhileTextStreams takes no key, and its line does not stand in the
// middle of the text.
func TestAJobThatEndsWhileTextStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.prompt("go")
	w.job("bash-1", "make", "")
	w.typed("dra")
	w.stream("The clock is read ")
	w.settles(exited("bash-1", 2))
	w.shows("The clock is read")
	w.hides("& 1 job", "& bash-1")
	w.stream("twice.")
	w.typed("ft")
	w.answered(llm.TextBlock("The clock is read twice."))
	w.endTurn(completed)
	if text := w.scroll(); !strings.Contains(text, "The clock is read twice.\n& bash-1 finished") && !strings.Contains(text, "The clock is read twice.\n\n& bash-1 finished") {
		t.Errorf("%s", text)
	}
	if w.m.composer.Text() != "draft" || len(w.term.notes) != 0 {
		t.Errorf("draft %q, notes %q", w.m.composer.Text(), w.term.notes)
	}
}

func TestALostJob(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{})
	w.job("bash-1", "make", "")
	w.settles(session.JobSettled{ID: "bash-1", Status: session.JobLost})
	w.press("down")
	w.shows("❯ bash-1  lost", "(its output is gone)")
	w.hides("no output")
	w.press("enter")
	w.shows("(its output is gone)")
}

func TestGlance(t *testing.T) {
	t.Parallel()
	g := glance{text: "one\r\ntwo\n\n10%\r20%\r\n\n"}
	for n, want := range [][]string{nil, {"20%"}, {"", "20%"}, {"two", "", "20%"}, {"one", "two", "", "20%"}, {"one", "two", "", "20%"}} {
		if got := g.lines(n); !slices.Equal(got, want) {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}
