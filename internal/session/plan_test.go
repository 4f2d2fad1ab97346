package session

import (
	"fmt"
	"testing"

	"dsh/internal/llm"
)

// TestTD09ThePlanGoesWithTheUsersNextTurn, not with one that dsh begins by itself, nor
// with what the user says during it.
func TestTD09ThePlanGoesWithTheUsersNextTurn(t *testing.T) {
	t.Parallel()
	says := func(kind string) Payload { return UserMessage{Message: llm.Message{Source: llm.Source{Kind: kind}}} }
	written := TodoWrite{Todos: []Todo{{Content: "a"}}}
	for _, c := range []struct {
		name   string
		events []Payload
		left   int
	}{
		{"TD08 the turn ends", []Payload{TurnStart{Turn: 1}, StepStart{}, written, StepEnd{}, TurnEnd{}}, 1},
		{"the user's next turn", []Payload{written, TurnEnd{}, TurnStart{Turn: 2}, StepStart{}, says(llm.FromUser)}, 0},
		{"a turn for the end of a job", []Payload{written, TurnEnd{}, TurnStart{Turn: 2}, StepStart{}, says(llm.FromPlugin), StepEnd{}}, 1},
		{"a steer into that turn", []Payload{written, TurnStart{Turn: 2}, StepStart{}, says(llm.FromPlugin), StepEnd{}, StepStart{}, says(llm.FromUser)}, 1},
		{"a list of that turn's own", []Payload{written, TurnStart{Turn: 2}, StepStart{}, says(llm.FromUser), written}, 1},
	} {
		var p Plan
		for _, d := range c.events {
			p.Apply(&Event{Data: d})
		}
		if got := len(p.Todos); got != c.left {
			t.Error(c.name, fmt.Sprint(got, " todos, want ", c.left))
		}
	}
}
