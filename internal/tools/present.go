package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dsh/internal/llm"
	"dsh/internal/session"
)

const (
	maxTarget = 200 // bytes of a generic card's target
	maxReason = 100 // bytes of a failed card's reason
)

// Present shows a call for people: pending when r is nil. It is pure and total:
// arguments that do not parse, tools that do not exist here, and results whose meta
// is foreign or broken get a plain text card.
func (g *Registry) Present(name, rawArgs string, r *session.ToolResult) (d session.Display) {
	defer func() {
		if recover() != nil {
			d = genericCard(name, rawArgs, r)
		}
	}()
	e := g.find(name)
	doc, _, err := parseArgs(rawArgs)
	if e == nil || err != nil {
		if d, ok := storedDisplay(r); ok {
			return d
		}
		return genericCard(name, rawArgs, r)
	}
	return e.Display(doc, r)
}

// storedDisplay is the display a tool left in its result, if it can be drawn.
func storedDisplay(r *session.ToolResult) (session.Display, bool) {
	if r == nil {
		return session.Display{}, false
	}
	meta, ok := session.DecodeMeta(r.Meta)
	if !ok || meta.Display == nil || meta.Display.Verb == "" {
		return session.Display{}, false
	}
	switch meta.Display.Kind {
	case session.ShowText, session.ShowDiff, session.ShowCommand, session.ShowFiles,
		session.ShowMatches, session.ShowJob, session.ShowTodo, session.ShowImage:
		return *meta.Display, true
	}
	return session.Display{}, false
}

// genericCard shows any call: its name, its scalar arguments, its text.
func genericCard(name, rawArgs string, r *session.ToolResult) session.Display {
	d := session.Display{Kind: session.ShowText, Verb: name, Target: scalars(rawArgs)}
	return withResult(d, r)
}

// withResult adds a result's text, and the reason if it failed.
func withResult(d session.Display, r *session.ToolResult) session.Display {
	if r == nil {
		return d
	}
	d.Text = resultText(r)
	if reason := failure(r); reason != "" {
		d.Facts = append(d.Facts, reason)
	}
	return d
}

func scalars(rawArgs string) string {
	_, object, err := parseArgs(rawArgs)
	if err != nil {
		return headBytes(rawArgs, maxTarget)
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(object)) {
		switch v := object[k].(type) {
		case string, bool, float64:
			parts = append(parts, fmt.Sprintf("%s=%v", k, v))
		}
	}
	return headBytes(strings.Join(parts, " "), maxTarget)
}

// resultText is the text of a result, without the rest of its blocks.
func resultText(r *session.ToolResult) string {
	var sb strings.Builder
	for _, b := range r.Message.Content {
		if b.Type != llm.ToolResult {
			continue
		}
		for _, c := range b.Content {
			if c.Type == llm.Text {
				sb.WriteString(c.Text)
			}
		}
	}
	return sb.String()
}

// failed reports whether a result is an error.
func failed(r *session.ToolResult) bool {
	return r.Error != nil || slices.ContainsFunc(r.Message.Content, func(b llm.Block) bool { return b.IsError })
}

// reasons say in a few words what a code means.
var reasons = map[string]string{
	UnknownTool: "no such tool",
	InvalidArgs: "invalid arguments",
	Aborted:     "cancelled",
	SpawnFailed: "not started",
	ProcessLost: "lost",
	ToolTimeout: "took too long",

	SearchInvalidPattern: "invalid pattern",
	SearchFailed:         "nothing to search",
	SearchOverflow:       "too many matches",

	JobUnknown: "no such job",
	JobLimit:   "too many jobs",
	JobsClosed: "no jobs",
	Superseded: "not started, as the call before it runs on",

	FSNotFound:      "not found",
	FSNotDirectory:  "not a directory",
	FSNotRegular:    "not a file",
	FSNotText:       "not text",
	FSNotObserved:   "not read yet",
	FSStaleVersion:  "changed since it was read",
	FSEditNotFound:  "text not found",
	FSAmbiguousEdit: "text is not unique",
	FSAmbiguousName: "name is not unique",
	FSTooLarge:      "too large",
	FSPermission:    "permission denied",
}

// failure is why a call failed, in a few words; empty if it did not.
func failure(r *session.ToolResult) string {
	if !failed(r) {
		return ""
	}
	if r.Error != nil && reasons[r.Error.Code] != "" {
		return reasons[r.Error.Code]
	}
	line, _, _ := strings.Cut(strings.TrimPrefix(resultText(r), "Error: "), "\n")
	if line == "" {
		return "failed"
	}
	return headBytes(line, maxReason)
}

// decode reads arguments that passed the schema into a struct.
func decode(args json.RawMessage, v any) error {
	if err := json.Unmarshal(args, v); err != nil {
		return fail(InvalidArgs, "the arguments are invalid: %v", err)
	}
	return nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
