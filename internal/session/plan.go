package session

import "dsh/internal/llm"

// Todo is one entry of the plan that the model keeps.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"` // one of the constants below when dsh wrote it
}

// The states of a Todo.
const (
	TodoPending   = "pending"
	TodoActive    = "in_progress"
	TodoCompleted = "completed"
)

// Mark is the sign of a Todo's status: [x], [~], [ ]; [?] for one of a foreign log.
func (t Todo) Mark() string {
	switch t.Status {
	case TodoCompleted:
		return "[x]"
	case TodoActive:
		return "[~]"
	case TodoPending:
		return "[ ]"
	}
	return "[?]"
}

// Plan is the list that the model keeps, as a fold over events: it stays at the end of
// a turn, and goes when the user's next one starts. A turn that dsh begins by itself
// goes on with the work, and with the list.
type Plan struct {
	Todos []Todo // the last list written

	fresh bool // the open turn is in its first step
}

// Apply takes the next event.
func (p *Plan) Apply(ev *Event) {
	switch d := ev.Data.(type) {
	case TurnStart:
		p.fresh = true
	case StepEnd:
		p.fresh = false
	case UserMessage:
		if p.fresh && d.Source.Kind == llm.FromUser {
			p.Todos = nil
		}
	case TodoWrite:
		p.Todos = d.Todos
	}
}
