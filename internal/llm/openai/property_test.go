package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"dsh/internal/llm"
)

// pick takes one of several.
func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// randomHistory is a conversation to which everything has happened that a log can
// go through: interrupts, crashes, duplicates, foreign ids, broken text.
func randomHistory(r *rand.Rand) []*llm.Message {
	var h []*llm.Message
	var asked []string // ids of all calls so far
	text := func() string {
		return pick(r, "hi", "", " \n", "a\x00b", "\xff\xfe", "长 <tag> \"quoted\"", "Continue.", "\u2028")
	}
	for range 2 + r.IntN(12) {
		switch r.IntN(6) {
		case 0, 1:
			h = append(h, userSays(text()))
		case 2:
			m := says(text())
			m.Content = append(m.Content, think1(text()))
			m.Source = pick(r, llm.Source{}, llm.Source{Kind: llm.FromModel, Provider: "deepseek", Model: "deepseek-flash"}, llm.Source{Kind: llm.FromModel, Provider: "p", Model: "m"})
			h = append(h, m)
		default:
			h = append(h, randomGroup(r, &asked, text)...)
		}
	}
	return h
}

// randomGroup is calls and what came of them.
func randomGroup(r *rand.Rand, asked *[]string, text func() string) []*llm.Message {
	m := &llm.Message{Role: llm.Assistant, Content: []llm.Block{think1(text()), llm.TextBlock(text())}}
	var results []*llm.Message
	for range 1 + r.IntN(4) {
		id := pick(r, "", "a", "b", "bash:0", "a#2", "a_2", "call_1_0", fmt.Sprint("id", r.IntN(99)), "an id that is longer than forty characters, ☃", "\xff\xff")
		name := pick(r, "read", "", "mcp.fs read", "читать", "\xff\xfe")
		m.Content = append(m.Content, callBlock(id, name, pick(r, "{}", "", `{"a":"\u0000\ud800"}`, "{", "null", "[1]", "\x00", ` { "a" : 1 } `, `{"a":1}{"a":1}`, "{\"a\":\"<\xff\xff\"}")))
		*asked = append(*asked, id)
		for range pick(r, 0, 1, 1, 1, 1, 2) {
			results = append(results, result(id, text()))
		}
	}
	if r.IntN(3) == 0 {
		r.Shuffle(len(results), func(i, j int) { results[i], results[j] = results[j], results[i] })
	}
	group := []*llm.Message{m}
	for _, res := range results {
		switch r.IntN(8) {
		case 0:
			group = append(group, userSays(text()))
		case 1:
			group = append(group, result(pick(r, *asked...), "orphan or late"))
		case 2:
			group = append(group, says(text()))
		case 3: // two in one message, as some logs have it
			res = &llm.Message{Role: llm.User, Content: append(append([]llm.Block{}, res.Content...), llm.TextBlock(text()))}
		}
		group = append(group, res)
	}
	return group
}

func TestPropertyAnyHistoryIsValidAtEveryPoint(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		h := randomHistory(rand.New(rand.NewPCG(seed, 1)))
		for _, p := range profiles {
			grown := NewEncoder(p)
			var before []byte
			stable := false
			for k := range len(h) + 1 {
				r := &llm.Request{Header: deepseekHeader, Messages: h[:k]}
				body, _, err := grown.Body(r, nil)
				if err != nil {
					t.Fatal(err)
				}
				if why := checkBody(body, p.Thinking); why != "" {
					t.Fatalf("seed %d, %s, %d of %d messages: %s\n%s", seed, p.Name, k, len(h), why, body)
				}
				if fresh, _, _ := NewEncoder(p).Body(r, nil); k%5 == int(seed%5) && !bytes.Equal(fresh, body) {
					t.Fatalf("seed %d, %s, %d messages: grown and fresh differ\n%s\n%s", seed, p.Name, k, body, fresh)
				}
				if stable && !bytes.HasPrefix(body, before) {
					t.Fatalf("seed %d, %s: message %d changed what was sent before\n%s\n%s", seed, p.Name, k, before, body)
				}
				before, stable = bytes.Clone(messagesOf(body)), settled(grown)
			}
		}
	}
}

// settled reports whether nothing provisional stands at the end of the array.
func settled(e *Encoder) bool { return len(e.norm.pending()) == 0 }

func TestPropertyFinalMessagesNeverChange(t *testing.T) {
	t.Parallel()
	p, _ := ProfileNamed("deepseek")
	for seed := range uint64(100) {
		h := randomHistory(rand.New(rand.NewPCG(seed, 2)))
		e := NewEncoder(p)
		var before []byte
		for k := range len(h) + 1 {
			prefix, _, _, err := e.parts(&llm.Request{Header: deepseekHeader, Messages: h[:k]}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.HasPrefix(prefix, before) {
				t.Fatalf("seed %d, message %d\n%s\n%s", seed, k, before, prefix)
			}
			before = bytes.Clone(prefix)
		}
	}
}

func TestPropertyNormalisingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		h := randomHistory(rand.New(rand.NewPCG(seed, 3)))
		for _, p := range profiles {
			once, _, err := NewEncoder(p).Body(&llm.Request{Header: deepseekHeader, Messages: h}, nil)
			if err != nil {
				t.Fatal(err)
			}
			twice, _, err := NewEncoder(p).Body(&llm.Request{Header: deepseekHeader, Messages: asHistory(t, once)}, nil)
			if err != nil || !bytes.Equal(once, twice) {
				t.Fatalf("seed %d, %s: %v\n%s\n%s", seed, p.Name, err, once, twice)
			}
		}
	}
}

func TestRQ14TheLogMakesTheSameBytes(t *testing.T) {
	t.Parallel()
	header := deepseekHeader
	header.System = "be <brief> & \xff\xfe\x00"
	header.Tools = []llm.ToolSchema{
		{Name: "a.b", Description: "x < y & \xff\xff", Parameters: json.RawMessage("{\"type\" : \"object\", \"description\": \"<a> \u2028 & \xff\xfe\"}")},
		{Name: "none"},
	}
	for seed := range uint64(100) {
		live := &llm.Request{Header: header, Messages: randomHistory(rand.New(rand.NewPCG(seed, 4)))}
		signed := callBlock("signed", "x", "{}")
		signed.Extra = json.RawMessage("{ \"s\" : \"<&> \u2028\" }")
		live.Messages = append(live.Messages, &llm.Message{Role: llm.Assistant, Content: []llm.Block{signed},
			Source: llm.Source{Kind: llm.FromModel, Provider: header.Config.Provider, Model: header.Config.Model}})
		line, err := json.Marshal(struct {
			Header   llm.Header
			Messages []*llm.Message
		}{live.Header, live.Messages})
		if err != nil {
			t.Fatal(err)
		}
		logged := &llm.Request{}
		if err := json.Unmarshal(line, &struct {
			Header   *llm.Header
			Messages *[]*llm.Message
		}{&logged.Header, &logged.Messages}); err != nil {
			t.Fatal(err)
		}
		for _, p := range profiles {
			was, _, err := NewEncoder(p).Body(live, nil)
			is, _, err2 := NewEncoder(p).Body(logged, nil)
			if err != nil || err2 != nil || !bytes.Equal(was, is) {
				t.Fatalf("seed %d, %s: %v %v\n%s\n%s", seed, p.Name, err, err2, was, is)
			}
		}
	}
}

// asHistory reads a body back.
func asHistory(t *testing.T, body []byte) []*llm.Message {
	t.Helper()
	var b checkedBody
	if err := json.Unmarshal(body, &b); err != nil {
		t.Fatal(err)
	}
	var h []*llm.Message
	for _, m := range b.Messages {
		switch m.Role {
		case "tool":
			h = append(h, result(*m.ToolCallID, *m.Content))
		case "assistant":
			a := &llm.Message{Role: llm.Assistant}
			if m.Reasoning != nil {
				a.Content = append(a.Content, think1(*m.Reasoning))
			}
			a.Content = append(a.Content, llm.TextBlock(*m.Content))
			for _, c := range m.ToolCalls {
				a.Content = append(a.Content, callBlock(c.ID, c.Function.Name, c.Function.Arguments))
			}
			h = append(h, a)
		default:
			h = append(h, userSays(*m.Content))
		}
	}
	return h
}
