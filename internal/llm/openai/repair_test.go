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
	r.Messages = append(r.Messages, says("ok"), userSays("more"))
	r.Header.Config.MaxTokens = 50_000
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
				return "thinking is enabled but reasoning_content is missing in assistant message at index 1"
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
					sent.Messages != 3 || sent.Profile != tc.profile || sent.Wire != Wire {
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
