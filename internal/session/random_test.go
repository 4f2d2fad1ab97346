package session

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"dsh/internal/llm"
)

// dice makes random valid logs.
type dice struct {
	*script
	r          *rand.Rand
	turn, step int
	id         int
}

// randomLog is a valid log of about n events; every append was checked. It may end
// anywhere, also in the middle of a step.
func randomLog(t testing.TB, seed uint64, n int) *script {
	d := &dice{script: newScript(t), r: rand.New(rand.NewPCG(seed, 1))}
	stop := n/2 + d.r.IntN(n/2)
	for len(d.evs) < stop {
		d.oneTurn(stop)
	}
	return d.script
}

func (d *dice) name(prefix string) string {
	d.id++
	return fmt.Sprint(prefix, d.id)
}

func (d *dice) text() string {
	return []string{"plain", "", "two\nlines", `quotes "and" \slashes`, "é漢字🙂", "<b>&\u2028", "\x00\x1f\t"}[d.r.IntN(7)]
}

func (d *dice) oneTurn(stop int) {
	d.noise()
	d.log(queue(NextTurn, d.name("q")))
	d.turn, d.step = d.turn+1, 0
	d.log(TurnStart{d.turn})
	target := NextTurn
	for {
		batch, splices := d.f.inbox.Claim(target)
		for _, p := range splices {
			d.log(p)
		}
		if len(d.evs) > stop {
			return
		}
		d.step++
		d.log(StepStart{d.turn, d.step})
		for _, m := range batch {
			d.add(Visible(UserMessage{m}))
		}
		calls := d.oneStep(stop)
		if len(d.evs) > stop {
			return
		}
		d.log(StepEnd{d.turn, d.step})
		target = NextStep
		if !calls && !d.f.inbox.Ready(NextStep) {
			break
		}
	}
	d.log(TurnEnd{d.turn, EndReason{Kind: Completed}})
}

// oneStep reports whether the model asked for calls.
func (d *dice) oneStep(stop int) bool {
	if d.f.state.Header == nil || d.r.IntN(4) == 0 {
		h := header("p", d.name("model"))
		h.Header.System = d.text()
		h.Header.Tools = []llm.ToolSchema{{Name: "read", Description: d.text(), Parameters: json.RawMessage(`{"type":"object","a":"\ufffd<"}`)}}
		d.log(h)
	}
	attempt, retryID := 1, d.name("retry")
	d.log(RequestSent{Turn: d.turn, Step: d.step, Attempt: attempt})
	for ; d.r.IntN(4) == 0; attempt++ {
		d.stream()
		d.chunk(llm.Chunk{Type: llm.FinishChunk, Reason: &llm.Finish{Kind: llm.Failed, Failure: &llm.Failure{Code: llm.CodeServer, Message: d.text()}}})
		d.log(Retry{RetryID: retryID, Turn: d.turn, Step: d.step, Provider: "p", Mode: "normal", PolicyKey: "k", Retry: attempt, Failure: llm.Failure{Code: llm.CodeServer}},
			RetryStarted{RetryID: retryID, Turn: d.turn, Step: d.step, Retry: attempt},
			RequestSent{Turn: d.turn, Step: d.step, Attempt: attempt + 1})
	}
	d.stream()
	if len(d.evs) > stop {
		return false
	}
	var calls []string
	for d.r.IntN(2) == 0 {
		calls = append(calls, d.name("call"))
	}
	m := answerMsg(d.text(), calls...)
	m.ID = d.name("answer")
	reasoning := 3
	d.add(Visible(AssistantMessage{Turn: d.turn, Step: d.step, Message: m,
		Usage: &llm.Usage{InputTokens: 5, OutputTokens: 7, ReasoningTokens: &reasoning}}, d.f.order.chunks...))
	for _, id := range calls {
		d.noise()
		at := d.seq()
		d.log(call(d.turn, d.step, id))
		if d.r.IntN(4) == 0 {
			ask := d.name("ask")
			d.log(PolicyDecision{CallID: id, Decision: Ask}, ApprovalAsked{ID: ask, ToolName: "read", CallID: id}, ApprovalDecided{ID: ask, Outcome: allowedOnce})
		} else {
			d.log(allow(id))
		}
		if len(d.evs) > stop {
			return true
		}
		r := ToolResult{Turn: d.turn, Step: d.step, Message: resultMsg(id, d.text()), Meta: json.RawMessage(`{"seen":[{"path":"/w/a","sha256":"` + id + `"}]}`)}
		d.add(Visible(r, at))
		if d.r.IntN(3) == 0 {
			d.log(WorkspaceChanged{Path: fmt.Sprint("/w/", d.r.IntN(3)), CallID: id})
		}
	}
	d.compact()
	return len(calls) > 0
}

// stream is a run of chunks of changing kinds.
func (d *dice) stream() {
	cached := 4
	for range d.r.IntN(5) {
		kind := d.r.IntN(6)
		c := llm.Chunk{Index: d.r.IntN(2)}
		named := d.r.IntN(2) == 0
		for range d.r.IntN(6) {
			switch kind {
			case 0:
				c.Type, c.Text = llm.TextDelta, d.text()
			case 1:
				c.Type, c.Text = llm.ReasoningDelta, d.text()
			case 2:
				c.Type, c.ID, c.ArgumentsDelta = llm.ToolCallDelta, "c", d.text()
				c.HasName = named != (d.r.IntN(5) == 0)
				if c.Name = ""; c.HasName {
					c.Name = "read"
				}
			case 4:
				c = llm.Chunk{Type: llm.BlockStart, Index: c.Index, BlockType: llm.Reasoning}
			case 5:
				c = llm.Chunk{Type: llm.UsageChunk, Usage: &llm.Usage{InputTokens: 1, CacheReadTokens: &cached}}
			case 3:
				c = llm.Chunk{Type: llm.BlockEnd, Index: c.Index, Block: &llm.Block{Type: llm.Text, Text: d.text()}}
			}
			d.chunk(c)
			if d.r.IntN(12) == 0 {
				d.noise() // input arrives while the answer streams
			}
		}
	}
}

func (d *dice) chunk(c llm.Chunk) {
	d.now += int64(d.r.IntN(40))
	d.log(AssistantChunk{Turn: d.turn, Step: d.step, Chunk: c})
}

// noise is what may happen at any time.
func (d *dice) noise() {
	switch d.r.IntN(10) {
	case 0:
		d.log(Title{d.text()})
	case 1:
		d.log(queue(NextStep, d.name("steer")))
	case 2:
		d.log(queue(NextTurn, d.name("q"), d.name("q")))
	case 3:
		if items := d.f.inbox.Items(); len(items) > 0 {
			if p, ok := d.f.inbox.Remove(items[d.r.IntN(len(items))].ID); ok {
				d.log(p)
			}
		}
	case 4:
		if items := d.f.inbox.Items(); len(items) > 0 {
			d.log(InboxHeld{IDs: []string{items[0].ID}, Held: d.r.IntN(2) == 0})
		}
	case 5:
		if items := d.f.inbox.Items(); len(items) > 0 {
			splices, _ := d.f.inbox.Move(items[0].ID, NextStep, d.r.IntN(3))
			for _, p := range splices {
				d.log(p)
			}
		}
	case 6:
		d.log(PolicyRule{Scope: "session", Pattern: d.text(), Decision: Allow})
	}
}

// compact replaces a random span now and then.
func (d *dice) compact() {
	nodes := d.f.surface.nodes
	if d.r.IntN(5) > 0 || len(nodes) < 2 {
		return
	}
	from := d.r.IntN(len(nodes))
	to := from + d.r.IntN(len(nodes)-from)
	var sources []int
	for _, n := range nodes[from : to+1] {
		sources = append(sources, n.seq)
	}
	m := userMsg(d.name("summary"))
	d.add(Draft{Data: UserMessage{m}, Surface: &SurfaceOp{Replace: true, Start: nodes[from].seq, End: nodes[to].seq}, Sources: sources})
}

func TestRandomLogsPassCheck(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		s := randomLog(t, seed, 150)
		if err := Check(s.h, slices.Values(s.evs)); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again := *s
		again.f = s.replay()
		if again.sight() != s.sight() {
			t.Fatalf("seed %d: live and replayed differ", seed)
		}
	}
}

// mutations are single changes that make a valid log invalid; false if the event
// has nothing to change.
var mutations = map[string]func(evs []Event, i int) bool{
	"time goes back":   func(evs []Event, i int) bool { evs[i].Time = 1; return i > 0 },
	"seq off by one":   func(evs []Event, i int) bool { evs[i].Seq++; return true },
	"type of another":  func(evs []Event, i int) bool { evs[i].Type = "odd"; return true },
	"no data":          func(evs []Event, i int) bool { evs[i].Data = nil; return true },
	"surface toggled":  func(evs []Event, i int) bool { evs[i].Surface = toggle(evs[i].Surface); return true },
	"later source":     func(evs []Event, i int) bool { evs[i].Sources = []int{i}; return true },
	"mark missing":     func(evs []Event, i int) bool { evs[i].Ignorable = false; return ours[evs[i].Type] },
	"nested elsewhere": func(evs []Event, i int) bool { return otherPlace(&evs[i]) },
	"left out": func(evs []Event, i int) bool {
		switch p := evs[i].Data.(type) {
		case TurnStart, StepStart, ApprovalAsked, Retry, RetryStarted:
		case StepEnd:
			return (later(evs[i+1:], TypeStepStart) || later(evs[i+1:], TypeTurnEnd)) && neutral(evs, i)
		case ToolResult:
			if evs[i].Surface.Replace || !later(evs[i:], TypeStepEnd) {
				return false
			}
		case AssistantChunk:
			if failed(&p.Chunk) || !cited(evs[i:], i) {
				return false
			}
		default:
			return false
		}
		return later(evs[i+1:], followers[evs[i].Type]) && neutral(evs, i)
	},
}

// followers are what cannot stand without the one before.
var followers = map[Type]Type{
	TypeTurnStart: TypeStepStart, TypeStepStart: TypeRequestSent, TypeApprovalAsked: TypeApprovalDecided,
	TypeRetry: TypeRetryStarted, TypeRetryStarted: TypeRetry, TypeToolResult: TypeStepEnd, TypeAssistantChunk: TypeAssistantMessage,
}

func toggle(op *SurfaceOp) *SurfaceOp {
	if op != nil {
		return nil
	}
	return &SurfaceOp{}
}

func later(evs []Event, t Type) bool {
	return slices.ContainsFunc(evs, func(ev Event) bool { return ev.Type == t })
}

func cited(evs []Event, seq int) bool {
	return slices.ContainsFunc(evs, func(ev Event) bool { return ev.Type == TypeAssistantMessage && slices.Contains(ev.Sources, seq) })
}

// neutral puts an event without meaning in the place of one.
func neutral(evs []Event, i int) bool {
	evs[i] = Draft{Data: Title{"x"}}.event(i, evs[i].Time)
	return true
}

// otherPlace makes an event name another turn or step.
func otherPlace(ev *Event) bool {
	switch p := ev.Data.(type) {
	case TurnStart:
		p.Turn++
		ev.Data = p
	case TurnEnd:
		p.Turn--
		ev.Data = p
	case StepStart:
		p.Step++
		ev.Data = p
	case StepEnd:
		p.Step--
		ev.Data = p
	case AssistantChunk:
		p.Step++
		ev.Data = p
	case AssistantMessage:
		p.Turn++
		ev.Data = p
	case ToolCall:
		p.CallID += "x"
		ev.Data = p
	case ToolResult:
		p.Step++
		ev.Data = p
	case RequestSent:
		p.Attempt += 2
		ev.Data = p
	case Retry:
		p.Retry++
		ev.Data = p
	case RetryStarted:
		p.RetryID += "x"
		ev.Data = p
	case ApprovalDecided:
		p.ID += "x"
		ev.Data = p
	case InboxSpliced:
		p.Start += 50
		ev.Data = p
	default:
		return false
	}
	return true
}

func TestRandomMutationsFailCheck(t *testing.T) {
	t.Parallel()
	tried := map[string]int{}
	for seed := range uint64(12) {
		s := randomLog(t, seed, 120)
		for name, mutate := range mutations {
			for i := range s.evs {
				evs := slices.Clone(s.evs)
				if name == "left out" && evs[i].Type == TypeRetryStarted && !sameStepRetry(evs[i:]) {
					continue
				}
				if !mutate(evs, i) {
					continue
				}
				tried[name]++
				if err := Check(s.h, slices.Values(evs)); err == nil {
					t.Fatalf("seed %d, event %d (%s): %q passed", seed, i, s.evs[i].Type, name)
				}
			}
		}
	}
	for name := range mutations {
		if tried[name] == 0 {
			t.Errorf("%q was never tried", name)
		}
	}
}

// sameStepRetry reports whether another retry follows before the step ends.
func sameStepRetry(evs []Event) bool {
	for _, ev := range evs {
		switch ev.Type {
		case TypeStepEnd:
			return false
		case TypeRetry:
			return true
		}
	}
	return false
}
