package openai

import (
	"strings"

	"dsh/internal/llm"
)

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// leaks are the beginnings of DeepSeek's own grammar of tool calls. Backends that
// fail to parse it stream it as text.
var leaks = func() (list []string) {
	for _, bar := range []string{"｜", "|", "‖"} {
		for _, word := range []string{"tool_calls", "function_calls", "invoke"} {
			list = append(list, "<"+bar+"DSML"+bar+word)
		}
	}
	return list
}()

// splitter looks for markers in streamed text: reasoning in tags, and tool calls
// that leaked. It holds back what may be the beginning of one.
type splitter struct {
	tags   bool // look for a leading <think>
	began  bool // something but blanks has come
	inside bool // of the tags
	leaked bool // the rest is a call, not prose
	mid    bool // what was sent ends in the middle of a line
	held   string
}

// push takes text and sends on what is known to be text or reasoning.
func (s *splitter) push(in string, send func(llm.BlockType, string)) {
	if in == "" || s.leaked {
		return
	}
	s.held += in
	if s.tags && !s.began && !s.leading() {
		return
	}
	if s.inside {
		before, after, closed := strings.Cut(s.held, closeTag)
		if !closed {
			s.release(llm.Reasoning, []string{closeTag}, send)
			return
		}
		send(llm.Reasoning, before)
		s.inside, s.held = false, strings.TrimLeft(after, "\n")
	}
	if at := s.firstLeak(); at >= 0 {
		send(llm.Text, s.held[:at])
		s.held, s.leaked = "", true
		return
	}
	s.release(llm.Text, leaks, send)
}

// leading decides whether the text begins with the tag; false means not yet known.
func (s *splitter) leading() bool {
	start := strings.TrimLeft(s.held, " \n")
	if len(start) < len(openTag) && strings.HasPrefix(openTag, start) {
		return false
	}
	s.began = true
	if rest, ok := strings.CutPrefix(start, openTag); ok {
		s.inside, s.held = true, strings.TrimLeft(rest, "\n")
	}
	return true
}

// release sends all but an end that may be the beginning of a marker.
func (s *splitter) release(t llm.BlockType, markers []string, send func(llm.BlockType, string)) {
	keep := len(s.held)
	if i := strings.LastIndexByte(s.held, '<'); i >= 0 {
		for _, m := range markers {
			if strings.HasPrefix(m, s.held[i:]) {
				keep = i
			}
		}
	}
	if keep > 0 {
		s.mid = !s.startsLine(keep)
	}
	send(t, s.held[:keep])
	s.held = s.held[keep:]
}

// flush sends what was held back, at the end of the stream.
func (s *splitter) flush(send func(llm.BlockType, string)) {
	t := llm.Text
	if s.inside {
		t = llm.Reasoning
	}
	send(t, s.held)
	s.held = ""
}

// firstLeak is where a leaked call begins, at the start of a line; -1 if nowhere.
// In the middle of a line it is prose about such calls.
func (s *splitter) firstLeak() int {
	for from := 0; ; {
		i := strings.IndexByte(s.held[from:], '<')
		if i < 0 {
			return -1
		}
		at := from + i
		for _, m := range leaks {
			if strings.HasPrefix(s.held[at:], m) && s.startsLine(at) {
				return at
			}
		}
		from = at + 1
	}
}

// startsLine reports whether only blanks stand between a place in what is held and
// the beginning of its line.
func (s *splitter) startsLine(at int) bool {
	before := strings.TrimRight(s.held[:at], " \t")
	return before == "" && !s.mid || strings.HasSuffix(before, "\n")
}
