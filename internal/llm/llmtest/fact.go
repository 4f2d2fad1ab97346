package llmtest

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// request is what facts and templates look at. It is read leniently: a body that
// is no request shows nothing.
type request struct {
	body     []byte
	number   int // from 1
	model    string
	messages []message
	tools    []string
	stream   bool // asked for
	usage    bool // asked for
	window   int  // tokens asked for: 4 bytes of the body each, and max_tokens
}

// bytesPerToken is the estimate behind the setting window.
const bytesPerToken = 4

type message struct {
	role  string
	text  string
	args  []string // of calls
	calls []string // ids
}

func readRequest(number int, body []byte) *request {
	var raw struct {
		Model    string
		Messages []struct {
			Role    string
			Content json.RawMessage
			Calls   []struct {
				ID       string
				Function struct{ Arguments string }
			} `json:"tool_calls"`
		}
		Tools []struct {
			Function struct{ Name string }
		}
		Stream  bool
		Options struct {
			Usage bool `json:"include_usage"`
		} `json:"stream_options"`
		MaxTokens           int `json:"max_tokens"`
		MaxCompletionTokens int `json:"max_completion_tokens"`
	}
	_ = json.Unmarshal(body, &raw) // the validator says what is wrong with it
	q := &request{body: body, number: number, model: raw.Model, stream: raw.Stream, usage: raw.Options.Usage,
		window: len(body)/bytesPerToken + max(raw.MaxTokens, raw.MaxCompletionTokens)}
	for _, m := range raw.Messages {
		msg := message{role: m.Role, text: plainText(m.Content)}
		for _, c := range m.Calls {
			msg.calls = append(msg.calls, c.ID)
			msg.args = append(msg.args, c.Function.Arguments)
		}
		q.messages = append(q.messages, msg)
	}
	for _, t := range raw.Tools {
		q.tools = append(q.tools, t.Function.Name)
	}
	return q
}

// plainText is the text of a content, a string or an array of parts.
func plainText(content json.RawMessage) string {
	var s string
	if json.Unmarshal(content, &s) == nil {
		return s
	}
	var parts []struct{ Text string }
	_ = json.Unmarshal(content, &parts) // anything else has no text
	for _, p := range parts {
		s += p.Text
	}
	return s
}

// newest are the messages that no answer has been given to.
func (q *request) newest() []message {
	for i := len(q.messages) - 1; i >= 0; i-- {
		if q.messages[i].role == "assistant" {
			return q.messages[i+1:]
		}
	}
	return q.messages
}

func (q *request) results() int {
	n := 0
	for _, m := range q.messages {
		if m.role == "tool" {
			n++
		}
	}
	return n
}

// lastCall is the highest N of the ids call_<N> in the request.
func (q *request) lastCall() int {
	last := 0
	for _, m := range q.messages {
		for _, id := range m.calls {
			if n, err := strconv.Atoi(strings.TrimPrefix(id, "call_")); err == nil {
				last = max(last, n)
			}
		}
	}
	return last
}

// fact is something that a request shows or does not.
type fact struct {
	source string // as it is written
	holds  func(*request) bool
}

func parseFact(source string) (fact, error) {
	word, rest, _ := strings.Cut(source, " ")
	rest = strings.TrimSpace(rest)
	if word == "not" {
		inner, err := parseFact(rest)
		return fact{source, func(q *request) bool { return !inner.holds(q) }}, err
	}
	if parse := namedFacts[word]; parse != nil {
		holds, err := parse(rest)
		return fact{source, holds}, err
	}
	holds, err := textFact(source, func(q *request) []string { return texts(q.newest()) })
	return fact{source, holds}, err
}

var namedFacts = map[string]func(arg string) (func(*request) bool, error){
	"any": func(arg string) (func(*request) bool, error) {
		return textFact(arg, func(q *request) []string {
			all := texts(q.messages)
			for _, m := range q.messages {
				all = append(all, m.args...)
			}
			return all
		})
	},
	"system": func(arg string) (func(*request) bool, error) {
		return textFact(arg, func(q *request) []string {
			return texts(slices.DeleteFunc(slices.Clone(q.messages), func(m message) bool {
				return m.role != "system" && m.role != "developer"
			}))
		})
	},
	"body": func(arg string) (func(*request) bool, error) {
		return textFact(arg, func(q *request) []string { return []string{string(q.body)} })
	},
	"tool": func(arg string) (func(*request) bool, error) {
		return func(q *request) bool { return slices.Contains(q.tools, arg) }, oneWord(arg)
	},
	"model": func(arg string) (func(*request) bool, error) {
		return func(q *request) bool { return q.model == arg }, oneWord(arg)
	},
	"results": func(arg string) (func(*request) bool, error) {
		lo, hi, err := parseRange(arg)
		return func(q *request) bool { n := q.results(); return lo <= n && n <= hi }, err
	},
}

func textFact(arg string, in func(*request) []string) (func(*request) bool, error) {
	text, err := strconv.Unquote(arg)
	if err != nil || text == "" || arg[0] != '"' {
		return nil, fmt.Errorf(`want "text", any "text", system "text", body "text", tool NAME, model NAME, results N or not FACT, not %q`, arg)
	}
	return func(q *request) bool {
		return slices.ContainsFunc(in(q), func(s string) bool { return strings.Contains(s, text) })
	}, nil
}

func texts(messages []message) []string {
	var all []string
	for _, m := range messages {
		all = append(all, m.text)
	}
	return all
}

func oneWord(arg string) error {
	if arg == "" || strings.ContainsAny(arg, " \t\"") {
		return fmt.Errorf("want one name, not %q", arg)
	}
	return nil
}

var numberRange = regexp.MustCompile(`^(\d{1,9})(\.\.(\d{1,9})?)?$`)

func parseRange(arg string) (lo, hi int, err error) {
	m := numberRange.FindStringSubmatch(arg)
	if m == nil {
		return 0, 0, fmt.Errorf("want N, N.. or N..M, not %q", arg)
	}
	lo, _ = strconv.Atoi(m[1]) // nine digits
	switch {
	case m[2] == "":
		hi = lo
	case m[3] == "":
		hi = math.MaxInt
	default:
		hi, _ = strconv.Atoi(m[3])
	}
	return lo, hi, nil
}
