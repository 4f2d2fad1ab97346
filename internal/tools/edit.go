package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"dsh/internal/policy"
	"dsh/internal/session"
)

// maxEditBytes bounds a file that edit changes: it is held in memory a few times.
const maxEditBytes = 128 << 20

var editSchema = json.RawMessage(`{"type":"object","properties":{
"file_path":{"type":"string","description":"absolute, or relative to the working directory"},
"old_string":{"type":"string","description":"the exact text to replace, whitespace included"},
"new_string":{"type":"string","description":"what replaces it"},
"replace_all":{"type":"boolean","description":"replace every occurrence (default false: old_string must be unique)"}},
"required":["file_path","old_string","new_string"]}`)

type editTool struct{}

type editArgs struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

// Edit is the tool that replaces text in a file. It matches literally, changes no
// byte outside the matches, and only versions that the model has seen.
func Edit() Tool { return editTool{} }

func (editTool) Name() string { return "edit" }

func (editTool) Description() string {
	return "Replace text in a file that you have read, matched literally: give enough lines around it to make it unique. " +
		"Line endings and byte order mark are kept; write new lines as LF."
}

func (editTool) Schema() json.RawMessage { return editSchema }

func (editTool) Class() policy.Class { return policy.Write }

func (editTool) Concurrent(json.RawMessage) bool { return false }

func (editTool) Action(env Env, args json.RawMessage) (policy.Action, error) {
	a, err := editArgsOf(args)
	if err != nil {
		return policy.Action{}, err
	}
	return fileAction(env, args, &a, &a.FilePath)
}

// editArgsOf reads arguments and refuses those that can only be mistakes.
func editArgsOf(args json.RawMessage) (editArgs, error) {
	var a editArgs
	if err := decode(args, &a); err != nil {
		return a, err
	}
	switch {
	case a.OldString == "":
		return a, fail(InvalidArgs, "old_string is empty. To create a file or fill an empty one, use write.")
	case strings.TrimSpace(a.OldString) == "":
		return a, fail(InvalidArgs, "old_string is only whitespace: include the text around it.")
	case a.OldString == a.NewString:
		return a, fail(InvalidArgs, "old_string and new_string are the same: there is nothing to change.")
	}
	return a, nil
}

func (editTool) Run(ctx context.Context, env Env, args json.RawMessage) (Result, error) {
	a, err := editArgsOf(args)
	if err != nil {
		return Result{}, err
	}
	p, old, err := target(ctx, env, a.FilePath, maxEditBytes)
	if err != nil {
		return Result{}, err
	}
	body, bom, err := editable(p, old)
	if err != nil {
		return Result{}, err
	}
	edited, spans, err := a.apply(p, body)
	if err != nil {
		return Result{}, err
	}
	content := []byte(bom + edited)
	note, err := publish(ctx, p, old, content)
	if err != nil {
		return Result{}, err
	}
	text := fmt.Sprintf("Edited %s: replaced the text at %s.%s", p.abs, lineNumbers(body, spans), note)
	if a.ReplaceAll {
		text = fmt.Sprintf("Edited %s: replaced all of %s, at %s.%s", p.abs, plural(len(spans), "occurrence"), lineNumbers(body, spans), note)
	}
	c := diff(body, edited)
	d := a.display(c, len(spans))
	d.Diffs[0].Hunks = c.toLog()
	return changed(p, text, d, versionOf(p.real, content)), nil
}

// editable is a file's text, without the byte order mark, which stands for itself.
func editable(p place, old current) (body, bom string, err error) {
	switch {
	case old.info == nil:
		return "", "", fail(FSNotFound, "%s does not exist. To create it, use write.", p.abs)
	case old.content == nil:
		return "", "", fail(FSTooLarge, "%s has %d bytes; edit takes at most %d. Use a command to change it.", p.abs, old.version.Size, maxEditBytes)
	case !old.style.text():
		return "", "", notText(p, nil, nil)
	}
	body, marked := strings.CutPrefix(string(old.content), string(utf8BOM))
	if marked {
		bom = string(utf8BOM)
	}
	return body, bom, nil
}

// apply is the body after the edit, and where in the body it applied.
func (a editArgs) apply(p place, body string) (edited string, spans []span, err error) {
	old := strings.TrimPrefix(a.OldString, string(utf8BOM))
	spans, exact := findSpans(body, old)
	if err := a.judge(p, body, old, spans); err != nil {
		return "", nil, err
	}
	edited = splice(body, spans, a.NewString, exact)
	if edited == body {
		return "", nil, fail(InvalidArgs, "the edit would change nothing in %s: old_string and new_string differ only in line endings.", p.abs)
	}
	return edited, spans, nil
}

// judge refuses an edit whose place is not certain.
func (a editArgs) judge(p place, body, old string, spans []span) error {
	switch {
	case len(spans) == 0:
		return fail(FSEditNotFound, "old_string does not occur in %s.%s", p.abs, missHint(body, old))
	case a.ReplaceAll:
		return nil
	case len(spans) > 1:
		return fail(FSAmbiguousEdit, "old_string occurs %d times in %s, at %s: it is unchanged. Add lines around it to make it unique, or set replace_all.",
			len(spans), p.abs, lineNumbers(body, spans))
	case overlapsItself(body, spans[0]):
		return fail(FSAmbiguousEdit, "old_string occurs at overlapping places in %s, from %s on: it is unchanged. Add text around it to make it unique.",
			p.abs, lineNumbers(body, spans))
	}
	return nil
}

func (a editArgs) display(c change, places int) session.Display {
	fact := c.facts()
	if !c.fits {
		fact = plural(places, "replacement")
	}
	return session.Display{
		Kind: session.ShowDiff, Verb: "Edit", Target: a.FilePath, Facts: []string{fact},
		Diffs: []session.FileDiff{{Path: a.FilePath, Hunks: c.hunks}},
	}
}

func (editTool) Display(args json.RawMessage, r *session.ToolResult) session.Display {
	if stored, ok := storedDisplay(r); ok {
		return stored
	}
	var a editArgs
	if decode(args, &a) != nil {
		return genericCard("Edit", string(args), r)
	}
	d := a.display(diff(a.OldString, a.NewString), 1)
	if a.ReplaceAll {
		d.Facts = append(d.Facts, "every occurrence")
	}
	return afterChange(d, r)
}
