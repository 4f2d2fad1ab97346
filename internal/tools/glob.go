package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"dsh/internal/files"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// maxGlobInline is how many paths one result shows: who wants more wants a list to
// work through, not to read.
const maxGlobInline = 100

var globSchema = json.RawMessage(`{"type":"object","properties":{
"pattern":{"type":"string","description":"such as **/*.go; without / it matches names at any depth"},
"path":{"type":"string","description":"directory (default: the working directory)"}},
"required":["pattern"]}`)

type globTool struct{ timeout time.Duration }

type globArgs struct {
	Pattern string `json:"pattern"`
	Path    string `json:"path"`
}

// Glob is the tool that finds files by their paths.
func Glob() Tool { return globTool{searchTimeout} }

func (globTool) Name() string { return "glob" }

func (globTool) Description() string {
	return fmt.Sprintf("Find files by a path pattern, the newest first, at most %d. "+
		"Hidden and git-ignored files are left out unless the pattern or path names them.", maxGlobInline)
}

func (globTool) Schema() json.RawMessage { return globSchema }

func (globTool) Class() policy.Class { return policy.Read }

func (globTool) Concurrent(json.RawMessage) bool { return true }

// globbed is a call that can be done.
type globbed struct {
	globArgs
	glob files.Glob // for paths below from
	root place      // where the pattern begins
	from place      // where the walk begins: the part of the pattern without stars is a path
	vcs  bool       // which leads to where version control keeps its own
}

func globOf(env Env, args json.RawMessage) (g globbed, err error) {
	if err := decode(args, &g.globArgs); err != nil {
		return g, err
	}
	path, pattern := g.Path, g.Pattern
	if strings.TrimSpace(pattern) == "" {
		return g, fail(InvalidArgs, "pattern is blank: ** finds all files")
	}
	if path == "" && filepath.IsAbs(pattern) && strings.Contains(pattern[1:], "/") {
		path, pattern = "/", pattern[1:]
	}
	if name, ok := unquoted(pattern); ok {
		pattern = name
	}
	glob, err := files.NewGlob(pattern)
	if err != nil {
		return g, fail(SearchInvalidPattern, "%v.", err)
	}
	if g.root, err = start(env, path); err != nil {
		return g, err
	}
	dir, rest := glob.Split()
	g.glob, g.from, g.vcs = rest, g.root, files.OfRepository(dir)
	if dir != "." {
		g.from, err = locate(env, filepath.Join(g.root.abs, dir))
	}
	return g, err
}

func (globTool) Action(env Env, args json.RawMessage) (policy.Action, error) {
	g, err := globOf(env, args)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Paths: []string{g.from.real}, Target: g.from.raw, Linked: g.from.linked}, nil
}

func (t globTool) Run(ctx context.Context, env Env, args json.RawMessage) (Result, error) {
	g, err := globOf(env, args)
	if err != nil {
		return Result{}, err
	}
	if err := g.from.judgedToo(env); err != nil {
		return Result{}, err
	}
	if _, err := os.Stat(g.root.real); err != nil {
		return Result{}, searchFailed(g.root, err)
	}
	if !isDir(g.root.real) {
		return Result{}, fail(SearchFailed, "%s is a file, and glob finds files in a directory.", named(g.root.abs))
	}
	var found []files.File
	var skipped files.Skipped
	if isDir(g.from.real) && !g.vcs {
		err = within(ctx, t.timeout, "glob", g.from, func(ctx context.Context) error {
			found, skipped, err = files.Find(ctx, g.from.real, g.glob, options(env, "glob", g.from))
			return err
		})
		if err != nil {
			return Result{}, err
		}
	}
	d := g.card()
	d.Facts = []string{plural(len(found), "file")}
	return Result{Text: g.text(env, found, skipped), Bounded: true, Meta: session.ResultMeta{Display: &d}}, nil
}

func (g globbed) text(env Env, found []files.File, skipped files.Skipped) string {
	if len(found) == 0 {
		return "No files found" + notes(skipped)
	}
	base := g.from.base(env)
	var sb strings.Builder
	n := 0
	for ; n < min(len(found), maxGlobInline) && sb.Len() < maxFoundInline; n++ {
		sb.WriteString(joined(base, found[n].Path) + "\n")
	}
	if n < len(found) {
		fmt.Fprintf(&sb, "(%d of %d files, the newest; %s)\n", n, len(found), keep(env, "glob", func(w io.StringWriter) {
			for _, f := range found {
				w.WriteString(joined(base, f.Path) + "\n")
			}
		}))
	}
	return strings.TrimSuffix(sb.String(), "\n") + notes(skipped)
}

func (a globArgs) card() session.Display {
	d := session.Display{Kind: session.ShowFiles, Verb: "Glob", Target: a.Pattern}
	if a.Path != "" {
		d.Target += " in " + a.Path
	}
	return d
}

func (globTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	var a globArgs
	if decode(args, &a) != nil {
		return genericCard("Glob", string(args), r)
	}
	return searchCard(a.card(), r)
}
