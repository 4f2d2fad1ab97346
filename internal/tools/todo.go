package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"dsh/internal/policy"
	"dsh/internal/session"
)

var todoSchema = json.RawMessage(`{"type":"object","properties":{
"todos":{"type":"array","description":"the whole list; an empty one clears it","items":{"type":"object","properties":{
"content":{"type":"string","description":"one step of the work, unique"},
"status":{"type":"string","enum":["pending","in_progress","completed"]}},
"required":["content","status"],"additionalProperties":false}}},
"required":["todos"]}`)

type todoTool struct{}

type todoArgs struct {
	Todos []session.Todo `json:"todos"`
}

// Todo is the tool that keeps the plan of the current work, which the user sees. The
// list is part of the session's state.
func Todo() Tool { return todoTool{} }

func (todoTool) Name() string { return "todo_write" }

func (todoTool) Description() string {
	return "Show the user your plan: replaces the whole list. Use it for work of three steps or more, not for less, and update it as soon as a step begins or is done."
}

func (todoTool) Schema() json.RawMessage { return todoSchema }

func (todoTool) Class() policy.Class { return policy.Control }

func (todoTool) Concurrent(json.RawMessage) bool { return false }

func (todoTool) Action(_ Env, args json.RawMessage) (policy.Action, error) {
	a, err := todoArgsOf(args)
	return policy.Action{Target: a.progress()}, err
}

func (todoTool) Run(_ context.Context, _ Env, args json.RawMessage) (Result, error) {
	a, err := todoArgsOf(args)
	if err != nil {
		return Result{}, err
	}
	return Result{Text: a.counts(), Events: []session.Payload{session.TodoWrite{Todos: a.Todos}}}, nil
}

// todoArgsOf reads a list and refuses one that a person could not follow.
func todoArgsOf(args json.RawMessage) (a todoArgs, err error) {
	if err := decode(args, &a); err != nil {
		return a, err
	}
	first := map[string]int{}
	for i := range a.Todos {
		content := strings.TrimSpace(a.Todos[i].Content)
		a.Todos[i].Content = content
		if content == "" {
			return a, fail(InvalidArgs, "the content of todo %d is blank: the list stays as it was", i+1)
		}
		if n := first[content]; n > 0 {
			return a, fail(InvalidArgs, "todos %d and %d have the same content: the list stays as it was. Tell them apart, or leave one out.", n, i+1)
		}
		first[content] = i + 1
	}
	return a, nil
}

func (a *todoArgs) count(status string) (n int) {
	for _, t := range a.Todos {
		if t.Status == status {
			n++
		}
	}
	return n
}

// counts is the result: one line.
func (a *todoArgs) counts() string {
	if len(a.Todos) == 0 {
		return "The todo list is empty."
	}
	return fmt.Sprintf("Todo list: %d completed, %d in progress, %d pending.",
		a.count(session.TodoCompleted), a.count(session.TodoActive), a.count(session.TodoPending))
}

// progress says how far the list is.
func (a *todoArgs) progress() string {
	if len(a.Todos) == 0 {
		return "cleared"
	}
	return fmt.Sprintf("%d of %d", a.count(session.TodoCompleted), len(a.Todos))
}

// Display draws the list of the arguments: a result holds no more than its counts.
func (todoTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	var a todoArgs
	if err := decode(args, &a); r != nil && failed(r) || err != nil {
		return withResult(session.Display{Kind: session.ShowText, Verb: "Todo"}, r)
	}
	d := session.Display{Kind: session.ShowTodo, Verb: "Todo", Target: a.progress()}
	var lines []string
	done, now := "", ""
	for _, t := range a.Todos {
		line := strings.Join(strings.Fields(t.Content), " ")
		switch {
		case t.Status == session.TodoCompleted:
			done = line // the last one
		case t.Status == session.TodoActive && now == "":
			now = line
		}
		lines = append(lines, t.Mark()+" "+line)
	}
	if done != "" {
		d.Facts = append(d.Facts, "done: "+done)
	}
	if now != "" {
		d.Facts = append(d.Facts, "now: "+now)
	}
	d.Text = strings.Join(lines, "\n")
	return d
}
