package export

import (
	"iter"
	"slices"
	"strings"
	"time"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// Kind says what an Item is.
type Kind string

const (
	Prompt  Kind = "prompt"  // what a person wrote, when the model got it
	Note    Kind = "note"    // what dsh told the model beside it
	Answer  Kind = "answer"  // of the model
	Call    Kind = "call"    // of a tool, with its result, where the result stands
	Summary Kind = "summary" // took the place of what was said before, for the model
	End     Kind = "end"     // of a turn
	Lost    Kind = "lost"    // an event that a damaged log had
)

// Item is one thing that happened, in the order of the log. Its JSON form is that of
// the export; a field that says nothing is left out.
type Item struct {
	Kind Kind      `json:"kind"`
	Seq  int       `json:"seq"` // of the event that it is made of
	Time time.Time `json:"time"`
	Turn int       `json:"turn"`           // 0 before the first
	Step int       `json:"step,omitempty"` // of an answer and a call

	Text        string     `json:"text,omitempty"`      // of all but calls
	Reasoning   string     `json:"reasoning,omitempty"` // of an answer
	Model       string     `json:"model,omitempty"`     // that answered: provider/model
	Interrupted bool       `json:"interrupted,omitempty"`
	Usage       *llm.Usage `json:"usage,omitempty"`

	Call *CallBody `json:"call,omitempty"`
	End  *EndBody  `json:"end,omitempty"`
}

// CallBody is a call and what came of it.
type CallBody struct {
	ID        string           `json:"id"`
	Name      string           `json:"name"`
	Arguments string           `json:"arguments"` // as the model wrote them
	Card      *session.Display `json:"card,omitempty"`
	Result    string           `json:"result,omitempty"` // as the model read it
	Error     string           `json:"error,omitempty"`  // code
	Failed    bool             `json:"failed,omitempty"`
	Open      bool             `json:"open,omitempty"` // the log has no result
}

// EndBody is how a turn ended and what it cost.
type EndBody struct {
	Status string     `json:"status"`           // completed, aborted, blocked, error, max-tokens, interrupted
	Reason string     `json:"reason,omitempty"` // in words
	Usage  *llm.Usage `json:"usage,omitempty"`
	Cost   *float64   `json:"cost_usd"` // null: not known
}

// Present makes the card of a call; see tools.Registry.
type Present func(name, args string, r *session.ToolResult) session.Display

// fold makes items of events.
type fold struct {
	present Present
	calls   []llm.Block // without a result so far, in order
	step    int         // that they are of
}

// items walks a log. Check the snapshot's Err after it.
func items(s *session.Snapshot, present Present) iter.Seq[Item] {
	return func(yield func(Item) bool) {
		f := fold{present: present}
		var last Item
		for ev, state := range s.States() {
			last = Item{Seq: ev.Seq, Time: time.UnixMilli(ev.Time).UTC(), Turn: state.Turn}
			if item, ok := f.item(&ev, state); ok && !yield(at(item, last)) {
				return
			}
		}
		for i := range f.calls {
			if !yield(at(f.call(&f.calls[i], nil), last)) {
				return
			}
		}
	}
}

// at is an item in its place.
func at(item, place Item) Item {
	item.Seq, item.Time, item.Turn = place.Seq, place.Time, place.Turn
	return item
}

// item is what an event is to a reader; ok is false for what is none of his business.
func (f *fold) item(ev *session.Event, state *session.State) (item Item, ok bool) {
	if ev.Replaces() {
		return Item{}, false // it changes what the model sees, not what happened
	}
	switch p := ev.Data.(type) {
	case session.UserMessage:
		kind := Note
		if p.Source.Kind == llm.FromUser {
			kind = Prompt
		}
		return Item{Kind: kind, Text: p.PlainText()}, true
	case session.AssistantMessage:
		item = f.answer(&p)
		return item, item.Text != "" || item.Reasoning != ""
	case session.ToolResult:
		return f.result(&p), true
	case session.CompactionSummary:
		return Item{Kind: Summary, Text: (&llm.Message{Content: p.Summary}).PlainText()}, true
	case session.TurnEnd:
		return Item{Kind: End, End: end(&p, state)}, true
	case session.Lost:
		return Item{Kind: Lost, Text: "An event of the damaged log could not be read."}, true
	}
	return Item{}, false
}

func (f *fold) answer(p *session.AssistantMessage) Item {
	var reasoning []string
	for _, b := range p.Message.Content {
		if b.Type == llm.Reasoning {
			reasoning = append(reasoning, b.Text)
		}
	}
	f.calls = append(f.calls, p.Message.Calls()...)
	f.step = p.Step
	item := Item{Kind: Answer, Step: p.Step, Text: p.Message.PlainText(), Reasoning: strings.Join(reasoning, "\n\n"),
		Interrupted: p.Interrupted, Usage: p.Usage}
	if src := p.Message.Source; src.Model != "" {
		item.Model = src.Provider + "/" + src.Model
	}
	return item
}

// result finds the call of a result, by its id.
func (f *fold) result(p *session.ToolResult) Item {
	call := llm.Block{ID: p.Message.Source.CallID}
	i := slices.IndexFunc(f.calls, func(c llm.Block) bool { return c.ID == call.ID })
	if i >= 0 {
		call = f.calls[i]
		f.calls = slices.Delete(f.calls, i, i+1)
	}
	return f.call(&call, p)
}

func (f *fold) call(c *llm.Block, r *session.ToolResult) Item {
	card := f.present(c.Name, c.Arguments, r)
	card.Text = "" // the result has it
	body := CallBody{ID: c.ID, Name: c.Name, Arguments: c.Arguments, Card: &card, Open: r == nil}
	if r != nil {
		if r.Error != nil {
			body.Error, body.Failed = r.Error.Code, true
		}
		for _, b := range r.Message.Content {
			body.Failed = body.Failed || b.IsError
			body.Result += (&llm.Message{Content: b.Content}).PlainText()
		}
	}
	return Item{Kind: Call, Step: f.step, Call: &body}
}

func end(p *session.TurnEnd, state *session.State) *EndBody {
	usage := state.ThisTurn.Usage
	e := &EndBody{Status: string(p.Reason.Kind), Usage: &usage, Cost: usd(state.ThisTurn.Bill)}
	switch {
	case p.Reason.Cause != nil:
		e.Reason = p.Reason.Cause.Error()
	case p.Reason.Failure != nil:
		e.Reason = p.Reason.Failure.Error()
	}
	return e
}

// usd is a sum in dollars, nil if it is not known.
func usd(b llm.Bill) *float64 {
	nano, known := b.Total()
	if !known {
		return nil
	}
	usd := float64(nano) / 1e9
	return &usd
}
