package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"dsh/internal/llm"
	"dsh/internal/prompt"
	"dsh/internal/session"
)

const (
	summaryTokens = 8192 // the most that a summary may take
	summaryShare  = 8    // and at most this part of the window
	summaryMargin = 20   // this part of the window stays free for what estimates miss
	summaryTries  = 2    // requests for one summary
)

// What the user said word for word in the summarised part stands in the checkpoint:
// the last saidCount messages, each cut as a tool result is.
const saidCount = 3

// said is a message of the user.
type said struct {
	seq  int
	text string
}

// summary is what a model made of the head of the conversation.
type summary struct {
	nodes  []session.Node // that it stands for
	tokens int            // of them
	text   string
	raw    []llm.Block
	usage  *llm.Usage

	streamed int // bytes that came
}

// summarise replaces the head of the conversation by a summary of it, or leaves all as
// it was: a *compactError, or ErrNothingToCompact before anything is logged.
func (c *compaction) summarise() error {
	if c.chosen(c.a.log.Surface()) == nil {
		return ErrNothingToCompact
	}
	if err := c.a.closeCompaction(); err != nil {
		return err
	}
	id := session.NewID()
	start := c.a.log.NextSeq()
	if err := c.a.append(session.Draft{Data: session.CompactionStart{CompactionID: id, Turn: c.turn}}); err != nil {
		return err
	}
	s, err := c.makeSummary()
	if err == nil {
		if err = c.replace(id, start, s); err != nil {
			err = errors.Join(err, c.unused(&s))
		}
	}
	if err == nil {
		return nil
	}
	why := err.Error()
	if useless := (*compactError)(nil); errors.As(err, &useless) {
		why = useless.cause.Error()
	}
	if c.ctx.Err() != nil {
		why = context.Cause(c.ctx).Error()
	}
	end := c.a.append(session.Draft{Data: session.CompactionEnd{CompactionID: id, Turn: c.turn, Error: why}})
	if broken := (*session.WriteError)(nil); end != nil && !errors.As(err, &broken) {
		return end
	}
	return err
}

// chosen is the nodes to summarise; nil if there is no range worth it.
func (c *compaction) chosen(nodes []session.Node) []session.Node {
	if _, ok := c.a.log.RequestHeader(); !ok {
		return nil // nothing was ever sent
	}
	sizes := c.measure(nodes)
	n := splitAt(nodes, sizes, c.keep, c.room())
	if n == 0 || total(sizes[:n]) < c.worth {
		return nil
	}
	return nodes[:n]
}

// room is the tokens of messages that a request for a summary can hold.
func (c *compaction) room() int {
	m := &c.a.d.meter
	if c.window == 0 {
		return max(m.total(), m.scaled(m.sum)) // nothing is known: all of it
	}
	ask := m.scaled(messageTokens + llm.TextTokens(prompt.SummaryRequest(c.focus)))
	return c.window - c.window/summaryMargin - c.answer - m.scaled(m.header) - ask
}

// makeSummary asks the model, and once more where another try may help: a failure
// that passes, a range that was too long after all, a summary that was cut.
func (c *compaction) makeSummary() (s summary, err error) {
	for try := 1; ; try++ {
		nodes := c.chosen(c.a.log.Surface())
		if nodes == nil {
			return s, &compactError{errors.New("no part of the conversation is short enough to be summarised")}
		}
		s = summary{nodes: nodes, tokens: total(c.measure(nodes))}
		err = c.ask(try, &s)
		if err == nil || try == summaryTries || c.ctx.Err() != nil {
			return s, err
		}
		var failure *llm.Failure
		switch {
		case errors.Is(err, errCutShort):
			c.answer *= 2
			c.bounded()
		case !errors.As(err, &failure):
			return s, err
		case failure.Code == llm.CodeContextOverflow:
			c.window = min(c.window, c.a.d.meter.total()) * 3 / 4
			if c.window == 0 {
				c.window = c.a.d.meter.total() * 3 / 4
			}
		default:
			if !c.pause(failure) {
				return s, err
			}
		}
	}
}

// pause waits as before a retry; false if the failure will not pass.
func (c *compaction) pause(f *llm.Failure) bool {
	delay, ok := c.a.o.Retry.delay(f, 1, &retries{}, c.a.o.Random)
	if !ok {
		return false
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-c.ctx.Done():
		return false
	}
}

var errCutShort = errors.New("the summary reached the output limit")

// ask sends the beginning of the conversation with a request for its summary. No call
// in the answer is run, and none of it is part of the conversation.
func (c *compaction) ask(try int, s *summary) error {
	messages, generation := c.a.log.Messages()
	header, _ := c.a.log.RequestHeader()
	config := c.route.Config
	config.MaxTokens = c.answer
	aside := &session.Aside{Purpose: session.PurposeCompaction, Config: config, Ask: prompt.SummaryRequest(c.focus)}
	for _, n := range s.nodes {
		if n.Visible {
			aside.Leading++
		}
	}
	req, err := aside.Request(header, messages)
	if err != nil {
		return &compactError{err}
	}
	req.BeforeSend = func(sent llm.Sent) error {
		if c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		if !c.stable(generation, len(messages)) {
			return &InvariantError{"the conversation changed after the request for its summary was made"}
		}
		record := session.RequestSent{Step: c.step, Attempt: try, Sent: sent, Aside: aside}
		if c.turn != nil {
			record.Turn = *c.turn
		}
		if err := c.a.append(session.Draft{Data: record}); err != nil {
			return err
		}
		return c.a.log.Sync()
	}
	err = c.listen(req, s)
	if err == nil && !c.stable(generation, len(messages)) {
		err = &compactError{errors.New("the conversation changed meanwhile")}
	}
	if err != nil {
		if broken := c.unused(s); broken != nil {
			return broken
		}
	}
	return err
}

// unused logs what a summary took that is not used.
func (c *compaction) unused(s *summary) error {
	turn := 0
	if c.turn != nil {
		turn = *c.turn
	}
	return c.a.spend(turn, c.step, c.route, s.usage, s.streamed)
}

// stable: the messages are those that were read, nothing more and nothing else.
func (c *compaction) stable(generation, n int) bool {
	messages, now := c.a.log.Messages()
	return now == generation && len(messages) == n
}

// listen reads the answer.
func (c *compaction) listen(req *llm.Request, s *summary) error {
	assembler := llm.NewAssembler(c.a.d.newCallID, nil)
	for chunk, err := range c.a.dispatch(c.ctx, c.route, req) {
		if err == nil && c.ctx.Err() == nil {
			err = assembler.Add(chunk)
			s.streamed += size(chunk)
		}
		s.usage = assembler.Usage()
		if err != nil {
			return summaryError(err)
		}
	}
	if c.ctx.Err() != nil {
		return &compactError{c.ctx.Err()}
	}
	blocks, finish, _ := assembler.Done()
	switch finish.Kind {
	case llm.Failed, llm.Aborted:
		return &compactError{overfull(failureOf(finish), s.tokens+c.a.d.meter.scaled(c.a.d.meter.header), c.route)}
	case llm.MaxTokens:
		return &compactError{errCutShort}
	}
	m := llm.Message{Content: blocks}
	s.text, s.raw = strings.TrimSpace(m.PlainText()), blocks
	if s.text == "" {
		return &compactError{errors.New("the model gave no summary")}
	}
	return nil
}

// summaryError keeps apart what the log could not take from what the model did wrong.
func summaryError(err error) error {
	if errors.As(err, new(*session.WriteError)) || errors.As(err, new(*InvariantError)) {
		return err
	}
	return &compactError{err}
}

// replace writes the summary, and the message that stands for what it shadows, in one
// append with the end. start is the seq of the bracket's begin.
func (c *compaction) replace(id string, start int, s summary) error {
	instructions, files := c.instructions(s.nodes)
	source, err := session.CompactionSource(id, files)
	if err != nil {
		return &compactError{err}
	}
	m := llm.Message{Role: llm.User, ID: session.NewID(), Source: source,
		Content: []llm.Block{llm.TextBlock(prompt.Checkpoint(s.text, c.said(s.nodes), c.environment(), instructions))}}
	if size := c.a.d.meter.scaled(messageSize(&m)); size >= s.tokens {
		return &compactError{fmt.Errorf("the summary is not shorter than what it stands for (%d tokens for %d)", size, s.tokens)}
	}
	span := session.Span{Start: s.nodes[0].Seq, End: s.nodes[len(s.nodes)-1].Seq}
	seqs := make([]int, len(s.nodes))
	for i, n := range s.nodes {
		seqs[i] = n.Seq
	}
	return c.a.append(
		session.Draft{Data: session.CompactionSummary{CompactionID: id, Summary: []llm.Block{llm.TextBlock(s.text)}, RawOutput: s.raw,
			LLMStreamCall: true, ShadowedRange: span, ShadowedSeqs: seqs, ShadowedTokenCount: s.tokens,
			Provider: c.route.Config.Provider, Model: c.route.Config.Model, MaxTokens: c.answer, Usage: s.usage}},
		session.Draft{Data: session.UserMessage{Message: m}, Sources: append([]int{start}, seqs...), CitesPrevious: true,
			Surface: &session.SurfaceOp{Replace: true, Start: span.Start, End: span.End}},
		session.Draft{Data: session.CompactionEnd{CompactionID: id, Turn: c.turn}})
}

// said is the user's last words that the model would no longer read.
func (c *compaction) said(gone []session.Node) []string {
	kept := map[int]bool{}
	for _, n := range c.a.log.Surface()[len(gone):] {
		kept[n.Seq] = true
	}
	var texts []string
	for _, s := range c.a.d.said {
		if !kept[s.seq] {
			texts = append(texts, prompt.Clip(s.text, pruneOver, pruneHead, pruneTail))
		}
	}
	return texts
}

// environment is the block of now: the one that was sent may be among what goes.
func (c *compaction) environment() string {
	if c.a.o.Environment == nil {
		return ""
	}
	m := c.a.o.Environment()
	return m.PlainText()
}
