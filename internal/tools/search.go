package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dsh/internal/files"
	"dsh/internal/policy"
	"dsh/internal/session"
)

const (
	// searchTimeout ends a search of a tree that was not meant to be searched whole.
	searchTimeout = 30 * time.Second
	// maxFoundInline bounds what a result shows of what was found, in bytes; what is
	// beyond it is in the artifact.
	maxFoundInline = 40 << 10
)

// errSlow is the cause of a search that was ended by its deadline.
var errSlow = errors.New("the search took too long")

// start is where a search begins: the working directory if no path is given.
func start(env Env, path string) (place, error) {
	if path == "" {
		path = "."
	}
	return locate(env, path)
}

// options are those of every search.
func options(env Env, tool string, from place) files.Options {
	o := files.Options{Project: env.Cwd}
	if env.Judge == nil {
		return o
	}
	ask := func(path, target string) session.Verdict {
		return env.Judge(policy.Action{Tool: tool, Class: policy.Read, Paths: []string{path}, Target: target})
	}
	verdicts := []session.Verdict{session.Allow, session.Ask, session.Deny}
	may := slices.Index(verdicts, ask(from.real, from.raw)) // or the call would not run
	o.Withheld = func(path string) bool {
		return path != from.real && slices.Index(verdicts, ask(path, path)) > may
	}
	return o
}

// within runs a search under its deadline, and gives its failures their codes.
func within(ctx context.Context, timeout time.Duration, name string, from place, search func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errSlow)
	defer cancel()
	err := search(ctx)
	switch {
	case err == nil:
		return nil
	case context.Cause(ctx) == errSlow:
		return fail(ToolTimeout, "%s was ended after %d ms. Narrow it: give a path or a more exact pattern.", name, timeout.Milliseconds())
	case isCancel(err):
		return err
	case errors.Is(err, files.ErrTooMuch):
		return fail(SearchOverflow, "%s found more than can be listed. Narrow the pattern, or give a path to search in.", name)
	}
	return searchFailed(from, err)
}

func searchFailed(from place, err error) error {
	var ofPath *fs.PathError
	if errors.As(err, &ofPath) {
		err = ofPath.Err
	}
	return fail(SearchFailed, "cannot search %s: %v", named(from.abs), err)
}

// base is what stands before the paths that a search gives: they are shown relative to
// the working directory if they are in it.
func (p place) base(env Env) string {
	rel, err := filepath.Rel(env.Cwd, p.abs)
	switch {
	case err != nil || !filepath.IsLocal(rel):
		return p.abs
	case rel == ".":
		return ""
	}
	return rel
}

func joined(base, rel string) string {
	if rel == "." {
		return named(base)
	}
	return named(path.Join(base, rel))
}

// keep saves the complete list, without secrets, and says in a few words where it is.
func keep(env Env, kind string, list func(io.StringWriter)) string {
	const advice = "narrow the search to see others"
	if env.Save == nil {
		return "there is no place to keep the complete list: " + advice
	}
	path, err := env.Save(kind, func(w io.Writer) error {
		var text strings.Builder // the search bounds it
		list(&text)
		_, err := io.WriteString(w, env.clean(text.String()))
		return err
	})
	switch {
	case err != nil && path == "":
		return fmt.Sprintf("the complete list could not be kept (%v): %s", err, advice)
	case err != nil:
		return fmt.Sprintf("the beginning of the list is in %s (%v): %s", path, err, advice)
	}
	return fmt.Sprintf("the complete list is in %s: read it with offset and limit, or narrow the search", path)
}

// notes say what a search has left out, so that nobody takes it for what is not there.
func notes(s files.Skipped) string {
	var sb strings.Builder
	var out []string
	count := func(n int, one, many string) {
		switch {
		case n == 1:
			out = append(out, "1 "+one)
		case n > 1:
			out = append(out, fmt.Sprintf("%d %s", n, many))
		}
	}
	count(s.Hidden, "hidden entry", "hidden entries")
	count(s.Ignored, "ignored entry", "ignored entries")
	hint := len(out) > 0
	count(s.Binary, "binary file", "binary files")
	count(s.Links, "link", "links")
	count(s.Special, "special file", "special files")
	if len(out) > 0 {
		fmt.Fprintf(&sb, "\n(not searched: %s", strings.Join(out, ", "))
		if hint {
			sb.WriteString("; name a hidden or ignored path to search it")
		}
		sb.WriteString(")")
	}
	if s.Withheld > 0 {
		fmt.Fprintf(&sb, "\n(withheld by the permission rules: %s)", plural(s.Withheld, "file"))
	}
	if s.Unreadable > 0 {
		var names []string
		for _, name := range s.Unread {
			names = append(names, named(name))
		}
		if more := s.Unreadable - len(names); more > 0 {
			names = append(names, fmt.Sprintf("and %d more", more))
		}
		fmt.Fprintf(&sb, "\n(could not be read: %s)", strings.Join(names, ", "))
	}
	return sb.String()
}

// searchCard is the card of a search: the head is stored, the body is in the result.
func searchCard(d session.Display, r *session.ToolResult) session.Display {
	if r == nil {
		return d
	}
	if stored, ok := storedDisplay(r); ok {
		stored.Text = resultText(r)
		if stored.Kind == session.ShowMatches {
			stored.Text = matchRows(stored.Text)
		}
		return stored
	}
	return withResult(d, r)
}

// matchRows is a result of grep for people: each line with its place, so that a few of
// them say where they are. The first line is a fact of the card already.
func matchRows(text string) string {
	var rows []string
	lines := strings.Split(text, "\n")
	path := ""
	for i, line := range lines[1:] {
		place, ok := strings.CutPrefix(line, "Line ")
		n := strings.IndexAny(place, ":-")
		switch {
		case ok && n > 0 && path != "":
			rows = append(rows, path+place[n:n+1]+place[:n]+"   "+strings.TrimLeft(place[n+1:], " \t"))
		case line == "" || line == "--":
		case lines[i] == "" && i+2 < len(lines) && strings.HasPrefix(lines[i+2], "Line "):
			path = line
		default:
			rows = append(rows, line)
		}
	}
	return strings.Join(rows, "\n")
}
