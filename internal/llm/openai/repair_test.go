package openai

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dsh/internal/llm"
)

// teacher refuses requests until they are as it wants them.
type teacher struct {
	t       *testing.T
	refuse  func(body string) string // the error text, "" to accept
	bodies  []string
	sent    []llm.Sent
	digests []string
}

func (s *teacher) respond(r *http.Request) (*http.Response, error) {
	body := string(drain(r))
	s.bodies = append(s.bodies, body)
	s.digests = append(s.digests, Digest([]byte(body)))
	if text := s.refuse(body); text != "" {
		return answer(400, "application/json", strings.NewReader(fmt.Sprintf(`{"error":{"message":%q}}`, text))), nil
	}
	return stream(strings.NewReader(plain))(), nil
}

func (s *teacher) ask() *llm.Request {
	r := ask("hi")
	r.Messages = append(r.Messages, userSays("then"), calls1(callBlock("call_1", "x", "{}")), result("call_1", "A"), userSays("and"), userSays("more"))
	r.Header.Config.MaxTokens, r.Header.Config.ReasoningEffort = 50_000, "high"
	r.BeforeSend = func(sent llm.Sent) error {
		if len(s.sent) != len(s.bodies) {
			s.t.Errorf("BeforeSend is called after %d requests, for request %d", len(s.bodies), len(s.sent)+1)
		}
		s.sent = append(s.sent, sent)
		return nil
	}
	return r
}

func TestLearnedRepairs(t *testing.T) {
	t.Parallel()
	const mustPass = "The `reasoning_content` in the thinking mode must be passed back to the API."
	for _, tc := range []struct {
		name, profile string
		refuse        func(body string) string
		repairs       []string
	}{
		{"U10 stream_options", "lenient", func(b string) string {
			if strings.Contains(b, "stream_options") {
				return "property 'stream_options' is unsupported"
			}
			return ""
		}, []string{"no-stream-options"}},
		{"E40 placeholder", "deepseek", func(b string) string {
			if strings.Contains(b, `"reasoning_content":""`) {
				return mustPass
			}
			return ""
		}, []string{"reasoning-placeholder"}},
		{"E40 on an endpoint that was not known to want it", "lenient", func(b string) string {
			if !strings.Contains(b, `"reasoning_content":" "`) {
				return "thinking is enabled but reasoning_content is missing in assistant message at index 2"
			}
			return ""
		}, []string{"reasoning-content", "reasoning-placeholder"}},
		{"E42 max_tokens", "deepseek", func(b string) string {
			if !strings.Contains(b, `"max_tokens":8192`) {
				return "Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"
			}
			return ""
		}, []string{"max-tokens=8192"}},
		{"E43 another field", "lenient", func(b string) string {
			if strings.Contains(b, `"max_tokens"`) {
				return "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
			}
			return ""
		}, []string{"max-completion-tokens"}},
		{"V09 no empty content", "lenient", func(b string) string {
			if strings.Contains(b, `"content":"",`) {
				return "Invalid request: text content is empty"
			}
			return ""
		}, []string{"no-empty-content"}},
		{"V07 ids of nine", "lenient", func(b string) string {
			if strings.Contains(b, `"call_1"`) {
				return "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."
			}
			return ""
		}, []string{"short-ids"}},
		{"V21 roles alternate", "lenient", func(b string) string {
			if strings.Contains(b, `{"role":"user","content":"more"}`) {
				return "Conversation roles must alternate user/assistant/user/assistant/..."
			}
			return ""
		}, []string{"merge-users"}},
		{"V22 no user after a tool", "lenient", func(b string) string {
			if strings.Contains(b, `"content":"A"},{"role":"user"`) {
				return "Unexpected role 'user' after role 'tool'"
			}
			return ""
		}, []string{"bridge-results"}},
		{"V27 no reasoning", "deepseek", func(b string) string {
			if strings.Contains(b, "reasoning_content") {
				return "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning_content' is unsupported)]"
			}
			return ""
		}, []string{"no-reasoning-content"}},
		{"V33 no thinking switch", "deepseek", func(b string) string {
			if strings.Contains(b, `"thinking":`) {
				return "thinking: Extra inputs are not permitted"
			}
			return ""
		}, []string{"no-thinking"}},
		{"V33 no effort", "lenient", func(b string) string {
			if strings.Contains(b, `"reasoning_effort":`) {
				return "Unrecognized request argument supplied: reasoning_effort"
			}
			return ""
		}, []string{"no-reasoning-effort"}},
		{"V30 no room for the answer", "lenient", func(b string) string {
			if !strings.Contains(b, `"max_tokens":16384`) {
				return "This model's maximum context length is 65536 tokens. However, you requested 50101 tokens (101 in the messages, 50000 in the completion)"
			}
			return ""
		}, []string{"max-tokens=16384"}},
		{"V30 in vLLM's words", "lenient", func(b string) string {
			if !strings.Contains(b, `"max_tokens":512`) {
				return "'max_tokens' or 'max_completion_tokens' is too large: 50000. This model's maximum context length is 2048 tokens and your request has 19 input tokens (50000 > 2048 - 19)."
			}
			return ""
		}, []string{"max-tokens=512"}},
		{"V31 the field and its largest value", "lenient", func(b string) string {
			switch {
			case strings.Contains(b, `"max_tokens"`):
				return "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'"
			case !strings.Contains(b, `"max_completion_tokens":8192`):
				return "Invalid max_completion_tokens value, the valid range of max_completion_tokens is [1, 8192]"
			}
			return ""
		}, []string{"max-completion-tokens", "max-tokens=8192"}},
		{"E43 and U10", "lenient", func(b string) string {
			switch {
			case strings.Contains(b, `"max_tokens"`):
				return "Unsupported parameter: 'max_tokens', use 'max_completion_tokens'"
			case strings.Contains(b, "stream_options"):
				return "stream_options: extra inputs are not permitted"
			}
			return ""
		}, []string{"max-completion-tokens", "no-stream-options"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := &teacher{t: t, refuse: tc.refuse}
			c := newClient(t, tc.profile, s.respond)
			r := s.ask()
			if o := run(t, c, r); o.text() != "a" || o.fin.Kind != llm.Stop {
				t.Fatalf("finish %+v %q", o.fin, o.message())
			}
			if len(s.bodies) != len(tc.repairs)+1 {
				t.Errorf("%d requests for %d repairs", len(s.bodies), len(tc.repairs))
			}
			run(t, c, r) // remembered
			if len(s.bodies) != len(tc.repairs)+2 {
				t.Errorf("the second request was refused again")
			}
			p, _ := ProfileNamed(tc.profile)
			for i, sent := range s.sent {
				known := min(i, len(tc.repairs))
				if !slices.Equal(sent.Repairs, tc.repairs[:known]) || sent.Repairs == nil || sent.SHA256 != s.digests[i] || sent.Bytes != len(s.bodies[i]) ||
					sent.Messages != strings.Count(s.bodies[i], `"role":`) || sent.Profile != tc.profile || sent.Wire != Wire {
					t.Errorf("request %d: %+v", i, sent)
				}
				again, n, err := NewEncoder(p).Body(r, sent.Repairs) // what audit does
				if err != nil || Digest(again) != sent.SHA256 || n != sent.Messages {
					t.Errorf("request %d cannot be derived: %v", i, err)
				}
			}
		})
	}
}

func TestE40ARepairIsTriedOnce(t *testing.T) {
	t.Parallel()
	for profile, want := range map[string]int{"deepseek": 2, "lenient": 3} {
		s := &teacher{t: t, refuse: func(string) string { return "reasoning_content must be passed back" }}
		c := newClient(t, profile, s.respond)
		for i := range 2 {
			o := run(t, c, s.ask())
			if o.code() != llm.CodeInvalidRequest || !strings.Contains(o.message(), "must be passed back") || len(s.bodies) != want+i {
				t.Errorf("%s: %s %q after %d requests", profile, o.code(), o.message(), len(s.bodies))
			}
		}
	}
}

func TestE42RepairsAreRememberedByModel(t *testing.T) {
	t.Parallel()
	s := &teacher{t: t, refuse: func(b string) string {
		if strings.Contains(b, `"model":"small"`) && !strings.Contains(b, `"max_tokens":100}`) {
			return "the valid range of max_tokens is [1, 100]"
		}
		return ""
	}}
	c := newClient(t, "lenient", s.respond)
	for _, model := range []string{"small", "large", "small"} {
		r := s.ask()
		r.Header.Config.Model = model
		run(t, c, r)
	}
	if len(s.bodies) != 4 || !strings.Contains(s.bodies[2], `"max_tokens":50000}`) {
		t.Errorf("%d requests:\n%s", len(s.bodies), strings.Join(s.bodies, "\n"))
	}
}

func TestOtherRefusalsTeachNothing(t *testing.T) {
	t.Parallel()
	s := &teacher{t: t, refuse: func(string) string { return "messages[3].content: wrong" }}
	if run(t, newClient(t, "deepseek", s.respond), s.ask()); len(s.bodies) != 1 {
		t.Errorf("%d requests", len(s.bodies))
	}
	if _, ok := learn(profiles[0], nil, 500, "stream_options"); ok {
		t.Error("a server error teaches")
	}
	for _, text := range []string{
		"Unsupported value: 'reasoning_effort' does not support 'minimal' with this model. Supported values are: 'low', 'medium', and 'high'.",
		"the reasoning_content of message 3 is too long", "the model's thinking stopped",
		"This model's maximum context length is 65536 tokens. However, you requested 66343 tokens (62247 in the messages, 4096 in the completion)", // a shorter conversation helps, not a shorter answer
		"This model's maximum context length is 0 tokens and your request has 19 input tokens", "the valid range of temperature is [0, 2]",
	} {
		for _, p := range profiles {
			if repair, ok := learn(p, nil, 400, text); ok {
				t.Errorf("%s learns %s of %q", p.Name, repair, text)
			}
		}
	}
}

func TestBeforeSendCanRefuse(t *testing.T) {
	t.Parallel()
	disk := errors.New("the disk is full")
	requests := 0
	c := newClient(t, "deepseek", func(r *http.Request) (*http.Response, error) {
		requests++
		return stream(strings.NewReader(plain))(), nil
	})
	r := ask("hi")
	r.BeforeSend = func(llm.Sent) error { return disk }
	o := run(t, c, r)
	if !errors.Is(o.err, disk) || len(o.chunks) != 0 || requests != 0 {
		t.Errorf("error %v, %d chunks, %d requests", o.err, len(o.chunks), requests)
	}
}

func TestARequestThatCannotBeEncodedIsOurFault(t *testing.T) {
	t.Parallel()
	r := ask("hi")
	r.Header.Tools = []llm.ToolSchema{{Name: "a"}, {Name: "a"}}
	if o := run(t, newClient(t, "deepseek", serving(plain)), r); o.err == nil || len(o.chunks) != 0 || !strings.Contains(o.err.Error(), `"a"`) {
		t.Errorf("error %v, chunks %+v", o.err, o.chunks)
	}
}
