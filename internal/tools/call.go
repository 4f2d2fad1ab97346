package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"dsh/internal/llm"
	"dsh/internal/policy"
	"dsh/internal/session"
)

// Call is one call whose arguments are valid. It is used by one goroutine: Action
// first, then Run.
type Call struct {
	tool   *entry
	args   json.RawMessage
	judged []string // the paths Action named; nil before it ran
}

// Name is the tool's name, without an alias the model may have used.
func (c *Call) Name() string { return c.tool.Name() }

// Class is the tool's class.
func (c *Call) Class() policy.Class { return c.tool.Class() }

// Args is a copy of the validated JSON object.
func (c *Call) Args() json.RawMessage { return bytes.Clone(c.args) }

// Action is what the call is about to do, for policy; or the error result if that
// already fails. Run holds the tool to the paths named here.
func (c *Call) Action(env Env) (a policy.Action, bad *Result) {
	defer func() {
		if p := recover(); p != nil {
			a, bad = policy.Action{}, errorResult(panicked(c.Name(), p))
		}
	}()
	a, err := c.tool.Action(env, c.Args())
	if err != nil {
		return policy.Action{}, errorResult(err)
	}
	a.Tool, a.Class = c.Name(), c.Class()
	c.judged = append([]string{}, a.Paths...)
	return a, nil
}

// Run runs the tool and always has a result. An error, or a panic, becomes a text
// that begins with "Error: ". If ctx is cancelled, a success that does not stand is
// reported as Aborted (its Meta, Changed, Events and Contexts stay true) and a failure
// keeps its own text. Text is valid UTF-8 without NUL and secrets, and bounded.
func (c *Call) Run(ctx context.Context, env Env) Result {
	env.judged = c.judged
	res, err := c.run(ctx, env)
	if err != nil {
		bad := errorResult(err)
		res.Text, res.Blocks, res.IsError, res.Code = bad.Text, nil, true, bad.Code
	} else if ctx.Err() != nil && !res.IsError && !res.Stands {
		res = abortedAfter(res)
	}
	if res.Text = env.clean(res.Text); !res.Bounded {
		res.Text = fit(res.Text, c.Name(), env)
	}
	res.Text = boundText(res.Text)
	for i, b := range res.Blocks {
		if b.Type == llm.Text {
			res.Blocks[i].Text = boundText(fit(env.clean(b.Text), c.Name(), env))
		}
	}
	return res
}

func (c *Call) run(ctx context.Context, env Env) (res Result, err error) {
	defer func() {
		if p := recover(); p != nil {
			res, err = Result{}, panicked(c.Name(), p)
		}
	}()
	if err := ctx.Err(); err != nil {
		return Result{}, err
	}
	return c.tool.Run(ctx, env, c.Args())
}

// abortedAfter is the result of a call that ended well after it was cancelled. What
// it would have shown is withheld, so it does not count as seen either, except for
// files it wrote: their content is the model's own.
func abortedAfter(res Result) Result {
	res.Text = "Error: cancelled while it ran; it had ended by then and what it did stands."
	res.Blocks, res.IsError, res.Code = nil, true, Aborted
	if len(res.Changed) == 0 {
		res.Meta = session.ResultMeta{}
	}
	return res
}

func panicked(name string, p any) error {
	return fail(Internal, "%s broke while it ran, and its effects are unknown. This is a bug in dsh: %v", name, p)
}

// errorResult turns an error into what the model reads.
func errorResult(err error) *Result {
	r := &Result{Text: "Error: " + err.Error(), IsError: true}
	var known *Error
	switch {
	case errors.As(err, &known):
		r.Code = known.Code
	case isCancel(err):
		r.Text, r.Code = "Error: cancelled.", Aborted
	}
	r.Text = boundText(clean(r.Text))
	return r
}
