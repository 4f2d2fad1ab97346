package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"dsh/internal/policy"
	"dsh/internal/session"
)

// maxListed bounds the entries named when a directory is read as a file.
const maxListed = 20

var readSchema = json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{
"file_path":{"type":"string","description":"absolute, or relative to the working directory"},
"offset":{"type":"integer","minimum":1,"description":"first line, from 1 (default 1)"},
"limit":{"type":"integer","minimum":1,"description":"number of lines (default and maximum %d)"}},
"required":["file_path"]}`, maxReadLines))

type readTool struct{}

type readArgs struct {
	FilePath string   `json:"file_path"`
	Offset   *float64 `json:"offset"` // a whole number may be written 1.0
	Limit    *float64 `json:"limit"`
}

// Read is the tool that shows the lines of a text file. What it showed, or that the
// file is not there, counts as seen.
func Read() Tool { return readTool{} }

func (readTool) Name() string { return "read" }

func (readTool) Description() string {
	return fmt.Sprintf("Show a UTF-8 text file with line numbers (`N: text`; the number is not part of the file), at most %d lines and %d KiB at a time. "+
		"Read a file before you write or edit it; read several files in one message.", maxReadLines, maxReadBytes>>10)
}

func (readTool) Schema() json.RawMessage { return readSchema }

func (readTool) Class() policy.Class { return policy.Read }

func (readTool) Concurrent(json.RawMessage) bool { return true }

func (readTool) Action(env Env, args json.RawMessage) (policy.Action, error) {
	var a readArgs
	return fileAction(env, args, &a, &a.FilePath)
}

// fileAction is the action of a tool that works on one file. path points into a.
func fileAction(env Env, args json.RawMessage, a any, path *string) (policy.Action, error) {
	if err := decode(args, a); err != nil {
		return policy.Action{}, err
	}
	p, err := locate(env, *path)
	if err != nil {
		return policy.Action{}, err
	}
	return policy.Action{Paths: []string{p.real}, Target: p.raw, Linked: p.linked}, nil
}

func (readTool) Run(ctx context.Context, env Env, args json.RawMessage) (Result, error) {
	var a readArgs
	if err := decode(args, &a); err != nil {
		return Result{}, err
	}
	p, err := locate(env, a.FilePath)
	if err != nil {
		return Result{}, err
	}
	if err := p.judgedToo(env); err != nil {
		return Result{}, err
	}
	f, _, err := openRegular(p)
	if codeOf(err) == FSNotFound {
		absent := session.FileVersion{Path: p.real, Absent: true}
		return Result{Meta: session.ResultMeta{Seen: []session.FileVersion{absent}}}, err
	}
	if err != nil {
		return Result{}, withListing(err, p)
	}
	defer f.Close()
	v := &view{first: whole(a.Offset, 1), limit: min(whole(a.Limit, maxReadLines), maxReadLines), clean: env.clean, part: env.part}
	sum := newDigest()
	if err := scanText(ctx, p, unwaiting{f}, v, sum); err != nil {
		return Result{}, err
	}
	if v.shown == 0 && v.first > max(v.total, 1) {
		return Result{}, fail(FSNotFound, "offset %d is past the end of %s, which has %s.", v.first, p.abs, plural(v.total, "line"))
	}
	d := session.Display{Kind: session.ShowText, Verb: "Read", Target: a.FilePath, Facts: []string{v.fact()}}
	return Result{
		Text: v.envelope(p), Bounded: true,
		Meta: session.ResultMeta{Display: &d, Seen: []session.FileVersion{sum.version(p.real)}},
	}, nil
}

// whole is an optional whole number, in range of an int.
func whole(v *float64, absent int) int {
	if v == nil {
		return absent
	}
	return int(min(*v, math.MaxInt32))
}

// withListing helps along who took a directory for a file.
func withListing(err error, p place) error {
	if codeOf(err) != FSNotRegular {
		return err
	}
	entries, _ := os.ReadDir(p.real)
	if len(entries) == 0 {
		return err
	}
	var names []string
	for _, e := range entries[:min(len(entries), maxListed)] {
		name := e.Name()
		if e.IsDir() {
			name += "/"
		}
		names = append(names, named(name))
	}
	more := ""
	if n := len(entries) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return fail(FSNotRegular, "%s. It holds: %s%s", err, strings.Join(names, ", "), more)
}

// envelope is the result's text: the shape models know from training.
func (v *view) envelope(p place) string {
	note := ""
	if p.note != "" {
		note = "<note>" + p.note + "</note>\n"
	}
	body := v.text.String()
	if body != "" {
		body += "\n"
	}
	return fmt.Sprintf("%s<path>%s</path>\n<type>file</type>\n<content>\n%s(%s)\n</content>", note, p.abs, body, v.footer())
}

func (v *view) footer() string {
	last := v.first + v.shown - 1
	switch {
	case v.capped:
		return fmt.Sprintf("lines %d-%d of %d, stopped at %d KiB; continue with offset=%d", v.first, last, v.total, maxReadBytes>>10, last+1)
	case last < v.total:
		return fmt.Sprintf("lines %d-%d of %d; continue with offset=%d", v.first, last, v.total, last+1)
	}
	return fmt.Sprintf("end of file, %s in total", plural(v.total, "line"))
}

func (v *view) fact() string {
	if v.shown == v.total {
		return plural(v.total, "line")
	}
	return fmt.Sprintf("lines %d-%d of %d", v.first, v.first+v.shown-1, v.total)
}

func (readTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	var a readArgs
	if decode(args, &a) != nil {
		return genericCard("Read", string(args), r)
	}
	d := session.Display{Kind: session.ShowText, Verb: "Read", Target: a.FilePath}
	if r == nil {
		d.Facts = a.facts()
		return d
	}
	if stored, ok := storedDisplay(r); ok {
		stored.Text = content(resultText(r))
		return stored
	}
	d = withResult(d, r)
	d.Text = content(d.Text)
	return d
}

// facts say which lines a call asks for.
func (a readArgs) facts() []string {
	first := whole(a.Offset, 1)
	switch {
	case a.Limit != nil:
		return []string{fmt.Sprintf("lines %d-%d", first, first+whole(a.Limit, 1)-1)}
	case a.Offset != nil:
		return []string{fmt.Sprintf("from line %d", first)}
	}
	return nil
}

// content is what stands inside an envelope; other text is returned as it is.
func content(text string) string {
	_, rest, ok := strings.Cut(text, "<content>\n")
	end := strings.LastIndex(rest, "\n</content>")
	if !ok || end < 0 {
		return text
	}
	return rest[:end]
}
