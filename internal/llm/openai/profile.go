package openai

import (
	"net/url"
	"strings"
)

// Wire is the version of the byte format. It changes whenever the same messages
// would be encoded to other bytes; digests of another version cannot be derived.
const Wire = 1

// deepseekMaxTokens is sent when the header sets no limit, because the endpoint's
// own default is small and undocumented. It stays below the fifth of the window
// that compaction keeps free: prompt and limit together must fit.
const deepseekMaxTokens = 128_000

// Profile is how an endpoint wants its requests. Profiles are comparable values.
type Profile struct {
	Name string // as logged in Sent.Profile

	Thinking         bool   // DeepSeek's thinking switch, and reasoning_content on every assistant message
	MaxTokensField   string // what the output limit is called
	DefaultMaxTokens int    // sent when the header has none; 0 sends nothing
	EffortOff        string // reasoning_effort for "off"; "" sends nothing
	ThinkTags        bool   // a leading <think>..</think> in the text is reasoning
}

var profiles = []Profile{
	{Name: "deepseek", Thinking: true, MaxTokensField: "max_tokens", DefaultMaxTokens: deepseekMaxTokens},
	{Name: "openai", MaxTokensField: "max_completion_tokens", EffortOff: "none"},
	{Name: "lenient", MaxTokensField: "max_tokens", ThinkTags: true},
}

// ProfileNamed finds a profile by its name: deepseek, openai or lenient.
func ProfileNamed(name string) (Profile, bool) {
	for _, p := range profiles {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

// ProfileFor chooses the profile of an endpoint. The host of the base URL decides;
// without one, the provider's name does. Every other endpoint is lenient: it is
// sent the fields that all of them take.
func ProfileFor(provider, baseURL string) Profile {
	name := provider
	if u, err := url.Parse(baseURL); baseURL != "" && err == nil {
		name = "lenient"
		for _, known := range []string{"deepseek", "openai"} {
			if host := u.Hostname(); host == known+".com" || strings.HasSuffix(host, "."+known+".com") {
				name = known
			}
		}
	}
	if p, ok := ProfileNamed(name); ok {
		return p
	}
	p, _ := ProfileNamed("lenient")
	return p
}

// effort is the value of reasoning_effort for a level of the header; "" sends none.
func (p Profile) effort(level string) string {
	if level == "off" {
		return p.EffortOff
	}
	if !p.Thinking {
		return level
	}
	switch level { // DeepSeek knows low, high and max; what it may learn later passes
	case "minimal":
		return "low"
	case "medium", "xhigh":
		return "high"
	case "ultra":
		return "max"
	}
	return level
}
