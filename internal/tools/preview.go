package tools

import (
	"context"
	"encoding/json"

	"dsh/internal/session"
)

// previewer is a tool that, with the files at hand, shows what a call will change
// better than from its arguments: where in the file, and what is replaced. ok is false
// when the call will fail.
type previewer interface {
	preview(ctx context.Context, env Env, args json.RawMessage) (d session.Display, ok bool)
}

// Preview presents the call to the person who is asked about it. It may read the files
// that Action named, and changes nothing.
func (c *Call) Preview(ctx context.Context, env Env) (d session.Display) {
	plain := c.tool.Display(c.Args(), nil)
	defer func() {
		if recover() != nil {
			d = plain // Run will say what is wrong
		}
	}()
	env.judged = c.judged
	if p, ok := c.tool.Tool.(previewer); ok {
		if d, ok := p.preview(ctx, env, c.Args()); ok {
			return d
		}
	}
	return plain
}

func (editTool) preview(ctx context.Context, env Env, args json.RawMessage) (d session.Display, ok bool) {
	a, err := editArgsOf(args)
	if err != nil {
		return d, false
	}
	p, old, err := target(ctx, env, a.FilePath, maxEditBytes)
	if err != nil {
		return d, false
	}
	body, _, err := editable(p, old)
	if err != nil {
		return d, false
	}
	edited, spans, err := a.apply(p, body)
	if err != nil {
		return d, false
	}
	c := diff(body, edited)
	return a.display(c, len(spans)), c.fits
}

func (writeTool) preview(ctx context.Context, env Env, args json.RawMessage) (d session.Display, ok bool) {
	var a writeArgs
	if decode(args, &a) != nil {
		return d, false
	}
	_, old, err := target(ctx, env, a.FilePath, maxOldBytes)
	if err != nil {
		return d, false
	}
	if old.info == nil {
		return a.display(true), true
	}
	content, _ := old.style.apply(a.Content)
	c := diff(string(old.content), string(content))
	d = a.display(false)
	d.Facts, d.Diffs[0].Hunks = []string{c.facts()}, c.hunks
	return d, c.fits && old.content != nil && old.style.text()
}
