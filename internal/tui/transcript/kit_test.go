package transcript

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// script is a log that a test writes.
type script struct {
	events     []session.Event
	now        int64
	turn, step int
}

func (s *script) add(data ...session.Payload) *script {
	for _, d := range data {
		s.now += 100
		s.events = append(s.events, session.Event{Type: d.Type(), Seq: len(s.events), Time: s.now, Data: d})
	}
	return s
}

func (s *script) wait(ms int64) *script { s.now += ms; return s }

// prompt opens a turn and a step with a message of the user.
func (s *script) prompt(text string) *script {
	m := message(fmt.Sprint("m", len(s.events)), text)
	s.turn, s.step = s.turn+1, 0
	s.add(session.InboxSpliced{Target: session.NextTurn, Inserted: []llm.Message{m}},
		session.TurnStart{Turn: s.turn}, session.InboxSpliced{Target: session.NextTurn, RemovedCount: 1})
	return s.begin(m)
}

// begin opens a step.
func (s *script) begin(msgs ...llm.Message) *script {
	s.step++
	s.add(session.StepStart{Turn: s.turn, Step: s.step})
	for _, m := range msgs {
		s.add(session.UserMessage{Message: m})
	}
	return s.add(session.RequestSent{Turn: s.turn, Step: s.step, Attempt: 1})
}

func message(id, text string) llm.Message {
	return llm.Message{Role: llm.User, ID: id, Source: llm.Source{Kind: llm.FromUser}, Content: []llm.Block{llm.TextBlock(text)}}
}

func note(form, text string) session.UserMessage {
	m := message("n", text)
	m.Source = llm.Source{Kind: llm.FromPlugin, Plugin: "dsh", Form: form}
	return session.UserMessage{Message: m}
}

// instructions is a message that holds files of instructions.
func instructions(form string, files ...session.Instruction) session.UserMessage {
	m := note(form, "<instructions>\nHow to work here.\n</instructions>")
	source, err := session.InstructionSource(form, files)
	if err != nil {
		panic(err)
	}
	m.Source = source
	return m
}

func thought(text string) llm.Block { return llm.Block{Type: llm.Reasoning, Text: text} }

func call(id, name, args string) llm.Block {
	return llm.Block{Type: llm.ToolCall, ID: id, Name: name, Arguments: args}
}

// say streams blocks, in pieces of n bytes, without the message that settles them.
func (s *script) say(n int, blocks ...llm.Block) *script {
	for i, b := range blocks {
		text, kind := b.Text, llm.TextDelta
		switch b.Type {
		case llm.Reasoning:
			kind = llm.ReasoningDelta
		case llm.ToolCall:
			text, kind = b.Arguments, llm.ToolCallDelta
		}
		s.chunk(llm.Chunk{Type: llm.BlockStart, Index: i, BlockType: b.Type})
		for first := true; first || text != ""; first = false {
			c := llm.Chunk{Type: kind, Index: i}
			piece := text[:min(n, len(text))]
			text = text[len(piece):]
			if b.Type == llm.ToolCall {
				c.ArgumentsDelta, c.ID, c.Name, c.HasName = piece, b.ID, b.Name, first
			} else {
				c.Text = piece
			}
			s.chunk(c)
		}
	}
	return s
}

func (s *script) chunk(c llm.Chunk) *script {
	return s.add(session.AssistantChunk{Turn: s.turn, Step: s.step, Chunk: c})
}

// answer streams blocks and settles them.
func (s *script) answer(blocks ...llm.Block) *script {
	s.say(7, blocks...)
	for i := range blocks {
		s.chunk(llm.Chunk{Type: llm.BlockEnd, Index: i, Block: &blocks[i]})
	}
	tokens := 412
	return s.add(session.AssistantMessage{Turn: s.turn, Step: s.step, Usage: &llm.Usage{ReasoningTokens: &tokens},
		Message: llm.Message{Role: llm.Assistant, ID: fmt.Sprint("a", len(s.events)), Content: blocks}})
}

func (s *script) start(c llm.Block) *script {
	return s.add(session.ToolCall{Turn: s.turn, Step: s.step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments})
}

// result ends a call; a code makes it an error.
func (s *script) result(c llm.Block, code, text string, d *session.Display) *script {
	r := session.ToolResult{Turn: s.turn, Step: s.step, Message: llm.Message{Role: llm.User, ID: "r" + c.ID,
		Source:  llm.Source{Kind: llm.FromTool, CallID: c.ID},
		Content: []llm.Block{{Type: llm.ToolResult, ToolCallID: c.ID, IsError: code != "", Content: []llm.Block{llm.TextBlock(text)}}}}}
	if code != "" {
		r.Error = &session.ToolError{Name: "ToolError", Code: code}
	}
	if d != nil {
		r.Meta, _ = json.Marshal(session.ResultMeta{Display: d})
	}
	return s.add(r)
}

func (s *script) end(r session.EndReason) *script {
	return s.add(session.StepEnd{Turn: s.turn, Step: s.step}, session.TurnEnd{Turn: s.turn, Reason: r})
}

var completed = session.EndReason{Kind: session.Completed}

func project(events []session.Event) *Projection {
	p := &Projection{}
	p.Apply(events...)
	return p
}

// present shows calls as tools do: their arguments are displays.
func present(name, rawArgs string, r *session.ToolResult) session.Display {
	d := session.Display{Kind: session.ShowText, Verb: name, Target: rawArgs}
	_ = json.Unmarshal([]byte(rawArgs), &d)
	if r == nil {
		return d
	}
	if meta, ok := session.DecodeMeta(r.Meta); ok && meta.Display != nil {
		return *meta.Display
	}
	d.Text = resultText(r)
	return d
}

func args(d session.Display) string {
	b, _ := json.Marshal(d)
	return string(b)
}

var update = flag.Bool("update", false, "write the golden screens anew; read them before you accept them")

const screens = "../../../testdata/screens/transcript"

// golden compares a picture with the accepted one.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join(screens, name+".txt")
	if *update {
		if err := os.MkdirAll(screens, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; got\n%s", path, got)
	}
}

var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

func plain(rows []string) string { return sgr.ReplaceAllString(strings.Join(rows, "\n"), "") }

// picture is all blocks of a log at a width.
func picture(p *Projection, o Options) []string {
	r := NewRenderer(present)
	var rows []string
	for i := range p.Blocks() {
		rows = append(rows, r.Rows(&p.Blocks()[i], o)...)
	}
	return rows
}

// screensOf is a golden with the widths one below the other.
func screensOf(t *testing.T, name string, p *Projection, o Options) {
	t.Helper()
	var sb strings.Builder
	for _, width := range []int{40, 80, 120} {
		o.Width = width
		rows := picture(p, o)
		checkRows(t, rows, width)
		fmt.Fprintf(&sb, "--- %d columns ---\n%s\n", width, plain(rows))
	}
	golden(t, name, sb.String())
}
