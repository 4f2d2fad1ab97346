package openai

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Repairs are what an endpoint taught by refusing a request, as they are logged in
// Sent.Repairs. Each is learned at most once for a model.
const (
	repairStreamOptions = "no-stream-options"     // it does not take stream_options
	repairReplay        = "reasoning-content"     // it wants reasoning_content replayed
	repairPlaceholder   = "reasoning-placeholder" // and not an empty one
	repairTokensField   = "max-completion-tokens" // it wants this instead of max_tokens
	repairMaxTokens     = "max-tokens="           // and a number: its largest output
)

// repairs is the parsed form.
type repairs struct {
	noStreamOptions bool
	replay          bool
	placeholder     string
	tokensField     string
	maxTokens       int
}

func parseRepairs(list []string) repairs {
	var r repairs
	for _, s := range list {
		switch {
		case s == repairStreamOptions:
			r.noStreamOptions = true
		case s == repairReplay:
			r.replay = true
		case s == repairPlaceholder:
			r.placeholder = " "
		case s == repairTokensField:
			r.tokensField = "max_completion_tokens"
		case strings.HasPrefix(s, repairMaxTokens):
			r.maxTokens, _ = strconv.Atoi(s[len(repairMaxTokens):])
		}
	}
	return r
}

// limit is the output limit to send and its field; 0 sends none.
func (r repairs) limit(p Profile, configured int) (limit int, field string) {
	limit, field = configured, p.MaxTokensField
	if limit == 0 {
		limit = p.DefaultMaxTokens
	}
	if r.maxTokens > 0 && limit > r.maxTokens {
		limit = r.maxTokens
	}
	if r.tokensField != "" {
		field = r.tokensField
	}
	return limit, field
}

var (
	wantsReasoning = regexp.MustCompile(`(?is)reasoning_content.*(must be passed back|is missing)`)
	tokensRange    = regexp.MustCompile(`(?i)valid range of max_(?:completion_)?tokens is \[\d+,\s*(\d+)\]`)
	wrongField     = regexp.MustCompile(`(?is)max_tokens.*max_completion_tokens`)
)

// learn finds the repair that answers a refusal. ok is false when there is none, or
// when it has been applied already and did not help.
func learn(p Profile, known []string, status int, text string) (repair string, ok bool) {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return "", false
	}
	switch {
	case strings.Contains(text, "stream_options"):
		repair = repairStreamOptions
	case wantsReasoning.MatchString(text):
		repair = repairReplay
		if p.Thinking || slices.Contains(known, repairReplay) {
			repair = repairPlaceholder
		}
	case tokensRange.MatchString(text):
		repair = repairMaxTokens + tokensRange.FindStringSubmatch(text)[1]
	case wrongField.MatchString(text):
		repair = repairTokensField
	}
	kind, _, _ := strings.Cut(repair, "=")
	for _, k := range known {
		if have, _, _ := strings.Cut(k, "="); have == kind {
			return "", false
		}
	}
	return repair, repair != ""
}
