package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"dsh/internal/llm"
	"dsh/internal/session"
)

// InvariantError means that what was about to be sent is not what the log says. It
// is a fault of dsh; nothing was sent.
type InvariantError struct{ What string }

func (e *InvariantError) Error() string {
	return "INVARIANT: " + e.What + "; nothing was sent: please report this session's log"
}

// Reasons of a request/header.
const (
	headerInitial = "initial"
	headerResume  = "resume"
	headerChange  = "change"
)

// request dispatches once and logs what comes back. It yields the answer (nil when
// it hit the output limit: there is nothing to act on), or the failure that a
// recovery may look at, or an error that ends the turn.
func (t *turn) request(attempt int) (*llm.Message, *llm.Failure, error) {
	t.route = t.a.currentRoute()
	route := t.route
	if route.Model == nil {
		return nil, nil, &llm.Failure{Code: llm.CodeConfig,
			Message: fmt.Sprintf("no provider answers for model %q of provider %q: choose another with -m", route.Config.Model, route.Config.Provider)}
	}
	req, err := t.build(route, attempt)
	if err != nil {
		return nil, nil, err
	}
	return t.stream(route, req)
}

// build derives the request from the log, and logs the header when it is new.
func (t *turn) build(route Route, attempt int) (*llm.Request, error) {
	if err := t.check(); err != nil {
		return nil, err
	}
	messages, generation := t.a.log.Messages()
	header := t.a.d.header(route)
	var drafts []session.Draft
	if reason := t.a.d.headerReason(header); reason != "" {
		drafts = append(drafts, session.Draft{Data: session.RequestHeader{Header: header, Reason: reason}})
	}
	context := session.RequestContext{Provider: route.Config.Provider, Model: route.Config.Model}
	if route.Window > 0 {
		context.ContextWindow = &route.Window
	}
	if !t.a.d.knowsContext(context) {
		drafts = append(drafts, session.Draft{Data: context})
	}
	if len(drafts) > 0 {
		if err := t.a.append(drafts...); err != nil {
			return nil, err
		}
	}
	req := &llm.Request{Header: header, Messages: messages}
	req.BeforeSend = func(sent llm.Sent) error { return t.beforeSend(req, generation, attempt, sent) }
	return req, nil
}

// beforeSend is the last gate: it proves in constant time that the request is the
// log's, records its digest, and makes both durable. Without that nothing leaves.
func (t *turn) beforeSend(req *llm.Request, generation, attempt int, sent llm.Sent) error {
	if err := t.check(); err != nil {
		return err
	}
	open := t.a.log.OpenStep()
	if open.Turn != t.n || open.Step != t.step {
		return &InvariantError{fmt.Sprintf("step %d.%d sends, but the log has step %d.%d open", t.n, t.step, open.Turn, open.Step)}
	}
	if messages, now := t.a.log.Messages(); now != generation || len(messages) != len(req.Messages) {
		return &InvariantError{"the conversation changed after the request was made"}
	}
	if header, ok := t.a.log.RequestHeader(); !ok || !header.Equal(req.Header) {
		return &InvariantError{"the request's header is not the logged one"}
	}
	err := t.a.append(session.Draft{Data: session.RequestSent{Turn: t.n, Step: t.step, Attempt: attempt, Sent: sent}})
	if err != nil {
		return err
	}
	return t.a.log.Sync()
}

// stream logs every chunk as it comes and makes one message of them. A cancel keeps
// what was visible; a failure keeps nothing in the history.
func (t *turn) stream(route Route, req *llm.Request) (*llm.Message, *llm.Failure, error) {
	assembler := llm.NewAssembler(t.a.d.newCallID, t.a.d.uniqueCallID)
	seqs, streamed := []int{}, 0
	var err error
	for chunk, streamErr := range t.a.dispatch(t.ctx, route, req) {
		if err = streamErr; err != nil || t.ctx.Err() != nil {
			break
		}
		var events []session.Event
		events, err = t.a.log.Append(session.Draft{Data: session.AssistantChunk{Turn: t.n, Step: t.step, Chunk: chunk}})
		if err != nil {
			break
		}
		seqs = append(seqs, events[0].Seq)
		streamed += size(chunk)
		if err = assembler.Add(chunk); err != nil {
			break
		}
	}
	if t.ctx.Err() != nil {
		kept, err := t.keepInterrupted(route, assembler, seqs)
		if err == nil && !kept {
			err = t.a.spend(t.n, t.step, route, assembler.Usage(), streamed)
		}
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, errStopped
	}
	if err != nil {
		return nil, nil, errors.Join(err, t.a.spend(t.n, t.step, route, assembler.Usage(), streamed))
	}
	blocks, finish, usage := assembler.Done()
	switch finish.Kind {
	case llm.Failed, llm.Aborted:
		return nil, failureOf(finish), t.a.spend(t.n, t.step, route, usage, streamed)
	case llm.MaxTokens:
		t.maxTokens = true
	}
	m, err := t.keep(route, answer{blocks: blocks, usage: usage, replay: assembler.Replay(), seqs: seqs})
	if finish.Kind == llm.MaxTokens {
		return nil, nil, err
	}
	return m, nil, err
}

// failureOf makes sure that a failed finish says something. A provider that reports
// an abort nobody asked for has failed like any other.
func failureOf(f llm.Finish) *llm.Failure {
	if f.Failure != nil {
		return f.Failure
	}
	code := llm.CodeUnknown
	if f.Kind == llm.Aborted {
		code = llm.CodeAborted
	}
	return &llm.Failure{Code: code, Message: "the provider ended the answer without saying why"}
}

// size is the bytes of an answer that a chunk brings.
func size(c llm.Chunk) int { return len(c.Text) + len(c.ArgumentsDelta) }

// spend logs what came of a request that no message tells of.
func (a *Agent) spend(turn, step int, route Route, u *llm.Usage, streamed int) error {
	if u == nil && streamed == 0 {
		return nil
	}
	return a.append(session.Draft{Data: session.RequestSpent{Turn: turn, Step: step,
		Provider: route.Config.Provider, Model: route.Config.Model, Usage: u, Streamed: streamed}})
}

func (t *turn) keepInterrupted(route Route, assembler *llm.Assembler, seqs []int) (kept bool, err error) {
	blocks := assembler.Interrupted()
	if len(blocks) == 0 {
		return false, nil
	}
	_, _, usage := assembler.Done()
	_, err = t.keep(route, answer{blocks: blocks, usage: usage, interrupted: true, seqs: seqs})
	return true, err
}

// answer is what a stream came to.
type answer struct {
	blocks      []llm.Block
	usage       *llm.Usage
	replay      json.RawMessage // see llm.Source
	interrupted bool
	seqs        []int // of its chunks
}

// keep writes the assistant message: always, also an empty one, because it anchors
// the usage and proves that the request finished.
func (t *turn) keep(route Route, a answer) (*llm.Message, error) {
	if a.blocks == nil {
		a.blocks = []llm.Block{}
	}
	m := llm.Message{
		Role:    llm.Assistant,
		Content: a.blocks,
		Source:  llm.Source{Kind: llm.FromModel, Provider: route.Config.Provider, Model: route.Config.Model, Replay: a.replay},
		ID:      session.NewID(),
	}
	data := session.AssistantMessage{Turn: t.n, Step: t.step, Message: m, Usage: a.usage, Interrupted: a.interrupted}
	return &m, t.a.append(session.Visible(data, a.seqs...))
}

func (a *Agent) currentRoute() Route {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := a.routeInForce()
	r.Defaults = slices.Clone(r.Defaults)
	return r
}
