package loop

import (
	"context"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// instruct tells the model what the instruction files say: in the first step of a
// turn, and after calls that showed or changed files, for those may have brought
// others into force. What was told and still holds is not told again, in this process
// or another: that is a fold over the log.
type instruct struct {
	a      *Agent
	visits int // session.State's, when the files were last looked at
	dirs   int // how many of the visited directories were looked at by then
}

// PreStep adds the message behind what enters. It opens no step of its own.
func (x *instruct) PreStep(_ context.Context, b Batch) (enter []*llm.Message, reject string, err error) {
	if len(b.Messages) == 0 && !b.Owes {
		return b.Messages, "", nil
	}
	known, visited, visits := x.a.log.Instructed()
	if b.Step > 1 && visits == x.visits {
		return b.Messages, "", nil
	}
	from := 0
	if b.Step > 1 {
		from = x.dirs // the rest was looked into when the turn began, or since
	}
	x.visits, x.dirs, visited = visits, len(visited), visited[from:]
	m, ok, err := x.a.o.Instructions.Message(known, visited)
	if err != nil || !ok {
		return b.Messages, "", err
	}
	m.ID = session.NewID()
	m.Content[0].Text = x.a.o.RedactResult(m.Content[0].Text)
	return append(b.Messages[:len(b.Messages):len(b.Messages)], &m), "", nil
}

// instructions are what a summary would take away from what the model was told: the
// text as it is now, and the files.
func (c *compaction) instructions(gone []session.Node) (text string, files []session.Instruction) {
	in := c.a.o.Instructions
	if in == nil {
		return "", nil
	}
	seqs := make([]int, len(gone))
	for i, n := range gone {
		seqs[i] = n.Seq
	}
	known, visited, _ := c.a.log.Instructed()
	left := known.Without(seqs)
	if len(left) == len(known) {
		return "", nil
	}
	text, files = in.Tell(left, visited)
	text = c.a.o.RedactResult(text)
	return text, files
}
