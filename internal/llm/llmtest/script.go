package llmtest

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

// Script is a model's side of a conversation, read from a small text file. It is
// immutable and may be served by several servers at once; who has served what is
// kept by the Server.
//
// # The format
//
// A script is lines. A blank line, and a line that begins with #, says nothing.
// Every other line is a directive, a word and what belongs to it. Directives
// before the first reply are settings; each reply begins with ==.
//
//	# The model reads a file, then answers.
//	usage in=1200 out=40 cached=1100
//
//	== look
//	expect "what is in a.txt"
//	reasoning The user wants to know the content.
//	call read {"file_path":"a.txt"}
//
//	== answer
//	expect "hello"
//	text The file says hello.
//
// # Values
//
// A VALUE is the rest of the line without the blanks around it; or, if the rest begins and ends
// with a double quote, a Go string ("two\nlines"); or, if it is <<WORD, all lines
// up to one that is only WORD, without the last line end. In values
//
//	{{n}}           is the number of this request, from 1
//	{{i}}           is how often this reply has served, from 1
//	{{results}}     is the number of tool messages in the request
//	{{repeat N S}}  is S, N times
//
// and any other braces stand for themselves. So 200 steps with distinct arguments
// are
//
//	== step
//	repeat 200
//	call read {"file_path":"f{{i}}.txt"}
//
// # Which reply serves
//
// The first reply of the file that has conditions (when), is not used up, and whose
// conditions all hold; else the first reply without conditions that is not used up;
// else the request is answered 500, saying that the script is exhausted. A script
// in which every reply has a when and loop keeps no state: a new server goes on
// where a killed one ended.
//
//	when FACT       a condition on the request
//	repeat N        serve N requests (otherwise 1)
//	loop            serve any number
//	optional        not to be missed by Done when never served
//	expect FACT     what the request must show; if not, it is answered 400 with the
//	                fact's name, and Done reports it
//
// # Facts
//
//	"text"          a message after the last assistant message contains the text
//	any "text"      some message or some call's arguments contain it
//	system "text"   the system message contains it
//	body "text"     the bytes of the body contain it
//	tool NAME       the request offers the tool
//	model NAME      the request is for the model
//	results N       it has N tool messages; N.. at least N, N..M from N to M
//	not FACT        the contrary
//
// # What a reply streams, in the order written
//
//	reasoning VALUE    reasoning_content, in pieces
//	text VALUE         content, in pieces; lines are not joined by anything
//	call NAME VALUE    a call, arguments in pieces; without a value {}. Its id is
//	                   call_<n>, new to the request and to the server
//	call#ID NAME VALUE a call with this id
//	delta VALUE        a chunk with this JSON as its delta
//	data VALUE         an event with these bytes as its data
//	raw BYTES          bytes; \n \r \t \e \0 \\ \" \xHH are escapes. Without bytes,
//	                   only the response's header goes out
//	finish REASON      a chunk with this finish_reason; none: do not add one
//	done               [DONE]
//	pause D            wait (50ms, 2s)
//	hold NAME          wait until Server.Release(NAME)
//	eof                end the response here, in good order
//	cut                close the connection here, in the middle
//	hang               send nothing more until the client goes away
//
// A reply that has none of raw, done, eof, cut and hang is ended as a provider ends
// it: a finish (tool_calls if there was a call, else stop) unless there was one, the
// usage, [DONE]. A reply without raw opens with a chunk that only names the role.
//
// # How it streams
//
//	usage in=N out=N cached=N reasoning=N   sent after the finish if the request asks
//	                for it: in is the whole prompt, cached a part of it, reasoning a
//	                part of out; none: not sent though the settings name one
//	delay D         wait before the first byte
//	pace D          wait between pieces
//	chunks N        stream each text in N pieces, not by words
//	split N         write N bytes at a time, whatever they are
//	header K: V     a response header
//	status N        an error: no stream, a body in the provider's shape
//	body VALUE      this body instead of a stream or of the provider's shape
//
// # Settings
//
//	dialect NAME    deepseek (default) or openai: see Validate
//	lenient         do not validate requests
//	prefix          Done also reports what PrefixStable does
//	models NAME...  what GET /models lists
//	window N        answer 400 as for a context window of N tokens (4 bytes each)
//	usage ...       the default of every reply
type Script struct {
	name    string // of the file, for messages
	dialect string
	lenient bool
	prefix  bool
	models  []string
	window  int // tokens, 0 none
	replies []*reply
}

// reply answers one request, or several alike.
type reply struct {
	name string
	line int

	when, expect []fact
	times        int // 0 any number
	optional     bool

	usage       *usage
	delay, pace time.Duration
	chunks      int // pieces of each text, 0 by words
	split       int // bytes of each write, 0 as they come
	status      int // 0 is 200
	header      http.Header
	body        *string // instead of a stream
	steps       []step
	bare        bool // nothing is added to the steps
}

// usage is in the provider's counting: cached is a part of in, reasoning of out.
type usage struct{ in, out, cached, reasoning int }

type stepKind int

const (
	stepReasoning stepKind = iota
	stepText
	stepCall
	stepDelta
	stepData
	stepRaw
	stepFinish
	stepDone
	stepPause
	stepHold
	stepEOF
	stepCut
	stepHang
)

type step struct {
	kind stepKind
	text string // what is streamed; a finish's reason, a hold's name
	name string // of a call
	id   string // of a call, "" generated
	wait time.Duration
}

// maxScript bounds a script file in bytes: it is written by hand, and long texts
// are made by {{repeat}}.
const maxScript = 16 << 20

// Parse reads a script. Errors begin with name and line.
func Parse(name string, r io.Reader) (*Script, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxScript+1))
	if err != nil {
		return nil, fmt.Errorf("%s: read script: %w", name, err)
	}
	if len(data) > maxScript {
		return nil, fmt.Errorf("%s: script is larger than %d bytes: use {{repeat N S}} for long texts", name, maxScript)
	}
	return parse(name, string(data))
}

// Load parses the script in a file. Errors name the file by its last element.
func Load(file string) (*Script, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("open script: %w", err)
	}
	defer f.Close()
	return Parse(filepath.Base(file), f)
}
