package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"dsh/internal/llm"
)

const (
	readSize = 32 << 10
	sampleOf = 200 // bytes of a body that is no event stream, for the error text
)

// body turns whatever the endpoint answered into lines that go-openai reads: one
// "data: {json}\n" for each event, and nothing else. Comments would be counted
// there, and a payload that starts with an error would be swallowed.
type body struct {
	io.ReadCloser
	watch  *watch
	header http.Header

	buf    []byte
	framer framer
	sample []byte // the first bytes, for error texts
	mode   mode
	whole  bytes.Buffer // the body so far, while it is not an event stream
	out    bytes.Buffer
	err    error

	done   bool // [DONE] came: the rest is ignored
	events int  // data events so far
}

// mode is what the first bytes of a body show it to be.
type mode int

const (
	undecided mode = iota
	eventStream
	wholeJSON
)

func newBody(resp *http.Response, w *watch) *body {
	b := &body{ReadCloser: resp.Body, watch: w, header: resp.Header, buf: make([]byte, readSize)}
	b.framer.emit, b.framer.limit = b.event, maxEvent
	return b
}

// Read gives whole lines of the normalised stream.
func (b *body) Read(p []byte) (int, error) {
	for b.out.Len() == 0 {
		if b.done {
			return 0, io.EOF
		}
		if b.err != nil {
			return 0, b.err
		}
		b.fill()
	}
	return b.out.Read(p)
}

func (b *body) fill() {
	n, err := b.ReadCloser.Read(b.buf)
	if n > 0 {
		b.watch.touched()
		if tooLong := b.take(b.buf[:n]); tooLong != nil {
			b.err = &llm.Failure{Code: llm.CodeMalformed, Message: tooLong.Error()}
			return
		}
	}
	if err == nil {
		return
	}
	b.err = b.watch.cause(err)
	if errors.Is(b.err, io.EOF) {
		b.finish()
	}
}

func (b *body) take(p []byte) error {
	b.sample = append(b.sample, p[:min(len(p), sampleOf-len(b.sample))]...)
	if b.mode == undecided {
		b.whole.Write(p)
		b.mode = sniff(b.whole.Bytes(), b.header)
		if b.mode == eventStream {
			p = bytes.Clone(b.whole.Bytes())
			b.whole.Reset()
		}
	} else if b.mode == wholeJSON {
		b.whole.Write(p)
	}
	if b.mode == eventStream {
		return b.framer.feed(p)
	}
	if b.whole.Len() > maxEvent {
		return fmt.Errorf("the answer is longer than %d MiB", maxEvent>>20)
	}
	return nil
}

// sniff goes by the bytes first: gateways send streams as JSON and JSON as streams.
func sniff(p []byte, h http.Header) mode {
	p = bytes.TrimLeft(bytes.TrimPrefix(p, bom), " \t\r\n")
	isStream := strings.Contains(h.Get("Content-Type"), "event-stream")
	switch {
	case len(p) == 0 && isStream:
		return eventStream
	case len(p) == 0:
		return undecided
	case p[0] == '{' || p[0] == '[' || p[0] == '<':
		return wholeJSON
	}
	return eventStream
}

// finish is called at the end of the bytes.
func (b *body) finish() {
	if b.mode == eventStream {
		b.framer.close()
		if b.events == 0 && !b.done && !strings.Contains(b.header.Get("Content-Type"), "event-stream") {
			b.err = b.notAStream()
		}
		return
	}
	whole := bytes.TrimSpace(b.whole.Bytes())
	switch {
	case len(whole) == 0:
	case whole[0] == '<':
		b.err = &llm.Failure{Code: llm.CodeConfig, Message: "the endpoint answered with HTML, not with an API answer"}
	case !json.Valid(whole):
		b.err = b.notAStream()
	case whole[0] == '[': // Gemini's errors; an answer is never a list
		b.done = true
		b.event("error", whole)
	default:
		b.done = true // there is no more to come
		b.event("", whole)
	}
}

func (b *body) notAStream() error {
	return &llm.Failure{Code: llm.CodeMalformed,
		Message: fmt.Sprintf("the answer (%s) is no event stream: %s", b.header.Get("Content-Type"), b.sample)}
}

// event writes one event for go-openai. The space after the brace keeps its error
// matcher out of the way; the decoder finds errors itself.
func (b *body) event(kind string, data []byte) {
	if b.done && b.mode == eventStream {
		return
	}
	b.watch.advanced()
	if string(data) == "[DONE]" {
		b.done = true
		return
	}
	b.events++
	b.out.WriteString("data: ")
	switch {
	case kind == "error":
		if !json.Valid(data) {
			data, _ = json.Marshal(string(data))
		}
		b.out.WriteString(`{ "error":`)
		b.line(data)
		b.out.WriteByte('}')
	case data[0] == '{':
		b.out.WriteString("{ ")
		b.line(bytes.TrimLeft(data[1:], " \t\r\n"))
	default:
		b.line(data)
	}
	b.out.WriteByte('\n')
}

// line writes JSON on one line: a newline in it is whitespace between tokens.
func (b *body) line(data []byte) {
	if bytes.IndexByte(data, '\n') >= 0 {
		data = bytes.ReplaceAll(data, []byte("\n"), []byte(" "))
	}
	b.out.Write(data)
}

// Close ends the request and everything that belongs to it. After a complete answer
// it first reads what little may be left, so that the connection can be used again.
func (b *body) Close() error {
	if b.done && b.err == nil {
		b.watch.lastCall()
		_, _ = io.CopyN(io.Discard, b.ReadCloser, readSize)
	}
	b.watch.stop()
	return b.ReadCloser.Close()
}
