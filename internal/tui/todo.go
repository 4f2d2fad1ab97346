package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"dsh/internal/session"
)

// noTodo is what the todo panel says when there is no list.
const noTodo = "No todo list. dsh makes one for longer work."

// todoCount is the segment of the status line; "" without a list.
func todoCount(todos []session.Todo) string {
	if len(todos) == 0 {
		return ""
	}
	return fmt.Sprintf("todo %d/%d", todosDone(todos), len(todos))
}

func todosDone(todos []session.Todo) (n int) {
	for _, t := range todos {
		if t.Status == session.TodoCompleted {
			n++
		}
	}
	return n
}

// toggleTodo opens and closes the todo panel. The composer keeps the keys.
func (m *model) toggleTodo() tea.Cmd {
	switch {
	case m.todoOpen:
		m.todoOpen = false
	case len(m.progress.todos) == 0:
		return m.flash(noTodo)
	default:
		m.todoOpen = true
	}
	return nil
}

// showTodo is the command for the same.
func (m *model) showTodo() tea.Cmd {
	if len(m.progress.todos) == 0 {
		m.say(noTodo)
		return nil
	}
	m.todoOpen = true
	return nil
}

// todoRows are the panel: a title, and the list around what is being done.
func (m *model) todoRows() []string {
	todos := m.progress.todos
	room := max(1, m.panelHeight()-2)
	at := max(0, slices.IndexFunc(todos, func(t session.Todo) bool { return t.Status != session.TodoCompleted }))
	from := max(0, min(at-room/2, len(todos)-room))
	to := min(from+room, len(todos))
	title := fmt.Sprintf("Todo · %d of %d done", todosDone(todos), len(todos))
	if hidden := len(todos) - (to - from); hidden > 0 {
		title += fmt.Sprintf(" · +%d more", hidden)
	}
	rows := []string{m.cut("  " + m.th.strong(title))}
	for _, t := range todos[from:to] {
		row := "  " + t.Mark() + " " + shorten(oneLine(t.Content), m.full()-6)
		switch t.Status {
		case session.TodoCompleted:
			row = m.th.secondary(row)
		case session.TodoActive:
			row = m.th.strong(row)
		}
		rows = append(rows, m.cut(row))
	}
	return append(rows, m.th.secondary(m.cut("  "+strings.Join([]string{m.keys.key("todo"), m.keys.key("escape") + " close"}, ", "))))
}
