package openai

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"dsh/internal/llm"
)

var checkShortID = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

// checkArranged is what an endpoint with strict templates refuses, "" if nothing.
func checkArranged(body []byte) string {
	var b checkedBody
	if err := json.Unmarshal(body, &b); err != nil {
		return err.Error()
	}
	for i, m := range b.Messages {
		last := ""
		if i > 0 {
			last = b.Messages[i-1].Role
		}
		switch {
		case m.Role == "user" && last == "user":
			return "V21 two users in a row"
		case m.Role == "user" && last == "tool":
			return "V22 a user after a result"
		}
		for _, c := range m.ToolCalls {
			if !checkShortID.MatchString(c.ID) {
				return "V07 id " + c.ID
			}
		}
	}
	return ""
}

// With all that a strict template can ask for, every history is still valid, and the
// bytes do not depend on how the encoder came to it.
func TestPropertyV21V22V07AnyHistoryFitsAStrictTemplate(t *testing.T) {
	t.Parallel()
	repairs := []string{repairMergeUsers, repairBridge, repairShortIDs}
	for seed := range uint64(25) {
		h := randomHistory(rand.New(rand.NewPCG(seed, 5)))
		for _, p := range profiles {
			grown := NewEncoder(p)
			var before []byte
			for k := range len(h) + 1 {
				r := &llm.Request{Header: deepseekHeader, Messages: h[:k]}
				body, n, err := grown.Body(r, repairs)
				if err != nil {
					t.Fatal(err)
				}
				why := checkBody(body, p.Thinking)
				if why == "" {
					why = checkArranged(body)
				}
				if why != "" || n != strings.Count(string(body), `{"role":`) {
					t.Fatalf("seed %d, %s, %d of %d messages (%d): %s\n%s", seed, p.Name, k, len(h), n, why, body)
				}
				if fresh, _, _ := NewEncoder(p).Body(r, repairs); k%5 == int(seed%5) && !bytes.Equal(fresh, body) {
					t.Fatalf("seed %d, %s, %d messages: grown and fresh differ\n%s\n%s", seed, p.Name, k, body, fresh)
				}
				prefix, _, _, _ := grown.parts(r, repairs)
				if !bytes.HasPrefix(prefix, before) {
					t.Fatalf("seed %d, message %d changed what was final\n%s\n%s", seed, k, before, prefix)
				}
				before = bytes.Clone(prefix)
			}
		}
	}
}

func TestV21V22Arranged(t *testing.T) {
	t.Parallel()
	history := []*llm.Message{userSays("rules"), userSays("hi"), calls1(callBlock("call_long", "x", "{}")), result("call_long", "A"), userSays("wait"), userSays("stop")}
	for _, tc := range []struct {
		name, want string
		repairs    []string
	}{
		{"none", "u:rules | u:hi | a: call_long=x({}) | t(call_long):A | u:wait | u:stop", nil},
		{"V21", "u:rules\n\nhi | a: call_long=x({}) | t(call_long):A | u:wait\n\nstop", []string{repairMergeUsers}},
		{"V22", "u:rules | u:hi | a: call_long=x({}) | t(call_long):A | a:Understood. | u:wait | u:stop", []string{repairBridge}},
		{"V07", "u:rules | u:hi | a: " + hash("call_long", 9) + "=x({}) | t(" + hash("call_long", 9) + "):A | u:wait | u:stop", []string{repairShortIDs}},
	} {
		p, _ := ProfileNamed("lenient")
		body, _, err := NewEncoder(p).Body(&llm.Request{Header: deepseekHeader, Messages: history}, tc.repairs)
		if got := brief(string(body)); err != nil || got != tc.want {
			t.Errorf("%s: %v\n got %s\nwant %s", tc.name, err, got, tc.want)
		}
	}
}

// What a body may hold, profile by profile: strict servers refuse everything else.
func TestV33V32NoFieldThatTheProfileDoesNotList(t *testing.T) {
	t.Parallel()
	common := []string{"model", "messages", "stream", "stream_options", "tools", "reasoning_effort"}
	fields := map[string][]string{
		"deepseek": append([]string{"thinking", "max_tokens"}, common...),
		"openai":   append([]string{"max_completion_tokens"}, common...),
		"lenient":  append([]string{"max_tokens"}, common...),
	}
	ofMessage := map[string]string{"system": "role content", "user": "role content", "tool": "role tool_call_id content", "assistant": "role content tool_calls"}
	for name, listed := range fields {
		h := llm.Header{System: "s", Config: llm.Config{Provider: "p", Model: "m", MaxTokens: 9, ReasoningEffort: "high"}, Tools: []llm.ToolSchema{{Name: "x"}}}
		history := []*llm.Message{userSays("hi"), calls1(think1("hm"), callBlock("a", "x", "{}")), result("a", "A"), says("ok"), userSays("more")}
		body := encoded(t, name, h, history...)
		var top map[string]json.RawMessage
		var messages []map[string]json.RawMessage
		if json.Unmarshal([]byte(body), &top) != nil || json.Unmarshal(top["messages"], &messages) != nil {
			t.Fatal(body)
		}
		for key := range top {
			if !strings.Contains(" "+strings.Join(listed, " ")+" ", " "+key+" ") {
				t.Errorf("%s sends %s", name, key)
			}
		}
		for _, m := range messages {
			var role string
			_ = json.Unmarshal(m["role"], &role)
			allowed := " " + ofMessage[role] + " "
			if name == "deepseek" && role == "assistant" {
				allowed += "reasoning_content "
			}
			for key := range m {
				if !strings.Contains(allowed, " "+key+" ") {
					t.Errorf("%s sends %s in a message of %s", name, key, role)
				}
			}
		}
	}
}

// A history with calls is refused where the request offers no tools: the encoder
// sends the header's, whatever the history.
func TestV16ToolsGoWithEveryRequest(t *testing.T) {
	t.Parallel()
	h := deepseekHeader
	h.Tools = []llm.ToolSchema{{Name: "x"}, {Name: "gone.now"}}
	var tools string
	history := []*llm.Message{userSays("hi"), calls1(callBlock("a", "x", "{}")), result("a", "A"), userSays("summarise")}
	for k := 1; k <= len(history); k++ {
		body := encoded(t, "openai", h, history[:k]...)
		_, got, ok := strings.Cut(body, `,"tools":`)
		if !ok || tools != "" && got != tools {
			t.Errorf("%d messages: tools %q, before %q", k, got, tools)
		}
		tools = got
	}
}
