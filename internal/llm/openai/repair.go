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
	repairThinking      = "no-thinking"           // nor the thinking switch
	repairEffort        = "no-reasoning-effort"   // nor an effort
	repairNoReplay      = "no-reasoning-content"  // nor reasoning_content on messages
	repairReplay        = "reasoning-content"     // it wants reasoning_content replayed
	repairPlaceholder   = "reasoning-placeholder" // and not an empty one
	repairEmptyContent  = "no-empty-content"      // no content key beside calls, where there is no text
	repairMergeUsers    = "merge-users"           // users and assistants alternate: one message for neighbours
	repairBridge        = "bridge-results"        // an assistant speaks between a result and the user
	repairShortIDs      = "short-ids"             // call ids of nine letters and digits
	repairTokensField   = "max-completion-tokens" // it wants this instead of max_tokens
	repairMaxTokens     = "max-tokens="           // and a number: its largest output
)

// repairs is the parsed form.
type repairs struct {
	noStreamOptions, noThinking, noEffort bool

	noReplay, replay bool
	placeholder      string
	noEmptyContent   bool
	mergeUsers       bool
	bridge           bool
	shortIDs         bool
	tokensField      string
	maxTokens        int
}

func parseRepairs(list []string) repairs {
	var r repairs
	for _, s := range list {
		switch s {
		case repairStreamOptions:
			r.noStreamOptions = true
		case repairThinking:
			r.noThinking = true
		case repairEffort:
			r.noEffort = true
		case repairNoReplay:
			r.noReplay, r.replay = true, false
		case repairReplay:
			r.noReplay, r.replay = false, true
		case repairPlaceholder:
			r.placeholder = " "
		case repairEmptyContent:
			r.noEmptyContent = true
		case repairMergeUsers:
			r.mergeUsers = true
		case repairBridge:
			r.bridge = true
		case repairShortIDs:
			r.shortIDs = true
		case repairTokensField:
			r.tokensField = "max_completion_tokens"
		default:
			if n, ok := strings.CutPrefix(s, repairMaxTokens); ok {
				r.maxTokens, _ = strconv.Atoi(n)
			}
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
	noRoom         = regexp.MustCompile(`(?is)maximum context length is (\d+) tokens.*?(?:\((\d+) in the messages|has (\d+) input tokens)`)
)

// wrongValue is a refusal of what a field holds: the user chose it and is told.
var wrongValue = regexp.MustCompile(`(?i)supported values|(?:unsupported|invalid) value`)

// lessons are refusals that say by their words alone what would be taken.
var lessons = []struct {
	says   *regexp.Regexp
	repair string
}{
	{regexp.MustCompile(`stream_options`), repairStreamOptions},
	{regexp.MustCompile(`(?i)roles must alternate`), repairMergeUsers},
	{regexp.MustCompile(`(?i)unexpected role .?user.? after role .?tool`), repairBridge},
	{regexp.MustCompile(`(?is)tool.call.id.*length of 9`), repairShortIDs},
	{regexp.MustCompile(`(?i)text content is empty`), repairEmptyContent},
	{unknownField("reasoning_content"), repairNoReplay},
	{unknownField("reasoning_effort"), repairEffort},
	{unknownField("thinking"), repairThinking},
}

// unknownField matches how endpoints say that they do not take a field: before its
// name or after it.
func unknownField(name string) *regexp.Regexp {
	const no = `(?:unsupported|not supported|does not support|unrecognized|unknown|unexpected|extra inputs|extra_forbidden|not permitted|not allowed)`
	return regexp.MustCompile(`(?is)` + no + `.{0,60}\b` + name + `\b|\b` + name + `\b.{0,60}` + no)
}

// learn finds the repair that answers a refusal. ok is false when there is none, or
// when it has been applied already and did not help.
func learn(p Profile, known []string, status int, text string) (repair string, ok bool) {
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity {
		return "", false
	}
	if repair = lesson(p, known, text); repair == "" {
		return "", false
	}
	kind, _, _ := strings.Cut(repair, "=")
	for _, k := range known {
		if have, _, _ := strings.Cut(k, "="); have == kind {
			return "", false
		}
	}
	return repair, true
}

func lesson(p Profile, known []string, text string) string {
	switch {
	case wantsReasoning.MatchString(text):
		if p.Thinking && !slices.Contains(known, repairNoReplay) || slices.Contains(known, repairReplay) {
			return repairPlaceholder
		}
		return repairReplay
	case tokensRange.MatchString(text):
		return repairMaxTokens + tokensRange.FindStringSubmatch(text)[1]
	case noRoom.MatchString(text):
		return lessOutput(noRoom.FindStringSubmatch(text))
	case wrongField.MatchString(text):
		return repairTokensField
	}
	for _, l := range lessons {
		if l.says.MatchString(text) && !wrongValue.MatchString(text) {
			return l.repair
		}
	}
	return ""
}

// outputShare is the part of a window that is left to answers when prompt and output
// limit together do not fit into it: the fourth part, so that the same limit still
// fits when the conversation has grown.
const outputShare = 4

// lessOutput is the repair when the prompt alone would leave room for an answer; if
// it does not, only a shorter conversation helps, which is not the wire's business.
func lessOutput(m []string) string {
	window, _ := strconv.Atoi(m[1])
	prompt, _ := strconv.Atoi(m[2] + m[3]) // one of them is empty
	limit := window / outputShare
	if limit == 0 || prompt > window-limit {
		return ""
	}
	return repairMaxTokens + strconv.Itoa(limit)
}
