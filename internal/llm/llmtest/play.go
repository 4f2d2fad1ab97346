package llmtest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// maxPieces bounds the pieces of a text that is split by words.
const maxPieces = 256

// argumentPiece is the length of a call's argument pieces, in runes: short, so that
// most arguments come in several.
const argumentPiece = 16

// errOver ends a reply early: the script cuts it, or the client or the server is gone.
var errOver = errors.New("reply is over")

// player sends one reply.
type player struct {
	server  *Server
	reply   *reply
	request *request
	turn    int // how many requests the reply has served with this one
	w       http.ResponseWriter
	gone    <-chan struct{} // the client

	opened  bool   // the role chunk is out, or none is sent
	calls   int    // streamed so far
	finish  string // of the last finish chunk
	started bool   // the header is out
}

func (p *player) play() {
	r := p.reply
	p.must(p.wait(r.delay))
	for key, values := range r.header {
		p.w.Header()[key] = values
	}
	if r.status != 0 || r.body != nil {
		p.whole()
		return
	}
	p.opened = p.has(stepRaw)
	for _, s := range r.steps {
		p.must(p.step(s))
	}
	if !r.bare {
		p.must(p.conclude())
	}
}

// must breaks the connection, in net/http's way, when a reply is over too early: a
// return would end the response in good order.
func (p *player) must(err error) {
	if err != nil {
		panic(http.ErrAbortHandler)
	}
}

// whole answers without a stream.
func (p *player) whole() {
	status := p.reply.status
	if status == 0 {
		status = http.StatusOK
	}
	body := apiError(p.server.script.dialect, fmt.Sprintf("scripted status %d", status), "")
	if p.reply.body != nil {
		body = []byte(p.fill(*p.reply.body))
	}
	if p.w.Header().Get("Content-Type") == "" {
		p.w.Header().Set("Content-Type", "application/json")
	}
	p.w.WriteHeader(status)
	_, _ = p.w.Write(body) // a client that has gone needs no answer
}

func (p *player) step(s step) error {
	switch s.kind {
	case stepReasoning:
		return p.pieces(p.fill(s.text), func(piece string) any {
			return map[string]any{"content": nil, "reasoning_content": piece}
		})
	case stepText:
		return p.pieces(p.fill(s.text), func(piece string) any { return map[string]any{"content": piece} })
	case stepCall:
		return p.call(s)
	case stepDelta:
		return p.chunk(rawJSON(p.fill(s.text)), "")
	case stepData:
		return p.event(p.fill(s.text))
	case stepRaw:
		return p.write(p.fill(s.text))
	case stepFinish:
		return p.end(s.text)
	case stepDone:
		return p.event("[DONE]")
	case stepPause:
		return p.wait(s.wait)
	case stepHold:
		return p.hold(s.text)
	case stepCut:
		return errOver
	case stepHang:
		return p.until(nil)
	}
	return nil // eof: the last step
}

// conclude ends a stream as providers do.
func (p *player) conclude() error {
	if p.finish == "" {
		reason := "stop"
		if p.calls > 0 {
			reason = "tool_calls"
		}
		if err := p.end(reason); err != nil {
			return err
		}
	}
	return p.event("[DONE]")
}

// end sends the finish and, behind it, the usage.
func (p *player) end(reason string) error {
	p.finish = reason
	if reason != "none" {
		if err := p.chunk(map[string]any{}, reason); err != nil {
			return err
		}
	}
	if u := p.reply.usage; u != nil && p.request.usage {
		c := p.frame()
		c.Choices, c.Usage = []choice{}, u.wire(p.server.script.dialect)
		return p.event(string(encode(c)))
	}
	return nil
}

func (p *player) call(s step) error {
	id := p.fill(s.id)
	if id == "" {
		id = p.server.callID(p.request)
	}
	index := p.calls
	p.calls++
	first := map[string]any{"index": index, "id": id, "type": "function",
		"function": map[string]any{"name": s.name, "arguments": ""}}
	if err := p.chunk(calls(first), ""); err != nil {
		return err
	}
	args := p.fill(s.text)
	n := p.reply.chunks
	if n == 0 {
		n = min(maxPieces, (len(args)+argumentPiece-1)/argumentPiece)
	}
	for _, piece := range splitRunes(args, n) {
		next := map[string]any{"index": index, "function": map[string]any{"arguments": piece}}
		if err := p.chunk(calls(next), ""); err != nil {
			return err
		}
		if err := p.wait(p.reply.pace); err != nil {
			return err
		}
	}
	return nil
}

func calls(c map[string]any) any {
	return map[string]any{"content": nil, "tool_calls": []any{c}}
}

func (p *player) pieces(text string, delta func(string) any) error {
	list := splitWords(text)
	if p.reply.chunks > 0 {
		list = splitRunes(text, p.reply.chunks)
	}
	for _, piece := range list {
		if err := p.chunk(delta(piece), ""); err != nil {
			return err
		}
		if err := p.wait(p.reply.pace); err != nil {
			return err
		}
	}
	return nil
}

func (p *player) has(kind stepKind) bool {
	for _, s := range p.reply.steps {
		if s.kind == kind {
			return true
		}
	}
	return false
}

func (p *player) fill(text string) string { return expand(text, p.request, p.turn) }

// wait sleeps unless there is nobody left to wait for.
func (p *player) wait(d time.Duration) error {
	if d <= 0 {
		return nil
	}
	up := make(chan struct{})
	timer := time.AfterFunc(d, func() { close(up) })
	defer timer.Stop()
	return p.until(up)
}

func (p *player) hold(name string) error {
	p.server.mu.Lock()
	released := p.server.hold(name)
	p.server.mu.Unlock()
	return p.until(released)
}

// until waits for a channel to close; nil never does.
func (p *player) until(ready <-chan struct{}) error {
	select {
	case <-ready:
		return nil
	case <-p.gone:
	case <-p.server.closed:
	}
	return errOver
}

// splitWords cuts behind blanks, into at most maxPieces.
func splitWords(text string) []string {
	words := strings.SplitAfter(text, " ")
	if len(words) <= maxPieces {
		return words
	}
	var list []string
	for i := range maxPieces {
		list = append(list, strings.Join(words[i*len(words)/maxPieces:(i+1)*len(words)/maxPieces], ""))
	}
	return list
}

// splitRunes cuts into n pieces of equal length, fewer if the text is shorter.
func splitRunes(text string, n int) []string {
	runes := []rune(text)
	n = min(n, len(runes))
	var list []string
	for i := range n {
		list = append(list, string(runes[i*len(runes)/n:(i+1)*len(runes)/n]))
	}
	return list
}
