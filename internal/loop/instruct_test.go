package loop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/prompt"
	"dsh/internal/session"
	"dsh/internal/tools"
)

// project is a folder with instructions, and the options of an agent that works in it.
type project struct {
	t   *testing.T
	dir string
}

func newProject(t *testing.T) *project {
	t.Helper()
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	p := &project{t, dir}
	p.put("AGENTS.md", "of the root")
	p.put("sub/f.txt", "hello\n")
	return p
}

func (p *project) put(path, text string) {
	p.t.Helper()
	path = filepath.Join(p.dir, path)
	must(p.t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(p.t, os.WriteFile(path, []byte(text), 0o644))
}

func (p *project) option(o *Options) {
	with(tools.Read(), tools.Write(), tools.Edit())(o)
	o.Cwd = p.dir
	o.Rules.Workspace = p.dir
	o.Instructions = &prompt.Instructions{Root: p.dir, Cwd: p.dir}
}

const readF = `{"file_path":"sub/f.txt"}`

// told are the messages about instructions that the n-th request of the model holds.
func (f *fixture) told(n int) (list []string) {
	f.t.Helper()
	for _, m := range f.model.request(n).Messages {
		if len(session.InstructionFiles(m)) > 0 {
			list = append(list, m.PlainText())
		}
	}
	return list
}

func wantTold(t *testing.T, got []string, parts ...string) {
	t.Helper()
	if len(got) != len(parts) {
		t.Fatalf("%d messages, not %d: %q", len(got), len(parts), got)
	}
	for i, part := range parts {
		if !strings.Contains(got[i], part) {
			t.Errorf("message %d lacks %q:\n%s", i, part, got[i])
		}
	}
}

func TestINS01OneMessageBehindTheFirstPrompt(t *testing.T) {
	p := newProject(t)
	f := newFixture(t, []play{call("read", `{"file_path":"AGENTS.md"}`), say("one"), say("two")}, p.option)
	f.prompt("go")
	f.prompt("on")
	first := f.model.request(0).Messages
	expect(t, "the first request", len(first), 2)
	expect(t, "its prompt", first[0].PlainText(), "go")
	expect(t, "its role", first[1].Role, llm.User)
	for n := range 3 {
		wantTold(t, f.told(n), "of the root")
	}
	if files := f.log.State().Instructions; len(files) != 1 || files[0].Path != filepath.Join(p.dir, "AGENTS.md") {
		t.Errorf("in force: %+v", files)
	}
}

func TestINS05AVisitedDirectoryBringsItsOwnOnce(t *testing.T) {
	p := newProject(t)
	p.put("sub/AGENTS.md", "of sub")
	p.put("new/AGENTS.md", "of new")
	p.put("bad/AGENTS.md", "of bad")
	f := newFixture(t, []play{call("read", readF), call("read", readF, "write", `{"file_path":"new/x","content":"x"}`),
		call("read", `{"file_path":"bad/nothing"}`), say("done")}, p.option)
	f.prompt("go")
	wantTold(t, f.told(0), "of the root")
	wantTold(t, f.told(1), "of the root", "of sub")
	wantTold(t, f.told(2), "of the root", "of sub", "of new")
	wantTold(t, f.told(3), "of the root", "of sub", "of new") // a call that failed brings none
}

func TestINS06AChangeIsToldAfterALaterFileCall(t *testing.T) {
	p := newProject(t)
	f := newFixture(t, []play{then(func() { p.put("AGENTS.md", "changed") }, call("read", readF)), say("one"),
		then(func() { p.put("AGENTS.md", "changed again") }, say("two")), say("three")}, p.option)
	f.prompt("go")
	wantTold(t, f.told(1), "of the root", `state="changed">`+"\nchanged\n")
	f.prompt("on")
	wantTold(t, f.told(2), "of the root", "changed")
	f.prompt("a new turn looks too")
	wantTold(t, f.told(3), "of the root", "changed", "changed again")
}

func TestINS07ARemovalIsToldAfterALaterFileCall(t *testing.T) {
	p := newProject(t)
	gone := func() { must(t, os.Remove(filepath.Join(p.dir, "AGENTS.md"))) }
	f := newFixture(t, []play{then(gone, call("read", readF)), call("read", readF), say("done")}, p.option)
	f.prompt("go")
	for n := 1; n <= 2; n++ {
		wantTold(t, f.told(n), "of the root", "Gone, it does not hold any more: "+filepath.Join(p.dir, "AGENTS.md"))
	}
	if files := f.log.State().Instructions; len(files) > 0 {
		t.Errorf("in force: %+v", files)
	}
}

func TestINS08ResumeRepeatsNothingThatHolds(t *testing.T) {
	p := newProject(t)
	p.put("sub/AGENTS.md", "of sub")
	f := newFixture(t, []play{call("read", readF), say("one")}, p.option)
	f.prompt("go")
	f = f.reopen([]play{say("two")}, p.option)
	f.prompt("on")
	wantTold(t, f.told(0), "of the root", "of sub")
	p.put("sub/AGENTS.md", "of sub, changed meanwhile")
	f = f.reopen([]play{say("three")}, p.option)
	f.prompt("on")
	wantTold(t, f.told(0), "of the root", "of sub", "changed meanwhile")
	got, want := f.log.State(), f.reopen(nil, p.option).log.State()
	expect(t, "live and replayed", fmt.Sprint(got.Instructions, got.Visited, got.Visits), fmt.Sprint(want.Instructions, want.Visited, want.Visits))
}

// What enters no step was not told.
func TestInstructionsOfARejectedPromptAreToldLater(t *testing.T) {
	p := newProject(t)
	reject := "no"
	f := newFixture(t, []play{say("one")}, p.option, func(o *Options) {
		o.Extensions.PreStep = []PreStep{preStep(func(b Batch) ([]*llm.Message, string, error) { return b.Messages, reject, nil })}
	})
	f.prompt("go")
	expect(t, "requests", f.model.count(), 0)
	reject = ""
	f.prompt("now")
	wantTold(t, f.told(0), "of the root")
}

// An emptied prompt costs no request for the sake of instructions alone.
func TestInstructionsOpenNoStep(t *testing.T) {
	p := newProject(t)
	f := newFixture(t, nil, p.option, entering(func(Batch) ([]*llm.Message, string, error) { return nil, "", nil }))
	f.prompt("go")
	expect(t, "requests", f.model.count(), 0)
	expect(t, "end", f.lastEnd().Kind, session.Completed)
}

func TestInstructionsHoldNoKey(t *testing.T) {
	p := newProject(t)
	p.put("AGENTS.md", "use sk-secret for tests")
	f := newFixture(t, []play{say("one")}, p.option, func(o *Options) {
		o.RedactResult = func(s string) string { return strings.ReplaceAll(s, "sk-secret", "[key]") }
	})
	f.prompt("go")
	wantTold(t, f.told(0), "use [key] for tests")
	if strings.Contains(f.raw(), "sk-secret") {
		t.Error("the key is in the log")
	}
}

// A summary takes the instructions along that it hides, and says them once.
func TestInstructionsSurviveACompaction(t *testing.T) {
	p := newProject(t)
	p.put("sub/AGENTS.md", "of sub")
	f := newFixture(t, []play{call("read", readF), say(words(1000)), say(words(1000)), say("the sum"), say("three"),
		say(words(1000)), say("the second sum"), say("five")}, p.option)
	f.prompt("one")
	f.prompt("two")
	p.put("AGENTS.md", "of the root, in other words")
	must(t, f.Compact(context.Background(), ""))
	f.prompt("three")
	wantTold(t, f.told(4), "of the root, in other words")
	last := f.told(4)[0]
	for part, n := range map[string]int{"of sub": 1, "the sum": 1, "of the root": 1, "<instructions>": 1} {
		if strings.Count(last, part) != n {
			t.Errorf("%d times %q:\n%s", strings.Count(last, part), part, last)
		}
	}
	expect(t, "in force", len(f.log.State().Instructions), 2)
	f.prompt("four")
	must(t, f.Compact(context.Background(), ""))
	f.prompt("five")
	wantTold(t, f.told(7), "of sub")
}

func TestTheTodoListIsKeptInTheLog(t *testing.T) {
	t.Parallel()
	todo := with(tools.Todo())
	a, b := `{"content":"a","status":"completed"}`, `{"content":"b","status":"pending"}`
	f := newFixture(t, []play{call("todo_write", `{"todos":[`+a+","+b+`]}`), call("todo_write", `{"todos":[`+a+","+a+`]}`), say("done")}, todo)
	f.prompt("go")
	const want = "[{a completed} {b pending}]"
	expect(t, "TD04 a refused list changes nothing", len(of[session.TodoWrite](f)), 1)
	expect(t, "TD08 at the end of the turn it is there", f.log.State().Todos, want)
	var next []session.Todo
	f = f.reopen([]play{then(func() { next = f.log.State().Todos }, say("hello"))}, todo)
	expect(t, "TD10 after a resume it is there", f.log.State().Todos, want)
	next = f.log.State().Todos
	f.prompt("next")
	expect(t, "TD09 when the next turn has started it is gone", next, "[]")
}

// A hook that fails after a call takes its result, not what it did.
func TestEventsOfAWithheldResultStay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, []play{call("todo_write", `{"todos":[{"content":"a","status":"pending"}]}`), say("done")}, with(tools.Todo()),
		hooking(hooks{after: func(_ Call, r tools.Result) (tools.Result, error) { return r, fmt.Errorf("broken") }}))
	f.prompt("go")
	expect(t, "the list", f.log.State().Todos, "[{a pending}]")
}
