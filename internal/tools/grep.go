package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"dsh/internal/files"
	"dsh/internal/policy"
	"dsh/internal/session"
)

const (
	maxGrepInline  = 250 // matches, or files, that one result shows
	maxGrepContext = 20  // lines: who wants more reads the file
)

var grepSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{
"pattern":{"type":"string","description":"RE2 regular expression, matched within lines"},
"path":{"type":"string","description":"file or directory (default: the working directory)"},
"include":{"type":"string","description":"only files that match this glob, such as *.{ts,js}"},
"ignore_case":{"type":"boolean"},
"context":{"type":"integer","minimum":0,"description":"lines shown around each match (at most %d)"},
"output_mode":{"type":"string","enum":["content","files","count"],"description":"default content"},
"max":{"type":"integer","minimum":1,"description":"default and maximum %d"}},
"required":["pattern"]}`, maxGrepContext, maxGrepInline))

type grepTool struct{ timeout time.Duration }

type grepArgs struct {
	Pattern    string   `json:"pattern"`
	Path       string   `json:"path"`
	Include    string   `json:"include"`
	IgnoreCase bool     `json:"ignore_case"`
	Context    *float64 `json:"context"`
	OutputMode string   `json:"output_mode"`
	Max        *float64 `json:"max"`
}

// Grep is the tool that finds lines in files.
func Grep() Tool { return grepTool{searchTimeout} }

func (grepTool) Name() string { return "grep" }

func (grepTool) Description() string {
	return "Search file contents for a regular expression. " +
		"Hidden and git-ignored files are left out unless path names them."
}

func (grepTool) Schema() json.RawMessage { return grepSchema }

func (grepTool) Class() policy.Class { return policy.Read }

func (grepTool) Concurrent(json.RawMessage) bool { return true }

func (grepTool) Action(env Env, args json.RawMessage) (policy.Action, error) {
	var a grepArgs
	if err := decode(args, &a); err != nil {
		return policy.Action{}, err
	}
	if _, err := a.query(); err != nil {
		return policy.Action{}, err
	}
	p, err := start(env, a.Path)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Paths: []string{p.real}, Target: p.raw, Linked: p.linked}, nil
}

// query is what to search for.
func (a grepArgs) query() (q files.Query, err error) {
	if a.Pattern == "" {
		return q, fail(InvalidArgs, "pattern is empty: it would match every line. To list files, use glob.")
	}
	if q.Pattern, err = files.NewPattern(a.Pattern, a.IgnoreCase); err != nil {
		return q, fail(SearchInvalidPattern, "%v.", err)
	}
	if a.Include != "" {
		glob, err := includeGlob(a.Include)
		if err != nil {
			return q, err
		}
		q.Include = &glob
	}
	q.Context = min(whole(a.Context, 0), maxGrepContext)
	q.First = a.OutputMode == "files"
	q.Counts = a.OutputMode == "count"
	return q, nil
}

// includeGlob refuses what other tools take for a list or an exclusion: as a glob it
// would match nothing, and look as if nothing was there.
func includeGlob(pattern string) (files.Glob, error) {
	depth, comma := 0, false
	for _, c := range pattern {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			comma = comma || depth == 0
		}
	}
	if comma || strings.HasPrefix(pattern, "!") {
		return files.Glob{}, fail(SearchInvalidPattern, "include %q is a list or an exclusion: give one glob, with braces for alternatives, such as *.{ts,js}.", pattern)
	}
	glob, err := files.NewGlob(pattern)
	if err != nil {
		return glob, fail(SearchInvalidPattern, "include: %v.", err)
	}
	return glob, nil
}

func (t grepTool) Run(ctx context.Context, env Env, args json.RawMessage) (Result, error) {
	var a grepArgs
	if err := decode(args, &a); err != nil {
		return Result{}, err
	}
	q, err := a.query()
	if err != nil {
		return Result{}, err
	}
	p, err := start(env, a.Path)
	if err != nil {
		return Result{}, err
	}
	if err := p.judgedToo(env); err != nil {
		return Result{}, err
	}
	q.Clean, q.Part = env.clean, env.part
	var hits []files.Hits
	var skipped files.Skipped
	err = within(ctx, t.timeout, "grep", p, func(ctx context.Context) error {
		hits, skipped, err = files.Search(ctx, p.real, q, options(env, "grep", p))
		return err
	})
	if err != nil {
		return Result{}, err
	}
	g := grepped{hits: hits, base: p.base(env), mode: a.OutputMode, context: q.Context}
	for _, h := range hits {
		g.matches += h.Count
	}
	d := a.card()
	d.Facts = []string{g.fact()}
	text := g.text(env, min(whole(a.Max, maxGrepInline), maxGrepInline)) + notes(skipped)
	return Result{Text: text, Bounded: true, Meta: session.ResultMeta{Display: &d}}, nil
}

// grepped is what a search found.
type grepped struct {
	hits    []files.Hits
	matches int
	base    string
	mode    string
	context int
}

func (g grepped) fact() string {
	if g.matches == 0 {
		return "no matches"
	}
	if g.mode == "files" {
		return plural(len(g.hits), "file")
	}
	return matches(g.matches) + " in " + plural(len(g.hits), "file")
}

func matches(n int) string {
	if n == 1 {
		return "1 match"
	}
	return fmt.Sprintf("%d matches", n)
}

// text is the result, with at most so many matches, or files.
func (g grepped) text(env Env, limit int) string {
	if g.matches == 0 {
		return "No matches found"
	}
	var body strings.Builder
	shown, total, what := 0, g.matches, matches(g.matches)
	if g.mode == "files" || g.mode == "count" {
		shown, total, what = g.files(&body, limit, maxFoundInline), len(g.hits), plural(len(g.hits), "file")
	} else {
		shown = g.lines(&body, limit, maxFoundInline)
	}
	head, foot := "Found "+what, ""
	if shown < total {
		head = fmt.Sprintf("Found %d of %s", shown, what)
		foot = "\n\n(" + keep(env, "grep", func(w io.StringWriter) {
			if g.mode == "files" || g.mode == "count" {
				g.files(w, total, maxAll)
			} else {
				g.lines(w, total, maxAll)
			}
		}) + ")"
	}
	if g.mode == "count" {
		head += " with " + matches(g.matches)
	}
	return head + "\n\n" + strings.TrimSuffix(body.String(), "\n") + foot
}

// maxAll is no limit: the search itself has one.
const maxAll = 1 << 40

// files writes a line for each file, and returns how many.
func (g grepped) files(w io.StringWriter, limit, size int) int {
	for i, h := range g.hits {
		line := joined(g.base, h.Path)
		if g.mode == "count" {
			line += fmt.Sprintf(": %d", h.Count)
		}
		if size -= len(line) + 1; i == limit || size < 0 && i > 0 {
			return i
		}
		w.WriteString(line + "\n")
	}
	return len(g.hits)
}

// lines writes matches and their context, a group for each file, and returns how many.
func (g grepped) lines(w io.StringWriter, limit, size int) int {
	n := 0
	for i, h := range g.hits {
		if n == limit {
			return n
		}
		head := joined(g.base, h.Path) + "\n"
		if i > 0 {
			head = "\n" + head
		}
		last := 0
		for j, l := range h.Lines {
			if n == limit && (l.Match || l.Number > last+g.context) {
				return n
			}
			text := head + lineText(l)
			if g.context > 0 && j > 0 && l.Number > h.Lines[j-1].Number+1 {
				text = "--\n" + text
			}
			if size -= len(text); size < 0 && n > 0 {
				return n
			}
			w.WriteString(text)
			head = ""
			if l.Match {
				n, last = n+1, l.Number
			}
		}
	}
	return n
}

func lineText(l files.Line) string {
	mark, cut := ":", ""
	if !l.Match {
		mark = "-"
	}
	if l.Cut {
		cut = " [line cut]"
	}
	return fmt.Sprintf("Line %d%s %s%s\n", l.Number, mark, l.Text, cut)
}

func (a grepArgs) card() session.Display {
	d := session.Display{Kind: session.ShowMatches, Verb: "Grep", Target: `"` + a.Pattern + `"`}
	if a.Path != "" {
		d.Target += " in " + a.Path
	}
	if a.Include != "" {
		d.Target += " (" + a.Include + ")"
	}
	return d
}

func (grepTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	var a grepArgs
	if decode(args, &a) != nil {
		return genericCard("Grep", string(args), r)
	}
	return searchCard(a.card(), r)
}
