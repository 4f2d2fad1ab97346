package llmtest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// TestSamplesPlayToTheirEnd talks to each sample script as a careful agent does, and
// wants the script done: so they are valid, complete, and refused nowhere.
func TestSamplesPlayToTheirEnd(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../../testdata/scripts/*.txt")
	if err != nil || len(files) < 9 {
		t.Fatalf("%d samples, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			script, err := Load(file)
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				s := NewServer(script)
				defer s.Close()
				newAgent(t, s).run()
				if err := s.Done(); err != nil {
					t.Error(err)
				}
				if err := s.PrefixStable(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// maxRequests bounds an agent that is never told to end.
const maxRequests = 300

// agent is a client in small: it knows calls and results, repairs what it must, and
// sends again what failed.
type agent struct {
	*client
	messages []string
	results  int
}

func newAgent(t *testing.T, s *Server) *agent {
	return &agent{client: pipeClient(t, s), messages: []string{sys, hi}}
}

func (a *agent) run() {
	for range maxRequests {
		status, _, stream, err := a.post(asks(`"stream":true,"tools":[`+tool+`]`, a.messages...))
		if status == 400 || status == 500 {
			a.t.Errorf("%d %s", status, stream)
			return
		}
		text, calls, finish := assemble(stream)
		if status != 200 || err != nil || text == "" && len(calls) == 0 || finish == "insufficient_system_resource" {
			continue
		}
		if len(calls) == 0 {
			return
		}
		a.answer(calls)
	}
	a.t.Errorf("no end after %d requests", maxRequests)
}

func (a *agent) answer(calls []string) {
	var sent, results []string
	for _, args := range calls {
		a.results++
		id := fmt.Sprintf("r%d", a.results)
		if !json.Valid([]byte(args)) || args[0] != '{' {
			args = "{}"
		}
		sent = append(sent, callWith(id, "read", args))
		results = append(results, strings.Replace(result, "c1", id, 1))
	}
	a.messages = append(append(a.messages, called(sent...)), results...)
}

// assemble reads a stream: the text, the calls' arguments, the last finish.
func assemble(stream string) (text string, calls []string, finish string) {
	for line := range strings.Lines(stream) {
		var chunk struct {
			Choices []struct {
				Delta struct {
					Content string
					Calls   []struct {
						Index    int
						Function struct{ Arguments string }
					} `json:"tool_calls"`
				}
				Finish string `json:"finish_reason"`
			}
		}
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok || json.Unmarshal([]byte(data), &chunk) != nil {
			continue
		}
		for _, c := range chunk.Choices {
			text, finish = text+c.Delta.Content, c.Finish
			for _, call := range c.Delta.Calls {
				if call.Index == len(calls) {
					calls = append(calls, "")
				}
				calls[call.Index] += call.Function.Arguments
			}
		}
	}
	return text, calls, finish
}
