package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"dsh/internal/policy"
	"dsh/internal/session"
)

// maxOldBytes bounds the content that is kept to show what an overwrite changed.
const maxOldBytes = 10 << 20

var writeSchema = json.RawMessage(`{"type":"object","properties":{
"file_path":{"type":"string","description":"absolute, or relative to the working directory"},
"content":{"type":"string","description":"the whole file"}},
"required":["file_path","content"]}`)

type writeTool struct{}

type writeArgs struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
}

// Write is the tool that creates a file or replaces all of it. It changes only
// versions that the model has seen.
func Write() Tool { return writeTool{} }

func (writeTool) Name() string { return "write" }

func (writeTool) Description() string {
	return "Create a file (with its directories) or replace all of it. Read an existing file first; to change a part, use edit. " +
		"A file's byte order mark and uniform CRLF line endings are kept."
}

func (writeTool) Schema() json.RawMessage { return writeSchema }

func (writeTool) Class() policy.Class { return policy.Write }

func (writeTool) Concurrent(json.RawMessage) bool { return false }

func (writeTool) Action(env Env, args json.RawMessage) (policy.Action, error) {
	var a writeArgs
	return fileAction(env, args, &a, &a.FilePath)
}

func (writeTool) Run(ctx context.Context, env Env, args json.RawMessage) (Result, error) {
	var a writeArgs
	if err := decode(args, &a); err != nil {
		return Result{}, err
	}
	p, old, err := target(ctx, env, a.FilePath, maxOldBytes)
	if err != nil {
		return Result{}, err
	}
	if info, err := os.Lstat(p.abs); err == nil && old.info == nil && info.Mode()&os.ModeSymlink != 0 {
		return Result{}, fail(FSNotFound, "%s is a link to %s, which does not exist: nothing was created. Write to that path if it is meant.", p.abs, p.real)
	}
	content, kept := old.style.apply(a.Content)
	note, err := publish(ctx, p, old, content)
	if err != nil {
		return Result{}, err
	}
	verb := "Updated"
	if old.info == nil {
		verb = "Created"
	}
	text := fmt.Sprintf("%s file %s (%s).%s%s", verb, p.abs, plural(countLines(a.Content), "line"), kept, note)
	d := a.display(old.info == nil)
	if old.info != nil {
		d.Diffs, d.Facts = a.changes(old.content, content)
	} else {
		d.Diffs[0].Hunks = nil // the arguments hold them: they need not be logged twice
	}
	return changed(p, text, d, versionOf(p.real, content)), nil
}

// target is the file a call may change: where it is and what it holds now.
func target(ctx context.Context, env Env, path string, keep int64) (place, current, error) {
	p, err := locate(env, path)
	if err != nil {
		return place{}, current{}, err
	}
	if err := p.judgedToo(env); err != nil {
		return place{}, current{}, err
	}
	old, err := look(ctx, p, keep)
	if err != nil {
		return place{}, current{}, err
	}
	err = mayReplace(env, p, old.version)
	if err != nil && !old.style.text() {
		err = notText(p, nil, nil) // to read it first, as the other error advises, would lead nowhere
	}
	return p, old, err
}

// changed is the result of a call that wrote a file.
func changed(p place, text string, d session.Display, now session.FileVersion) Result {
	if p.note != "" {
		text += " " + p.note
	}
	return Result{
		Text:    text,
		Meta:    session.ResultMeta{Display: &d, Seen: []session.FileVersion{now}},
		Changed: []string{p.real},
	}
}

// changes are the diff and the facts of an overwrite.
func (a writeArgs) changes(old, content []byte) ([]session.FileDiff, []string) {
	var c change
	if old != nil && bytes.IndexByte(old, 0) < 0 {
		c = diff(string(old), string(content))
	}
	facts := []string{c.facts()}
	if !c.fits {
		facts = []string{plural(countLines(a.Content), "line")}
	}
	return []session.FileDiff{{Path: a.FilePath, Hunks: c.toLog()}}, facts
}

// display shows the content as it will be written: what it replaces is not known.
func (a writeArgs) display(created bool) session.Display {
	fact := plural(countLines(a.Content), "line")
	if created {
		fact = "new, " + fact
	}
	return session.Display{
		Kind: session.ShowDiff, Verb: "Write", Target: a.FilePath, Facts: []string{fact},
		Diffs: []session.FileDiff{{Path: a.FilePath, Created: created, Hunks: addition(a.Content)}},
	}
}

func (writeTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	var a writeArgs
	if decode(args, &a) != nil {
		return genericCard("Write", string(args), r)
	}
	d := a.display(false)
	if stored, ok := storedDisplay(r); ok {
		if len(stored.Diffs) == 1 && stored.Diffs[0].Created && stored.Diffs[0].Hunks == nil {
			stored.Diffs[0].Hunks = d.Diffs[0].Hunks
		}
		return stored
	}
	return afterChange(d, r)
}

// afterChange is the card of a change whose result left no display: a failed one
// changed nothing, so it shows its text only.
func afterChange(d session.Display, r *session.ToolResult) session.Display {
	if r == nil || !failed(r) {
		return d
	}
	d.Kind, d.Diffs, d.Facts = session.ShowText, nil, nil
	return withResult(d, r)
}

// countLines counts as editors do: a final newline begins no line.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}
