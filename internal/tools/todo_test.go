package tools

import (
	"slices"
	"strings"
	"testing"

	"dsh/internal/session"
)

type todo = map[string]any

func newTodoBench(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	reg, err := New(Todo())
	if err != nil {
		t.Fatal(err)
	}
	b.reg = reg
	return b
}

// list is the list that a result brings; ok is false if it brings none.
func list(t *testing.T, r Result) (todos []session.Todo, ok bool) {
	t.Helper()
	if len(r.Events) == 0 {
		return nil, false
	}
	p, is := r.Events[0].(session.TodoWrite)
	if !is || len(r.Events) > 1 {
		t.Fatalf("events %+v", r.Events)
	}
	return p.Todos, true
}

func TestTodoWrite(t *testing.T) {
	t.Parallel()
	t.Run("TD02 a call replaces the whole list", func(t *testing.T) {
		t.Parallel()
		b := newTodoBench(t)
		b.must("todo_write", "todos", []todo{{"content": "a", "status": "pending"}, {"content": "b", "status": "pending"}})
		r := b.must("todo_write", "todos", []todo{{"content": " c ", "status": "completed"}, {"content": "d", "status": "in_progress"}})
		got, _ := list(t, r)
		if !slices.Equal(got, []session.Todo{{Content: "c", Status: session.TodoCompleted}, {Content: "d", Status: session.TodoActive}}) {
			t.Errorf("the list is %+v", got)
		}
		if r.Text != "Todo list: 1 completed, 1 in progress, 0 pending." {
			t.Errorf("result %q", r.Text)
		}
	})
	t.Run("TD03 an empty list clears it", func(t *testing.T) {
		t.Parallel()
		r := newTodoBench(t).must("todo_write", "todos", []todo{})
		if got, ok := list(t, r); !ok || len(got) > 0 || r.Text != "The todo list is empty." {
			t.Errorf("%+v, result %q", got, r.Text)
		}
	})
	t.Run("TD04 what is no list is refused and changes nothing", func(t *testing.T) {
		t.Parallel()
		for _, todos := range []any{
			[]todo{{"content": "a", "status": "done"}},
			[]todo{{"content": "a"}},
			[]todo{{"content": "a", "status": "pending", "priority": "high"}},
			[]todo{{"content": 1, "status": "pending"}},
			"a, b", nil,
		} {
			r := newTodoBench(t).call("todo_write", "todos", todos)
			if _, ok := list(t, r); ok || !r.IsError || r.Code != InvalidArgs {
				t.Errorf("%v: %+v", todos, r)
			}
		}
	})
	t.Run("TD05 blank and repeated contents are refused", func(t *testing.T) {
		t.Parallel()
		for want, todos := range map[string][]todo{
			"todo 2 is blank":            {{"content": "a", "status": "pending"}, {"content": " \n", "status": "pending"}},
			"todos 1 and 3 have the sam": {{"content": "a", "status": "pending"}, {"content": "b", "status": "pending"}, {"content": " a\t", "status": "completed"}},
		} {
			r := newTodoBench(t).call("todo_write", "todos", todos)
			if _, ok := list(t, r); ok || r.Code != InvalidArgs || !strings.Contains(r.Text, want) {
				t.Errorf("%+v", r)
			}
		}
	})
	t.Run("TD06 several may be in progress", func(t *testing.T) {
		t.Parallel()
		r := newTodoBench(t).must("todo_write", "todos", []todo{{"content": "a", "status": "in_progress"}, {"content": "b", "status": "in_progress"}})
		if got, _ := list(t, r); len(got) != 2 || !strings.Contains(r.Text, "2 in progress") {
			t.Errorf("%+v, result %q", got, r.Text)
		}
	})
}

func TestTodoCard(t *testing.T) {
	t.Parallel()
	raw := args("todos", []todo{{"content": "reproduce", "status": "completed"}, {"content": "find the\n cause", "status": "completed"},
		{"content": "fix expiry", "status": "in_progress"}, {"content": "test", "status": "pending"}})
	d := Todo().Display([]byte(raw), nil)
	if d.Kind != session.ShowTodo || d.Verb != "Todo" || d.Target != "2 of 4" || !slices.Equal(d.Facts, []string{"done: find the cause", "now: fix expiry"}) {
		t.Errorf("%+v", d)
	}
	if want := "[x] reproduce\n[x] find the cause\n[~] fix expiry\n[ ] test"; d.Text != want {
		t.Errorf("body\n%s", d.Text)
	}
	if d = Todo().Display([]byte(`{"todos":[]}`), nil); d.Target != "cleared" || d.Text != "" || len(d.Facts) > 0 {
		t.Errorf("an empty list: %+v", d)
	}
	bad := logged(Result{Text: "Error: no", IsError: true, Code: InvalidArgs})
	if d = Todo().Display([]byte(raw), bad); d.Kind != session.ShowText || !slices.Equal(d.Facts, []string{"invalid arguments"}) {
		t.Errorf("a failed call: %+v", d)
	}
	for _, odd := range []string{`{"todos":[{"content":"a","status":"later"}]}`, `{"todos":7}`, `{}`} {
		if d = Todo().Display([]byte(odd), nil); d.Verb != "Todo" || strings.Contains(d.Text, "\n") {
			t.Errorf("%s: %+v", odd, d)
		}
	}
}
